"""Makes a component of a plugin's module: `python -m pausegate.build PLUGIN.py [-o FILE.wasm] [-p FOLDER]…`."""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_WORLD = "plugin-sdk"
_RECONCILING_WORLD = "plugin-sdk-reconciling"
_PACKAGE = Path(__file__).resolve().parent

# The module is imported while the component is made: the snapshot keeps its tools, its schemas, and its own imports.
_ENTRY = """\
import {module}
from pausegate import export
from pausegate.export import Tools
export.made(reconciling={reconciling})
"""
_RECONCILING_ENTRY = "from pausegate.reconciling_export import Reconcile\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m pausegate.build", description="Makes a component of a plugin's module")
    parser.add_argument("plugin", type=Path, help="the module, such as `notes.py`")
    parser.add_argument("-o", "--output", type=Path, help="the component; `NAME.wasm` beside the module unless given")
    parser.add_argument("-p", "--path", type=Path, action="append", default=[], help="a further folder to import from")
    given = parser.parse_args(arguments)
    if not given.plugin.is_file():
        parser.error(f"there is no file `{given.plugin}`")
    if not given.plugin.stem.isidentifier():
        parser.error(f"`{given.plugin.stem}` is no name for a module: use letters, digits and `_`")
    output = given.output or given.plugin.with_suffix(".wasm")
    return build(given.plugin, output, given.path)


def build(plugin: Path, output: Path, path: list[Path]) -> int:
    """The exit code of componentize-py. `output` is replaced in one step."""
    tool = _componentize_py()
    if tool is None:
        print("componentize-py is missing: `pip install 'pausegate-sdk[build]'`", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        # Only what belongs to the component: componentize-py puts every folder it is given in.
        place = Path(scratch)
        shutil.copytree(_PACKAGE, place / "sdk/pausegate", ignore=shutil.ignore_patterns("wit", "build.py", "testing.py", "__pycache__"))
        reconciling = _reconciles(plugin)
        entry = _ENTRY.format(module=plugin.stem, reconciling=reconciling)
        (place / "pausegate_entry.py").write_text(entry + (_RECONCILING_ENTRY if reconciling else ""))
        world = _RECONCILING_WORLD if reconciling else _WORLD
        made = place / "plugin.wasm"
        folders = [place, place / "sdk", plugin.resolve().parent, *path]
        command = [tool, "-d", str(_PACKAGE / "wit"), "-w", world, "componentize", "pausegate_entry", "-o", str(made)]
        for folder in folders:
            command += ["-p", str(folder)]
        # Else componentize-py takes in the packages of the environment that it runs in.
        environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        code = subprocess.run(command, env=environment, check=False).returncode
        if code == 0:
            output.parent.mkdir(parents=True, exist_ok=True)
            beside = output.with_name(f".{output.name}.new")
            shutil.copyfile(made, beside)
            beside.replace(output)
    return code


def _reconciles(plugin: Path) -> bool:
    """Whether a function of the module is `@reconcile`: which world it is built for is settled before it is imported."""
    try:
        module = ast.parse(plugin.read_bytes(), plugin)
    except SyntaxError:
        return False  # componentize-py says it better.
    functions = (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef))
    names = (getattr(decorator, "attr", getattr(decorator, "id", None)) for function in functions for decorator in function.decorator_list)
    return "reconcile" in names


def _componentize_py() -> str | None:
    beside = Path(sys.executable).parent / "componentize-py"
    return str(beside) if beside.is_file() else shutil.which("componentize-py")


if __name__ == "__main__":
    sys.exit(main())
