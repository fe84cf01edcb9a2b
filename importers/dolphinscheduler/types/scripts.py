"""SHELL and PYTHON: their scripts stay as they are; Shoal's own readers say where a value would be refused."""

from __future__ import annotations

from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.draft import Draft


def shell(step: Step, draft: Draft, context: Context) -> None:  # noqa: ARG001 - as all conversions
    """SHELL; its exit code decides here as there."""
    draft.type = "SHELL"
    draft.params = {"script": step.params.text("rawScript")}
    if not draft.params["script"].strip():
        draft.about.todo("rawScript", "it has no script; write one, or remove the task")


def python(step: Step, draft: Draft, context: Context) -> None:
    """PYTHON; the interpreter was that of its environment (PYTHON_LAUNCHER)."""
    draft.type = "PYTHON"
    draft.params = {"script": step.params.text("rawScript")}
    context.habits.add("python")
    if not draft.params["script"].strip():
        draft.about.todo("rawScript", "it has no script; write one, or remove the task")


def remote_shell(step: Step, draft: Draft, context: Context) -> None:
    """REMOTESHELL, which runs a script on another machine by SSH."""
    fields = ("rawScript", "type", "datasource", "datasourceName")
    params = {name: step.params.get(name) for name in fields if step.params.has(name)}
    step.params.irrelevant("type")
    host = params.get("datasourceName")
    if host is None and "datasource" in params:
        host = context.ask("datasources", params["datasource"], draft, "an SSH server")
    draft.cannot(f"run its script by ssh on {host or 'that machine'}, with a key that the workers have", params)
