package pausegate

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"runtime/debug"
)

// Effects is what running a tool twice would do. The host holds the plugin to its word.
type Effects int

const (
	// Once must not run twice.
	Once Effects = iota
	// Idempotent ends in the same state as once.
	Idempotent
	// ReadOnly changes nothing outside.
	ReadOnly
)

// Tool is a tool that the plugin offers.
type Tool struct {
	Name, Title, Description  string
	Effects                   Effects
	inputSchema, outputSchema string
	run                       func(*Call) ([]Content, error)
	wrong                     error
}

var (
	tools []*Tool
	wants []want
	named = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// NewTool makes a tool and offers it. A is a struct of the arguments; R is string, Content, []Content, Nothing, or what
// becomes a value for programs.
func NewTool[A, R any](name, description string, effects Effects, run func(*Call, A) (R, error)) *Tool {
	tool := &Tool{Name: name, Description: description, Effects: effects}
	tool.wrong = tool.describe(reflect.TypeFor[A](), reflect.TypeFor[R]())
	tool.run = func(call *Call) ([]Content, error) {
		var args A
		if err := readInto(call.given.arguments, &args); err != nil {
			return nil, Fail(InvalidInput, "%s", err)
		}
		returned, err := run(call, args)
		if err != nil {
			return nil, err
		}
		return pieces(returned)
	}
	tools = append(tools, tool)
	return tool
}

// Titled gives a tool a short name for people.
func (tool *Tool) Titled(title string) *Tool {
	tool.Title = title
	return tool
}

func (tool *Tool) describe(args, returned reflect.Type) error {
	if !named.MatchString(tool.Name) {
		return errors.New("a name has 1 to 64 of `a-zA-Z0-9_-`")
	}
	if tool.Description == "" {
		return errors.New("a description says what it does, for the model")
	}
	if args.Kind() != reflect.Struct {
		return fmt.Errorf("the arguments are a struct, not %s", args)
	}
	input, err := schemaOf(args)
	if err != nil {
		return err
	}
	written, err := json.Marshal(input)
	if err != nil {
		return err
	}
	tool.inputSchema = string(written)
	return tool.describeResult(returned)
}

func (tool *Tool) describeResult(returned reflect.Type) error {
	if returned.Kind() != reflect.Struct || returned == nothingType || returned == reflect.TypeFor[Content]() {
		return nil
	}
	output, err := schemaOf(returned)
	if err != nil {
		return err
	}
	written, err := json.Marshal(output)
	tool.outputSchema = string(written)
	return err
}

// check says what is wrong with the plugin, at load.
func check(tools []*Tool) error {
	if len(tools) == 0 {
		return errors.New("the plugin has no tools: make one with NewTool")
	}
	seen := map[string]bool{}
	for _, tool := range tools {
		if tool.wrong != nil {
			return fmt.Errorf("tool `%s`: %w", tool.Name, tool.wrong)
		}
		if seen[tool.Name] {
			return fmt.Errorf("two tools are named `%s`", tool.Name)
		}
		seen[tool.Name] = true
	}
	return nil
}

type outcome struct {
	done   []Content
	failed *Failure
	pause  *Pause
}

// attempt runs one attempt, from JSON arguments to outcome. Neither an error nor a panic leaves it.
func attempt(given given, tools []*Tool) outcome {
	call := newCall(given)
	done, err := run(call, tools)
	if call.raised != nil {
		pause := *call.raised
		pause.state = call.state
		return outcome{pause: &pause}
	}
	var pause *Pause
	if errors.As(err, &pause) && pause != nil {
		made := *pause
		made.state = call.state
		return outcome{pause: &made}
	}
	if err != nil {
		return outcome{failed: failureOf(err)}
	}
	return outcome{done: done}
}

func run(call *Call, tools []*Tool) (done []Content, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
			Log(Debug, "%s\n%s", err, debug.Stack())
		}
	}()
	for _, tool := range tools {
		if tool.Name == call.given.tool {
			return tool.run(call)
		}
	}
	return nil, Fail(NotFound, "no tool named `%s`", call.given.tool)
}
