"""One attempt at a tool call: what the host gave, and the questions it leads to."""

import contextvars
import json
from typing import Any, TypeVar, overload

from . import contract
from .failure import Failure
from .question import Approval, Choice, Form, Other, Pause, Question, TextAnswer, approval_key
from .schema import write

# The most bytes that a pause may save (`wit/plugin.wit`, `pause.state`).
STATE_BYTES_MAX = 64 * 1024

T = TypeVar("T")
_current: contextvars.ContextVar["Call | None"] = contextvars.ContextVar("call", default=None)


class Call:
    """The call that a tool works on: `current()`, or a parameter annotated with `Call`.

    Each attempt starts anew, so put questions before effects. After a person answered, the tool runs again and the
    same question returns the answer.
    """

    def __init__(self, given: contract.Given) -> None:
        self.given = given
        self.question: Pause | None = None
        self._state = given.state

    @property
    def id(self) -> str:
        """The host's id of this call, the same over its attempts."""
        return self.given.id

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.given.tool

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as they were checked and shown."""
        return json.loads(self.given.arguments)

    @property
    def attempt(self) -> int:
        """1 for the first attempt."""
        return self.given.attempt

    @property
    def idempotency_key(self) -> str:
        """The same over attempts of unchanged arguments: hand it to services that refuse doubles by it."""
        return self.given.idempotency_key

    @property
    def time_left(self) -> float:
        """Seconds that this attempt may take, counted from its start."""
        return self.given.time_left_ms / 1000

    @property
    def approved(self) -> bool:
        """Whether a person approved exactly these arguments."""
        return self.given.approved

    def answer(self, key: str) -> contract.Answer | None:
        """The newest answer under `key`, with the person's note."""
        return next((answer for answer in reversed(self.given.answers) if answer.key == key), None)

    def ask(self, key: str, reason: str, question: Question, *, context: Any = None) -> Any:
        """The newest answer under `key`, if it answers this question; else asks."""
        if self.question is not None:
            raise self.question
        answer = self.answer(key)
        if answer is None or not answer.asked.same(question.asked()):
            raise Pause(reason, key=key, ask=question, context=None if context is None else write(context))
        try:
            return question.read(json.loads(answer.value))
        except (ValueError, Failure) as error:
            raise Failure("invalid-input", f"the answer to `{key}` does not fit: {error}") from None

    def ask_approval(self, reason: str, *, context: Any = None) -> None:
        """Goes on if a person approved this call, by a rule of the operator or by answering this; else asks."""
        # An answer to another question approved the call too, but a yes to one thing is none to another.
        by_rule = self.approved and not any(answer.asked.case == "approval" for answer in self.given.answers)
        if self.question is None and by_rule:
            return
        self.ask(approval_key(reason), reason, Approval(), context=context)

    def save(self, state: Any) -> None:
        """Keeps a JSON value for the attempt after the next question. It stays until it is saved anew."""
        saved = json.dumps(write(state), ensure_ascii=False, allow_nan=False).encode(errors="replace")
        if len(saved) > STATE_BYTES_MAX:
            raise Failure("too-large", f"the state to save is {len(saved)} bytes, at most {STATE_BYTES_MAX} are kept")
        self._state = saved

    def state(self, default: Any = None) -> Any:
        """What was saved last, in this attempt or before the last question."""
        return default if self._state is None else json.loads(self._state)

    def end(self, outcome: contract.Outcome) -> contract.Outcome:
        """How the attempt ends: with its question, if there is one, whatever the tool made of it."""
        if self.question is None:
            return outcome
        pause = self.question.pause
        pause.state = self._state
        return pause


def current() -> Call:
    """The call that is being worked on."""
    call = _current.get()
    if call is None:
        raise RuntimeError("no call is being worked on: in a test, use `pausegate.testing.call`")
    return call


def raised(pause: Pause) -> None:
    """Ends the current attempt with its first question."""
    call = _current.get()
    if call is not None and call.question is None:
        call.question = pause


class working_on:
    """Makes a call the current one."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> Call:
        self._token = _current.set(self._call)
        return self._call

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def ask(key: str, reason: str, question: Question, *, context: Any = None) -> Any:
    """Asks `question` under `key`; returns the answer once there is one."""
    return current().ask(key, reason, question, context=context)


def ask_approval(reason: str, *, context: Any = None) -> None:
    """Goes on once a person approved the call; `context` is shown beside the reason."""
    current().ask_approval(reason, context=context)


def ask_choice(key: str, reason: str, options: Any, *, context: Any = None) -> str:
    """Asks for one of `options`, strings or (value, label); returns the value."""
    return current().ask(key, reason, Choice(options), context=context)


def ask_text(key: str, reason: str, *, context: Any = None) -> str:
    """Asks for free text."""
    return current().ask(key, reason, TextAnswer(), context=context)


def ask_form(key: str, reason: str, type: type[T], *, context: Any = None) -> T:
    """Asks for a value of `type`, a dataclass most of the time."""
    return current().ask(key, reason, Form(type), context=context)


def ask_other(key: str, reason: str, kind: str, schema: dict[str, Any], *, context: Any = None) -> Any:
    """Asks a question of another, namespaced kind."""
    return current().ask(key, reason, Other(kind, schema), context=context)


def save(state: Any) -> None:
    """Keeps a JSON value for the attempt after the next question."""
    current().save(state)


@overload
def state() -> Any: ...
@overload
def state(default: T) -> T: ...
def state(default: Any = None) -> Any:
    """What was saved last."""
    return current().state(default)
