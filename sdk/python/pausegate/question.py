"""What a person can be asked, and what comes back."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from . import contract
from .schema import read, schema_of


@dataclass(frozen=True)
class Approval:
    """Yes or no. Only a yes comes back: a no ends the call."""

    def asked(self) -> contract.Ask:
        return contract.Ask("approval")

    def read(self, value: Any) -> bool:
        if value is not True:
            raise ValueError("only `true` approves")
        return True


@dataclass(frozen=True, init=False)
class Choice:
    """One of several values: strings, or (value, label). The value comes back."""

    options: tuple[tuple[str, str | None], ...]

    def __init__(self, options: Iterable[str | tuple[str, str]]) -> None:
        pairs = tuple((option, None) if isinstance(option, str) else (option[0], option[1]) for option in options)
        object.__setattr__(self, "options", pairs)

    def asked(self) -> contract.Ask:
        return contract.Ask("choice", options=self.options)

    def read(self, value: Any) -> str:
        if value not in [value for value, _ in self.options]:
            raise ValueError(f"{value!r} is not among the choices")
        return value


@dataclass(frozen=True)
class TextAnswer:
    """Free text."""

    def asked(self) -> contract.Ask:
        return contract.Ask("text")

    def read(self, value: Any) -> str:
        return read(str, value)


@dataclass(frozen=True)
class Form:
    """A value of `type`: a dataclass, most of the time."""

    type: Any

    def asked(self) -> contract.Ask:
        return contract.Ask("form", schema=json.dumps(schema_of(self.type)))

    def read(self, value: Any) -> Any:
        return read(self.type, value)


@dataclass(frozen=True)
class Other:
    """A question of another, namespaced kind; `schema` is the JSON Schema of its answer."""

    kind: str
    schema: dict[str, Any]

    def asked(self) -> contract.Ask:
        return contract.Ask("other", kind=self.kind, schema=json.dumps(self.schema))

    def read(self, value: Any) -> Any:
        return value


Question = Approval | Choice | TextAnswer | Form | Other


class Pause(BaseException):
    """Ends the attempt until a person answered. `raise Pause("Which branch?", key="branch", ask=TextAnswer())`.

    Made while a tool runs, it is the end of the attempt whatever becomes of it: a handler that swallows it, even a
    bare `except:`, changes nothing. The functions `ask_…` raise it for you and return the answer later; with `Pause`
    itself, look for the answer first: `current().answer("branch")`.
    """

    def __init__(self, reason: str, *, key: str | None = None, ask: Question | None = None, context: Any = None) -> None:
        super().__init__(reason)
        question = ask or Approval()
        self.pause = contract.Pause(
            key=approval_key(reason) if key is None else key,
            reason=reason,
            ask=question.asked(),
            context=None if context is None else json.dumps(context),
        )
        from .call import raised  # The call knows questions, so a question learns of the call late.

        raised(self)


def approval_key(reason: str) -> str:
    """Holds the reason, so that a yes to one thing is none to another. FNV-1a, the same in every language."""
    hash_ = 0xCBF29CE484222325
    for byte in reason.encode(errors="replace"):
        hash_ = (hash_ ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"approval-{hash_:016x}"
