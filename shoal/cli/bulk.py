"""`shoal bulk`: reruns, pauses, stops or resumes many runs at once, and says first what it would do."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from model.errors import Refused, Unavailable
from model.runs.bulk import BulkAction
from service.runs import bulk as bulk_changes
from service.runs import bulk_operations as operations
from service.runs import requests
from service.words import counted, plain
from shoal.cli import exit_codes, output
from shoal.cli.command_result import wait_limit_s
from shoal.cli.filters import RunFilters
from shoal.cli.invocation import Invocation
from shoal.cli.values import Timeout
from shoal.cli.verbs import verb
from shoal.clients.waiting import NotDone, poll

if TYPE_CHECKING:
    from shoal.clients.client import Client

SHOWN_MAX = 5


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(
        app,
        "shoal bulk rerun_failed --state failure --since 1d",
        "shoal bulk rerun_failed --state failure --since 1d --do --wait",
        "shoal bulk stop --workflow hello --do",
        "shoal bulk resume 1042 1043 --do",
    )(bulk)


@dataclass(frozen=True)
class BulkFilters(RunFilters):
    """Which runs, if their ids are not given."""

    children: Annotated[bool, typer.Option("--children", help="Also child runs.")] = False
    all_: Annotated[bool, typer.Option("--all", help="All runs.")] = False

    def wanted(self) -> requests.RunFilter | None:
        """Those that match; None without any filter."""
        given = self.given()
        children, all_ = given.pop("children"), given.pop("all_")
        return requests.RunFilter.read(**given, children=children or None) if given or all_ else None


@dataclass(frozen=True)
class Doing:
    """Whether it is done, and waited for."""

    do: Annotated[bool, typer.Option("--do", help="Do it; without it, only say what would be done.")] = False
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait until masters took the commands; exit code 1 if they refuse one.")
    ] = False
    timeout: Timeout = None

    def limit_s(self) -> float | None:
        """How long to wait. Raises `Refused` if there is nothing to wait for."""
        if self.wait and not self.do:
            raise Refused("--wait waits for what --do does; give that too")
        return wait_limit_s(self.timeout, wait=self.wait)


async def bulk(
    call: Invocation,
    filters: BulkFilters,
    doing: Doing,
    action: Annotated[BulkAction, typer.Argument(case_sensitive=False, help="What is done with each run.")],
    run: Annotated[list[int] | None, typer.Argument(metavar="RUN...", help="Their ids.")] = None,
) -> None:
    """Rerun, pause, stop or resume many runs: those with these ids, or all that match.

    More than 10,000 are changed in parts, by an API process.
    """
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
    """Wait until no command waits, or until the operation that asks for them has ended; None if nothing was asked for.
    Raises `NotDone` after `within_s` seconds."""
    if not asked.command_ids and asked.operation_id is None:
        return None
    said = False

    def is_away(error: Unavailable) -> None:
        nonlocal said
        if not said:
            sys.stderr.write(f"shoal: {error}; the wait goes on\n")
        said = True

    async def read() -> bulk_changes.CommandsProgress | operations.OperationAnswer | None:
        if asked.operation_id is not None:
            operation = await client.ask(operations.get_operation, asked.operation_id)
            return operation if operation.ended_at is not None else None
        now = await client.ask(bulk_changes.count_commands, requests.CommandsQuery(ids=asked.command_ids))
        return now if now.is_over else None

    try:
        async with asyncio.timeout(within_s):
            return await poll(read, is_away)
    except TimeoutError:
        raise NotDone(f"not all taken after {within_s:g} s; the commands stay: shoal queue") from None


def _print(
    answer: bulk_changes.BulkAnswer, progress: bulk_changes.CommandsProgress | operations.OperationAnswer | None
) -> None:
    what = "rerun what failed in" if answer.action is BulkAction.RERUN_FAILED else answer.action.lower()
    ids = ", ".join(map(str, answer.run_ids[:SHOWN_MAX])) + (", …" if answer.runs > SHOWN_MAX else "")
    named = f": {ids}" if ids else ""
    would = "This would" if answer.dry_run else "Asked to"
    output.say(f"{would} {what} {counted(answer.runs, 'run')}{named}")
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
