package pausegate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Kind is what sort of failure it is. The model decides by it whether to correct, wait or give up.
type Kind string

const (
	InvalidInput Kind = "invalid-input"
	NotFound     Kind = "not-found"
	Denied       Kind = "denied"
	AuthRequired Kind = "auth-required"
	Timeout      Kind = "timeout"
	RateLimited  Kind = "rate-limited"
	Unavailable  Kind = "unavailable"
	TooLarge     Kind = "too-large"
	Conflict     Kind = "conflict"
	Failed       Kind = "failed"
)

func (kind Kind) known() bool {
	switch kind {
	case InvalidInput, NotFound, Denied, AuthRequired, Timeout, RateLimited, Unavailable, TooLarge, Conflict, Failed:
		return true
	}
	return false
}

// Effect is whether a call that failed changed something all the same.
type Effect string

const (
	NoEffect    Effect = "none"
	MaybeEffect Effect = "maybe"
	Happened    Effect = "happened"
)

// Failure is a failed call; an ordinary error that keeps its kind when it is wrapped.
type Failure struct {
	Kind    Kind
	Message string
	// RetryAfter says after how long trying again may help; zero for nothing said.
	RetryAfter time.Duration
	Effect     Effect
}

func (failure *Failure) Error() string { return failure.Message }

// Fail is a failure of a kind; the message says what happened to what.
func Fail(kind Kind, format string, values ...any) *Failure {
	return &Failure{Kind: kind, Message: fmt.Sprintf(format, values...), Effect: NoEffect}
}

// failureOf makes a failure of any error: one that it wraps gives kind, wait and effect, else what it is gives the kind.
func failureOf(err error) *Failure {
	var inner *Failure
	if errors.As(err, &inner) && inner != nil {
		failure := *inner
		failure.Message = err.Error()
		if !failure.Kind.known() {
			failure.Kind = Failed
		}
		if failure.Effect != MaybeEffect && failure.Effect != Happened {
			failure.Effect = NoEffect
		}
		return &failure
	}
	return Fail(kindOf(err), "%s", err)
}

func kindOf(err error) Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return NotFound
	case errors.Is(err, fs.ErrPermission), isDenied(err):
		return Denied
	case errors.Is(err, fs.ErrExist):
		return Conflict
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return Timeout
	}
	return Failed
}
