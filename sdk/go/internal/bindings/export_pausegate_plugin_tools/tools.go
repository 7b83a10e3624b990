//go:build wasip1

// Package export_pausegate_plugin_tools is where the generated exports look for the plugin. By hand, unlike its
// neighbours.
package export_pausegate_plugin_tools

import (
	types "pausegate.example/sdk/internal/bindings/pausegate_plugin_types"
	wit "pausegate.example/sdk/internal/wit/types"
)

// The SDK sets both before any export is called.
var (
	List func() (types.Catalog, error)
	Call func(types.Call) types.Outcome
)

func ListTools() wit.Result[types.Catalog, types.Failure] {
	catalog, err := List()
	if err != nil {
		return wit.Err[types.Catalog, types.Failure](types.Failure{Kind: "failed", Message: err.Error(), RetryAfterMs: wit.None[uint32]()})
	}
	return wit.Ok[types.Catalog, types.Failure](catalog)
}

func CallTool(call types.Call) types.Outcome {
	return Call(call)
}
