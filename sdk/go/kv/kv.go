// Package kv keeps values from call to call, in the one bucket that the operator granted: of this chain, or of all of
// them. What cannot be kept or read is a *pausegate.Failure: Denied without a grant, else Failed with the host's words,
// such as what the quota is. In tests values are kept in memory; Reset begins anew.
package kv

import (
	"slices"

	pausegate "pausegate.example/sdk"
)

// KeysMax is how many keys Keys hands out; of a bucket with more it fails.
const KeysMax = 10_000

// Get is the value under key, and whether there is one.
func Get(key string) (value []byte, found bool, err error) { return get(key) }

// Set keeps value under key, in the place of what was there.
func Set(key string, value []byte) error { return set(key, value) }

// Delete takes key away, if it is there.
func Delete(key string) error { return remove(key) }

// Exists says whether there is a value under key.
func Exists(key string) (bool, error) { return exists(key) }

// Keys are all keys, in order.
func Keys() ([]string, error) {
	keys, next, err := page(nil)
	for err == nil && next != nil && len(keys) <= KeysMax {
		var more []string
		more, next, err = page(next)
		keys = append(keys, more...)
	}
	if err != nil {
		return nil, err
	}
	if len(keys) > KeysMax {
		return nil, pausegate.Fail(pausegate.TooLarge, "there are more than %d keys", KeysMax)
	}
	slices.Sort(keys)
	return keys, nil
}
