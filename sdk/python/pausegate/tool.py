"""From functions to tools: what `@tool` makes, and how an attempt runs."""

import functools
import inspect
import json
import re
import typing
from collections.abc import Callable
from typing import Any

from . import contract, docs, log
from .call import Call, working_on
from .content import Blob, Json, Text, pieces
from .failure import Failure, failed, failure_of, trace_of
from .question import Pause
from .schema import Field, Unsupported, object_schema, read_object, schema_of

TOOLS: dict[str, "Tool"] = {}

_EFFECTS = ("read-only", "idempotent", "once")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Tool:
    """A tool; called as a function it is that function."""

    def __init__(self, run: Callable[..., Any], name: str | None, title: str | None, description: str | None, effects: str) -> None:
        functools.update_wrapper(self, run)
        self.run = run
        self.name = name or run.__name__
        self.title = title
        self.effects = effects
        about, texts = docs.read(run.__doc__)
        self.description = description or about
        self._check()
        hints = typing.get_type_hints(run, include_extras=True)
        self._call_parameter: str | None = None
        self.fields: list[Field] = []
        for parameter in inspect.signature(run).parameters.values():
            self._add(parameter, hints.get(parameter.name), texts.get(parameter.name, ""))
        try:
            self.input_schema = object_schema(self.fields)
            self.output_schema = _output_schema(hints.get("return"))
        except Unsupported as error:
            raise TypeError(f"tool `{self.name}`: {error}") from None

    def _check(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"tool `{self.name}`: a name has 1 to 64 of `a-zA-Z0-9_-`")
        if not self.description:
            raise ValueError(f"tool `{self.name}`: a docstring says what it does, for the model")
        if self.effects not in _EFFECTS:
            raise ValueError(f"tool `{self.name}`: effects are one of {', '.join(_EFFECTS)}, not {self.effects!r}")
        if inspect.iscoroutinefunction(self.run):
            raise TypeError(f"tool `{self.name}`: a tool is an ordinary function; each attempt has an instance to itself")

    def _add(self, parameter: inspect.Parameter, hint: Any, text: str) -> None:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool `{self.name}`: `{parameter}` has no name of its own in a schema")
        if hint is None:
            raise TypeError(f"tool `{self.name}`: `{parameter.name}` has no type hint")
        if hint is Call:
            self._call_parameter = parameter.name
            return
        required = parameter.default is parameter.empty
        self.fields.append(Field(parameter.name, hint, text, required, None if required else parameter.default))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)

    def _run(self, call: Call) -> list[Text | Json | Blob]:
        arguments = read_object(self.fields, json.loads(call.given.arguments))
        if self._call_parameter:
            arguments[self._call_parameter] = call
        return pieces(self.run(**arguments))


def tool(
    run: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    effects: str = "once",
) -> Any:
    """Makes a function a tool: its type hints are the schema, its docstring is the description.

    `effects` says what running it twice would do: `read-only` (changes nothing), `idempotent` (the same as once) or
    `once`. The host holds it to its word.
    """

    def made(run: Callable[..., Any]) -> Tool:
        tool = Tool(run, name, title, description, effects)
        if tool.name in TOOLS:
            raise ValueError(f"two tools are named `{tool.name}`")
        TOOLS[tool.name] = tool
        return tool

    return made if run is None else made(run)


def attempt(given: contract.Given, tools: dict[str, Tool] | None = None) -> contract.Outcome:
    """One attempt, from JSON arguments to outcome. Nothing a tool raises leaves it."""
    call = Call(given)
    with working_on(call):
        return call.end(_outcome(call, TOOLS if tools is None else tools))


def _outcome(call: Call, tools: dict[str, Tool]) -> contract.Outcome:
    try:
        tool = tools.get(call.tool)
        if tool is None:
            raise Failure("not-found", f"no tool named `{call.tool}`")
        return contract.Done(tool._run(call))
    except Pause as pause:
        # Most of them are the call's own by now; one that was made before the call began is taken all the same.
        call.question = call.question or pause
        return pause.pause
    except BaseException as error:
        failure = failure_of(error)
        if not isinstance(error, Failure):
            log.debug(trace_of(error))
        return failed(failure)


def _output_schema(returned: Any) -> dict[str, Any] | None:
    """Of what a tool returns for programs. Text and pieces have none."""
    if returned in (None, type(None), str, Any, Text, Json, Blob, inspect.Signature.empty):
        return None
    parts = typing.get_args(returned)
    if any(part in (Text, Json, Blob) for part in parts):
        return None
    # `str | None`, and unions of pieces, are text or nothing.
    if parts and typing.get_origin(returned) is not list and set(parts) <= {str, type(None)}:
        return None
    return schema_of(returned)
