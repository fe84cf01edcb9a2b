"""`shoal task approvals` and `answer`: what waits for a person, and the answer."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from model.errors import Refused
from model.logic import approval
from model.runs.states import TaskState
from service.runs import approvals, requests, showing
from service.words import plain
from shoal.cli import asked_values, output
from shoal.cli.completion import complete_run
from shoal.cli.invocation import Invocation
from shoal.cli.listing import Field, Listing
from shoal.cli.values import AnyProject, Params, read_values
from shoal.cli.verbs import verb
from shoal.clients.client import Client
from shoal.clients.pages import all_items


def add_to_tasks(group: typer.Typer) -> None:
    verb(group, "shoal task approvals", "shoal task approvals --mine", name="approvals")(list_approvals)
    verb(
        group,
        "shoal task answer 1042/release -p comment=fine",
        'shoal task answer 1042/release --reject --reason "the totals are wrong"',
    )(answer)


async def list_approvals(
    call: Invocation,
    project: Annotated[str | None, typer.Option(help="Only of workflows of this project.")] = None,
    mine: Annotated[bool, typer.Option("--mine", help="Only what you may answer.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many, the oldest first.")] = 50,
) -> None:
    """List tasks that wait for an answer, the oldest first, with what they ask."""
    async with call.client() as client:
        found = await _waiting(client, approvals.ApprovalQuery.read(project=project), limit)
        if mine:
            found = [each for each in found if each.may_answer]
        await WAITING.show(call, client, found)


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
    output.print_result(call, output.answer_fields(done), said, f"Follow the run: shoal show {done.run_id}")


async def _missing(client: Client, id_: int, given: dict[str, str]) -> dict[str, str]:
    """Ask the person at the terminal for missing required values."""
    waiting = await _waiting(client, approvals.ApprovalQuery.read(), 100_000)
    fields = next((each.form for each in waiting if each.task_instance_id == id_), ())
    asked = {each.name: approval.FormField(**each.model_dump(exclude={"name", "allowed"})) for each in fields}
    return {
        name: asked_values.ask(name, each)
        for name, each in asked.items()
        if each.required and not given.get(name, each.value)
    }


async def _waiting(client: Client, asked: approvals.ApprovalQuery, limit: int) -> list[approvals.WaitingApproval]:
    return await all_items(lambda page: client.ask(approvals.list_approvals, page), asked, limit)


WAITING: Listing[approvals.WaitingApproval] = Listing(
    (
        Field("TASK", lambda each: f"{each.run_id}/{each.task}"),
        Field("WORKFLOW", lambda each: each.workflow or f"code {each.workflow_code}", keep=3),
        Field("SINCE", lambda each: each.since, keep=4, right=True),
        Field("UNTIL", lambda each: each.due_at, keep=1),
        Field("WHO", lambda each: each.answerers, keep=0),
        Field("VALUES", lambda each: [field.name for field in each.form], keep=2),
        Field("ASKS", lambda each: plain(" ".join(each.text.split())), sentence=True),
    ),
    none="Nothing waits for an answer.",
    then=lambda first: f"Answer: shoal task answer {first.run_id}/{first.task}",
)
