"""The newest version of a run's workflow, and what it changes for the run, which keeps its own when it is rerun."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from dao.definitions import definitions
from dao.runs import relations
from model.definitions.newer_version import changed_tasks
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.runs.command_moves import CommandType
from service.explain.answer import Why, names_of
from service.projects.limits import check_limits_of_start
from service.runs.answers import NewerVersionAnswer, OlderBelowAnswer, Visible

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection
    from dao.runs.rows import Run


@dataclass(frozen=True)
class NewerVersion:
    """What is newer than the version of a run, and the order of its tasks."""

    version: int
    changes: Sequence[str]
    order: Sequence[str]

    def answer(self, failed: Collection[str] = ()) -> NewerVersionAnswer:
        """The answer for a run of which these tasks began and did not succeed."""
        begins = next((name for name in self.order if name in self.changes or name in failed), None)
        return NewerVersionAnswer(version=self.version, changes=self.changes, begins_with=begins)


async def newer_version(connection: AsyncConnection, run: Run) -> NewerVersion | None:
    """What is newer than the version of a run that has ended; None: nothing is, or it cannot be read."""
    if not run.state.is_final:
        return None
    head = (await definitions.heads(connection, [run.workflow_code])).get(run.workflow_code)
    if head is None or head.version <= run.version:
        return None
    found = await definitions.specs(connection, [(head.code, run.version), (head.code, head.version)])
    old, new = (found.get((head.code, version)) for version in (run.version, head.version))
    if not isinstance(old, WorkflowSpec) or not isinstance(new, WorkflowSpec):
        return None
    return NewerVersion(head.version, changed_tasks(old, new), [task.name for task in new.tasks])


GOES_ON_BELOW = frozenset({CommandType.START_FAILURE_TASK_PROCESS, CommandType.RECOVER_SUSPENDED_PROCESS})
"""With these the runs below a run go on, with their versions; with others new ones begin, with the newest."""
BELOW_MAX = 5


async def older_below(connection: AsyncConnection, run: Run, visible: Visible) -> list[OlderBelowAnswer]:
    """The runs below that go on with a run in a version that is not the newest, of those that the caller may see."""
    found = await relations.older_below(connection, run.id, visible, BELOW_MAX)
    return [OlderBelowAnswer(**asdict(one)) for one in found]


def with_newer(why: Why, run: Run, newer: NewerVersion | None) -> Why:
    """The same, and that a rerun keeps the run's version though there is a newer one."""
    if newer is None:
        return why
    sentence = why.sentence if why.sentence.endswith((".", "!", "?")) else f"{why.sentence}."
    changes = names_of(newer.changes) if newer.changes else "no task"
    return Why(
        f"{sentence} This run keeps v{run.version}; v{newer.version} changes {changes}.",
        f"{why.do}   With v{newer.version}: shoal rerun {run.id} --newest",
    )


async def version_to_go_on_with(connection: AsyncConnection, run: Run) -> int:
    """The newest version of the workflow of a run, if the run has another. Raises `NotFound`, `Refused`."""
    head = await definitions.head(connection, run.workflow_code)
    if head.version == run.version:
        raise Refused(
            f"run {run.id} has version {run.version}, which is the newest of {head.name}; rerun it without `newest`"
        )
    await check_limits_of_start(connection, head, None)
    return head.version
