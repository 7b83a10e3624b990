"""HTTP requests, as far as the operator granted them. Redirects are handed back, not followed.

In tests, `send_with(function)` answers them: there is no network.
"""

import json as json_
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .failure import Failure

# The most bytes of a response that are read, unless a request says otherwise.
BODY_BYTES_MAX = 8 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes
    max_bytes: int


@dataclass(frozen=True)
class Response:
    status: int
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")

    def json(self) -> Any:
        return json_.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def ok(self) -> "Response":
        """This response, if its status is one of success; else a failure of the kind that fits."""
        if 200 <= self.status < 300:
            return self
        kinds = {401: "auth-required", 403: "denied", 404: "not-found", 408: "timeout", 409: "conflict", 413: "too-large", 429: "rate-limited"}
        kind = kinds.get(self.status, "unavailable" if self.status >= 500 else "failed")
        raise Failure(kind, f"the server answered {self.status}: {self.text[:200]}")


def get(url: str, *, headers: Mapping[str, str] | None = None, max_bytes: int = BODY_BYTES_MAX) -> Response:
    return request("GET", url, headers=headers, max_bytes=max_bytes)


def post(url: str, body: Any = b"", *, headers: Mapping[str, str] | None = None, max_bytes: int = BODY_BYTES_MAX) -> Response:
    return request("POST", url, body, headers=headers, max_bytes=max_bytes)


def request(
    method: str, url: str, body: Any = b"", *, headers: Mapping[str, str] | None = None, max_bytes: int = BODY_BYTES_MAX
) -> Response:
    """`body` is bytes, text, or a value that is sent as JSON. Raises `Failure` where there is no response."""
    pairs = list((headers or {}).items())
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = json_.dumps(body).encode()
        pairs.append(("content-type", "application/json"))
    return _send(Request(method, url, pairs, body, max_bytes))


def _nowhere(request: Request) -> Response:
    raise RuntimeError("there is no network outside the sandbox: in a test, use `pausegate.http.send_with`")


_send: Callable[[Request], Response] = _nowhere


def send_with(send: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Answers requests by `send` from now on, and returns what answered before."""
    global _send
    before, _send = _send, send
    return before
