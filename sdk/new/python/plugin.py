"""The plugin `%NAME%`."""

from pausegate import ask_approval, tool


@tool(effects="read-only")
def greet(name: str) -> str:
    """Greets someone.

    Args:
        name: Whom to greet.
    """
    return f"Hello, {name}!"


@tool(effects="once")
def send(name: str) -> str:
    """Sends a greeting, once a person has approved it.

    Args:
        name: Whom to greet.
    """
    # Ends the attempt until a person answered; then the function runs again from its start and gets past it.
    ask_approval(f"Send a greeting to {name}")
    return f"greeted {name}"
