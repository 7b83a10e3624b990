"""Reads docstrings: what a tool does, and what each parameter is. Google's, NumPy's and reST's ways of writing them."""

import inspect
import re

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Params|Attributes):?$", re.IGNORECASE)
_OTHER_SECTION = re.compile(r"^(Returns?|Yields?|Raises|Examples?|Notes?|See Also|Warnings?|References):?$", re.IGNORECASE)
_GOOGLE = re.compile(r"^\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_NUMPY = re.compile(r"^(\w+)(\s*:.*)?$")
_REST = re.compile(r"^:(?:param|parameter|arg)\s+(?:[^:]*\s)?(\w+):\s*(.*)$")


def read(doc: str | None) -> tuple[str, dict[str, str]]:
    """The description, and the text of each parameter."""
    about: list[str] = []
    parameters: dict[str, list[str]] = {}
    into: list[str] | None = about
    section, indent = "", 0
    lines = inspect.cleandoc(doc or "").splitlines()
    for at, line in enumerate(lines):
        words, depth = line.strip(), len(line) - len(line.lstrip())
        ruled = at + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[at + 1].strip()) is not None
        if depth == 0 and _SECTION.match(words) and (ruled or words.endswith(":")):
            section, into, indent = ("numpy" if ruled else "google"), None, 0
        elif depth == 0 and _OTHER_SECTION.match(words) and (ruled or words.endswith(":")):
            section, into = "other", None
        elif section and re.fullmatch(r"-{3,}", words):
            continue
        elif match := _REST.match(words):
            into = parameters.setdefault(match[1], [])
            into.append(match[2])
        elif words.startswith(":") and re.match(r"^:\w+[^:]*:", words):
            into = None
        elif section == "numpy" and depth == 0 and (match := _NUMPY.match(words)):
            into = parameters.setdefault(match[1], [])
        elif section == "google" and depth == 0 and words:
            # Text that follows a section at the margin belongs to the description again.
            section, into = "", about
            about.append(words)
        elif section == "google" and words and (not indent or depth <= indent) and (match := _GOOGLE.match(words)):
            indent = depth
            into = parameters.setdefault(match[1], [])
            into.append(match[2])
        elif into is not None:
            into.append(line.strip() if into is not about else line)
    return "\n".join(about).strip(), {name: " ".join(filter(None, text)) for name, text in parameters.items()}
