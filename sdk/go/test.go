package pausegate

import (
	"encoding/json"
	"fmt"
)

// Ended is how an attempt of a test ended.
type Ended struct {
	// Pause, Failure and Content are nil where the attempt did not end so.
	Pause   *Pause
	Failure *Failure
	Content []Content
	tool    *Tool
	given   given
}

// Test runs a first attempt of a tool without a host, from arguments, which become JSON, to outcome.
//
//	first := pausegate.Test(remove, Remove{Path: "/build/a.tmp"})
//	first.Pause.Reason           // Remove /build/a.tmp
//	first.Reply(true).Text()     // removed /build/a.tmp
func Test(tool *Tool, args any) *Ended {
	written, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("the arguments of a test are JSON: %s", err))
	}
	return ended(tool, given{id: "tc_test", tool: tool.Name, arguments: string(written), idempotencyKey: "key_test", attempt: 1, timeLeftMs: 30_000})
}

func ended(tool *Tool, given given) *Ended {
	outcome := attempt(given, []*Tool{tool})
	return &Ended{outcome.pause, outcome.failed, outcome.done, tool, given}
}

// Reply is the next attempt, after a person answered, with the state that was saved.
func (ended *Ended) Reply(value any) *Ended {
	if ended.Pause == nil {
		panic("the attempt did not end with a question")
	}
	written, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("an answer is JSON: %s", err))
	}
	pause, given := ended.Pause, ended.given
	given.answers = append(given.answers[:len(given.answers):len(given.answers)], Answer{Key: pause.Key, Value: string(written), Context: pause.Context, asked: pause.Ask})
	given.state = pause.state
	// As the host has it: a yes to a question of the call approves its arguments.
	given.approved = given.approved || (pause.Ask.kind == askApproval && string(written) == "true")
	return ended.again(given)
}

// Approved is the next attempt, after a person approved the call as a whole.
func (ended *Ended) Approved() *Ended {
	given := ended.given
	given.approved = true
	if ended.Pause != nil {
		given.state = ended.Pause.state
	}
	return ended.again(given)
}

func (old *Ended) again(given given) *Ended {
	given.attempt++
	return ended(old.tool, given)
}

// Text is the text of the result.
func (ended *Ended) Text() string {
	text := ""
	for _, content := range ended.Content {
		if content.kind == textContent {
			text += content.text
		}
	}
	return text
}

// JSON is the value for programs, or "".
func (ended *Ended) JSON() string {
	for _, content := range ended.Content {
		if content.kind == jsonContent {
			return content.text
		}
	}
	return ""
}

// State is what was saved for the attempt after the question.
func (ended *Ended) State() string {
	if ended.Pause == nil {
		return ""
	}
	return string(ended.Pause.state)
}
