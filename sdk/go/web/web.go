// Package web makes HTTP requests, as far as the operator granted them. Redirects are handed back, not followed.
package web

import (
	"encoding/json"
	"net/url"
	"strings"

	pausegate "pausegate.example/sdk"
)

// BodyBytesMax is the most of a response that is read, unless a request says otherwise.
const BodyBytesMax = 8 << 20

// Request is one request; an empty method is GET.
type Request struct {
	Method, URL string
	Header      map[string]string
	Body        []byte
	// MaxBytes is the most of the response's body; 0 is BodyBytesMax.
	MaxBytes int
}

// Response is what the server said, whatever its status.
type Response struct {
	Status int
	Header map[string][]string
	Body   []byte
}

// Get makes a GET request.
func Get(url string) (*Response, error) { return Do(Request{URL: url}) }

// PostJSON sends a value as JSON.
func PostJSON(url string, value any) (*Response, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return Do(Request{Method: "POST", URL: url, Header: map[string]string{"content-type": "application/json"}, Body: body})
}

// Do makes a request. The error is a *pausegate.Failure where there is no response.
func Do(request Request) (*Response, error) {
	if request.Method == "" {
		request.Method = "GET"
	}
	if request.MaxBytes == 0 {
		request.MaxBytes = BodyBytesMax
	}
	address, err := url.Parse(request.URL)
	if err != nil || address.Host == "" || (address.Scheme != "http" && address.Scheme != "https") {
		return nil, pausegate.Fail(pausegate.InvalidInput, "%s: not an `http` or `https` URL", request.URL)
	}
	return send(request, address)
}

// OK is this response, if its status is one of success; else a failure of the kind that fits.
func (response *Response) OK() (*Response, error) {
	if response.Status >= 200 && response.Status < 300 {
		return response, nil
	}
	kinds := map[int]pausegate.Kind{
		401: pausegate.AuthRequired, 403: pausegate.Denied, 404: pausegate.NotFound, 408: pausegate.Timeout,
		409: pausegate.Conflict, 413: pausegate.TooLarge, 429: pausegate.RateLimited,
	}
	kind, ok := kinds[response.Status]
	if !ok && response.Status >= 500 {
		kind = pausegate.Unavailable
	} else if !ok {
		kind = pausegate.Failed
	}
	said := strings.ToValidUTF8(string(response.Body[:min(len(response.Body), 200)]), "")
	return nil, pausegate.Fail(kind, "the server answered %d: %s", response.Status, said)
}
