"""Lines for the operator, which the model never sees, and how far a call has come.

Outside the sandbox, as in tests, they go to standard error.
"""

import sys

LEVELS = ("trace", "debug", "info", "warn", "error")


def write(level: str, message: object) -> None:
    """Writes one line at one of `LEVELS`."""
    if level not in LEVELS:
        raise ValueError(f"no level is named `{level}`; there are {', '.join(LEVELS)}")
    _sink.write(level, str(message))


def trace(message: object) -> None:
    write("trace", message)


def debug(message: object) -> None:
    write("debug", message)


def info(message: object) -> None:
    write("info", message)


def warn(message: object) -> None:
    write("warn", message)


def error(message: object) -> None:
    write("error", message)


def progress(done: float, total: float | None = None, message: str = "") -> None:
    """Says that `done` of `total` is done, in a unit of your choice; `done` only grows."""
    _sink.progress(float(done), None if total is None else float(total), message)


class StandardError:
    """Where lines go without a host."""

    def write(self, level: str, message: str) -> None:
        print(f"{level}: {message}", file=sys.stderr)

    def progress(self, done: float, total: float | None, message: str) -> None:
        print(f"progress: {done} of {total}: {message}", file=sys.stderr)


_sink = StandardError()


def send_to(sink: StandardError) -> StandardError:
    """Sends lines to `sink` from now on, and returns where they went before."""
    global _sink
    before, _sink = _sink, sink
    return before
