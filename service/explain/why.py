"""The answer to `shoal why`: reads what it depends on at one moment, and explains it."""

from __future__ import annotations

from collections.abc import Sequence

from dao.checks import alert_checks
from dao.checks.alert_checks import Unheard
from dao.cluster import nodes
from dao.run_lists import run_listings as listings
from dao.runs import lookups, run_readings
from model.accounts.rights import Right
from model.errors import NotFound
from model.ids import CommandId, WorkflowInstanceId
from model.runs.states import NotBegun, WorkflowState
from service.call import Call
from service.explain.answer import Why
from service.explain.explanation import why_command, why_task
from service.explain.facts import Family, Masters, command_facts
from service.explain.run_explanation import RunFacts, why_run
from service.fields import Answer, Id
from service.operation import operation
from service.runs.newer_version import newer_version, with_newer
from service.runs.requests import WhyQuery


class WhyAnswer(Answer):
    """Why something does not move, in a sentence, and what to do about it."""

    why: str
    do: str

    @classmethod
    def of(cls, found: Why) -> WhyAnswer:
        return cls(why=found.sentence, do=found.do)


@operation("GET", "/workflow-instances/{id}/why", Right.VIEW, "workflow-instances")
async def explain_run(call: Call, id: Id, query: WhyQuery) -> WhyAnswer:
    """Explain why a run, or a task of it, does not move, and what to do about it."""
    call.permit((await call.read(listings.run_head, WorkflowInstanceId(id))).project)
    registered = await call.backend.registered.read()
    async with call.database.snapshot() as connection:
        reading = await run_readings.read(connection, WorkflowInstanceId(id), query.task)
        unheard = await alert_checks.unheard_of(connection, reading.id) if query.task is None else []
        own = reading.runs[reading.id]
        newer = None if own.state is WorkflowState.SUCCESS else await newer_version(connection, own)
    masters = Masters.of(reading.living, registered.masters, call.settings.master)
    run = Family.of(reading, masters, call.visible()).run(reading.id)
    why = _with_unheard(why_run(run), unheard) if query.task is None else _why_task_of(run, query.task)
    return WhyAnswer.of(with_newer(why, own, newer))


@operation("GET", "/commands/{id}/why", Right.VIEW, "commands")
async def explain_command(call: Call, id: Id) -> WhyAnswer:
    """Explain why a command waits, or what became of it."""
    registered = await call.backend.registered.read()
    async with call.database.snapshot() as connection:
        fate = await lookups.fate_of(connection, CommandId(id))
        call.permit(await lookups.project_of_command(connection, CommandId(id)))
        masters = Masters.of(await nodes.living(connection), registered.masters, call.settings.master)
    return WhyAnswer.of(why_command(command_facts(fate, masters)))


def _with_unheard(why: Why, unheard: Sequence[Unheard]) -> Why:
    """The same, and that what was reported of the run reached nobody."""
    if not unheard:
        return why
    groups = ", ".join(
        f'alert group "{each.alert_group}" {"has no channel" if each.exists else "does not exist"}' for each in unheard
    )
    return Why(f"{why.sentence} What was reported of it reached nobody: {groups}.", why.do)


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
