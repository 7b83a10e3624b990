"""Telling after a crash whether a call took effect, so that no person has to be asked."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import contract, log
from .call import Call, working_on
from .content import pieces
from .failure import Failure, failed, trace_of


@dataclass(frozen=True)
class Verdict:
    """What became of an earlier attempt: `happened`, `NOT_HAPPENED` or `UNKNOWN`."""

    case: str
    result: contract.Done | contract.Failed | None = None


# It took no effect, now or later: the call may be made again.
NOT_HAPPENED = Verdict("not-happened")
# It cannot be told: a person is asked.
UNKNOWN = Verdict("unknown")

Find = Callable[[Call], Verdict]
FINDERS: list[Find] = []


def happened(result: Any = None) -> Verdict:
    """It took effect; `result` is what the tool returned, or would have, or the `Failure` that it ended with."""
    return Verdict("happened", failed(result) if isinstance(result, Failure) else contract.Done(pieces(result)))


def reconcile(find: Find) -> Find:
    """Makes a function the one that the host asks after a crash; it stands in the plugin's own module.

    It looks, for instance by `call.idempotency_key` at the service, and changes nothing: it runs as a `read-only`
    attempt. `call.tool` and `call.arguments` say what was to be done. If it raises, a person is asked.
    """
    if FINDERS:
        raise ValueError("one function of a plugin is `@reconcile`")
    FINDERS.append(find)
    return find


def verdict(given: contract.Given, find: Find) -> Verdict:
    """What `find` says of an attempt. Nothing that it raises leaves it."""
    call = Call(given)
    try:
        with working_on(call):
            found = find(call)
        if not isinstance(found, Verdict):
            raise TypeError(f"`@reconcile` returns `happened(…)`, `NOT_HAPPENED` or `UNKNOWN`, not {found!r}")
        return found
    except BaseException as error:
        log.warn(f"it could not be found out what became of the call: {trace_of(error)}")
        return UNKNOWN
