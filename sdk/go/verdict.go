package pausegate

import (
	"encoding/json"
	"fmt"
)

// Verdict is what became of an earlier attempt whose end nobody recorded; see package reconcile.
type Verdict struct {
	happened, notHappened bool
	done                  []Content
	failed                *Failure
}

var (
	// NotHappened says that it took no effect, now or later: the call may be made again.
	NotHappened = Verdict{notHappened: true}
	// Unknown says that it cannot be told: a person is asked.
	Unknown = Verdict{}
)

// TookEffect says that it took effect, and returned what a tool may return: result, or with err the failure.
func TookEffect(result any, err error) Verdict {
	if err != nil {
		return Verdict{happened: true, failed: failureOf(err)}
	}
	done, err := pieces(result)
	if err != nil {
		return Verdict{happened: true, failed: failureOf(err)}
	}
	return Verdict{happened: true, done: done}
}

// Happened says whether it took effect.
func (verdict Verdict) Happened() bool { return verdict.happened }

// String is for tests and logs.
func (verdict Verdict) String() string {
	switch {
	case verdict.failed != nil:
		return "happened: " + string(verdict.failed.Kind) + ": " + verdict.failed.Message
	case verdict.happened:
		text := ""
		for _, content := range verdict.done {
			text += content.text
		}
		return "happened: " + text
	case verdict.notHappened:
		return "not happened"
	}
	return "unknown"
}

// find asks for a verdict. Neither an error nor a panic leaves it.
func find(given given, by func(*Call) (Verdict, error)) (verdict Verdict) {
	defer func() {
		if panicked := recover(); panicked != nil {
			Log(Warn, "it could not be found out what became of the call: panic: %v", panicked)
			verdict = Unknown
		}
	}()
	found, err := by(newCall(given))
	if err != nil {
		Log(Warn, "it could not be found out what became of the call: %s", err)
		return Unknown
	}
	return found
}

// TestVerdict asks find about a call of the tool, as the host would after a crash.
func TestVerdict(find_ func(*Call) (Verdict, error), tool *Tool, args any) Verdict {
	written, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("the arguments of a test are JSON: %s", err))
	}
	return find(given{id: "tc_test", tool: tool.Name, arguments: string(written), idempotencyKey: "key_test", attempt: 1, timeLeftMs: 30_000}, find_)
}
