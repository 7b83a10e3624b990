"""The conformance plugin in Python; `cases.json` says what each tool must do."""

import os
import random as random_
import time
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pausegate import (
    NOT_HAPPENED, UNKNOWN, Blob, Call, Failure, Json, Text, ask_approval, ask_choice, ask_form, ask_other, ask_text, config, happened,
    http, kv, log, progress, reconcile, save, state, tool, want,
)  # fmt: skip

want.fs("/data", "write", "reads and writes test files")

counted = 0


@tool(effects="read-only")
def echo(text: str) -> str:
    """Hands its text back.

    Args:
        text: Any text.
    """
    return text


@dataclass
class Point:
    x: float
    y: float


@dataclass
class Nested:
    """A thing with parts."""

    name: Annotated[str, "What it is called."]
    tags: list[str] = field(default_factory=list)
    point: Point | None = None


@dataclass
class Types:
    string: str
    integer: int
    number: float
    boolean: bool
    list: list[int]
    map: dict[str, float]
    nested: Nested
    colour: str
    optional: str | None
    defaulted: int


@tool(effects="read-only")
def types(
    string: str,
    integer: int,
    number: float,
    boolean: bool,
    list: list[int],
    map: dict[str, float],
    nested: Nested,
    colour: Literal["red", "green", "blue"],
    optional: str | None = None,
    defaulted: int = 7,
) -> Types:
    """Hands its arguments back as it read them."""
    return Types(string, integer, number, boolean, list, map, nested, colour, optional, defaulted)


@dataclass
class AnyValue:
    value: Any


@tool(effects="read-only")
def any(value: Any) -> AnyValue:
    """Hands any JSON value back."""
    return AnyValue(value)


@tool(effects="read-only")
def fail(kind: str, message: str, retry_after_ms: int | None = None, effect: Literal["none", "maybe", "happened"] = "none") -> str:
    """Fails as told."""
    raise Failure(kind, message, retry_after=None if retry_after_ms is None else retry_after_ms / 1000, effect=effect)


@tool(effects="read-only")
def crash() -> str:
    """Runs into an error that nobody handles."""
    return {}["nothing"]


@tool(effects="read-only")
def approve(reason: str) -> str:
    """Asks for a yes."""
    ask_approval(reason)
    return f"approved: {reason}"


@tool(effects="read-only")
def approve_both(first: str, second: str) -> str:
    """Asks for two yeses."""
    ask_approval(first)
    ask_approval(second)
    return f"approved: {first}, {second}"


@tool(effects="read-only")
def choose(options: list[str]) -> str:
    """Asks for one of several answers."""
    return ask_choice("choice", "Which one?", options)


@tool(effects="read-only")
def paint() -> str:
    """Asks for a colour by its label."""
    return ask_choice("colour", "Which colour?", [("r", "a warm red"), ("g", "a green")])


@tool(effects="read-only")
def text(reason: str) -> str:
    """Asks for free text."""
    return ask_text("text", reason)


@dataclass
class Address:
    street: Annotated[str, "Street and number."]
    city: str
    remark: str | None = None


@tool(effects="read-only")
def form(parcel: str) -> Address:
    """Asks for an address by a form."""
    return ask_form("address", f"Where does {parcel} go?", Address, context={"parcel": parcel})


@tool(effects="read-only")
def rate(subject: str) -> str:
    """Asks a question of a kind of its own."""
    stars = ask_other("stars", f"Rate {subject}", "conform:stars", {"type": "integer", "minimum": 1, "maximum": 5})
    return f"{subject}: {stars} of 5"


@dataclass
class Plan:
    place: str
    wishes: str
    asked: int


@tool(effects="read-only")
def trip(places: list[str]) -> Plan:
    """Asks three questions, and keeps what it learned in saved state."""
    plan = state({})
    if "place" not in plan:
        plan["place"] = ask_choice("place", "Where to?", places)
        save(plan)
    if "wishes" not in plan:
        plan["wishes"] = ask_text("wishes", "What do you want to see there?")
        save(plan)
    ask_approval("Is that the plan?", context=plan)
    return Plan(plan["place"], plan["wishes"], 3)


@tool(effects="read-only")
def swallow() -> str:
    """Asks, and drops its own question."""
    try:
        ask_approval("Is that fine?")
    except:  # noqa: E722 - the point of this tool
        pass
    return "nobody was asked"


@tool(effects="read-only")
def save_much(bytes: int) -> str:
    """Saves a long text, then asks."""
    save("x" * bytes)
    return ask_text("text", "What now?")


@tool(effects="read-only")
def say(text: str) -> str:
    """Writes a line at each level."""
    for level in log.LEVELS:
        log.write(level, text)
    print(text)
    return "said"


@tool(effects="read-only")
def count(to: int) -> str:
    """Reports its progress."""
    for done in range(to + 1):
        progress(done, to, "counting")
    return str(to)


@tool(effects="read-only")
def read(path: str) -> str:
    """Reads a file."""
    with open(path, encoding="utf-8") as file:
        return file.read()


@tool(effects="once")
def write(path: str, text: str) -> str:
    """Writes a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return "written"


@tool(effects="read-only")
def list(path: str) -> str:
    """Lists a folder."""
    return "\n".join(sorted(os.listdir(path)))


@dataclass
class Page:
    status: int
    body: str


@tool(effects="read-only")
def get(url: str) -> Page:
    """Makes a GET request."""
    response = http.get(url)
    return Page(response.status, response.text)


@tool(effects="read-only")
def env(name: str) -> str:
    """Looks up a variable of the environment."""
    if name not in os.environ:
        raise Failure("not-found", f"no variable `{name}`")
    return os.environ[name]


@dataclass
class Now:
    ms: int


@tool(effects="read-only")
def now() -> Now:
    """Tells the time."""
    return Now(int(time.time() * 1000))


@tool(effects="read-only")
def nap(ms: int) -> str:
    """Sleeps; in no other language, for the host's tests of a large guest that waits.

    Args:
        ms: How long, in milliseconds.
    """
    time.sleep(ms / 1000)
    return "slept"


@dataclass
class Dice:
    value: int


@tool(effects="read-only")
def random() -> Dice:
    """Rolls a number below 2^48."""
    return Dice(random_.getrandbits(48))


@tool(effects="read-only")
def big(bytes: int) -> str:
    """Makes a long text."""
    return "x" * bytes


@dataclass
class Length:
    bytes: int


@tool(effects="read-only")
def length(text: str) -> Length:
    """Counts the bytes of its text as UTF-8."""
    return Length(len(text.encode()))


@tool(effects="read-only")
def broken() -> str:
    """Hands back text that is not Unicode."""
    return "a\ud800b"


@tool(effects="read-only")
def pieces():
    """Hands back text, a value and bytes."""
    return [Text("one"), Json({"two": 2}), Blob("image/png", b"\x89PNG")]


@tool(effects="read-only")
def nothing() -> None:
    """Hands nothing back."""


@dataclass
class About:
    tool: str
    attempt: int
    approved: bool
    has_id: bool
    has_key: bool
    has_time: bool


@tool(effects="read-only")
def about(call: Call) -> About:
    """Tells what it knows of its call."""
    return About(call.tool, call.attempt, call.approved, call.id != "", call.idempotency_key != "", call.time_left > 0)


@tool(effects="read-only")
def counter() -> str:
    """Counts its calls in memory, which does not last."""
    global counted
    counted += 1
    return str(counted)


@tool(effects="once")
def keep(key: str, value: str) -> str:
    """Keeps a text under a key."""
    kv.set(key, value)
    return "kept"


@tool(effects="read-only")
def kept(key: str) -> str:
    """Tells what is kept under a key."""
    return kv.get_text(key) if kv.exists(key) else f"nothing under `{key}`"


@tool(effects="once")
def forget(key: str) -> str:
    """Takes a key away."""
    kv.delete(key)
    return "forgotten"


@tool(effects="read-only")
def keys() -> str:
    """Lists the keys that are kept."""
    return "\n".join(kv.keys())


@tool(effects="read-only")
def setting(name: str) -> str:
    """Tells a setting of the operator's."""
    value, count = config.get(name), len(config.all())
    return f"none of {count}" if value is None else f"{value}, of {count}"


@reconcile
def found(call: Call):
    """A write is there or it is not; a file that says so was refused."""
    try:
        with open(call.arguments["path"], encoding="utf-8") as file:
            held = file.read()
    except FileNotFoundError:
        return NOT_HAPPENED
    if held == call.arguments["text"]:
        return happened("written")
    return happened(Failure("conflict", "it was refused")) if held == "refused" else UNKNOWN
