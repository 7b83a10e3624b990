package pausegate

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
)

// Choice is one of the answers to choose from; the person sees the label, or the value where it is empty.
type Choice struct {
	Value string
	Label string
}

// Choices are values without labels.
func Choices(values ...string) []Choice {
	choices := make([]Choice, len(values))
	for at, value := range values {
		choices[at].Value = value
	}
	return choices
}

type askKind int

const (
	askApproval askKind = iota
	askChoice
	askText
	askForm
	askOther
)

// Ask is what a person is asked for.
type Ask struct {
	kind    askKind
	choices []Choice
	name    string
	schema  string
}

// Approval asks for a yes: only a yes comes back, since a no ends the call.
func Approval() Ask { return Ask{kind: askApproval} }

// OneOf asks for one of some values.
func OneOf(choices []Choice) Ask { return Ask{kind: askChoice, choices: slices.Clone(choices)} }

// FreeText asks for text.
func FreeText() Ask { return Ask{kind: askText} }

// Form asks for an A.
func Form[A any]() (Ask, error) {
	schema, err := schemaOf(reflect.TypeFor[A]())
	if err != nil {
		return Ask{}, err
	}
	written, err := json.Marshal(schema)
	return Ask{kind: askForm, schema: string(written)}, err
}

// Other asks a question of another, namespaced kind; schema is the JSON Schema of its answer.
func Other(kind string, schema string) Ask { return Ask{kind: askOther, name: kind, schema: schema} }

// same says whether an answer to asked is an answer to asking. Schemas are compared as values: the host may have
// written them anew.
func same(asked, asking Ask) bool {
	return asked.kind == asking.kind && slices.Equal(asked.choices, asking.choices) && asked.name == asking.name &&
		sameJSON(asked.schema, asking.schema)
}

func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var left, right any
	return json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && reflect.DeepEqual(left, right)
}

// Pause is the error that a question is until it is answered: return it.
type Pause struct {
	Key    string
	Reason string
	Ask    Ask
	// Context is JSON to show beside the reason; empty for none.
	Context string
	state   []byte
}

func (pause *Pause) Error() string { return fmt.Sprintf("a person is asked: %s", pause.Reason) }

// approvalKey holds the reason, so that a yes to one thing is none to another. The same in every language.
func approvalKey(reason string) string {
	hash := fnv.New64a()
	hash.Write([]byte(reason))
	return fmt.Sprintf("approval-%016x", hash.Sum64())
}
