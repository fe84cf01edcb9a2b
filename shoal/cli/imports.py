"""`shoal workflow import`: definitions of other schedulers as files of Shoal, with a report; nothing is saved."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from importers import crontab as crontabs
from importers import imported as results
from importers import report as reports
from importers.airflow import convert as dag_files
from importers.dolphinscheduler import context
from model.errors import Refused
from service.words import counted
from shoal import import_files
from shoal.cli import exit_codes
from shoal.cli.data_sources import has_secret
from shoal.cli.invocation import Invocation
from shoal.cli.output import Column, hint, print_json, say, table
from shoal.cli.secrets import read_url
from shoal.cli.verbs import new_group, verb

Out = Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="The folder for what it writes.")]
Project = Annotated[
    str, typer.Option("--project", metavar="NAME", help="Of the workflows for which the files name none.")
]


@dataclass(frozen=True)
class How:
    """The options that say how an export of DolphinScheduler is read."""

    online: Annotated[bool, typer.Option("--online", help="Keep ONLINE what is ONLINE there.")] = False
    lenient: Annotated[
        bool, typer.Option("--lenient", help="Read files that only look like an export, as they seem meant.")
    ] = False


def add_to(above: typer.Typer) -> None:
    group = new_group(above, "import", "Turn definitions of other schedulers into files; nothing is run or saved.")
    verb(
        group,
        "shoal workflow import dolphinscheduler export.json --out imported",
        "shoal workflow import dolphinscheduler *.json --names imported/catalog.yaml --out imported",
        "shoal workflow import dolphinscheduler --from-db - --out imported < url.txt",
        local=True,
    )(dolphinscheduler)
    verb(
        group,
        "shoal workflow import airflow dags/*.py --out imported",
        "shoal workflow import airflow dags/*.py --serialized dags.json --out imported",
        local=True,
    )(airflow)
    verb(group, "shoal workflow import crontab crontab.txt --out imported", local=True)(crontab)


async def dolphinscheduler(
    call: Invocation,
    out: Out,
    how: How,
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(help="Exports, bodies of requests, or YAML of the Python SDK.", metavar="FILE..."),
    ] = None,
    from_db: Annotated[
        str | None,
        typer.Option("--from-db", metavar="URL", help="A database of version 3, only read; -: from standard input."),
    ] = None,
    names: Annotated[
        Path | None, typer.Option("--names", metavar="FILE", help="A filled catalog.yaml: the names behind ids.")
    ] = None,
    project: Project = "default",
) -> None:
    """Import definitions of DolphinScheduler 1.2 to 3.4: a YAML file for each workflow, and a report.

    Exit code 1 while the report has something to do; `apply` refuses such a workflow.
    """
    if not inputs and from_db is None:
        raise Refused("say what to import: files, or --from-db with the URL of a database")
    url = None if from_db is None else read_url(from_db, has_secret, "say --from-db -")
    options = context.Options(how.online, how.lenient, project)
    _show(call, import_files.import_dolphinscheduler(inputs or [], url, names, out, options), out)


async def airflow(
    call: Invocation,
    out: Out,
    dags: Annotated[
        list[Path] | None, typer.Argument(help="Files with DAGs; none of their code is run.", metavar="FILE...")
    ] = None,
    serialized: Annotated[
        list[Path] | None,
        typer.Option("--serialized", metavar="FILE", help="What the column data of serialized_dag has, as JSON."),
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="Let the schedules fire once they are saved.")] = False,
    project: Project = "default",
) -> None:
    """Import DAGs of Airflow 2 and 3: a YAML file for each DAG, and a report. Exit code 1 as above.

    A serialized DAG has no functions, and of arguments only templates: give its DAG file, too.
    """
    if not dags and not serialized:
        raise Refused("say what to import: files with DAGs, or --serialized with what Airflow stores of them")
    _show(call, import_files.import_airflow(dags or [], serialized or [], out, dag_files.Options(online, project)), out)


async def crontab(
    call: Invocation,
    out: Out,
    tables: Annotated[list[Path], typer.Argument(help="Such as what `crontab -l` prints.", metavar="FILE...")],
    system: Annotated[bool, typer.Option("--system", help="A user stands before each command.")] = False,
    online: Annotated[bool, typer.Option("--online", help="Let the schedules fire once they are saved.")] = False,
    project: Project = "default",
) -> None:
    """Import crontabs: a workflow with a schedule for each line. Exit code 1 as above."""
    _show(call, import_files.import_crontab(tables, out, crontabs.Form(system, online, project)), out)


def _show(call: Invocation, found: results.Imported, out: Path) -> None:
    if call.as_json:
        print_json({"folder": str(out), "files": sorted(found.files), "grades": _grades(found)})
    else:
        _print(found, out)
    if found.report.has_todo:
        raise typer.Exit(exit_codes.FAILED)


def _grades(found: results.Imported) -> dict[str, int]:
    grades = found.report.grades()
    return {grade: grades[grade] for grade in reports.Grade}


def _print(found: results.Imported, out: Path) -> None:
    grades = _grades(found)
    table(
        Column("GRADE", list(grades)),
        Column("WORKFLOWS, SCHEDULES AND TASKS", list(grades.values()), right=True),
    )
    say(f"The report: {out / results.REPORT}")
    if found.missing:
        say(f"{counted(found.missing, 'name')} to fill in: {out / results.CATALOG}")
    if found.missing:
        hint(f"Fill in and import again: --names {quote(str(out / results.CATALOG))}")
    elif found.report.has_todo:
        hint("Do what the report lists first, and remove each line of todo that is done.")
    else:
        hint(f"Save them: shoal workflow apply {quote(str(out / results.FOLDER))}/*.yaml")
