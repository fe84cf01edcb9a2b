"""How a workflow is named in a command line that a message proposes."""

from __future__ import annotations

from shlex import quote

from model.definitions.names import fault_of_workflow_name


def typed(name: str, project: str | None = "default", code: int | None = None) -> str:
    """A workflow's name for a shell, with its project unless that is the default.

    A name from before names were checked may look like an id or an option: then its code, if that is given.
    """
    if code is not None and fault_of_workflow_name(name) is not None:
        return str(code)
    return quote(name) if project in (None, "default") else f"{quote(name)} --project {quote(project)}"
