package pausegate

import (
	"errors"
	"testing"
)

func TestWhatBecameOfACallIsToldOrAskedOfAPerson(t *testing.T) {
	tool := &Tool{Name: "post"}
	type args struct {
		Text string `json:"text"`
	}
	find := func(call *Call) (Verdict, error) {
		var given args
		if err := call.Arguments(&given); err != nil || call.Tool() != "post" || call.IdempotencyKey() == "" {
			t.Fatal(err, call.Tool())
		}
		switch given.Text {
		case "done":
			return TookEffect("posted", nil), nil
		case "refused":
			return TookEffect(nil, Fail(Conflict, "it is there")), nil
		case "never":
			return NotHappened, nil
		case "error":
			return TookEffect("posted", nil), errors.New("no way to look")
		case "panic":
			panic("oh")
		}
		return Unknown, nil
	}
	for text, expected := range map[string]string{
		"done": "happened: posted", "refused": "happened: conflict: it is there", "never": "not happened",
		"error": "unknown", "panic": "unknown", "": "unknown",
	} {
		if found := TestVerdict(find, tool, args{text}); found.String() != expected {
			t.Errorf("%s: %s", text, found)
		}
	}
}
