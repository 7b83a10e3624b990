package config

import (
	pausegate "pausegate.example/sdk"
	store "pausegate.example/sdk/internal/bindings/wasi_config_store"
)

func all() (map[string]string, error) {
	got := store.GetAll()
	if got.IsErr() && got.Err().Tag() == store.Error_Io {
		return nil, pausegate.Fail(pausegate.Unavailable, "%s", got.Err().Io())
	}
	if got.IsErr() {
		return nil, pausegate.Fail(pausegate.Unavailable, "%s", got.Err().Upstream())
	}
	settings := map[string]string{}
	for _, pair := range got.Ok() {
		settings[pair.F0] = pair.F1
	}
	return settings, nil
}
