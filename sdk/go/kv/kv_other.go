//go:build !wasip1

package kv

import (
	"maps"
	"slices"
)

var values = map[string][]byte{}

// Reset takes all values away, in tests: outside the sandbox they are kept in memory.
func Reset() { clear(values) }

func get(key string) ([]byte, bool, error) {
	value, found := values[key]
	return slices.Clone(value), found, nil
}

func set(key string, value []byte) error {
	values[key] = slices.Clone(value)
	return nil
}

func remove(key string) error {
	delete(values, key)
	return nil
}

func exists(key string) (bool, error) {
	_, found := values[key]
	return found, nil
}

func page(*uint64) ([]string, *uint64, error) { return slices.Collect(maps.Keys(values)), nil, nil }
