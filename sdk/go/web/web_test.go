package web

import (
	"testing"

	pausegate "pausegate.example/sdk"
)

func TestRequestsAreAnsweredByTheTest(t *testing.T) {
	if _, err := Get("http://x/"); err == nil {
		t.Fatal("there is no network in a test")
	}
	Answer = func(request Request) (*Response, error) {
		return &Response{Status: 404, Body: []byte(request.Method + request.URL)}, nil
	}
	response, err := Get("http://x/")
	if err != nil {
		t.Fatal(err)
	}
	_, err = response.OK()
	if failure, ok := err.(*pausegate.Failure); !ok || failure.Kind != pausegate.NotFound || failure.Message != "the server answered 404: GEThttp://x/" {
		t.Fatal(err)
	}
}

func TestWhatIsNoURLIsNotSent(t *testing.T) {
	for _, url := range []string{"", "file:///etc/passwd", "http://", "x", ":"} {
		if _, err := Get(url); err == nil || err.(*pausegate.Failure).Kind != pausegate.InvalidInput {
			t.Errorf("%q: %v", url, err)
		}
	}
}
