"""The answer to `shoal why`: reads what it depends on at one moment, and explains it."""

from __future__ import annotations

from collections.abc import Sequence

from dao.cluster import nodes
from dao.postgres.database import Database
from dao.views import lookups, run_readings
from model.errors import NotFound, Refused
from model.ids import CommandId
from model.states import WorkflowState
from service.cluster.slot_report import registered_masters
from service.explain.answer import Why
from service.explain.explanation import why_command, why_task
from service.explain.facts import Family, Masters, command_facts
from service.explain.run_explanation import RunFacts, why_run
from service.explain.tasks_without_attempts import NotBegun
from service.runs.references import as_id, find_run
from service.settings import ServiceSettings


async def explain(
    database: Database, settings: ServiceSettings, what: Sequence[str], project: str | None = None
) -> Why:
    """Why something does not move: a run (an id, @last, @failed, a workflow), RUN/name for a task of it, or `command`
    and an id. The name of a workflow is one of `project`, if that is given.

    Raises:
        NotFound: it does not exist.
        Refused: `what` is none of these, or workflows of several projects have that name.
        AnotherRegistry: the settings have a registry that is not the cluster's.
    """
    async with database.reading() as connection:
        members, _ = await registered_masters(connection, settings)
    async with database.snapshot() as connection:
        match what:
            case ["command", named]:
                fate = await lookups.fate_of(connection, _command_id(named))
                masters = Masters.of(await nodes.living(connection), members, settings.master)
                return why_command(command_facts(fate, masters))
            case [named] if named != "command":
                of_run, slash, task = named.partition("/")
                reading = await run_readings.read(connection, await find_run(connection, of_run, project))
            case _:
                raise Refused("say what to explain: a run, RUN/task, or `command ID`")
    run = Family.of(reading, Masters.of(reading.living, members, settings.master)).run(reading.id)
    return _why_task_of(run, task) if slash else why_run(run)


def _command_id(named: str) -> CommandId:
    number = as_id(named)
    if number is None:
        raise NotFound(f'"{named}" is no command; give its id, as `shoal queue` shows it')
    return CommandId(number)


def _why_task_of(run: RunFacts, name: str) -> Why:
    task = next((task for task in run.tasks if task.name == name), None)
    if task is None:
        known = ", ".join(task.name for task in run.tasks[:20])
        raise NotFound(f'run {run.id} has no task "{name}"; it has {known}')
    if run.is_left:
        return why_run(run)  # without an owner nothing begins
    if task.not_begun is NotBegun.WAITING and (run.requested or run.state) is not WorkflowState.RUNNING_EXECUTION:
        why = why_run(run)
        return Why(f"{task.name} has not begun, since its run begins nothing now. {why.sentence}", why.do)
    return why_task(task, run.state)
