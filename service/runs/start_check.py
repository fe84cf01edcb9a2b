"""Validation of the arguments of a start against the workflow: a mistyped name is refused before the start."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from dao.definitions import definitions, projects
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.near import nearest
from model.parameters.declared import check_declared
from model.parameters.parameters import parse_parameters

if TYPE_CHECKING:
    from dao.definitions.definitions import Definition
    from dao.postgres.pool import AsyncConnection

_GIVES_TO_CHILDREN = {"SUB_PROCESS", "DYNAMIC"}


class ReadVersion:
    """A version of a workflow that was read. What the checks need of it is made once, for all its starts."""

    def __init__(self, spec: WorkflowSpec) -> None:
        self.spec = spec

    @cached_property
    def tasks(self) -> frozenset[str]:
        return frozenset(task.name for task in self.spec.tasks)

    def mentions(self, name: str) -> bool:
        """Whether the definition, or one that it may hand the value to, has this word anywhere."""
        if self._gives_to_children:
            return True
        # The name comes first in the pattern: the search then skips to where it stands.
        word = re.escape(name)
        return re.search(rf"{word}(?<![\w.]{word})(?!\w)|SHOAL_PARAM_{word}", self._content) is not None

    @cached_property
    def _gives_to_children(self) -> bool:
        return any(task.type in _GIVES_TO_CHILDREN for task in self.spec.tasks)

    @cached_property
    def _content(self) -> str:
        return self.spec.model_dump_json()


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
        version_read = ReadVersion(spec)
        check_tasks(head, version_read, tasks)
        check_names(head, version_read, names, await projects.parameters(connection, head.project) if names else {})


def check_tasks(head: Definition, version: ReadVersion, tasks: Collection[str]) -> None:
    """Raises `Refused`: a task is unknown."""
    for name in tasks:
        if name not in version.tasks:
            raise Refused(f'workflow "{head.name}" has no task "{name}"; {_choice(name, version.tasks)}')


def check_names(head: Definition, version: ReadVersion, names: Collection[str], of_project: Mapping[str, str]) -> None:
    """Raises `Refused`: a parameter is neither mentioned in the workflow nor one of its project."""
    for name in names:
        if name not in of_project and not version.mentions(name):
            known = [*version.spec.params, *version.spec.secrets, *of_project]
            raise Refused(f'workflow "{head.name}" has no parameter "{name}"; {_choice(name, known)}')


def check_values(head: Definition, spec: WorkflowSpec, given: Mapping[str, str]) -> None:
    """Raises `WrongParameters`: with these values a run would not have what the workflow declares.

    A value with a reference is left to the run, which replaces it.
    """
    if spec.declared:
        of_project = parse_parameters(head.project_params, f'the parameters of project "{head.project}"')
        check_declared(spec.declared, {**of_project, **spec.params, **given}, spec.secret_names(), given=True)


async def check_all_values(
    connection: AsyncConnection, head: Definition, given: Mapping[str, str], version: int | None = None
) -> None:
    """The same for what starts later, with all values that it gives. A version that cannot be read is left to the
    master."""
    spec = await definitions.spec_of(connection, head.code, version or head.version)
    if isinstance(spec, WorkflowSpec):
        check_values(head, spec, given)


def _choice(name: str, known: Iterable[str]) -> str:
    known = sorted(set(known))
    if near := nearest(name, known):
        return f'did you mean "{near}"?'
    return f"it has {', '.join(known)}" if known else "it has none"
