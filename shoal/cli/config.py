"""`shoal config`: which settings are in force."""

from __future__ import annotations

import typer

from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import verb
from shoal.config import settings_list


def add_to(app: typer.Typer) -> None:
    """Add the group `config`."""
    group = typer.Typer(no_args_is_help=True, help="The settings in effect here.")
    verb(group, "shoal config show", "shoal config show --json", local=True)(show)
    app.add_typer(group, name="config")


async def show(call: Invocation) -> None:
    """List all settings: value and default. Secrets are masked."""
    found = settings_list.settings_of(call.settings)
    if call.as_json:
        output.print_json({each.name: each.value for each in found})
        return
    output.table(
        Column("SETTING", [each.name for each in found]),
        Column("VALUE", [each.value for each in found]),
        Column("DEFAULT", [each.default for each in found], keep=1),
        Column("VARIABLE", [each.variable for each in found], keep=0),
    )
    output.hint("What each means: docs/reference/settings.md")
