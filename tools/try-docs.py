#!/usr/bin/env python3
"""Does what a page of docs/authors says, as a new user would: in an empty folder, command by command.

    tools/try-docs.py docs/authors/python.md…        all pages of docs/authors unless told

A fenced block of `sh` is run; a block with a file's name after its language, such as ```python hello.py, is that file. A
page's blocks of `sh` are one script, which ends at the first command that fails. `pausegate` is found in target/release
unless PAUSEGATE_BIN names it; `$PAUSEGATE` is this repository.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(\w+)(?: +(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A page that takes longer hangs.
SECONDS_MAX = 1200


def script_of(page: str) -> str:
    """The page as one script. Files are written where they stand, since a later block may write one anew."""
    parts = ["set -euo pipefail"]
    for language, name, text in BLOCK.findall(page):
        if name:
            parts.append(f"mkdir -p \"$(dirname {name})\"\ncat > {name} <<'END OF {name}'\n{text}END OF {name}")
        elif language == "sh":
            parts.append(f"set -x\n{text}{{ set +x; }} 2>/dev/null")
    return "\n".join(parts) + "\n"


def try_page(path: pathlib.Path, binary: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="pausegate-docs-") as folder:
        home = pathlib.Path(folder, "home")
        work = pathlib.Path(folder, "work")
        home.mkdir()
        work.mkdir()
        # What makes builds quick may stay; what belongs to the user must not be seen.
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("PAUSEGATE", "XDG_"))}
        real = pathlib.Path.home()
        shared = {"RUSTUP_HOME": real / ".rustup", "CARGO_HOME": real / ".cargo", "PYENV_ROOT": real / ".pyenv"}
        environment = {
            **{key: str(value) for key, value in shared.items()},
            **kept,
            "HOME": str(home),
            "PAUSEGATE": str(ROOT),
            "PATH": f"{pathlib.Path(binary).parent}:{os.environ['PATH']}",
        }
        start = time.monotonic()
        run = subprocess.run(["bash", "-c", script_of(path.read_text())], cwd=work, env=environment, timeout=SECONDS_MAX, check=False)
    outcome = "works" if run.returncode == 0 else f"ends with {run.returncode}"
    print(f"{path.name}: {outcome} after {time.monotonic() - start:.0f} s", flush=True)
    return run.returncode == 0


def main() -> int:
    binary = os.environ.get("PAUSEGATE_BIN", str(ROOT / "target/release/pausegate"))
    pages = [pathlib.Path(page) for page in sys.argv[1:]] or sorted((ROOT / "docs/authors").glob("[a-z]*.md"))
    return 0 if all([try_page(page, binary) for page in pages]) else 1


if __name__ == "__main__":
    sys.exit(main())
