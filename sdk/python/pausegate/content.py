"""What a tool hands back."""

import json
from dataclasses import dataclass
from typing import Any

from .schema import write


@dataclass(frozen=True)
class Text:
    """Text for the model."""

    text: str


@dataclass(frozen=True)
class Json:
    """A value for programs; at most one in a result."""

    value: Any


@dataclass(frozen=True)
class Blob:
    """Bytes with their type, such as `image/png`."""

    media_type: str
    data: bytes


def pieces(returned: Any) -> list[Text | Json | Blob]:
    """`None`, text, one piece or a list of pieces; everything else is a value for programs."""
    match returned:
        case None:
            return []
        case str():
            return [Text(returned)]
        case Text() | Blob():
            return [returned]
        case Json():
            return [_checked(returned)]
        case list() if returned and all(isinstance(piece, Text | Json | Blob) for piece in returned):
            return [_checked(piece) if isinstance(piece, Json) else piece for piece in returned]
        case bytes():
            raise TypeError("a tool returns bytes as `Blob(media_type, data)`")
        case _:
            return [_checked(Json(returned))]


def _checked(piece: Json) -> Json:
    """Written as JSON here, where a failure is still the tool's."""
    value = write(piece.value)
    json.dumps(value, allow_nan=False)
    return Json(value)
