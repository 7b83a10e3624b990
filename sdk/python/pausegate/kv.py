"""Values that last from call to call, in the one bucket that the operator granted: of this chain, or of all of them.

What cannot be kept or read is a `Failure`: `denied` without a grant, else `failed` with the host's words, such as what
the quota is. In tests values are kept in memory, from one call to the next; `keep_with(Memory())` begins anew.
"""

from typing import Protocol

from .failure import Failure

# The most keys that `keys` hands out; of a bucket with more it fails.
KEYS_MAX = 10_000


def get(key: str) -> bytes | None:
    """The value under `key`, if there is one."""
    return _store.get(_text(key))


def get_text(key: str) -> str | None:
    """The value under `key` as text."""
    value = get(key)
    return None if value is None else value.decode()


def set(key: str, value: bytes | str) -> None:
    """Keeps `value` under `key`, in the place of what was there. Text is kept as UTF-8."""
    _store.set(_text(key), value.encode() if isinstance(value, str) else bytes(value))


def delete(key: str) -> None:
    """Takes `key` away, if it is there."""
    _store.delete(_text(key))


def exists(key: str) -> bool:
    """Whether there is a value under `key`."""
    return _store.exists(_text(key))


def keys() -> list[str]:
    """All keys, in order."""
    found, cursor = _store.page(None)
    while cursor is not None and len(found) <= KEYS_MAX:
        more, cursor = _store.page(cursor)
        found = found + more
    if len(found) > KEYS_MAX:
        raise Failure("too-large", f"there are more than {KEYS_MAX} keys")
    return sorted(found)


def _text(key: str) -> str:
    """A key that is Unicode, as every `str` but one with half a pair of surrogates is: nothing else crosses to the host."""
    return key.encode().decode()


class Store(Protocol):
    """What keeps the values."""

    def get(self, key: str) -> bytes | None: ...
    def set(self, key: str, value: bytes) -> None: ...
    def delete(self, key: str) -> None: ...
    def exists(self, key: str) -> bool: ...
    def page(self, cursor: int | None) -> tuple[list[str], int | None]: ...


class Memory:
    """Where values are kept without a host."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.values.get(key)

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def exists(self, key: str) -> bool:
        return key in self.values

    def page(self, cursor: int | None) -> tuple[list[str], int | None]:
        return list(self.values), None


_store: Store = Memory()


def keep_with(store: Store) -> Store:
    """Keeps values in `store` from now on, and returns what kept them before."""
    global _store
    before, _store = _store, store
    return before
