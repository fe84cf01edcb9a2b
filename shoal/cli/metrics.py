"""`shoal metrics`: dashboards for Grafana and rules for Prometheus, written into a folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from model.errors import Refused
from shoal.cli import output
from shoal.cli.invocation import Invocation
from shoal.cli.verbs import verb

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder; it is made if it does not exist.")]


def add_to(app: typer.Typer) -> None:
    """Add the group `metrics`."""
    group = typer.Typer(no_args_is_help=True, help="Dashboards and alert rules for the metrics of masters and workers.")
    verb(group, "shoal metrics dashboards --out grafana", local=True)(dashboards)
    verb(group, "shoal metrics rules --out prometheus", local=True)(rules)
    app.add_typer(group, name="metrics")


async def dashboards(call: Invocation, out: Out) -> None:
    """Write the dashboards for Grafana, a JSON file each. Files of these names are replaced."""
    _write(call, "dashboards", ".json", out)


async def rules(call: Invocation, out: Out) -> None:
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
