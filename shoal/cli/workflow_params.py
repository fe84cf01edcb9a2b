"""The parameters of a workflow's tasks, their scripts above all, as `workflow show` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from model.parameters.secret_values import without_sealed
from service.words import counted, plain
from service.workflows import workflow_text
from shoal.cli.output import hint, say

if TYPE_CHECKING:
    from model.definitions.workflow import WorkflowSpec

LINES_MAX = 12
"""Of one task, unless all are asked for."""


def print_params(spec: WorkflowSpec, whole: str | None) -> None:
    """Print the parameters of each task as YAML.

    Args:
        whole: the command line that shows all lines; None = this is it.
    """
    for task in spec.tasks:
        if not task.params:
            continue
        lines = without_sealed(workflow_text.to_yaml(task.params)).splitlines()
        kept = len(lines) if whole is None or len(lines) <= LINES_MAX + 1 else LINES_MAX
        say(f"  {plain(task.name)}:", style="bold")
        for line in lines[:kept]:
            say(f"    {plain(line)}")
        if kept < len(lines):
            hint(f"    … {counted(len(lines) - kept, 'more line')}: {whole}")
