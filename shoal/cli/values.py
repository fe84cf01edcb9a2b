"""Arguments that several verbs have, and the parser of `--param name=value`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from model.choices import FailureStrategy, Priority, TaskDependType, WarningType
from model.errors import Refused
from model.time.durations import read_duration
from shoal.cli.completion import complete_run, complete_workflow

WorkflowName = Annotated[
    str,
    typer.Argument(metavar="NAME", help="The workflow's name, or its code.", autocompletion=complete_workflow),
]
RunName = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Its id, @last, @failed, or a workflow's name.", autocompletion=complete_run),
]
Project = Annotated[str, typer.Option(help="The project that the workflow belongs to.")]
Params = Annotated[list[str] | None, typer.Option("--param", "-p", help="A value, as name=value; may be repeated.")]
Wait = Annotated[bool, typer.Option("--wait", "-w", help="Wait for its end; exit code 1 if it fails.")]
Timeout = Annotated[str | None, typer.Option(help="With --wait: wait no longer than this, such as 90s, 5m or 1h30m.")]
Depend = Annotated[
    TaskDependType | None,
    typer.Option(case_sensitive=False, help="With --task: alone, with all before it, or with all after it."),
]
Warn = Annotated[
    WarningType | None,
    typer.Option(
        "--warning-type",
        case_sensitive=False,
        help="Which ends of its runs raise an alert.",
    ),
]
AlertGroup = Annotated[str | None, typer.Option("--alert-group", help="Who gets its alerts.")]
AnyProject = Annotated[
    str | None, typer.Option("--project", help="The project of the workflow, where several have one of that name.")
]


@dataclass(frozen=True)
class StartOptions:
    """How runs start, by the names of the API; None: as the definition says."""

    priority: Annotated[Priority | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")] = None
    failure_strategy: Annotated[
        FailureStrategy | None, typer.Option(case_sensitive=False, help="Instead of the definition's.")
    ] = None
    worker_group: Annotated[str | None, typer.Option(help="Instead of the definition's.")] = None
    warning_type: Warn = None
    alert_group: AlertGroup = None
    environment: Annotated[str | None, typer.Option(help="Name of an environment, for the tasks that have none.")] = (
        None
    )


@dataclass(frozen=True)
class RunOptions(StartOptions):
    """Further options of a single run."""

    version: Annotated[int | None, typer.Option(min=1, help="Another version than the current one.")] = None
    date: Annotated[str | None, typer.Option(help="The date or time that it is for, such as 2026-01-31.")] = None
    tasks: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Begin with this task only; may be repeated.")
    ] = None
    depend: Depend = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Everything happens except the tasks' own work.")] = False


@dataclass(frozen=True)
class Waiting:
    """Whether the verb waits, and for how long."""

    wait: Wait = False
    timeout: Timeout = None

    def limit_s(self) -> float | None:
        """The seconds of --timeout. Raises `Refused` if it is no time span, or the verb does not wait."""
        if self.timeout is not None and not self.wait:
            raise Refused("--timeout limits --wait; give that too")
        return None if self.timeout is None else read_duration(self.timeout, "--timeout").total_seconds()


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


def read_values(given: Sequence[str], option: str = "--param") -> dict[str, str]:
    """Values by name; the last one of a repeated name. Raises `Refused`, naming the `option`."""
    values: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise Refused(f'{option} "{each}" has no value; write it as name=value')
        if not _NAME.fullmatch(name):
            allowed = 'it begins with a letter or "_", and has letters, digits, "_" and "." only'
            raise Refused(f'{option} "{each}": "{name}" cannot be the name of a parameter; {allowed}')
        values[name] = value
    return values
