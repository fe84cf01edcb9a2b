"""The options that say which runs or attempts are meant: the filters of the API, under the same names."""

from __future__ import annotations

from typing import Annotated

import typer

from model.triggers import Trigger

Triggers = Annotated[
    list[Trigger] | None,
    typer.Option("--trigger", case_sensitive=False, help="Only what this started: hand, schedule…; may be repeated."),
]
Master = Annotated[str | None, typer.Option(help="Only runs that this master drives now: its id, address or name.")]
RunWorker = Annotated[
    str | None, typer.Option("--worker", help="Only runs that this worker has or had a task of: id, address or name.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option("--parameter", help="Only runs with this start parameter, as name=value; may be repeated: all."),
]
Words = Annotated[
    str | None, typer.Option("--q", help="Digits: the beginning of the id; else a part of the name or the reason.")
]
SerialKey = Annotated[str | None, typer.Option("--serial-key", help="Only runs of the line of this key.")]
After = Annotated[str | None, typer.Option("--started-after", help="Only those started then or later.")]
Before = Annotated[str | None, typer.Option("--started-before", help="Only those started before 2026-01-31T14:00:00Z.")]
