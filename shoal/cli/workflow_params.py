"""The parameters of a workflow and of its tasks, their scripts above all, as `workflow show` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.parameters.secret_values import without_sealed
from service.words import counted, plain
from service.workflows import workflow_text
from shoal.cli.output import hint, say

if TYPE_CHECKING:
    from model.definitions.workflow import WorkflowSpec
    from model.parameters.declared import Declaration

LINES_MAX = 12
"""The limit for one task, unless all lines are requested."""


def print_globals(spec: WorkflowSpec) -> None:
    """Print the parameters of the workflow, each with its default and declaration."""
    for key in spec.secrets:
        if key not in spec.params and key not in spec.declared:
            say(f"  {key}: SECRET, given by the start")
    for key, value in spec.params.items():
        declared = spec.declared.get(key)
        say(f"  {key} = {value}" if declared is None else f"  {key} = {value}  {_declared(declared)}")
    for key, declared in spec.declared.items():
        if key not in spec.params:
            say(f"  {key}  {_declared(declared)}")


def _declared(declared: Declaration) -> str:
    kind = declared.allowed() if declared.enum is not None else f"{declared.type}, {declared.allowed()}"
    required = ", required" if declared.required else ""
    return plain(f"({kind}{required}) {' '.join(declared.description.split())}".rstrip())


def print_params(spec: WorkflowSpec, whole: str | None) -> None:
    """Print the description of each task, and its parameters as YAML.

    Args:
        whole: the command line that shows all lines; None = this is it.
    """
    for task in spec.tasks:
        if not (task.params or task.description):
            continue
        lines = without_sealed(workflow_text.to_yaml(task.params)).splitlines() if task.params else []
        kept = len(lines) if whole is None or len(lines) <= LINES_MAX + 1 else LINES_MAX
        say(f"  {plain(task.name)}:", style="bold")
        for line in task.description.splitlines():
            say(f"    {plain(line)}", style="italic")
        for line in lines[:kept]:
            say(f"    {plain(line)}")
        if kept < len(lines):
            hint(f"    … {counted(len(lines) - kept, 'more line')}: {whole}")
