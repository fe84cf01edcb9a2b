"""The names that workflows and tasks may be saved under.

People type names in a shell beside ids: `shoal show 12`, `@last`, `NAME` or `RUN/TASK`. A name that could mean
something else there is refused when it is saved. Existing rows with such a name keep working.
"""

from __future__ import annotations

COMMAND = "command"
"""`shoal why command 12` explains a command."""


def fault_of_workflow_name(name: str) -> str | None:
    """Why no workflow may be saved under this name, and what to do; None if one may."""
    if name == COMMAND:
        return f'the name "{name}" means a command in `shoal why`; write another'
    return fault_of_task_name(name)


def fault_of_task_name(name: str) -> str | None:
    """The same for a task."""
    if not name.strip():
        return "a name must not be empty or only blanks; write one"
    if not name.isprintable():
        return f"the name {name!a} holds a control character or one that nobody sees; remove it"
    if name != name.strip():
        return f'the name "{name}" begins or ends with a blank; remove it'
    if name.isdigit():
        return f'the name "{name}" has only digits, as an id; add a letter'
    if name[0] == "@":
        return f'the name "{name}" begins with @, as @last and @failed do; remove it'
    if name[0] == "-":
        return f'the name "{name}" begins with -, as an option does; remove it'
    if "/" in name:
        return f'the name "{name}" holds a /, which stands between a run and its task; write _ or . instead'
    if name in (".", ".."):
        return f'the name "{name}" means a folder; write another'
    return None


def as_id(named: str) -> int | None:
    """The id in a text, if the database can store it."""
    return int(named) if named.isascii() and named.isdecimal() and len(named) < 19 else None
