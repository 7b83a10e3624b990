package pausegate

import (
	"fmt"
	"strings"
	"time"

	_ "pausegate.example/sdk/internal/bindings"
	export_reconcile "pausegate.example/sdk/internal/bindings/export_pausegate_plugin_reconcile"
	export "pausegate.example/sdk/internal/bindings/export_pausegate_plugin_tools"
	host_log "pausegate.example/sdk/internal/bindings/pausegate_plugin_log"
	host_progress "pausegate.example/sdk/internal/bindings/pausegate_plugin_progress"
	reconcile "pausegate.example/sdk/internal/bindings/pausegate_plugin_reconcile"
	types "pausegate.example/sdk/internal/bindings/pausegate_plugin_types"
	"pausegate.example/sdk/internal/finder"
	wit "pausegate.example/sdk/internal/wit/types"
)

func init() {
	export.List = catalog
	export.Call = answerCall
	export_reconcile.Ask = answerReconcile
}

func hostLog(level Level, message string) { host_log.Write(uint8(level), valid(message)) }

// valid is text that is UTF-8: nothing else crosses to the host.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func hostProgress(done, total float64, message string) {
	known := wit.None[float64]()
	if total > 0 {
		known = wit.Some(total)
	}
	host_progress.Report(done, known, valid(message))
}

func catalog() (types.Catalog, error) {
	if err := check(tools); err != nil {
		return types.Catalog{}, err
	}
	effects := map[Effects]types.Effects{Once: types.Effects_Once, Idempotent: types.Effects_Idempotent, ReadOnly: types.Effects_ReadOnly}
	made := types.Catalog{}
	for _, tool := range tools {
		made.Tools = append(made.Tools, types.Tool{
			Name:         tool.Name,
			Title:        optional(tool.Title),
			Description:  tool.Description,
			InputSchema:  tool.inputSchema,
			OutputSchema: optional(tool.outputSchema),
			Effects:      effects[tool.Effects],
		})
	}
	for _, want := range wants {
		made.Wants = append(made.Wants, types.Want{Capability: want.capability, Scope: want.scope, Why: want.why})
	}
	return made, nil
}

func answerCall(call types.Call) (made types.Outcome) {
	// A panic that got here would be a trap.
	defer func() {
		if panicked := recover(); panicked != nil {
			failure := Failure{Kind: Failed, Message: fmt.Sprintf("the plugin could not word its result: %v", panicked), Effect: MaybeEffect}
			made = types.MakeOutcomeFailed(failureRecord(&failure))
		}
	}()
	outcome := attempt(givenOf(call), tools)
	switch {
	case outcome.pause != nil:
		return types.MakeOutcomePause(pauseRecord(outcome.pause))
	case outcome.failed != nil:
		return types.MakeOutcomeFailed(failureRecord(outcome.failed))
	}
	return types.MakeOutcomeDone(successRecord(outcome.done))
}

func successRecord(done []Content) types.Success {
	success := types.Success{}
	for _, content := range done {
		success.Content = append(success.Content, types.Content{Body: bodyOf(content)})
	}
	return success
}

func answerReconcile(call types.Call) (made reconcile.Verdict) {
	defer func() {
		if recover() != nil {
			made = reconcile.MakeVerdictUnknown()
		}
	}()
	verdict := find(givenOf(call), func(call *Call) (Verdict, error) {
		if finder.Find == nil {
			return Unknown, nil
		}
		found, err := finder.Find(call)
		return found.(Verdict), err
	})
	switch {
	case verdict.failed != nil:
		return reconcile.MakeVerdictHappened(wit.Err[types.Success, types.Failure](failureRecord(verdict.failed)))
	case verdict.happened:
		return reconcile.MakeVerdictHappened(wit.Ok[types.Success, types.Failure](successRecord(verdict.done)))
	case verdict.notHappened:
		return reconcile.MakeVerdictNotHappened()
	}
	return reconcile.MakeVerdictUnknown()
}

func givenOf(call types.Call) given {
	made := given{
		id: call.Id, tool: call.Tool, arguments: call.Arguments, idempotencyKey: call.IdempotencyKey,
		attempt: call.Attempt, timeLeftMs: call.TimeLeftMs, approved: call.Approved, state: call.State.SomeOr(nil),
	}
	for _, answer := range call.Answers {
		made.answers = append(made.answers, Answer{answer.Key, answer.Value, answer.Note.SomeOr(""), answer.Context.SomeOr(""), askOf(answer.Asked)})
	}
	return made
}

func askOf(ask types.Ask) Ask {
	switch ask.Tag() {
	case types.Ask_Choice:
		choices := []Choice{}
		for _, choice := range ask.Choice() {
			choices = append(choices, Choice{choice.Value, choice.Label.SomeOr("")})
		}
		return OneOf(choices)
	case types.Ask_Text:
		return FreeText()
	case types.Ask_Form:
		return Ask{kind: askForm, schema: ask.Form()}
	case types.Ask_Other:
		return Other(ask.Other().Kind, ask.Other().Schema)
	}
	return Approval()
}

func askRecord(ask Ask) types.Ask {
	switch ask.kind {
	case askChoice:
		choices := []types.Choice{}
		for _, choice := range ask.choices {
			choices = append(choices, types.Choice{Value: valid(choice.Value), Label: optional(choice.Label)})
		}
		return types.MakeAskChoice(choices)
	case askText:
		return types.MakeAskText()
	case askForm:
		return types.MakeAskForm(ask.schema)
	case askOther:
		return types.MakeAskOther(types.Question{Kind: ask.name, Schema: ask.schema})
	}
	return types.MakeAskApproval()
}

func pauseRecord(pause *Pause) types.Pause {
	state := wit.None[[]uint8]()
	if pause.state != nil {
		state = wit.Some(pause.state)
	}
	return types.Pause{Key: valid(pause.Key), Reason: valid(pause.Reason), Context: optional(pause.Context), Ask: askRecord(pause.Ask), State: state}
}

func failureRecord(failure *Failure) types.Failure {
	effects := map[Effect]types.EffectState{NoEffect: types.EffectState_None, MaybeEffect: types.EffectState_Maybe, Happened: types.EffectState_Happened}
	wait := wit.None[uint32]()
	if failure.RetryAfter > 0 {
		wait = wit.Some(uint32(min(failure.RetryAfter/time.Millisecond, 1<<32-1)))
	}
	return types.Failure{Kind: string(failure.Kind), Message: valid(failure.Message), RetryAfterMs: wait, Effect: effects[failure.Effect]}
}

func bodyOf(content Content) types.Body {
	switch content.kind {
	case jsonContent:
		return types.MakeBodyStructured(content.text)
	case blobContent:
		return types.MakeBodyBlob(types.Blob{MediaType: valid(content.mediaType), Data: content.data})
	}
	return types.MakeBodyText(valid(content.text))
}

func optional(text string) wit.Option[string] {
	if text == "" {
		return wit.None[string]()
	}
	return wit.Some(valid(text))
}
