//go:build !wasip1

package config

import "testing"

func TestSettingsAreThoseOfTheTest(t *testing.T) {
	Settings = map[string]string{"units": "metric"}
	defer func() { Settings = map[string]string{} }()
	if value, found, err := Get("units"); value != "metric" || !found || err != nil {
		t.Fatal(value, found, err)
	}
	if _, found, err := Get("place"); found || err != nil {
		t.Fatal(found, err)
	}
}
