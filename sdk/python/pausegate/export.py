"""The component's side: translates between the plain values of `contract` and the classes that componentize-py makes.

Imported by `build` alone; outside a component there are no such classes.
"""

import json
import re

# Python looks a codec up when it is first used, and in a component there are no files: these are there.
from encodings import ascii, cp1252, latin_1, utf_8_sig, utf_16, utf_16_be, utf_16_le  # noqa: F401

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import log as host_log
from wit_world.imports import pausegate_plugin_types as wit
from wit_world.imports import progress as host_progress

from . import config_wasi, contract, http_wasi, kv_wasi, log
from .content import Blob, Json, Text
from .reconciling import FINDERS
from .tool import TOOLS, attempt
from .want import WANTS

_SURROGATES = re.compile("[\ud800-\udfff]")


def _text(text: str) -> str:
    """Text that is UTF-8: half a pair of surrogates, as in `"\\ud800"`, cannot cross to the host."""
    return _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def _optional(text: str | None) -> str | None:
    return None if text is None else _text(text)


def _tool(tool) -> wit.Tool:
    output = None if tool.output_schema is None else json.dumps(tool.output_schema)
    effects = wit.Effects[tool.effects.upper().replace("-", "_")]
    return wit.Tool(tool.name, tool.title, tool.description, json.dumps(tool.input_schema), output, effects, [])


def catalog() -> wit.Catalog:
    return wit.Catalog([_tool(tool) for tool in TOOLS.values()], [wit.Want(want.capability, want.scope, want.why) for want in WANTS], [])


def _asked(ask) -> contract.Ask:
    match ask:
        case wit.Ask_Approval():
            return contract.Ask("approval")
        case wit.Ask_Choice(options):
            return contract.Ask("choice", options=tuple((option.value, option.label) for option in options))
        case wit.Ask_Text():
            return contract.Ask("text")
        case wit.Ask_Form(schema):
            return contract.Ask("form", schema=schema)
        case wit.Ask_Other(question):
            return contract.Ask("other", kind=question.kind, schema=question.schema)


def _ask(ask: contract.Ask):
    match ask.case:
        case "approval":
            return wit.Ask_Approval()
        case "choice":
            return wit.Ask_Choice([wit.Choice(_text(value), _optional(label)) for value, label in ask.options])
        case "text":
            return wit.Ask_Text()
        case "form":
            return wit.Ask_Form(ask.schema)
        case _:
            return wit.Ask_Other(wit.Question(ask.kind, ask.schema))


def given(call) -> contract.Given:
    answers = tuple(contract.Answer(a.key, _asked(a.asked), a.value, a.note, a.context) for a in call.answers)
    return contract.Given(
        call.tool, call.arguments, call.id, call.attempt, call.idempotency_key, call.time_left_ms, call.approved, answers, call.state
    )


def _piece(piece) -> wit.Content:
    match piece:
        case Text(text):
            body = wit.Body_Text(_text(text))
        case Json(value):
            body = wit.Body_Structured(_text(json.dumps(value, ensure_ascii=False)))
        case Blob(media_type, data):
            body = wit.Body_Blob(wit.Blob(_text(media_type), data))
    return wit.Content(body, [])


def success(done: contract.Done) -> wit.Success:
    return wit.Success([_piece(piece) for piece in done.content], [])


def failure(failed: contract.Failed) -> wit.Failure:
    return wit.Failure(failed.kind, _text(failed.message), failed.retry_after_ms, wit.EffectState[failed.effect.upper()], [])


def _outcome(outcome: contract.Outcome):
    match outcome:
        case contract.Done():
            return wit.Outcome_Done(success(outcome))
        case contract.Failed():
            return wit.Outcome_Failed(failure(outcome))
        case contract.Pause(key, reason, ask, context, state):
            return wit.Outcome_Pause(wit.Pause(_text(key), _text(reason), context, _ask(ask), state, []))


class Tools(exports.Tools):
    """What the component exports. The catalog was made at build."""

    def list_tools(self) -> wit.Catalog:
        return CATALOG

    def call_tool(self, call: wit.Call):
        try:
            return _outcome(attempt(given(call)))
        except BaseException as error:  # An exception that got here would be a trap.
            words = f"the plugin could not word its result: {type(error).__name__}: {error}"
            return wit.Outcome_Failed(wit.Failure("failed", words, None, wit.EffectState.MAYBE, []))


class _Host(log.StandardError):
    def write(self, level: str, message: str) -> None:
        host_log.write(host_log.Level[level.upper()], _text(message))

    def progress(self, done: float, total: float | None, message: str) -> None:
        host_progress.report(done, total, _text(message))


def made(reconciling: bool) -> None:
    """Takes the tools that the plugin's module made; called once, at build, which knows whether the component tells what
    became of a call."""
    global CATALOG
    if not TOOLS:
        raise Err("the plugin has no tools: decorate a function with `@tool`")
    if bool(FINDERS) != reconciling:
        raise Err("a function that is `@reconcile` stands in the plugin's own module, the one that is built")
    CATALOG = catalog()
    log.send_to(_Host())
    http_wasi.install()
    kv_wasi.install()
    config_wasi.install()
