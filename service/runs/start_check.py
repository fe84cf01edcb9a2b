"""Validation of the arguments of a start against the workflow: a mistyped name is refused before the start."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches

from sqlalchemy.ext.asyncio import AsyncConnection

from dao.definitions import definitions, projects
from dao.definitions.definitions import Definition
from model.errors import Refused
from model.workflow import WorkflowSpec

_GIVES_TO_CHILDREN = {"SUB_PROCESS", "DYNAMIC"}


async def check_start(
    connection: AsyncConnection, head: Definition, names: Collection[str], tasks: Collection[str], version: int | None
) -> None:
    """Refuse parameters and tasks that the workflow does not know.

    A version that is missing or cannot be read is left to the master, which writes an error command.

    Args:
        names: of the parameters that are given.
        tasks: of the tasks that the run is to begin with.
        version: None: the current one.
    Raises:
        Refused: a name is unknown; the sentence suggests a similar one.
    """
    if not names and not tasks:
        return
    spec = await definitions.spec_of(connection, head.code, version or head.version)
    if isinstance(spec, WorkflowSpec):
        check_tasks(head, spec, tasks)
        check_names(head, spec, names, await projects.parameters(connection, head.project) if names else {})


def check_tasks(head: Definition, spec: WorkflowSpec, tasks: Collection[str]) -> None:
    """Raises `Refused`: a task is unknown."""
    for name in tasks:
        known = [task.name for task in spec.tasks]
        if name not in known:
            raise Refused(f'workflow "{head.name}" has no task "{name}"; {_choice(name, known)}')


def check_names(head: Definition, spec: WorkflowSpec, names: Collection[str], of_project: Mapping[str, str]) -> None:
    """Raises `Refused`: a parameter is neither mentioned in the workflow nor one of its project."""
    for name in names:
        if not _is_mentioned(name, spec) and name not in of_project:
            known = [*spec.params, *spec.secrets, *of_project]
            raise Refused(f'workflow "{head.name}" has no parameter "{name}"; {_choice(name, known)}')


def _is_mentioned(name: str, spec: WorkflowSpec) -> bool:
    """Whether the definition, or one that it may hand the value to, has this word anywhere."""
    if any(task.type in _GIVES_TO_CHILDREN for task in spec.tasks):
        return True
    return (
        re.search(rf"(?<![\w.]){re.escape(name)}(?!\w)|SHOAL_PARAM_{re.escape(name)}", spec.model_dump_json())
        is not None
    )


def _choice(name: str, known: Iterable[str]) -> str:
    known = sorted(set(known))
    if near := get_close_matches(name, known, n=1):
        return f'did you mean "{near[0]}"?'
    return f"it has {', '.join(known)}" if known else "it has none"
