"""Reads settings by `wasi:config`. Part of the component alone."""

from componentize_py_types import Err
from wit_world.imports import wasi_config_store as wit

from . import config
from .failure import Failure


def install() -> None:
    config.read_from(_read)


def _read() -> dict[str, str]:
    try:
        return dict(wit.get_all())
    except Err as error:
        raise Failure("unavailable", error.value.value) from None
