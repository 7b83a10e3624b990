//go:build !wasip1

package web

import (
	"errors"
	"net/url"
)

// Answer answers requests in tests: there is no network outside the sandbox.
var Answer func(Request) (*Response, error)

func send(request Request, _ *url.URL) (*Response, error) {
	if Answer == nil {
		return nil, errors.New("there is no network outside the sandbox: in a test, set web.Answer")
	}
	return Answer(request)
}
