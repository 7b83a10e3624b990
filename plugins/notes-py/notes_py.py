"""Notes in a folder, one Markdown file each: write, search, read, and forget once a person agrees."""

import os
import re
from dataclasses import dataclass
from typing import Annotated

from pausegate import Failure, ask_approval, tool, want

FOLDER = "/notes"

# More is cut off: a model reads what comes back.
EXCERPT_LETTERS_MAX = 200
FOUND_MAX = 50

want.fs(FOLDER, "write", "keeps notes there")

Title = Annotated[str, "What the note is called.", {"minLength": 1, "maxLength": 80}]


@dataclass
class Note:
    title: str
    excerpt: str


def path_of(title: str) -> str:
    """A file's name by the words of the title, so that no title leads out of the folder."""
    name = re.sub(r"[^\w]+", "-", title, flags=re.UNICODE).strip("-").lower()
    if not name:
        raise Failure("invalid-input", "a title has letters or digits")
    return f"{FOLDER}/{name}.md"


@tool(effects="idempotent")
def write(title: Title, text: str) -> str:
    """Writes a note, in the place of an earlier one of that title.

    Args:
        text: The note, in Markdown.
    """
    with open(path_of(title), "w", encoding="utf-8") as file:
        file.write(f"# {title}\n\n{text}\n")
    return f"noted: {title}"


@tool(effects="read-only")
def read(title: Title) -> str:
    """Reads a note."""
    with open(path_of(title), encoding="utf-8") as file:
        return file.read()


@tool(effects="read-only")
def search(words: str = "") -> list[Note]:
    """Finds the notes that hold all of some words; all notes where there are none.

    Args:
        words: Words in any case and order.
    """
    wanted = words.casefold().split()
    found = []
    for name in sorted(os.listdir(FOLDER)):
        if not name.endswith(".md"):
            continue
        with open(f"{FOLDER}/{name}", encoding="utf-8") as file:
            text = file.read()
        if all(word in text.casefold() for word in wanted):
            heading, _, rest = text.partition("\n")
            found.append(Note(heading.removeprefix("# "), rest.strip()[:EXCERPT_LETTERS_MAX]))
    return found[:FOUND_MAX]


@tool(effects="once")
def forget(title: Title) -> str:
    """Removes a note for good, once a person agrees."""
    path = path_of(title)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    ask_approval(f"Forget the note “{title}”", context={"text": text[:EXCERPT_LETTERS_MAX]})
    os.remove(path)
    return f"forgot: {title}"
