"""The options that select runs: the filters of the API, under the same names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from model.runs.states import TaskState, WorkflowState
from model.runs.triggers import Trigger
from model.time.durations import read_duration


@dataclass(frozen=True)
class Filters:
    """Filters of both runs and attempts."""

    workflow: Annotated[str | None, typer.Option(help="Only of this workflow.")] = None
    project: Annotated[str | None, typer.Option(help="Only of workflows of this project.")] = None
    since: Annotated[str | None, typer.Option(help="Only those started within this time: 30s, 15m, 12h, 7d.")] = None
    trigger: Annotated[
        list[Trigger] | None,
        typer.Option(case_sensitive=False, help="Only what this started: hand, schedule…; may be repeated."),
    ] = None
    master: Annotated[
        str | None, typer.Option(help="Only runs that this master drives now: its id, address or name.")
    ] = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="Only runs with this start parameter, as name=value; may be repeated: all."),
    ] = None
    q: Annotated[
        str | None, typer.Option("--q", help="Digits: the beginning of the id; else a part of the name or the reason.")
    ] = None
    started_after: Annotated[str | None, typer.Option(help="Only those started then or later.")] = None
    started_before: Annotated[str | None, typer.Option(help="Only those started before 2026-01-31T14:00:00Z.")] = None

    def given(self) -> dict[str, object]:
        """The given filters, by the names of the API. Raises `Refused` if `--since` is no duration."""
        if self.since is not None:
            read_duration(self.since, "--since")
        return {name: value for name, value in vars(self).items() if value is not None and value != []}


@dataclass(frozen=True)
class RunFilters(Filters):
    """Filters of runs."""

    state: Annotated[
        list[WorkflowState] | None, typer.Option(case_sensitive=False, help="Only runs in this state; may be repeated.")
    ] = None
    worker: Annotated[
        str | None, typer.Option(help="Only runs that this worker has or had a task of: id, address or name.")
    ] = None
    serial_key: Annotated[str | None, typer.Option(help="Only runs of the line of this key.")] = None


@dataclass(frozen=True)
class AttemptFilters(Filters):
    """Filters of attempts."""

    state: Annotated[
        list[TaskState] | None, typer.Option(case_sensitive=False, help="Only attempts in this state; may be repeated.")
    ] = None
    type: Annotated[
        list[str] | None, typer.Option("--type", help="Only of this task type, such as SHELL; may be repeated.")
    ] = None
    name: Annotated[str | None, typer.Option(help="Only of tasks with this name.")] = None
    worker: Annotated[str | None, typer.Option(help="Only of this worker: its id, address or name.")] = None
    worker_group: Annotated[str | None, typer.Option(help="Only of this worker group.")] = None

    def given(self) -> dict[str, object]:
        types = {"type": [each.upper() for each in self.type]} if self.type else {}
        return super().given() | types
