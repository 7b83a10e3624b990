// Package finder is where the SDK looks for what a plugin gave to reconcile.With.
package finder

// Find takes a *pausegate.Call and returns a pausegate.Verdict; nil where the plugin gave none.
var Find func(call any) (verdict any, err error)
