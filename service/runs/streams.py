"""The operations that restart the streams of a run, and that spread streams evenly over their workers.

Each only writes what is asked for; a master does it, a few streams at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from dao.run_lists import run_listings as listings
from dao.streams import stream_listings as streams_shown
from dao.streams import streams
from model.accounts.rights import Right
from model.errors import NotFound, Refused
from model.fields import GROUP_NAME_LENGTH_MAX, NAME_LENGTH_MAX
from model.ids import TaskCode, WorkflowInstanceId
from service.call import Call, Subject
from service.explain.answer import names_of
from service.fields import Answer, Asked, Id, Text
from service.operation import operation

BELOW_SHOWN_MAX = 3
TaskName = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]
GroupName = Annotated[Text, Field(max_length=GROUP_NAME_LENGTH_MAX)]


class RestartStreams(Asked):
    """Which streams of a run; none named = all."""

    tasks: Annotated[Sequence[TaskName], Field(max_length=1_000, description="the names of their tasks")] = ()


class StreamsRestarted(Answer):
    """The streams that are restarted one after the other, each when the one before is ready again."""

    run_id: Id
    workflow: str | None = None
    tasks: Sequence[str]


class Rebalance(Asked):
    """Which worker group; none = all that have streams."""

    worker_group: Annotated[GroupName | None, Field(description="its name")] = None


class RebalanceAnswer(Answer):
    """The worker groups whose streams are spread evenly, a few at a time, and how many streams each has."""

    worker_groups: Sequence[str]
    streams: int


@operation("POST", "/workflow-instances/{id}/restart-streams", Right.OPERATE, "workflow-instances", status=202)
async def restart_streams(call: Call, id: Id, body: RestartStreams) -> StreamsRestarted:
    """Restart streams of a run, one after the other: the next when the former is ready again."""
    run_id = WorkflowInstanceId(id)
    run = await call.read(listings.run_head, run_id)
    async with call.changing(Subject("workflow-instance", run.id, run.project)) as change:
        known = await streams_shown.of_run(change.connection, run_id)
        if run.state.is_final or not known:
            why, cure = "no stream of it runs", f"see shoal show {id}"
            if run.state.is_final:
                why = f"it has ended as {run.state}"
            elif below := await streams_shown.runs_below(change.connection, run_id, BELOW_SHOWN_MAX):
                why = "its child runs have streams, and it has none itself"
                cure = "; ".join(f"shoal task restart {each}" for each in below)
            raise Refused(f"run {id} has nothing to restart: {why}; {cure}")
        codes = _codes(id, body.tasks, known)
        await streams.ask_restart(change.connection, run_id, list(codes.values()), call.caller.name)
        change.after = {"tasks": list(codes)}
        change.answer = StreamsRestarted(run_id=id, workflow=run.workflow, tasks=list(codes))
    return change.answered(StreamsRestarted)


def _codes(run: int, names: Sequence[str], known: dict[str, TaskCode]) -> dict[str, TaskCode]:
    if unknown := [name for name in names if name not in known]:
        raise NotFound(f'run {run} has no running stream "{unknown[0]}"; it has: {names_of(list(known))}')
    return {name: known[name] for name in names} if names else known


@operation("POST", "/rebalance", Right.ADMINISTER, "cluster", status=202)
async def rebalance_streams(call: Call, body: Rebalance) -> RebalanceAnswer:
    """Spread the streams of a worker group evenly over its workers, a few at a time; or those of all groups."""
    async with call.changing(Subject("worker-group", None, name=body.worker_group)) as change:
        known = await streams_shown.by_group(change.connection)
        if body.worker_group is not None and body.worker_group not in known:
            there = f"in {names_of(list(known))}" if known else "nowhere"
            raise NotFound(f'no streams run in worker group "{body.worker_group}"; they run {there}')
        groups = [body.worker_group] if body.worker_group is not None else list(known)
        await streams.ask_rebalance(change.connection, groups, call.caller.name)
        change.after = {"worker_groups": groups}
        change.answer = RebalanceAnswer(worker_groups=groups, streams=sum(known[group] for group in groups))
    return change.answered(RebalanceAnswer)
