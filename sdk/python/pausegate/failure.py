"""Why a tool could not do its work, in words the model can act on."""

import os
from traceback import walk_tb

from . import contract

# The most frames that are shown, the innermost ones.
FRAMES_MAX = 8

KINDS = frozenset(
    "invalid-input not-found denied auth-required timeout rate-limited unavailable too-large conflict failed".split()
)
EFFECTS = ("none", "maybe", "happened")


class Failure(Exception):
    """A failed call: raise it from anywhere below the tool.

    `kind` is one of `KINDS`; `message` says what happened to what. `retry_after` is in seconds; `effect` says whether
    something was changed all the same: `none`, `maybe` or `happened`.
    """

    def __init__(self, kind: str, message: str, *, retry_after: float | None = None, effect: str = "none") -> None:
        if kind not in KINDS:
            raise ValueError(f"no kind of failure is named `{kind}`; there are {', '.join(sorted(KINDS))}")
        if effect not in EFFECTS:
            raise ValueError(f"no effect is named `{effect}`; there are {', '.join(EFFECTS)}")
        super().__init__(message)
        self.kind, self.message, self.retry_after, self.effect = kind, message, retry_after, effect


# First fit: a FileNotFoundError is an OSError too.
_KINDS_OF = (
    (FileNotFoundError, "not-found"),
    (PermissionError, "denied"),
    (FileExistsError, "conflict"),
    (TimeoutError, "timeout"),
    (ConnectionError, "unavailable"),
)


def failure_of(error: BaseException) -> Failure:
    """Any exception as a failure: one further down the chain of causes gives the kind."""
    seen: set[int] = set()
    cause: BaseException | None = error
    while cause is not None and id(cause) not in seen:
        if isinstance(cause, Failure):
            if cause is error:
                return cause
            return Failure(cause.kind, f"{words_of(error)}: {cause.message}", retry_after=cause.retry_after, effect=cause.effect)
        seen.add(id(cause))
        cause = cause.__cause__
    kind = next((kind for type_, kind in _KINDS_OF if isinstance(error, type_)), "failed")
    return Failure(kind, words_of(error))


def failed(failure: Failure) -> contract.Failed:
    """A failure as it crosses to the host."""
    wait = None if failure.retry_after is None else max(0, min(round(failure.retry_after * 1000), 2**32 - 1))
    return contract.Failed(failure.kind, failure.message, wait, failure.effect)


def words_of(error: BaseException) -> str:
    """What went wrong, without numbers of the system, which mean other things on every other one."""
    if isinstance(error, OSError) and error.strerror:
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        return ": ".join([error.strerror, *names])
    try:
        words = str(error)
    except Exception:  # An exception's own `__str__` may fail.
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def trace_of(error: BaseException) -> str:
    """What went wrong and where, for the operator; not by `traceback`, which would look for the source files."""
    frames = [f"  {os.path.basename(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}" for frame, line in walk_tb(error.__traceback__)]
    return "\n".join([words_of(error), *frames[-FRAMES_MAX:]])
