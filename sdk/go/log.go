package pausegate

import "fmt"

// Level is how much a line for the operator matters.
type Level uint8

const (
	Trace Level = iota
	Debug
	Info
	Warn
	Error
)

func (level Level) String() string {
	return [...]string{"trace", "debug", "info", "warn", "error"}[min(level, Error)]
}

// Log writes a line for the operator; the model never sees it. Outside the sandbox, as in tests, it goes to standard
// error.
func Log(level Level, format string, values ...any) {
	hostLog(min(level, Error), fmt.Sprintf(format, values...))
}

// Progress says that done of total is done, in a unit of your choice; total is 0 where it is not known.
func Progress(done, total float64, message string) { hostProgress(done, total, message) }
