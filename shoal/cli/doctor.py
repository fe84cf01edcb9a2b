"""`shoal doctor`: checks everything that must be true of a cluster, from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

if TYPE_CHECKING:
    from service.cluster.check_result import Result

EXIT_FAILED = 1
EXIT_UNREACHABLE = 3
ALIGNED_AT = 62
"""The column of the figures, if the terminal is wide enough."""
SIGNS = {"PASSED": ("✓", "green"), "FAILED": ("✗", "bold red"), "NOTE": ("!", "yellow"), "UNKNOWN": ("?", "yellow")}


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    verb(app, "shoal doctor", "shoal doctor --json")(doctor)


async def doctor(
    call: Invocation,
) -> None:
    """Check servers, cluster and tables, and say how to fix what failed; exit code 1 if a check failed."""
    from functools import partial

    from dao.postgres.database import Database
    from service.cluster.doctor import examine
    from shoal.cli import output
    from shoal.cluster.machine_health import machine_results

    settings = call.settings
    database = Database(settings.database(), application_name="shoal-doctor", connections_max=2)
    results = []
    try:
        async for result in examine(settings, database, partial(machine_results, settings)):
            results.append(result)
            if not call.as_json:
                _say(result)
    finally:
        await database.close()
    if call.as_json:
        output.print_json(_fields(results))
    else:
        _say_sum(results)
    if results[-1].name == "database":
        raise typer.Exit(EXIT_UNREACHABLE)
    if any(result.verdict in ("FAILED", "UNKNOWN") for result in results):
        raise typer.Exit(EXIT_FAILED)


def _say(result: Result) -> None:
    from rich.text import Text

    from service.words import plain
    from shoal.cli import output

    sign, style = SIGNS[result.verdict]
    line = Text.assemble((f"{sign} ", style), (result.condition, "" if result.verdict == "PASSED" else style))
    if result.detail:
        is_wide = output.console().width > 2 * ALIGNED_AT
        line.append(" " * (max(1, ALIGNED_AT - line.cell_len) if is_wide else 2))
        line.append(plain(result.detail), style="dim")
    output.say(line)
    for shown in result.shown:
        output.say(f"    {plain(shown)}")
    if result.count > len(result.shown):
        output.say(f"    and {result.count - len(result.shown)} more", style="dim")
    if result.fix:
        output.say(f"    → {plain(result.fix)}")


def _say_sum(results: list[Result]) -> None:
    from service.words import counted
    from shoal.cli import output

    count = {verdict: sum(result.verdict == verdict for result in results) for verdict in SIGNS}
    failed = f", {count['FAILED']} failed" if count["FAILED"] else ""
    notes = f", {counted(count['NOTE'], 'note')}" if count["NOTE"] else ""
    unknown = f", {count['UNKNOWN']} could not be asked" if count["UNKNOWN"] else ""
    style = "red" if failed else "yellow" if unknown else "green"
    output.say(f"{counted(len(results), 'check')}: {count['PASSED']} passed{failed}{unknown}{notes}.", style=style)


def _fields(results: list[Result]) -> dict[str, Any]:
    return {
        "failed": [result.name for result in results if result.verdict == "FAILED"],
        "checks": [
            {
                "name": result.name,
                "verdict": result.verdict,
                "condition": result.condition,
                "detail": result.detail,
                "count": result.count,
                "finds": list(result.shown),
                "fix": result.fix,
            }
            for result in results
        ],
    }
