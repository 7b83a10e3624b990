package pausegate

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

type none struct{}

// asking makes a tool of one test, without offering it.
func asking[R any](run func(*Call) (R, error)) *Tool {
	tool := NewTool("t", "Is tested.", ReadOnly, func(call *Call, _ none) (R, error) { return run(call) })
	tools = tools[:len(tools)-1]
	return tool
}

func equal[T comparable](t *testing.T, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func TestAYesLetsTheCallGoOn(t *testing.T) {
	remove := NewTool("remove", "Removes.", Once, func(call *Call, args struct {
		Path string `json:"path"`
	}) (string, error) {
		if err := call.AskApproval("Remove " + args.Path); err != nil {
			return "", err
		}
		return "removed " + args.Path, nil
	})
	first := Test(remove, map[string]any{"path": "/a"})
	equal(t, first.Pause.Reason, "Remove /a")
	equal(t, first.Reply(true).Text(), "removed /a")
	equal(t, first.Approved().Text(), "removed /a")
}

func TestS01AQuestionThatWasDroppedIsAskedAllTheSame(t *testing.T) {
	careless := asking(func(call *Call) (string, error) {
		_ = call.AskApproval("Really?")
		_, err := call.AskText("name", "What name?")
		var pause *Pause
		if !errors.As(err, &pause) || pause.Reason != "Really?" {
			t.Error("a further question is not the first one")
		}
		panic("not even that")
	})
	equal(t, Test(careless, none{}).Pause.Reason, "Really?")
}

func TestS02OneYesAnswersOneQuestion(t *testing.T) {
	both := asking(func(call *Call) (string, error) {
		if err := call.AskApproval("First?"); err != nil {
			return "", err
		}
		return "both", call.AskApproval("Second?")
	})
	second := Test(both, none{}).Reply(true)
	equal(t, second.Pause.Reason, "Second?")
	equal(t, second.Reply(true).Text(), "both")
}

func TestS03NothingButTrueIsAYes(t *testing.T) {
	remove := asking(func(call *Call) (string, error) { return "removed", call.AskApproval("Remove it") })
	for _, value := range []any{false, nil, map[string]any{}, "true", 1, []int{}} {
		ended := Test(remove, none{}).Reply(value)
		if ended.Failure == nil || ended.Failure.Kind != InvalidInput {
			t.Fatalf("%v: %+v", value, ended)
		}
	}
}

func TestS10AnAnswerHoldsForItsOwnQuestionOnly(t *testing.T) {
	options := []string{"a", "b"}
	choose := asking(func(call *Call) (string, error) { return call.AskChoice("key", "Which?", Choices(options...)) })
	first := Test(choose, none{})
	equal(t, first.Reply("a").Text(), "a")
	equal(t, first.Reply("z").Failure.Message, "the answer to `key` does not fit: \"z\" is not among the choices")
	options = append(options, "c")
	equal(t, len(first.Reply("a").Pause.Ask.choices), 3)
}

func TestEachKindOfQuestionHasItsAnswer(t *testing.T) {
	type address struct {
		Street string `json:"street"`
		City   string `json:"city" default:"here"`
	}
	text := asking(func(call *Call) (string, error) { return call.AskText("k", "?") })
	equal(t, Test(text, none{}).Reply("words").Text(), "words")
	form := asking(func(call *Call) (address, error) { return AskForm[address](call, "k", "?") })
	equal(t, Test(form, none{}).Reply(map[string]string{"street": "S"}).JSON(), `{"street":"S","city":"here"}`)
	equal(t, Test(form, none{}).Reply(map[string]string{}).Failure.Message, "the answer to `k` does not fit: `street` is missing")
	other := asking(func(call *Call) (string, error) {
		var stars int
		err := call.AskOther("k", "?", "mine:stars", `{"type": "integer"}`, &stars)
		return fmt.Sprint(stars), err
	})
	equal(t, Test(other, none{}).Reply(5).Text(), "5")
}

func TestSchemasAreComparedAsValues(t *testing.T) {
	equal(t, same(Other("k", `{"a": 1, "b": 2}`), Other("k", `{"b":2,"a":1}`)), true)
	equal(t, same(Other("k", `{"a": 1}`), Other("k", `{"a": 2}`)), false)
	equal(t, same(Other("k", `{}`), Other("l", `{}`)), false)
}

func TestStateGoesAlongWithTheQuestionAndHasALimit(t *testing.T) {
	trip := asking(func(call *Call) (string, error) {
		asked := 0
		if _, err := call.State(&asked); err != nil {
			return "", err
		}
		if err := call.Save(asked + 1); err != nil {
			return "", err
		}
		return call.AskText(fmt.Sprintf("q%d", asked), "What?")
	})
	equal(t, Test(trip, none{}).Reply("x").State(), "2")
	hoard := func(size int) *Failure {
		return Test(asking(func(call *Call) (Nothing, error) { return Nothing{}, call.Save(strings.Repeat("x", size)) }), none{}).Failure
	}
	if hoard(StateBytesMax-2) != nil {
		t.Fatal("what fits is kept")
	}
	equal(t, hoard(StateBytesMax-1).Kind, TooLarge)
}

func TestTheKeyOfAnApprovalIsTheSameInEveryLanguage(t *testing.T) {
	equal(t, approvalKey("x"), "approval-af63f54c86021707")
}

func TestEveryErrorAndPanicIsAFailure(t *testing.T) {
	for _, each := range []struct {
		err     error
		kind    Kind
		message string
	}{
		{errors.New("x"), Failed, "x"},
		{fmt.Errorf("reading: %w", fs.ErrNotExist), NotFound, "reading: file does not exist"},
		{fs.ErrPermission, Denied, "permission denied"},
		{fs.ErrExist, Conflict, "file already exists"},
		{os.ErrDeadlineExceeded, Timeout, "i/o timeout"},
		{fmt.Errorf("asking: %w", Fail(RateLimited, "too many")), RateLimited, "asking: too many"},
		{&Failure{Kind: "made-up", Message: "x"}, Failed, "x"},
	} {
		failure := Test(asking(func(*Call) (string, error) { return "", each.err }), none{}).Failure
		equal(t, failure.Kind, each.kind)
		equal(t, failure.Message, each.message)
		equal(t, failure.Effect, NoEffect)
	}
	boom := asking(func(*Call) (string, error) { panic(errors.New("boom")) })
	equal(t, Test(boom, none{}).Failure.Message, "panic: boom")
	slow := asking(func(*Call) (string, error) {
		return "", fmt.Errorf("x: %w", &Failure{Kind: Timeout, Message: "y", RetryAfter: time.Second, Effect: MaybeEffect})
	})
	equal(t, *Test(slow, none{}).Failure, Failure{Timeout, "x: y", time.Second, MaybeEffect})
}

func TestTextValuesAndPieces(t *testing.T) {
	equal(t, len(Test(asking(func(*Call) (Nothing, error) { return Nothing{}, nil }), none{}).Content), 0)
	equal(t, Test(asking(func(*Call) ([]int, error) { return []int{1}, nil }), none{}).JSON(), "[1]")
	many := asking(func(*Call) ([]Content, error) { return []Content{Text("a"), Blob("a/b", nil)}, nil })
	equal(t, len(Test(many, none{}).Content), 2)
	unwritable := asking(func(*Call) (float64, error) { return math.NaN(), nil })
	equal(t, Test(unwritable, none{}).Failure.Kind, Failed)
	equal(t, Test(asking(func(*Call) ([]byte, error) { return []byte("x"), nil }), none{}).Failure.Kind, Failed)
}

func TestACallKnowsItself(t *testing.T) {
	about := asking(func(call *Call) (string, error) {
		return fmt.Sprintln(call.Tool(), call.Attempt(), call.Approved(), call.TimeLeft(), call.ID(), call.IdempotencyKey()), nil
	})
	equal(t, Test(about, none{}).Text(), "t 1 false 30s tc_test key_test\n")
}

func TestS19ArgumentsThatDoNotFitNameThePlace(t *testing.T) {
	type inner struct {
		C string `json:"c"`
	}
	type args struct {
		A int     `json:"a"`
		B []inner `json:"b"`
		D *string `json:"d"`
		E string  `json:"e" enum:"x,y" default:"x"`
	}
	add := NewTool("add", "Adds.", ReadOnly, func(_ *Call, args args) (string, error) { return args.E, nil })
	for text, message := range map[string]string{
		`{}`:                               "`a` is missing",
		`{"a":"notint","b":[]}`:            "`a`: expected int, got string",
		`{"a":1.5,"b":[]}`:                 "`a`: expected int, got number 1.5",
		`{"a":null,"b":[]}`:                "`a`: expected int, got null",
		`{"a":1,"b":[{}]}`:                 "`b[0].c` is missing",
		`{"a":1,"b":[],"f":1}`:             "`f` is not known",
		`{"a":1,"b":[],"e":"z"}`:           "`e`: expected one of x,y, got \"z\"",
		`[]`:                               "`.`: expected an object, got []",
		`{"a":9223372036854775808,"b":[]}`: "`a`: expected int, got number 9223372036854775808",
	} {
		outcome := attempt(given{tool: "add", arguments: text}, []*Tool{add})
		if outcome.failed == nil || outcome.failed.Message != message || outcome.failed.Kind != InvalidInput {
			t.Errorf("%s: %+v, want %s", text, outcome.failed, message)
		}
	}
	equal(t, Test(add, map[string]any{"a": 1, "b": []any{}, "d": nil}).Text(), "x")
}

func TestSchemas(t *testing.T) {
	type tree struct {
		Children []tree `json:"children"`
	}
	type args struct {
		Path  string             `json:"path" desc:"Where."`
		Count *int               `json:"count"`
		Tags  []string           `json:"tags,omitempty" schema:"{\"maxItems\": 3}"`
		Mode  string             `json:"mode" enum:"a,b" default:"a"`
		Map   map[string]float64 `json:"map"`
		At    time.Time          `json:"at"`
		Any   any                `json:"any"`
		Skip  string             `json:"-"`
	}
	made := NewTool("x", "x", ReadOnly, func(*Call, args) (string, error) { return "", nil })
	equal(t, made.inputSchema, `{"additionalProperties":false,"properties":{"any":{},"at":{"format":"date-time","type":"string"},`+
		`"count":{"type":["integer","null"]},"map":{"additionalProperties":{"type":"number"},"type":"object"},`+
		`"mode":{"default":"a","enum":["a","b"],"type":"string"},"path":{"description":"Where.","type":"string"},`+
		`"tags":{"items":{"type":"string"},"maxItems":3,"type":"array"}},"required":["path","map","at","any"],"type":"object"}`)
	equal(t, asking(func(*Call) (struct{ A int }, error) { return struct{ A int }{}, nil }).outputSchema != "", true)
	equal(t, asking(func(*Call) (string, error) { return "", nil }).outputSchema, "")
	if NewTool("x", "x", ReadOnly, func(*Call, tree) (string, error) { return "", nil }).wrong == nil {
		t.Error("a struct that holds itself has no schema")
	}
}

func TestW44W45S18WhatNoModelTakesIsSaidAtLoad(t *testing.T) {
	run := func(*Call, none) (string, error) { return "", nil }
	for _, name := range []string{"a.b", "ns:pkg/i.f", "ä", "", strings.Repeat("x", 65)} {
		if check([]*Tool{NewTool(name, "x", Once, run)}) == nil {
			t.Errorf("%q is taken", name)
		}
	}
	same := NewTool("same", "x", Once, run)
	equal(t, check([]*Tool{same}), nil)
	equal(t, check([]*Tool{same, same}).Error(), "two tools are named `same`")
	equal(t, check([]*Tool{NewTool("y", "", Once, run)}).Error(), "tool `y`: a description says what it does, for the model")
	if check(nil) == nil || check([]*Tool{NewTool("z", "x", Once, func(*Call, int) (string, error) { return "", nil })}) == nil {
		t.Error("no tools, and arguments that are no struct, are refused")
	}
}

func TestAnUnknownToolIsNotFound(t *testing.T) {
	equal(t, attempt(given{tool: "nothing", arguments: "{}"}, nil).failed.Kind, NotFound)
}

func TestLinesGoToStandardErrorInTests(t *testing.T) {
	Log(Warn, "careful: %d", 1)
	Progress(1, 0, "half")
	WantFS("/build", "write", "removes files")
	equal(t, wants[len(wants)-1].scope, `{"access":"write","mount":"/build"}`)
}
