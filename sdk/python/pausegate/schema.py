"""JSON Schema of Python types, and values from one to the other.

Known are `str int float bool None Any`, `list`, `set`, `tuple[T, ...]`, `dict[str, T]`, `Literal`, `Enum`, unions and
`Optional`, dataclasses, `TypedDict`, `date` and `datetime`, and `Annotated` with a text (the description) or a dict
(further keywords, such as `{"minimum": 1}`).
"""

import dataclasses
import datetime
import enum
import json
import math
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from . import docs
from .failure import Failure

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    Any: {},
    object: {},
    dict: {"type": "object"},
    list: {"type": "array"},
}


class Unsupported(TypeError):
    """A type that has no JSON Schema."""


@dataclasses.dataclass(frozen=True)
class Field:
    """One key of an object: a parameter, or a field of a dataclass."""

    name: str
    type: Any
    description: str = ""
    required: bool = True
    default: Any = None
    """Only where it is not required."""


def schema_of(type_: Any) -> dict[str, Any]:
    """The schema of `type_`; classes that hold themselves stand in `$defs`."""
    maker = _Maker()
    return maker.whole(maker.schema(type_))


def object_schema(fields: Sequence[Field]) -> dict[str, Any]:
    """The schema of an object with these keys and no others."""
    maker = _Maker()
    return maker.whole(maker.object(fields))


class _Maker:
    def __init__(self) -> None:
        self.open: list[type] = []
        self.recursive: dict[type, str] = {}
        self.definitions: dict[str, Any] = {}

    def whole(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {**schema, "$defs": self.definitions} if self.definitions else schema

    def schema(self, type_: Any) -> dict[str, Any]:
        if _is_simple(type_):
            return dict(_SIMPLE[type_])
        origin, args = typing.get_origin(type_), typing.get_args(type_)
        if isinstance(type_, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
            return self.schema(type_.__value__)
        if origin is typing.Annotated:
            return self.annotated(args[0], args[1:])
        if origin is typing.Literal:
            return _enumeration(list(args))
        if origin in (typing.Union, types.UnionType):
            return _any_of([self.schema(arg) for arg in args])
        if origin in (list, set, frozenset, Sequence) or (origin is tuple and len(args) == 2 and args[1] is ...):
            schema = {"type": "array", "items": self.schema(args[0])}
            return {**schema, "uniqueItems": True} if origin in (set, frozenset) else schema
        if origin is tuple:
            return {"type": "array", "prefixItems": [self.schema(arg) for arg in args], "minItems": len(args), "maxItems": len(args)}
        if origin in (dict, Mapping) and args[0] is str:
            return {"type": "object", "additionalProperties": self.schema(args[1])}
        if isinstance(type_, type) and issubclass(type_, enum.Enum):
            return _enumeration([member.value for member in type_])
        if dataclasses.is_dataclass(type_) or typing.is_typeddict(type_):
            return self.named(type_)
        raise Unsupported(f"`{_name(type_)}` has no JSON Schema; use str, int, float, bool, list, dict[str, …], Literal, Enum, a dataclass, or `Any`")

    def annotated(self, type_: Any, extras: Sequence[Any]) -> dict[str, Any]:
        schema = self.schema(type_)
        for extra in extras:
            if isinstance(extra, str):
                schema = {**schema, "description": extra}
            elif isinstance(extra, dict):
                schema = {**schema, **extra}
        return schema

    def named(self, type_: type) -> dict[str, Any]:
        if type_ in self.open:
            self.recursive.setdefault(type_, type_.__name__)
            return {"$ref": f"#/$defs/{type_.__name__}"}
        self.open.append(type_)
        schema = self.object(fields_of(type_))
        self.open.pop()
        about, _ = docs.read(None if _made_by_dataclass(type_) else type_.__doc__)
        if about:
            schema = {"description": about, **schema}
        if type_ not in self.recursive:
            return schema
        self.definitions[self.recursive[type_]] = schema
        return {"$ref": f"#/$defs/{type_.__name__}"}

    def object(self, fields: Sequence[Field]) -> dict[str, Any]:
        properties = {field.name: self.property(field) for field in fields}
        required = [field.name for field in fields if field.required]
        schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        if not required:
            del schema["required"]
        return schema

    def property(self, field: Field) -> dict[str, Any]:
        try:
            schema = self.schema(field.type)
        except Unsupported as error:
            raise Unsupported(f"`{field.name}`: {error}") from None
        if field.description and "description" not in schema:
            schema = {**schema, "description": field.description}
        if not field.required and field.default is not None:
            schema = {**schema, "default": write(field.default)}
        return schema


def fields_of(type_: type) -> list[Field]:
    """The fields of a dataclass or a `TypedDict`."""
    hints = typing.get_type_hints(type_, include_extras=True)
    _, texts = docs.read(type_.__doc__)
    if typing.is_typeddict(type_):
        return [Field(name, _without_marks(hint), texts.get(name, ""), name in type_.__required_keys__) for name, hint in hints.items()]
    fields = []
    for field in dataclasses.fields(type_):
        if not field.init:
            continue
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        default = None if required else field.default_factory() if field.default is dataclasses.MISSING else field.default
        fields.append(Field(field.name, hints[field.name], texts.get(field.name, ""), required, default))
    return fields


def read(type_: Any, value: Any, path: str = "") -> Any:
    """`value`, as JSON gave it, as a `type_`.

    Raises `Failure("invalid-input")` that names the place.
    """
    origin, args = typing.get_origin(type_), typing.get_args(type_)
    if type_ in (Any, object):
        return value
    if hasattr(typing, "TypeAliasType") and isinstance(type_, typing.TypeAliasType):
        return read(type_.__value__, value, path)
    if origin is typing.Annotated:
        return read(args[0], value, path)
    if type_ is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ in (datetime.date, datetime.datetime):
        return _read_time(type_, value, path)
    if _is_simple(type_):
        return _expect(type_, value, path)
    if origin is typing.Literal:
        if not any(value == arg and type(value) is type(arg) for arg in args):
            raise _misfit(path, f"one of {', '.join(map(repr, args))}", value)
        return value
    if origin in (typing.Union, types.UnionType):
        return _read_union(args, value, path)
    if origin in (list, set, frozenset, Sequence, tuple):
        return _read_array(origin, args, value, path)
    if origin in (dict, Mapping):
        return {key: read(args[1], item, _below(path, key)) for key, item in _expect(dict, value, path).items()}
    if isinstance(type_, type) and issubclass(type_, enum.Enum):
        for member in type_:
            if member.value == value and type(member.value) is type(value):
                return member
        raise _misfit(path, f"one of {', '.join(repr(member.value) for member in type_)}", value)
    return type_(**read_object(fields_of(type_), value, path))


def read_object(fields: Sequence[Field], value: Any, path: str = "") -> dict[str, Any]:
    """The keys that are there, each as its type. A key that is missing is left to the default."""
    given = _expect(dict, value, path)
    names = {field.name for field in fields}
    for key in given:
        if key not in names:
            raise Failure("invalid-input", f"`{_below(path, key)}` is not known; there are {', '.join(sorted(names)) or 'none'}")
    for field in fields:
        if field.required and field.name not in given:
            raise Failure("invalid-input", f"`{_below(path, field.name)}` is missing")
    return {field.name: read(field.type, given[field.name], _below(path, field.name)) for field in fields if field.name in given}


def write(value: Any) -> Any:
    """`value` as JSON has it."""
    if isinstance(value, enum.Enum):
        return write(value.value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value} has no place in JSON")
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: write(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): write(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [write(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((write(item) for item in value), key=json.dumps)
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise TypeError(f"a `{type(value).__name__}` cannot be written as JSON")


def _is_simple(type_: Any) -> bool:
    try:
        return type_ in _SIMPLE
    except TypeError:  # Not hashable: `Annotated` with a dict.
        return False


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of JSON is text, not {key!r}")
    return key


def _expect(type_: Any, value: Any, path: str) -> Any:
    # A bool is an int in Python, not in JSON.
    fits = isinstance(value, type_) and (type_ is bool or not isinstance(value, bool))
    if not fits:
        raise _misfit(path, _SIMPLE[type_]["type"], value)
    return value


def _read_time(type_: Any, value: Any, path: str) -> Any:
    try:
        return type_.fromisoformat(_expect(str, value, path))
    except ValueError:
        raise _misfit(path, _SIMPLE[type_]["format"], value) from None


def _read_union(args: Sequence[Any], value: Any, path: str) -> Any:
    failures = []
    for arg in args:
        try:
            return read(arg, value, path)
        except Failure as failure:
            failures.append(failure.message)
    raise Failure("invalid-input", "; or ".join(dict.fromkeys(failures)))


def _read_array(origin: Any, args: Sequence[Any], value: Any, path: str) -> Any:
    items = _expect(list, value, path)
    if origin is tuple and not (len(args) == 2 and args[1] is ...):
        if len(items) != len(args):
            raise _misfit(path, f"{len(args)} items", value)
        return tuple(read(arg, item, _below(path, at)) for at, (arg, item) in enumerate(zip(args, items, strict=True)))
    read_items = [read(args[0], item, _below(path, at)) for at, item in enumerate(items)]
    return read_items if origin in (list, Sequence) else origin(read_items)


def _misfit(path: str, expected: str, value: Any) -> Failure:
    shown = json.dumps(value)
    return Failure("invalid-input", f"`{path or '.'}`: expected {expected}, got {shown if len(shown) <= 80 else shown[:77] + '…'}")


def _below(path: str, key: str | int) -> str:
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else key


def _enumeration(values: list[Any]) -> dict[str, Any]:
    kinds = {type(value) for value in values}
    schema: dict[str, Any] = {"enum": values}
    if len(kinds) == 1 and (kind := kinds.pop()) in _SIMPLE:
        schema = {**_SIMPLE[kind], **schema}
    return schema


def _any_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    # A union of plain types is a list of names, which models read better than `anyOf`.
    if all(set(schema) == {"type"} and isinstance(schema["type"], str) for schema in schemas):
        return {"type": [schema["type"] for schema in schemas]}
    return {"anyOf": schemas}


def _without_marks(hint: Any) -> Any:
    return typing.get_args(hint)[0] if typing.get_origin(hint) in (typing.Required, typing.NotRequired) else hint


def _made_by_dataclass(type_: type) -> bool:
    """Whether the docstring is the signature that `@dataclass` writes."""
    return (type_.__doc__ or "").startswith(f"{type_.__name__}(") or typing.is_typeddict(type_) and type_.__doc__ == dict.__doc__


def _name(type_: Any) -> str:
    return getattr(type_, "__name__", None) or str(type_)
