package pausegate

import "encoding/json"

type want struct{ capability, scope, why string }

// WantFS asks the operator for a folder at mount; access is read or write. Shown, and grants nothing, as all wants.
func WantFS(mount, access, why string) {
	Want("fs", map[string]any{"mount": mount, "access": access}, why)
}

// WantHTTP asks for requests to url, which may hold `*`, with these methods.
func WantHTTP(url string, methods []string, why string) {
	Want("http", map[string]any{"url": url, "methods": methods}, why)
}

// WantEnv asks for a variable of the environment.
func WantEnv(name, why string) { Want("env", map[string]any{"name": name}, why) }

// WantKV asks for values that last; scope is "chain" or "plugin".
func WantKV(scope, why string) { Want("kv", map[string]any{"scope": scope}, why) }

// Want asks for anything else, with the keys of its grant line.
func Want(capability string, scope map[string]any, why string) {
	written, err := json.Marshal(scope)
	if err != nil {
		written = []byte("{}")
	}
	wants = append(wants, want{capability, string(written), why})
}
