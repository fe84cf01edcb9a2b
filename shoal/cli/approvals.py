"""`shoal approval list/answer`: what waits for a person, and the answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from model.errors import Refused
from model.logic.approval import FormField
from model.runs.states import TaskState
from service.cluster import clock
from service.runs import approvals, requests, showing
from service.words import plain, when
from shoal.cli import output
from shoal.cli.asked_values import ask
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.values import AnyProject, Params, read_values
from shoal.cli.verbs import verb
from shoal.clients.pages import all_items

if TYPE_CHECKING:
    from service.runs.approvals import WaitingApproval
    from shoal.clients.client import Client


def add_to(app: typer.Typer) -> None:
    """Add the group `approval`."""
    group = typer.Typer(no_args_is_help=True, help="Tasks that wait for a person: what they ask, and the answer.")
    verb(group, "shoal approval list", "shoal approval list --mine", name="list")(list_approvals)
    verb(
        group,
        "shoal approval answer 1042/release -p comment=fine",
        'shoal approval answer 1042/release --reject --reason "the totals are wrong"',
    )(answer)
    app.add_typer(group, name="approval")


async def list_approvals(
    call: Invocation,
    project: Annotated[str | None, typer.Option(help="Only of workflows of this project.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you may answer.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, the oldest first.")] = 50,
) -> None:
    """List tasks that wait for an answer, the oldest first, with what they ask."""
    asked = approvals.ApprovalQuery.read(project=project)
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await all_items(
            lambda size, cursor: client.ask(
                approvals.list_approvals, asked.model_copy(update={"limit": size, "cursor": cursor})
            ),
            limit,
        )
    if mine:
        found = [each for each in found if each.may_answer]
    if not output.needs_table(call, found, "Nothing waits for an answer."):
        return
    output.table(
        Column("TASK", [f"{each.run_id}/{each.task}" for each in found]),
        Column("WORKFLOW", [each.workflow or f"code {each.workflow_code}" for each in found], keep=3),
        Column("SINCE", [when(each.since, now, utc=call.utc) for each in found], keep=4, right=True),
        Column("UNTIL", [when(each.due_at, now, utc=call.utc) if each.due_at else "-" for each in found], keep=1),
        Column("WHO", [each.answerers for each in found], keep=0),
        Column("VALUES", [", ".join(field.name for field in each.form) or "-" for each in found], keep=2),
        Column("ASKS", [plain(" ".join(each.text.split())) for each in found], sentence=True),
    )
    output.hint(f"Answer: shoal approval answer {found[0].run_id}/{found[0].task}")


async def answer(
    call: Invocation,
    task: Annotated[
        str, typer.Argument(metavar="RUN/TASK", help="The task that waits, or its id.", autocompletion=complete_run)
    ],
    project: AnyProject = None,
    reject: Annotated[bool, typer.Option("--reject", help="The task fails; needs --reason.")] = False,
    reason: Annotated[str, typer.Option(help="Why; it becomes part of the reason of the task.")] = "",
    param: Params = None,
) -> None:
    """Approve what a task asks, with values for its form; with --reject the task fails.

    A terminal asks for required values that are missing.
    """
    given = read_values(param or ())
    if reject and not reason.strip():
        raise Refused("a rejection needs a reason; give one with --reason")
    async with call.client() as client:
        named = await client.ask(showing.find_task_instance, requests.TaskReference.read(name=task, project=project))
        if not reject and sys.stdin.isatty() and not call.as_json:
            given |= await _missing(client, named.id, given)
        body = approvals.GiveAnswer.read(answer="REJECT" if reject else "APPROVE", params=given, reason=reason)
        done = await client.ask(approvals.answer_approval, named.id, body)
    what = "approved" if done.state is TaskState.SUCCESS else "rejected"
    said = f'Task "{plain(done.task)}" of run {done.run_id} is {what}.'
    output.print_result(call, output.answer_fields(done), said, f"How the run goes on: shoal show {done.run_id}")


async def _missing(client: Client, id_: int, given: dict[str, str]) -> dict[str, str]:
    """What the person at the terminal gives for required values that are missing."""
    found = [each for each in (await _waiting(client)) if each.task_instance_id == id_]
    fields = found[0].form if found else ()
    asked = {each.name: FormField(**each.model_dump(exclude={"name", "allowed"})) for each in fields}
    return {name: ask(name, each) for name, each in asked.items() if each.required and not given.get(name, each.value)}


async def _waiting(client: Client) -> list[WaitingApproval]:
    return await all_items(
        lambda size, cursor: client.ask(
            approvals.list_approvals, approvals.ApprovalQuery.read(limit=size, cursor=cursor)
        ),
        100_000,
    )
