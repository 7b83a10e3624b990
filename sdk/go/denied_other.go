//go:build !wasip1

package pausegate

func isDenied(error) bool { return false }
