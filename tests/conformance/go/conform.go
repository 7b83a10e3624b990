// Command conform is the conformance plugin in Go; cases.json says what each tool must do.
package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strconv"
	"strings"
	"time"

	pausegate "pausegate.example/sdk"
	"pausegate.example/sdk/config"
	"pausegate.example/sdk/kv"
	"pausegate.example/sdk/reconcile"
	"pausegate.example/sdk/web"
)

func main() {}

var counted int

type (
	none     struct{}
	textArgs struct {
		Text string `json:"text" desc:"Any text."`
	}
	reasonArgs struct {
		Reason string `json:"reason"`
	}
	pathArgs struct {
		Path string `json:"path"`
	}
	bytesArgs struct {
		Bytes int `json:"bytes" schema:"{\"minimum\": 0}"`
	}
	point struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}
	nested struct {
		Name  string   `json:"name" desc:"What it is called."`
		Tags  []string `json:"tags"`
		Point *point   `json:"point"`
	}
	types struct {
		String    string             `json:"string"`
		Integer   int64              `json:"integer"`
		Number    float64            `json:"number"`
		Boolean   bool               `json:"boolean"`
		List      []int64            `json:"list"`
		Map       map[string]float64 `json:"map"`
		Nested    nested             `json:"nested" desc:"A thing with parts."`
		Colour    string             `json:"colour" enum:"red,green,blue"`
		Optional  *string            `json:"optional"`
		Defaulted int                `json:"defaulted" default:"7"`
	}
	value struct {
		Value any `json:"value"`
	}
	failArgs struct {
		Kind         string `json:"kind"`
		Message      string `json:"message"`
		RetryAfterMs *int64 `json:"retry_after_ms"`
		Effect       string `json:"effect" enum:"none,maybe,happened" default:"none"`
	}
	address struct {
		Street string  `json:"street" desc:"Street and number."`
		City   string  `json:"city"`
		Remark *string `json:"remark"`
	}
	plan struct {
		Place  string `json:"place,omitempty"`
		Wishes string `json:"wishes,omitempty"`
		Asked  int    `json:"asked,omitempty"`
	}
	page struct {
		Status int    `json:"status"`
		Body   string `json:"body"`
	}
	about struct {
		Tool     string `json:"tool"`
		Attempt  int    `json:"attempt"`
		Approved bool   `json:"approved"`
		HasID    bool   `json:"has_id"`
		HasKey   bool   `json:"has_key"`
		HasTime  bool   `json:"has_time"`
	}
)

// reading makes a tool that changes nothing.
func reading[A, R any](name, description string, run func(*pausegate.Call, A) (R, error)) {
	pausegate.NewTool(name, description, pausegate.ReadOnly, run)
}

func init() {
	pausegate.WantFS("/data", "write", "reads and writes test files")

	reading("echo", "Hands its text back.", func(_ *pausegate.Call, args textArgs) (string, error) { return args.Text, nil })
	reading("types", "Hands its arguments back as it read them.", func(_ *pausegate.Call, args types) (types, error) { return args, nil })
	reading("any", "Hands any JSON value back.", func(_ *pausegate.Call, args value) (value, error) { return args, nil })
	reading("fail", "Fails as told.", func(_ *pausegate.Call, args failArgs) (string, error) {
		failure := pausegate.Fail(pausegate.Kind(args.Kind), "%s", args.Message)
		failure.Effect = pausegate.Effect(args.Effect)
		if args.RetryAfterMs != nil {
			failure.RetryAfter = time.Duration(*args.RetryAfterMs) * time.Millisecond
		}
		return "", failure
	})
	reading("crash", "Runs into an error that nobody handles.", func(_ *pausegate.Call, _ none) (string, error) {
		var nothing *plan
		return nothing.Place, nil
	})
	reading("approve", "Asks for a yes.", func(call *pausegate.Call, args reasonArgs) (string, error) {
		return "approved: " + args.Reason, call.AskApproval(args.Reason)
	})
	reading("approve_both", "Asks for two yeses.", func(call *pausegate.Call, args struct {
		First  string `json:"first"`
		Second string `json:"second"`
	}) (string, error) {
		if err := call.AskApproval(args.First); err != nil {
			return "", err
		}
		return fmt.Sprintf("approved: %s, %s", args.First, args.Second), call.AskApproval(args.Second)
	})
	reading("choose", "Asks for one of several answers.", func(call *pausegate.Call, args struct {
		Options []string `json:"options"`
	}) (string, error) {
		return call.AskChoice("choice", "Which one?", pausegate.Choices(args.Options...))
	})
	reading("paint", "Asks for a colour by its label.", func(call *pausegate.Call, _ none) (string, error) {
		return call.AskChoice("colour", "Which colour?", []pausegate.Choice{{Value: "r", Label: "a warm red"}, {Value: "g", Label: "a green"}})
	})
	reading("text", "Asks for free text.", func(call *pausegate.Call, args reasonArgs) (string, error) { return call.AskText("text", args.Reason) })
	reading("form", "Asks for an address by a form.", func(call *pausegate.Call, args struct {
		Parcel string `json:"parcel"`
	}) (address, error) {
		return pausegate.AskForm[address](call.Context(args), "address", fmt.Sprintf("Where does %s go?", args.Parcel))
	})
	reading("rate", "Asks a question of a kind of its own.", func(call *pausegate.Call, args struct {
		Subject string `json:"subject"`
	}) (string, error) {
		var stars int
		err := call.AskOther("stars", "Rate "+args.Subject, "conform:stars", `{"type": "integer", "minimum": 1, "maximum": 5}`, &stars)
		return fmt.Sprintf("%s: %d of 5", args.Subject, stars), err
	})
	reading("trip", "Asks three questions, and keeps what it learned in saved state.", trip)
	reading("swallow", "Asks, and drops its own question.", func(call *pausegate.Call, _ none) (string, error) {
		_ = call.AskApproval("Is that fine?")
		return "nobody was asked", nil
	})
	reading("save_much", "Saves a long text, then asks.", func(call *pausegate.Call, args bytesArgs) (string, error) {
		if err := call.Save(strings.Repeat("x", args.Bytes)); err != nil {
			return "", err
		}
		return call.AskText("text", "What now?")
	})
	reading("say", "Writes a line at each level.", func(_ *pausegate.Call, args textArgs) (string, error) {
		for level := pausegate.Trace; level <= pausegate.Error; level++ {
			pausegate.Log(level, "%s", args.Text)
		}
		fmt.Println(args.Text)
		return "said", nil
	})
	reading("count", "Reports its progress.", func(_ *pausegate.Call, args struct {
		To int `json:"to"`
	}) (string, error) {
		for done := 0; done <= args.To; done++ {
			pausegate.Progress(float64(done), float64(args.To), "counting")
		}
		return strconv.Itoa(args.To), nil
	})
	reading("read", "Reads a file.", func(_ *pausegate.Call, args pathArgs) (string, error) {
		text, err := os.ReadFile(args.Path)
		return string(text), err
	})
	pausegate.NewTool("write", "Writes a file.", pausegate.Once, func(_ *pausegate.Call, args struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}) (string, error) {
		return "written", os.WriteFile(args.Path, []byte(args.Text), 0o644)
	})
	reading("list", "Lists a folder.", func(_ *pausegate.Call, args pathArgs) (string, error) {
		entries, err := os.ReadDir(args.Path)
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.Name())
		}
		return strings.Join(names, "\n"), err
	})
	reading("get", "Makes a GET request.", func(_ *pausegate.Call, args struct {
		URL string `json:"url"`
	}) (page, error) {
		response, err := web.Get(args.URL)
		if err != nil {
			return page{}, err
		}
		return page{response.Status, string(response.Body)}, nil
	})
	reading("env", "Looks up a variable of the environment.", func(_ *pausegate.Call, args struct {
		Name string `json:"name"`
	}) (string, error) {
		value, ok := os.LookupEnv(args.Name)
		if !ok {
			return "", pausegate.Fail(pausegate.NotFound, "no variable `%s`", args.Name)
		}
		return value, nil
	})
	reading("now", "Tells the time.", func(_ *pausegate.Call, _ none) (map[string]int64, error) {
		return map[string]int64{"ms": time.Now().UnixMilli()}, nil
	})
	reading("random", "Rolls a number below 2^48.", func(_ *pausegate.Call, _ none) (map[string]json.Number, error) {
		number, err := rand.Int(rand.Reader, big.NewInt(1<<48))
		if err != nil {
			return nil, err
		}
		return map[string]json.Number{"value": json.Number(number.String())}, nil
	})
	reading("big", "Makes a long text.", func(_ *pausegate.Call, args bytesArgs) (string, error) { return strings.Repeat("x", args.Bytes), nil })
	reading("length", "Counts the bytes of its text as UTF-8.", func(_ *pausegate.Call, args textArgs) (map[string]int, error) {
		return map[string]int{"bytes": len(args.Text)}, nil
	})
	reading("broken", "Hands back text that is not Unicode.", func(_ *pausegate.Call, _ none) (string, error) { return "a\xffb", nil })
	reading("pieces", "Hands back text, a value and bytes.", func(_ *pausegate.Call, _ none) ([]pausegate.Content, error) {
		two, err := pausegate.JSON(map[string]int{"two": 2})
		return []pausegate.Content{pausegate.Text("one"), two, pausegate.Blob("image/png", []byte("\x89PNG"))}, err
	})
	reading("nothing", "Hands nothing back.", func(_ *pausegate.Call, _ none) (pausegate.Nothing, error) { return pausegate.Nothing{}, nil })
	reading("about", "Tells what it knows of its call.", func(call *pausegate.Call, _ none) (about, error) {
		return about{call.Tool(), call.Attempt(), call.Approved(), call.ID() != "", call.IdempotencyKey() != "", call.TimeLeft() > 0}, nil
	})
	reading("counter", "Counts its calls in memory, which does not last.", func(_ *pausegate.Call, _ none) (string, error) {
		counted++
		return strconv.Itoa(counted), nil
	})
}

func trip(call *pausegate.Call, args struct {
	Places []string `json:"places"`
}) (plan, error) {
	var made plan
	if _, err := call.State(&made); err != nil {
		return made, err
	}
	var err error
	if made.Place == "" {
		if made.Place, err = call.AskChoice("place", "Where to?", pausegate.Choices(args.Places...)); err != nil {
			return made, err
		}
		if err = call.Save(made); err != nil {
			return made, err
		}
	}
	if made.Wishes == "" {
		if made.Wishes, err = call.AskText("wishes", "What do you want to see there?"); err != nil {
			return made, err
		}
		if err = call.Save(made); err != nil {
			return made, err
		}
	}
	if err = call.Context(made).AskApproval("Is that the plan?"); err != nil {
		return made, err
	}
	made.Asked = 3
	return made, nil
}

type (
	keyArgs struct {
		Key string `json:"key"`
	}
	keepArgs struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	}
	writeArgs struct {
		Path string `json:"path"`
		Text string `json:"text"`
	}
)

func init() {
	pausegate.NewTool("keep", "Keeps a text under a key.", pausegate.Once, func(_ *pausegate.Call, args keepArgs) (string, error) {
		return "kept", kv.Set(args.Key, []byte(args.Value))
	})
	reading("kept", "Tells what is kept under a key.", func(_ *pausegate.Call, args keyArgs) (string, error) {
		found, err := kv.Exists(args.Key)
		if err != nil || !found {
			return fmt.Sprintf("nothing under `%s`", args.Key), err
		}
		value, _, err := kv.Get(args.Key)
		return string(value), err
	})
	pausegate.NewTool("forget", "Takes a key away.", pausegate.Once, func(_ *pausegate.Call, args keyArgs) (string, error) {
		return "forgotten", kv.Delete(args.Key)
	})
	reading("keys", "Lists the keys that are kept.", func(_ *pausegate.Call, _ none) (string, error) {
		keys, err := kv.Keys()
		return strings.Join(keys, "\n"), err
	})
	reading("setting", "Tells a setting of the operator's.", func(_ *pausegate.Call, args struct {
		Name string `json:"name"`
	}) (string, error) {
		all, err := config.All()
		if err != nil {
			return "", err
		}
		value, found, err := config.Get(args.Name)
		if !found {
			return fmt.Sprintf("none of %d", len(all)), err
		}
		return fmt.Sprintf("%s, of %d", value, len(all)), err
	})
	reconcile.With(found)
}

// A write is there or it is not; a file that says so was refused.
func found(call *pausegate.Call) (pausegate.Verdict, error) {
	var args writeArgs
	if err := call.Arguments(&args); err != nil {
		return pausegate.Unknown, err
	}
	held, err := os.ReadFile(args.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return pausegate.NotHappened, nil
	case err == nil && string(held) == args.Text:
		return pausegate.TookEffect("written", nil), nil
	case string(held) == "refused":
		return pausegate.TookEffect(nil, pausegate.Fail(pausegate.Conflict, "it was refused")), nil
	}
	return pausegate.Unknown, err
}
