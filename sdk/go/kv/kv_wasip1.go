package kv

import (
	"strings"

	pausegate "pausegate.example/sdk"
	store "pausegate.example/sdk/internal/bindings/wasi_keyvalue_store"
	wit "pausegate.example/sdk/internal/wit/types"
)

func get(key string) (value []byte, found bool, err error) {
	got, err := with(func(bucket *store.Bucket) wit.Result[wit.Option[[]uint8], store.Error] { return bucket.Get(valid(key)) })
	if err != nil || got.IsNone() {
		return nil, false, err
	}
	return got.Some(), true, nil
}

func set(key string, value []byte) error {
	_, err := with(func(bucket *store.Bucket) wit.Result[wit.Unit, store.Error] { return bucket.Set(valid(key), value) })
	return err
}

func remove(key string) error {
	_, err := with(func(bucket *store.Bucket) wit.Result[wit.Unit, store.Error] { return bucket.Delete(valid(key)) })
	return err
}

func exists(key string) (bool, error) {
	return with(func(bucket *store.Bucket) wit.Result[bool, store.Error] { return bucket.Exists(valid(key)) })
}

func page(cursor *uint64) ([]string, *uint64, error) {
	from := wit.None[uint64]()
	if cursor != nil {
		from = wit.Some(*cursor)
	}
	found, err := with(func(bucket *store.Bucket) wit.Result[store.KeyResponse, store.Error] { return bucket.ListKeys(from) })
	if err != nil || found.Cursor.IsNone() {
		return found.Keys, nil, err
	}
	next := found.Cursor.Some()
	return found.Keys, &next, nil
}

// with opens the bucket, which the host knows, for one use of it.
func with[T any](use func(*store.Bucket) wit.Result[T, store.Error]) (T, error) {
	var none T
	opened := store.Open("")
	if opened.IsErr() {
		return none, failure(opened.Err())
	}
	bucket := opened.Ok()
	defer bucket.Drop()
	got := use(bucket)
	if got.IsErr() {
		return none, failure(got.Err())
	}
	return got.Ok(), nil
}

func failure(refused store.Error) error {
	if refused.Tag() == store.Error_Other {
		return pausegate.Fail(pausegate.Failed, "%s", refused.Other())
	}
	return pausegate.Fail(pausegate.Denied, "no grant allows this use of kept values")
}

// valid is text that is UTF-8: nothing else crosses to the host.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }
