"""The operations that change many runs at once, and say what became of many commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dao.commands import commands
from dao.commands.commands import NewCommand
from dao.postgres.pool import AsyncConnection
from dao.run_lists.wanted_runs import WantedRuns
from dao.runs import bulk
from dao.runs.bulk import RunState
from model.accounts.rights import Right, is_seen
from model.errors import Forbidden, Refused
from model.runs.bulk import COMMAND_OF, BulkAction
from model.runs.command_moves import COMMAND_MOVES, HALTING, REVIVING, CommandType
from model.runs.states import WorkflowState
from service.call import Call, Subject
from service.fields import Answer, Id
from service.operation import operation
from service.projects.limits import refused_reruns
from service.runs import large_bulk
from service.runs.audited_runs import subjects_of
from service.runs.listing import matching, started_after
from service.runs.requests import BULK_MAX, BulkRuns, CommandsQuery, RunFilter

REFUSALS_SHOWN_MAX = 20


class Skipped(Answer):
    """Runs that stay as they are. `state` is left out for those that do not exist."""

    state: WorkflowState | None = None
    count: int
    why: str


class BulkAnswer(Answer):
    """What is done with many runs, or with `dry_run` would be: `runs` are changed, `skipped` are not.

    `command_ids` has a command for each run, in the order of `run_ids`; nothing has one if `dry_run`. More than 10,000
    runs of a filter (`is_large`) are changed by an operation, which goes on after the answer: `operation_id`.
    `older_versions`: so many of those that are rerun, of a large change of its first 10,000, keep a version of their
    workflow that is not the newest.
    """

    action: BulkAction
    dry_run: bool
    is_large: bool = False
    operation_id: Id | None = None
    runs: int
    skipped_count: int
    skipped: Sequence[Skipped]
    older_versions: int = 0
    run_ids: Sequence[Id]
    command_ids: Sequence[Id] = ()

    @property
    def location(self) -> str | None:
        """The address of the operation, below the API's base; None: all is asked for already."""
        return None if self.operation_id is None else f"/operations/{self.operation_id}"

    @property
    def is_outcome(self) -> bool:
        """Whether nothing was asked for."""
        return self.dry_run


class Refusal(Answer):
    """A command that a master refused."""

    command_id: Id
    reason: str


class CommandsProgress(Answer):
    """What became of many commands. `unknown` ones are not there, or may not be seen. `refusals` are the first ones."""

    total: int
    waiting: int
    done: int
    refused: int
    unknown: int
    refusals: Sequence[Refusal]
    is_over: bool


@operation("POST", "/workflow-instances:bulk", Right.OPERATE, "workflow-instances", status=202)
async def change_runs(call: Call, body: BulkRuns) -> BulkAnswer:
    """Rerun, pause, stop or resume many runs, by ids or by a filter; first only say what would be done."""
    if bool(body.ids) == (body.filter is not None):
        raise Refused("say which runs: either `ids` or `filter`")
    type_ = COMMAND_OF[body.action]
    async with call.reading() as connection:
        if body.filter is None:
            runs, skipped = await _of_ids(call, connection, body.ids, type_)
        else:
            wanted = await _wanted(call, connection, body.filter)
            runs = await bulk.in_states(connection, wanted, COMMAND_MOVES[type_], BULK_MAX + 1)
            others = [each for each in WorkflowState if each not in COMMAND_MOVES[type_]]
            skipped = _skipped(type_, await bulk.counts(connection, wanted, others))
            if len(runs) > BULK_MAX:
                total = sum((await bulk.counts(connection, wanted, COMMAND_MOVES[type_])).values())
        if type_ in REVIVING and len(runs) <= BULK_MAX:
            runs, limited = await _within_limits(connection, runs)
            skipped += limited
        older = await bulk.count_older(connection, [run.id for run in runs[:BULK_MAX]]) if type_ in REVIVING else 0
    is_large = len(runs) > BULK_MAX
    answer = BulkAnswer(
        action=body.action,
        dry_run=body.dry_run,
        is_large=is_large,
        runs=total if is_large else len(runs),
        skipped_count=sum(each.count for each in skipped),
        skipped=skipped,
        older_versions=older,
        run_ids=() if is_large else [run.id for run in runs],
    )
    if body.dry_run:
        return answer
    if is_large:
        return await _begin_large(call, answer, wanted, runs[0].id)
    async with call.changing(*subjects_of(runs)) as change:
        new = [NewCommand(type_, workflow_instance_id=run.id, created_by=call.caller.name) for run in runs]
        ids = await commands.insert_many(change.connection, new)
        change.after = {"action": body.action}
        change.answer = answer.model_copy(update={"command_ids": ids})
    return change.answered(BulkAnswer)


@operation("POST", "/commands:progress", Right.VIEW, "commands", reads=True)
async def count_commands(call: Call, body: CommandsQuery) -> CommandsProgress:
    """Show what became of many commands, such as those of a bulk change."""
    visible = call.visible()
    ids = set(body.ids)
    fates = await call.read(bulk.fates, ids, visible)
    waiting = sum(fate.waits for fate in fates)
    refusals = [Refusal(command_id=fate.id, reason=fate.reason) for fate in fates if fate.reason is not None]
    return CommandsProgress(
        total=len(ids),
        waiting=waiting,
        done=len(fates) - waiting - len(refusals),
        refused=len(refusals),
        unknown=len(ids) - len(fates),
        refusals=refusals[:REFUSALS_SHOWN_MAX],
        is_over=not waiting,
    )


async def _within_limits(connection: AsyncConnection, runs: Sequence[RunState]) -> tuple[list[RunState], list[Skipped]]:
    refused = await refused_reruns(connection, [run.id for run in runs])
    counts = Counter((run.state, refused[run.id]) for run in runs if run.id in refused)
    skipped = [Skipped(state=state, count=count, why=why) for (state, why), count in sorted(counts.items())]
    return [run for run in runs if run.id not in refused], skipped


async def _of_ids(
    call: Call, connection: AsyncConnection, ids: Sequence[int], type_: CommandType
) -> tuple[list[RunState], list[Skipped]]:
    seen = call.caller.projects_with(Right.VIEW)
    found = [run for run in await bulk.by_ids(connection, ids) if is_seen(run.project, seen)]
    for project in {run.project for run in found}:
        call.permit(project)
    call.visible()
    fitting = COMMAND_MOVES[type_]
    skipped = _skipped(type_, Counter(run.state for run in found if run.state not in fitting))
    missing = sorted(set(ids) - {run.id for run in found})
    if missing:
        named = ", ".join(map(str, missing[:3])) + (" and others" if len(missing) > 3 else "")
        skipped.append(Skipped(count=len(missing), why=f"there is no run {named}"))
    return [run for run in found if run.state in fitting], skipped


async def _wanted(call: Call, connection: AsyncConnection, asked: RunFilter) -> WantedRuns:
    if asked.project is not None:
        call.permit(asked.project)
    visible = call.visible()
    if visible is not None and not visible:
        raise Forbidden(
            f"{call.caller.name} may not do this: it needs {Right.OPERATE} in a project; an owner of the project or an "
            f"administrator can give it"
        )
    return matching(asked, await started_after(connection, asked), visible)


async def _begin_large(call: Call, answer: BulkAnswer, wanted: WantedRuns, first: int) -> BulkAnswer:
    """Begin an operation that an API goes on with. Raises `Refused`: there is none in this process."""
    if (begun := call.backend.large_bulk) is None:
        raise Refused(
            f"more than {BULK_MAX} runs match; narrow the filter, such as by `workflow`, `state` or `since`, or ask an "
            f"API, which goes on with it: --server"
        )
    projects = [wanted.project] if wanted.project is not None else wanted.visible
    subjects = [Subject(large_bulk.OPERATION, None, project) for project in ([None] if projects is None else projects)]
    async with call.changing(*subjects) as change:
        change.id = await large_bulk.begin(change.connection, call.caller, answer.action, wanted, first, answer.runs)
        change.after = {"action": answer.action, "runs": answer.runs}
        change.answer = answer.model_copy(update={"operation_id": change.id})
    begun.set()
    return change.answered(BulkAnswer)


def _skipped(type_: CommandType, counts: Mapping[WorkflowState, int]) -> list[Skipped]:
    return [Skipped(state=state, count=count, why=_why(type_, state, count)) for state, count in sorted(counts.items())]


def _why(type_: CommandType, state: WorkflowState, count: int) -> str:
    """Why runs in this state stay as they are."""
    are = "is" if count == 1 else "are"
    if state.is_final:
        fitting = [each for each in COMMAND_MOVES[type_] if each.is_final]
        return f"{count} ended as {state}" + (f", not as {' or '.join(fitting)}" if fitting else "")
    if type_ in HALTING:
        return f"{count} {are} {state} already"
    if state is WorkflowState.SERIAL_WAIT:
        return f"{count} {are} waiting in line"
    return f"{count} {are} still running ({state})"
