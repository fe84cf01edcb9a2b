"""`shoal show`: shows one run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer

from model.errors import Refused
from model.runs.elements import ELEMENTS_MAX
from model.runs.states import TaskState
from service.cluster import clock
from service.explain.answer import task_named
from service.runs import answers, requests, showing, story_answers
from service.runs import elements as elements_of_tasks
from shoal.cli import output, run_events, run_page
from shoal.cli.invocation import Invocation
from shoal.cli.named import run_named
from shoal.cli.values import AnyProject, RunName
from shoal.cli.verbs import verb
from shoal.clients.client import Client
from shoal.clients.pages import all_items


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal show @last", "shoal show hello", "shoal show 1042 --events")(show)


@dataclass(frozen=True)
class Shown:
    """What to show of the run."""

    events: Annotated[bool, typer.Option("--events", help="Instead list what happened to it, in order.")] = False
    elements: Annotated[
        str | None, typer.Option("--elements", metavar="TASK", help="Instead list the elements of this task.")
    ] = None
    state: Annotated[
        list[TaskState] | None, typer.Option(case_sensitive=False, help="Only elements in this state; may be repeated.")
    ] = None
    everything: Annotated[bool, typer.Option("--all", help="Also show attempts that no longer count.")] = False

    def check(self) -> None:
        """Raises `Refused` for two lists."""
        if self.events and self.elements is not None:
            raise Refused("--events and --elements are two lists; keep one of them")


async def show(call: Invocation, run: RunName, shown: Shown, project: AnyProject = None) -> None:
    """Show one run: its tasks, every attempt, and the tree of what waits for what; or its events, or elements."""
    shown.check()
    async with call.client() as client:
        now = (await client.ask(clock.read_clock)).now
        found = await run_named(client, run, project)
        if shown.elements is not None:
            await _show_elements(call, client, found, shown.elements, shown.state)
            return
        if shown.events:
            await _show_events(call, client, found, now)
            return
        page = await client.ask(showing.get_run, found.id)
    if output.printed_json(call, page):
        return
    run_page.print_run(page, now, utc=call.utc, everything=shown.everything)


async def _show_events(call: Invocation, client: Client, run: answers.RunAnswer, now: datetime) -> None:
    """Print what happened to a run, in order."""
    events = (await client.ask(story_answers.get_story, run.id)).events
    if output.printed_json(call, events):
        return
    run_events.print_events(events, now, utc=call.utc)
    output.hint(f"Its tasks: shoal show {run.id}   Why it does not move: shoal why {run.id}")


async def _show_elements(
    call: Invocation, client: Client, run: answers.RunAnswer, task: str, states: list[TaskState] | None
) -> None:
    """Print the elements of one task that have begun, in their order."""
    asked = requests.ElementQuery.read(task=task, state=states)
    found = await all_items(lambda page: client.ask(elements_of_tasks.list_elements, run.id, page), asked, ELEMENTS_MAX)
    how = f"See its tasks: shoal show {run.id}"
    if not output.needs_table(call, found, f'No element of task "{task}" matches.', how):
        return
    run_page.print_elements(found)
    output.hint(f"The log of one: shoal log {task_named(run.id, found[-1].name)}")
