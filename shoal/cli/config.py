"""`shoal config`: the settings in force, the keys of secrets, and files for Grafana and Prometheus."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
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
Runbooks = Annotated[
    str,
    typer.Option("--runbooks", metavar="URL", help="Your copy of this page: each alert links to its section there."),
]
RUNBOOKS = "docs/guides/runbooks.md"
_ALERT = re.compile(r"(?ms)^( *)- alert: (\w+)\n.*?^\1  annotations:\n")


def add_to(app: typer.Typer) -> None:
    group = new_group(
        app, "config", "The settings in effect here, the keys of secrets, and files for Grafana and Prometheus."
    )
    verb(group, "shoal config show", "shoal config show --json", local=True)(show)
    secrets.add_to_config(group)
    verb(group, "shoal config grafana --out grafana", local=True)(grafana)
    whole = "shoal config prometheus --out prometheus --runbooks https://docs.example.org/guides/runbooks.html"
    verb(group, "shoal config prometheus --out prometheus", whole, local=True)(prometheus)


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


async def prometheus(call: Invocation, out: Out, runbooks: Runbooks = RUNBOOKS) -> None:
    """Write the alert rules for Prometheus. Files of these names are replaced."""
    _write(call, "rules", ".yml", out, lambda rules: with_runbooks(rules, runbooks))


def with_runbooks(rules: str, page: str) -> str:
    """Alert rules in YAML; each alert gets the annotation `runbook_url`, its section of the page."""
    return _ALERT.sub(lambda alert: f"{alert[0]}{alert[1]}    runbook_url: {_section(page, alert[2])}\n", rules)


def _section(page: str, alert: str) -> str:
    return json.dumps(f"{page}#{alert.lower()}")  # YAML knows it too


def _write(
    call: Invocation, kind: str, suffix: str, out: Path, changed: Callable[[str], str] = lambda text: text
) -> None:
    written = []
    try:
        out.mkdir(parents=True, exist_ok=True)
        for each in sorted(files("metrics").joinpath(kind).iterdir(), key=lambda each: each.name):
            if each.name.endswith(suffix):
                (out / each.name).write_text(changed(each.read_text("utf-8")), "utf-8")
                written.append(str(out / each.name))
    except OSError as error:
        raise Refused(f"{kind} cannot be written into {out} ({error.strerror}); give another folder by --out") from None
    if call.as_json:
        output.print_json(written)
    else:
        typer.echo("\n".join(written))
