"""`shoal config`: the settings in force, the keys of secrets, and files for Grafana and Prometheus."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from model.errors import Refused
from shoal.cli import output, secrets
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column
from shoal.cli.verbs import new_group, verb
from shoal.config import settings_list

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder; it is made if it does not exist.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `config`."""
    group = new_group(
        app, "config", "The settings in effect here, the keys of secrets, and files for Grafana and Prometheus."
    )
    verb(group, "shoal config show", "shoal config show --json", local=True)(show)
    secrets.add_to_config(group)
    verb(group, "shoal config grafana --out grafana", local=True)(grafana)
    verb(group, "shoal config prometheus --out prometheus", local=True)(prometheus)


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


async def grafana(call: Invocation, out: Out) -> None:
    """Write the dashboards for Grafana, a JSON file each. Files of these names are replaced."""
    _write(call, "dashboards", ".json", out)


async def prometheus(call: Invocation, out: Out) -> None:
    """Write the alert rules for Prometheus. Files of these names are replaced."""
    _write(call, "rules", ".yml", out)


def _write(call: Invocation, kind: str, suffix: str, out: Path) -> None:
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for each in sorted(files("metrics").joinpath(kind).iterdir(), key=lambda each: each.name):
            if each.name.endswith(suffix):
                (out / each.name).write_bytes(each.read_bytes())
                written.append(str(out / each.name))
    except OSError as error:
        raise Refused(f"{kind} cannot be written into {out} ({error.strerror}); give another folder by --out") from None
    if call.as_json:
        output.print_json(written)
    else:
        typer.echo("\n".join(written))
