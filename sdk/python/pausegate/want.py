"""What a plugin would like to be granted, and why. Shown to the operator; grants nothing."""

import json
from typing import Any

from .contract import Want

WANTS: list[Want] = []


def fs(mount: str, access: str, why: str) -> None:
    """A folder of the host at `mount`; `access` is `read` or `write`."""
    other("fs", {"mount": mount, "access": access}, why)


def http(url: str, methods: list[str], why: str) -> None:
    """Requests to `url`, which may hold `*`, with these methods."""
    other("http", {"url": url, "methods": methods}, why)


def env(name: str, why: str) -> None:
    """An environment variable."""
    other("env", {"name": name}, why)


def kv(scope: str, why: str) -> None:
    """Key-value storage; `scope` is `chain` or `plugin`."""
    other("kv", {"scope": scope}, why)


def other(capability: str, scope: dict[str, Any], why: str) -> None:
    """Anything else, with the keys of its grant line as `scope`."""
    WANTS.append(Want(capability, json.dumps(scope), why))
