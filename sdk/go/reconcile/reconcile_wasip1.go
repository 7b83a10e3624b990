package reconcile

import "pausegate.example/sdk/internal/bindings"

//go:wasmexport pausegate:plugin/reconcile@0.1.0#reconcile
func export(call uintptr) uintptr { return bindings.Reconcile(call) }
