"""Write Pausegate plugins in Python: a function with type hints and a docstring is a tool.

    from pausegate import ask_approval, tool

    @tool(effects="once")
    def remove(path: str) -> str:
        '''Removes a file for good.

        Args:
            path: Where it is, such as `/build/a.tmp`.
        '''
        ask_approval(f"Remove {path}")
        os.remove(path)
        return f"removed {path}"
"""

from . import config, http, kv, log, want
from .call import Call, ask, ask_approval, ask_choice, ask_form, ask_other, ask_text, current, save, state
from .content import Blob, Json, Text
from .failure import Failure
from .log import progress
from .question import Approval, Choice, Form, Other, Pause, TextAnswer
from .reconciling import NOT_HAPPENED, UNKNOWN, Verdict, happened, reconcile
from .tool import Tool, tool

__all__ = [
    "Approval", "Blob", "Call", "Choice", "Failure", "Form", "Json", "NOT_HAPPENED", "Other", "Pause", "Text", "TextAnswer", "Tool",
    "UNKNOWN", "Verdict", "ask", "ask_approval", "ask_choice", "ask_form", "ask_other", "ask_text", "config", "current", "happened",
    "http", "kv", "log", "progress", "reconcile", "save", "state", "tool", "want",
]  # fmt: skip
