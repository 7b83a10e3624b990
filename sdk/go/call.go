package pausegate

import (
	"encoding/json"
	"fmt"
	"time"
)

// StateBytesMax is the most that a pause may save (wit/plugin.wit, pause.state).
const StateBytesMax = 64 * 1024

// Answer is a person's answer to a question of this call.
type Answer struct {
	Key string
	// Value is JSON.
	Value   string
	Note    string
	Context string
	asked   Ask
}

// given is one attempt, as the host gives it.
type given struct {
	id, tool, arguments, idempotencyKey string
	attempt, timeLeftMs                 uint32
	approved                            bool
	answers                             []Answer
	state                               []byte
}

// Call is the call that a tool works on.
//
// Each attempt starts anew, so put questions before effects. After a person answered, the tool runs again and the same
// question returns the answer.
type Call struct {
	given   given
	raised  *Pause
	state   []byte
	context string
}

func newCall(given given) *Call { return &Call{given: given, state: given.state} }

// ID is the host's id of this call, the same over its attempts.
func (call *Call) ID() string { return call.given.id }

// Tool is the tool's name.
func (call *Call) Tool() string { return call.given.tool }

// Arguments reads the arguments, as they were checked and shown, into a struct.
func (call *Call) Arguments(args any) error { return readInto(call.given.arguments, args) }

// Attempt is 1 for the first attempt.
func (call *Call) Attempt() int { return int(call.given.attempt) }

// IdempotencyKey is the same over attempts of unchanged arguments: hand it to services that refuse doubles by it.
func (call *Call) IdempotencyKey() string { return call.given.idempotencyKey }

// TimeLeft is how long this attempt may take, counted from its start.
func (call *Call) TimeLeft() time.Duration {
	return time.Duration(call.given.timeLeftMs) * time.Millisecond
}

// Approved says whether a person approved exactly these arguments.
func (call *Call) Approved() bool { return call.given.approved }

// Answer is the newest answer under key, or nil.
func (call *Call) Answer(key string) *Answer {
	for at := len(call.given.answers) - 1; at >= 0; at-- {
		if call.given.answers[at].Key == key {
			return &call.given.answers[at]
		}
	}
	return nil
}

// Context shows a JSON value beside the reason of the questions that follow: a diff, a list of files, a price.
func (call *Call) Context(value any) *Call {
	written, err := json.Marshal(value)
	if err != nil {
		written, _ = json.Marshal(fmt.Sprintf("a context that cannot be shown: %s", err))
	}
	call.context = string(written)
	return call
}

// Ask reads the newest answer under key into answer, if it answers this question; else the error is the question.
func (call *Call) Ask(key, reason string, ask Ask, answer any) error {
	if call.raised != nil {
		return call.raised
	}
	found := call.Answer(key)
	if found == nil || !same(found.asked, ask) {
		call.raised = &Pause{Key: key, Reason: reason, Ask: ask, Context: call.context}
		return call.raised
	}
	if err := readInto(found.Value, answer); err != nil {
		return Fail(InvalidInput, "the answer to `%s` does not fit: %s", key, err)
	}
	return nil
}

// AskApproval goes on if a person approved this call, by a rule of the operator or by answering this; else it asks.
func (call *Call) AskApproval(reason string) error {
	if call.approvedByRule() && call.raised == nil {
		return nil
	}
	key, yes := approvalKey(reason), false
	if err := call.Ask(key, reason, Approval(), &yes); err != nil {
		return err
	}
	if !yes {
		return Fail(InvalidInput, "the answer to `%s` does not fit: only `true` approves", key)
	}
	return nil
}

// An answer to another question approved the call too, but a yes to one thing is none to another.
func (call *Call) approvedByRule() bool {
	for _, answer := range call.given.answers {
		if answer.asked.kind == askApproval {
			return false
		}
	}
	return call.given.approved
}

// AskChoice asks for one of some values.
func (call *Call) AskChoice(key, reason string, choices []Choice) (string, error) {
	var value string
	if err := call.Ask(key, reason, OneOf(choices), &value); err != nil {
		return "", err
	}
	for _, choice := range choices {
		if choice.Value == value {
			return value, nil
		}
	}
	return "", Fail(InvalidInput, "the answer to `%s` does not fit: %q is not among the choices", key, value)
}

// AskText asks for free text.
func (call *Call) AskText(key, reason string) (string, error) {
	var text string
	err := call.Ask(key, reason, FreeText(), &text)
	return text, err
}

// AskForm asks for an A by a form.
func AskForm[A any](call *Call, key, reason string) (A, error) {
	var answer A
	form, err := Form[A]()
	if err == nil {
		err = call.Ask(key, reason, form, &answer)
	}
	return answer, err
}

// AskOther asks a question of another, namespaced kind; answer is read from its JSON.
func (call *Call) AskOther(key, reason, kind, schema string, answer any) error {
	return call.Ask(key, reason, Other(kind, schema), answer)
}

// Save keeps a JSON value for the attempt after the next question. It stays until it is saved anew.
func (call *Call) Save(state any) error {
	written, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("the state cannot be saved: %w", err)
	}
	if len(written) > StateBytesMax {
		return Fail(TooLarge, "the state to save is %d bytes, at most %d are kept", len(written), StateBytesMax)
	}
	call.state = written
	return nil
}

// State reads what was saved last into state, and says whether there was anything.
func (call *Call) State(state any) (bool, error) {
	if call.state == nil {
		return false, nil
	}
	return true, json.Unmarshal(call.state, state)
}
