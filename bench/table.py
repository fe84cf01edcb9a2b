"""The result as a table for the terminal."""

from __future__ import annotations

from itertools import groupby

from rich.console import Console
from rich.table import Table

from bench.course import Result


def print_table(result: Result, console: Console) -> None:
    """Print all figures by part, and the warnings that the processes logged."""
    table = Table(title=headline(result), title_justify="left", caption_justify="left")
    table.add_column("figure")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("measured with", style="dim")
    for part, figures in groupby(result.figures, key=lambda figure: figure.part):
        table.add_section()
        table.add_row(f"[bold]{part}[/]")
        for figure in figures:
            colour = {None: "default", True: "green", False: "red"}[figure.is_met]
            target = "" if figure.target is None else f"{figure.target} {'met' if figure.is_met else 'MISSED'}"
            table.add_row(f"  {figure.what}", f"[{colour}]{figure.shown}[/]", f"[{colour}]{target}[/]", figure.how)
    console.print(table)
    for warning, count in result.warnings.items():
        console.print(f"[yellow]{count} x {warning}[/]")


def headline(result: Result) -> str:
    """One line: what was measured, and where."""
    machine = result.machine
    quick = "QUICK RUN, the figures mean little · " if result.is_quick else ""
    return (
        f"{quick}{machine.cores} cores, {machine.memory_gib:g} GiB, PostgreSQL {machine.postgresql} on the same "
        f"machine, load {machine.load_before:g} before · {machine.date} · {machine.commit} · took {result.took_s:.0f} s"
    )
