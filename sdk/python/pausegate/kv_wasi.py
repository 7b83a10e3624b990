"""Keeps values by `wasi:keyvalue`; the host knows which bucket is meant. Part of the component alone."""

from collections.abc import Callable
from typing import TypeVar

from componentize_py_types import Err
from wit_world.imports import wasi_keyvalue_store as wit

from . import kv
from .failure import Failure

T = TypeVar("T")


def install() -> None:
    kv.keep_with(_Host())


def _with(use: Callable[[wit.Bucket], T]) -> T:
    try:
        with wit.open("") as bucket:
            return use(bucket)
    except Err as error:
        if isinstance(error.value, wit.Error_Other):
            raise Failure("failed", error.value.value) from None
        raise Failure("denied", "no grant allows this use of kept values") from None


class _Host:
    def get(self, key: str) -> bytes | None:
        return _with(lambda bucket: bucket.get(key))

    def set(self, key: str, value: bytes) -> None:
        _with(lambda bucket: bucket.set(key, value))

    def delete(self, key: str) -> None:
        _with(lambda bucket: bucket.delete(key))

    def exists(self, key: str) -> bool:
        return _with(lambda bucket: bucket.exists(key))

    def page(self, cursor: int | None) -> tuple[list[str], int | None]:
        found = _with(lambda bucket: bucket.list_keys(cursor))
        return list(found.keys), found.cursor
