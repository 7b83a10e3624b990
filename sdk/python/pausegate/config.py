"""Settings that the operator made for this plugin: `config = { units = "metric" }` in its section.

In tests there are none until `read_from({"units": "metric"})` makes some.
"""

from collections.abc import Callable, Mapping

Settings = Mapping[str, str]


def get(name: str, default: str | None = None) -> str | None:
    """The setting of this name, or `default` where the operator made none."""
    return _settings().get(name, default)


def all() -> dict[str, str]:
    """All settings."""
    return dict(_settings())


_settings: Callable[[], Settings] = dict


def read_from(settings: Settings | Callable[[], Settings]) -> Callable[[], Settings]:
    """Reads settings from there from now on, and returns where they came from before."""
    global _settings
    before, _settings = _settings, settings if callable(settings) else lambda: settings
    return before
