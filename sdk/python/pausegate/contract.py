"""The records of `wit/` as plain values, so that a tool runs and is tested without a host.

`export` translates them from and to the classes that componentize-py makes at build.
"""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Ask:
    """`case` is `approval`, `choice`, `text`, `form` or `other`."""

    case: str
    options: tuple[tuple[str, str | None], ...] = ()
    kind: str | None = None
    schema: str | None = None

    def same(self, other: "Ask") -> bool:
        """Whether an answer to `other` is an answer to this. Schemas are compared as values: the host may have
        written them anew."""
        if (self.case, self.options, self.kind) != (other.case, other.options, other.kind):
            return False
        return self.schema == other.schema or json.loads(self.schema or "null") == json.loads(other.schema or "null")


@dataclass(frozen=True)
class Answer:
    key: str
    asked: Ask
    value: str
    note: str | None = None
    context: str | None = None


@dataclass(frozen=True)
class Given:
    """One attempt at a call, as the host gives it."""

    tool: str
    arguments: str = "{}"
    id: str = "tc_test"
    attempt: int = 1
    idempotency_key: str = "key_test"
    time_left_ms: int = 30_000
    approved: bool = False
    answers: tuple[Answer, ...] = ()
    state: bytes | None = None


@dataclass
class Pause:
    key: str
    reason: str
    ask: Ask
    context: str | None = None
    state: bytes | None = None


@dataclass
class Failed:
    kind: str
    message: str
    retry_after_ms: int | None = None
    effect: str = "none"


@dataclass
class Done:
    """Pieces are `content.Text`, `content.Json` and `content.Blob`."""

    content: list[Any] = field(default_factory=list)


Outcome = Done | Failed | Pause


@dataclass
class Want:
    capability: str
    scope: str
    why: str
