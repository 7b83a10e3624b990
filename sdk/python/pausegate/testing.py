"""Runs a tool without a host, from JSON arguments to outcome.

    outcome = call(remove, path="/build/a.tmp")
    assert outcome.pause.reason == "Remove /build/a.tmp"
    assert outcome.answer(True).text == "removed /build/a.tmp"
"""

import json
from dataclasses import replace
from typing import Any

from . import contract
from .content import Json, Text
from .reconciling import Find, Verdict, verdict
from .schema import write
from .tool import Tool, attempt


class Outcome:
    """How an attempt ended. What it did not end in is `None`."""

    def __init__(self, tool: Tool, given: contract.Given, outcome: contract.Outcome) -> None:
        self._tool, self._given, self.outcome = tool, given, outcome

    @property
    def pause(self) -> contract.Pause | None:
        return self.outcome if isinstance(self.outcome, contract.Pause) else None

    @property
    def failure(self) -> contract.Failed | None:
        return self.outcome if isinstance(self.outcome, contract.Failed) else None

    @property
    def content(self) -> list[Any] | None:
        """The pieces of the result."""
        return self.outcome.content if isinstance(self.outcome, contract.Done) else None

    @property
    def text(self) -> str | None:
        """The text of the result."""
        return None if self.content is None else "\n".join(piece.text for piece in self.content if isinstance(piece, Text))

    @property
    def structured(self) -> Any:
        """The value for programs."""
        return next((piece.value for piece in self.content or [] if isinstance(piece, Json)), None)

    def answer(self, value: Any, note: str | None = None) -> "Outcome":
        """The next attempt, after a person answered, with the state that was saved."""
        if self.pause is None:
            raise AssertionError(f"not a question: {self!r}")
        answer = contract.Answer(self.pause.key, self.pause.ask, json.dumps(write(value)), note, self.pause.context)
        # As the host has it: a yes to a question of the call approves its arguments.
        approved = self._given.approved or (self.pause.ask.case == "approval" and value is True)
        return self._again(answers=(*self._given.answers, answer), state=self.pause.state, approved=approved)

    def approved(self) -> "Outcome":
        """The next attempt, after a person approved the call as a whole."""
        return self._again(approved=True, state=self.pause.state if self.pause else self._given.state)

    def _again(self, **changes: Any) -> "Outcome":
        return _run(self._tool, replace(self._given, attempt=self._given.attempt + 1, **changes))

    def __repr__(self) -> str:
        return f"Outcome({self.outcome!r})"


def call(tool: Tool, **arguments: Any) -> Outcome:
    """A first attempt, without approval, answers or state."""
    return call_with(tool, arguments)


def call_with(tool: Tool, arguments: Any, *, approved: bool = False, state: Any = None) -> Outcome:
    """A first attempt with JSON arguments; `state` as if an earlier question had saved it."""
    saved = None if state is None else json.dumps(write(state)).encode()
    return _run(tool, contract.Given(tool.name, json.dumps(write(arguments)), approved=approved, state=saved))


def reconcile(find: Find, tool: str, **arguments: Any) -> Verdict:
    """What the plugin's `@reconcile` function says became of a call of `tool`."""
    return verdict(contract.Given(tool, json.dumps(write(arguments))), find)


def _run(tool: Tool, given: contract.Given) -> Outcome:
    return Outcome(tool, given, attempt(given, {tool.name: tool}))
