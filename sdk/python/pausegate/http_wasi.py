"""Sends requests by `wasi:http`. Part of the component alone."""

from urllib.parse import urlsplit

from componentize_py_types import Err
from wit_world.imports import outgoing_handler
from wit_world.imports import streams
from wit_world.imports import wasi_http_types as wit

from . import http
from .failure import Failure

_CHUNK_BYTES = 64 * 1024
_WRITE_BYTES = 4096

# By the names of WIT's error codes, which are the classes' names too.
_KINDS = {
    "HttpRequestDenied": "denied",
    "HttpRequestUriInvalid": "invalid-input",
    "HttpRequestMethodInvalid": "invalid-input",
    "DestinationIpProhibited": "denied",
    "HttpRequestBodySize": "too-large",
    "HttpResponseBodySize": "too-large",
}


def install() -> None:
    http.send_with(_send)


def _send(request: http.Request) -> http.Response:
    try:
        return _sent(request)
    except Err as error:
        name = type(error.value).__name__.removeprefix("ErrorCode_").removeprefix("HeaderError_")
        kind = _KINDS.get(name, "timeout" if "Timeout" in name else "unavailable")
        raise Failure(kind, f"{request.method} {request.url}: {_words(name)}") from None


def _sent(request: http.Request) -> http.Response:
    url = urlsplit(request.url)
    scheme = {"http": wit.Scheme_Http(), "https": wit.Scheme_Https()}.get(url.scheme)
    if scheme is None or not url.netloc:
        raise Failure("invalid-input", f"{request.url}: not an `http` or `https` URL")
    message = wit.OutgoingRequest(wit.Fields.from_list([(name, value.encode()) for name, value in request.headers]))
    message.set_method(_method(request.method))
    message.set_scheme(scheme)
    message.set_authority(url.netloc)
    message.set_path_with_query((url.path or "/") + (f"?{url.query}" if url.query else ""))
    body = message.body()
    future = outgoing_handler.handle(message, None)
    _write(body, request.body)
    with future.subscribe() as ready:
        ready.block()
    match future.get():
        case None | Err():
            raise Failure("unavailable", f"{request.url}: the response went away")
        case answer:
            inner = answer.value
    if isinstance(inner, Err):
        raise inner
    with inner.value as response:
        headers = [(name, value.decode(errors="replace")) for name, value in response.headers().entries()]
        return http.Response(response.status(), headers, _read(response, request))


def _method(name: str):
    known = getattr(wit, f"Method_{name.capitalize()}", None)
    return known() if known and name.lower() != "other" else wit.Method_Other(name)


def _write(body, data: bytes) -> None:
    try:
        with body.write() as stream:
            for at in range(0, len(data), _WRITE_BYTES):
                stream.blocking_write_and_flush(data[at : at + _WRITE_BYTES])
    except Err as error:
        # A refused request closes its body; what it was refused for is in the response.
        if not isinstance(error.value, streams.StreamError_Closed | streams.StreamError_LastOperationFailed):
            raise
    wit.OutgoingBody.finish(body, None)


def _read(response, request: http.Request) -> bytes:
    parts, length = [], 0
    with response.consume() as body, body.stream() as stream:
        while True:
            try:
                part = stream.blocking_read(_CHUNK_BYTES)
            except Err as error:
                if isinstance(error.value, streams.StreamError_Closed):
                    return b"".join(parts)
                raise Failure("unavailable", f"{request.url}: the response broke off") from None
            length += len(part)
            if length > request.max_bytes:
                raise Failure("too-large", f"{request.url}: the response is longer than {request.max_bytes} bytes")
            parts.append(part)


def _words(name: str) -> str:
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
