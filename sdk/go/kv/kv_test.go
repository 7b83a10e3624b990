//go:build !wasip1

package kv

import (
	"slices"
	"testing"
)

func TestValuesLastUntilTheyAreTakenAway(t *testing.T) {
	defer Reset()
	for _, key := range []string{"b", "a"} {
		if err := Set(key, []byte("of "+key)); err != nil {
			t.Fatal(err)
		}
	}
	if value, found, err := Get("a"); string(value) != "of a" || !found || err != nil {
		t.Fatal(value, found, err)
	}
	if keys, err := Keys(); !slices.Equal(keys, []string{"a", "b"}) || err != nil {
		t.Fatal(keys, err)
	}
	if err := Delete("a"); err != nil {
		t.Fatal(err)
	}
	if found, err := Exists("a"); found || err != nil {
		t.Fatal(found, err)
	}
	if _, found, err := Get("a"); found || err != nil {
		t.Fatal(found, err)
	}
	Reset()
	if found, _ := Exists("b"); found {
		t.Fatal("begun anew")
	}
}
