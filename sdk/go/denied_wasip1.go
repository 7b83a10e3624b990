package pausegate

import (
	"errors"
	"syscall"
)

// isDenied knows what a path below no granted folder leads to.
func isDenied(err error) bool {
	return errors.Is(err, syscall.ENOTCAPABLE) || errors.Is(err, syscall.EBADF) || errors.Is(err, syscall.EROFS)
}
