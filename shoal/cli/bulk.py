"""`shoal runs stop` and similar verbs: one change of many runs at once, shown before it is made."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from model.errors import Refused
from model.runs.bulk import BulkAction
from service.runs import bulk as bulk_changes
from service.runs import bulk_operations as operations
from service.runs import requests
from service.words import counted, plain
from shoal.cli import exit_codes, output
from shoal.cli.command_result import tell_away
from shoal.cli.filters import RunFilters
from shoal.cli.invocation import Invocation
from shoal.cli.values import Waiting
from shoal.cli.verbs import verb
from shoal.clients.client import Client
from shoal.clients.waiting import NotDone, poll

SHOWN_MAX = 5


def add_to(group: typer.Typer) -> None:
    for action in BulkAction:
        name = action.lower().replace("_", "-")
        example = f"shoal runs {name}"
        examples = (f"{example} --since 1d", f"{example} --workflow hello --do --wait", f"{example} 1042 1043 --do")
        verb(group, *examples, name=name)(_changing(action))


def _what(action: BulkAction) -> str:
    """The action in words, such as `stop`, before the number of runs."""
    return "rerun what failed in" if action is BulkAction.RERUN_FAILED else action.lower()


@dataclass(frozen=True)
class BulkFilters(RunFilters):
    """Which runs, if no ids are given."""

    children: Annotated[bool, typer.Option("--children", help="Also child runs.")] = False
    all_: Annotated[bool, typer.Option("--all", help="All runs.")] = False

    def wanted(self) -> requests.RunFilter | None:
        """The filter; None if empty."""
        given = self.given()
        children, all_ = given.pop("children"), given.pop("all_")
        return requests.RunFilter.read(**given, children=children or None) if given or all_ else None


@dataclass(frozen=True)
class Doing(Waiting):
    """Whether the change is made, and waited for."""

    do: Annotated[bool, typer.Option("--do", help="Do it; without it, only say what would be done.")] = False
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait until masters took the commands; exit code 1 if they refuse one.")
    ] = False

    def limit_s(self) -> float | None:
        if self.wait and not self.do:
            raise Refused("--wait waits for what --do does; give that too")
        return super().limit_s()


def _changing(action: BulkAction) -> Callable[..., Coroutine[Any, Any, None]]:
    async def change(
        call: Invocation,
        filters: BulkFilters,
        doing: Doing,
        run: Annotated[list[int] | None, typer.Argument(metavar="RUN...", help="Their ids.")] = None,
    ) -> None:
        await _change(call, action, filters, doing, run)

    change.__doc__ = (
        f"{_what(action).capitalize()} many runs: those with these ids, or all that match.\n\n"
        "More than 10,000 are changed in parts, by an API process."
    )
    return change


async def _change(
    call: Invocation, action: BulkAction, filters: BulkFilters, doing: Doing, run: list[int] | None
) -> None:
    wanted = filters.wanted()
    if bool(run) == (wanted is not None):
        raise Refused("say which runs: their ids, or a filter such as --state or --workflow; or --all")
    within_s = doing.limit_s()
    asked = requests.BulkRuns.read(action=action, ids=run or None, filter=wanted, dry_run=not doing.do)
    async with call.client() as client:
        answer = await client.ask(bulk_changes.change_runs, asked)
        progress = await _follow(client, answer, within_s) if doing.wait and not answer.dry_run else None
    if call.as_json:
        fields = output.answer_fields(answer)
        output.print_json(fields if progress is None else {**fields, "progress": output.answer_fields(progress)})
    else:
        _print(answer, progress)
    if progress is not None and (
        progress.refused or (isinstance(progress, operations.OperationAnswer) and not progress.is_done)
    ):
        raise typer.Exit(exit_codes.FAILED)


async def _follow(
    client: Client, asked: bulk_changes.BulkAnswer, within_s: float | None
) -> bulk_changes.CommandsProgress | operations.OperationAnswer | None:
    """Wait until no command waits, or the operation that requests them has ended; None if nothing was requested. Raises
    `NotDone` after `within_s` seconds."""
    if not asked.command_ids and asked.operation_id is None:
        return None

    async def read() -> bulk_changes.CommandsProgress | operations.OperationAnswer | None:
        if asked.operation_id is not None:
            operation = await client.ask(operations.get_operation, asked.operation_id)
            return operation if operation.ended_at is not None else None
        now = await client.ask(bulk_changes.count_commands, requests.CommandsQuery(ids=asked.command_ids))
        return now if now.is_over else None

    try:
        async with asyncio.timeout(within_s):
            return await poll(read, tell_away)
    except TimeoutError:
        raise NotDone(f"not all taken after {within_s:g} s; the commands stay: shoal queue") from None


def _print(
    answer: bulk_changes.BulkAnswer, progress: bulk_changes.CommandsProgress | operations.OperationAnswer | None
) -> None:
    ids = ", ".join(map(str, answer.run_ids[:SHOWN_MAX])) + (", …" if answer.runs > SHOWN_MAX else "")
    named = f": {ids}" if ids else ""
    would = "This would" if answer.dry_run else "Asked to"
    output.say(f"{would} {_what(answer.action)} {counted(answer.runs, 'run')}{named}")
    if older := answer.older_versions:
        keep = "keeps an older version of its" if older == 1 else "keep an older version of their"
        output.say(f"  {counted(older, 'run')} {keep} workflow; with the newest: shoal rerun RUN --newest")
    for each in answer.skipped:
        output.say(f"  Not changed: {plain(each.why)}")
    if isinstance(progress, operations.OperationAnswer):
        why = f": {plain(progress.problem)}" if progress.problem else ""
        output.say(
            f"Operation {progress.id} is {progress.state}{why}. It asked for {counted(progress.asked, 'command')}, and "
            f"left out {progress.refused}."
        )
    elif progress is not None:
        output.say(f"Masters took {progress.done}, and refused {progress.refused}.")
        for refusal in progress.refusals:
            output.say(f"  Command {refusal.command_id}: {plain(refusal.reason)}")
    if answer.dry_run and answer.runs:
        output.hint("Nothing was asked for. Do it: the same with --do")
    elif answer.operation_id is not None and progress is None:
        where = f"/api/v1/operations/{answer.operation_id}"
        output.hint(f"They are asked for in parts, as long as an API process lives. How far it is: GET {where}")
    elif answer.command_ids:
        output.hint("See them: shoal runs   Commands that wait: shoal queue")
