"""`shoal doctor`: checks everything that must be true of a cluster, from outside."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from service.checks import examination
from service.words import counted, plain
from shoal.cli import exit_codes, output
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

ALIGNED_AT = 62
"""The column of the figures, if the terminal is wide enough."""
SIGNS = {"PASSED": ("✓", "green"), "FAILED": ("✗", "bold red"), "NOTE": ("!", "yellow"), "UNKNOWN": ("?", "yellow")}


def add_to(app: typer.Typer) -> None:
    verb(app, "shoal doctor", "shoal doctor --json")(doctor)


async def doctor(call: Invocation) -> None:
    """Check servers, cluster and tables, and say how to fix what failed; exit code 1 if a check failed."""
    async with call.client(checks=False) as client:
        found = await client.ask(examination.examine_cluster)
    if call.as_json:
        output.print_json(output.answer_fields(found))
    else:
        for check in found.checks:
            _say(check)
        _say_sum(found.checks)
    if found.checks[-1].name == "database":
        raise typer.Exit(exit_codes.UNREACHABLE)
    if any(check.verdict in ("FAILED", "UNKNOWN") for check in found.checks):
        raise typer.Exit(exit_codes.FAILED)


def _say(check: examination.CheckAnswer) -> None:
    sign, style = SIGNS[check.verdict]
    line = output.assembled((f"{sign} ", style), (check.condition, "" if check.verdict == "PASSED" else style))
    if check.detail:
        is_wide = output.console().width > 2 * ALIGNED_AT
        line.append(" " * (max(1, ALIGNED_AT - line.cell_len) if is_wide else 2))
        line.append(plain(check.detail), style="dim")
    output.say(line)
    for shown in check.finds:
        output.say(f"    {plain(shown)}")
    if check.count > len(check.finds):
        output.say(f"    and {check.count - len(check.finds)} more", style="dim")
    if check.fix:
        output.say(f"    → {plain(check.fix)}")


def _say_sum(checks: Sequence[examination.CheckAnswer]) -> None:
    count = {verdict: sum(check.verdict == verdict for check in checks) for verdict in SIGNS}
    failed = f", {count['FAILED']} failed" if count["FAILED"] else ""
    notes = f", {counted(count['NOTE'], 'note')}" if count["NOTE"] else ""
    unknown = f", {count['UNKNOWN']} could not be asked" if count["UNKNOWN"] else ""
    style = "red" if failed else "yellow" if unknown else "green"
    output.say(f"{counted(len(checks), 'check')}: {count['PASSED']} passed{failed}{unknown}{notes}.", style=style)
