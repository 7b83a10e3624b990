//go:build wasip1

// Package export_pausegate_plugin_reconcile is where the generated exports look for the plugin. By hand, unlike its
// neighbours.
package export_pausegate_plugin_reconcile

import (
	reconcile "pausegate.example/sdk/internal/bindings/pausegate_plugin_reconcile"
	types "pausegate.example/sdk/internal/bindings/pausegate_plugin_types"
)

// Ask is set by the SDK before any export is called.
var Ask func(types.Call) reconcile.Verdict

func Reconcile(call types.Call) reconcile.Verdict {
	return Ask(call)
}
