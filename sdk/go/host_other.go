//go:build !wasip1

package pausegate

import (
	"fmt"
	"os"
)

func hostLog(level Level, message string) { fmt.Fprintf(os.Stderr, "%s: %s\n", level, message) }

func hostProgress(done, total float64, message string) {
	fmt.Fprintf(os.Stderr, "progress: %g of %g: %s\n", done, total, message)
}
