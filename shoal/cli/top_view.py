"""The picture of `shoal top`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from service.runs import answers
from service.words import ago, counted, duration, exact, plain
from shoal.cli import top
from shoal.cli.listing import columns_of
from shoal.cli.node_lists import WORKERS, load, master_state
from shoal.cli.output import Column, laid_out, state
from shoal.cli.queue import group_columns
from shoal.cli.runs import run_columns

WORKERS_SHOWN = 10
RUNS_SHOWN_MIN = 3


@contextmanager
def whole_screen() -> Iterator[Callable[[top.Frame | None, str | None], None]]:
    """Take the whole terminal; yields a function that shows a picture, and what is wrong."""
    console = Console(markup=False, highlight=False, emoji=False)
    with Live(console=console, screen=True, auto_refresh=False) as live:

        def show(frame: top.Frame | None, fault: str | None) -> None:
            picture = drawn(frame, console.width, height=console.height, fault=fault, is_live=True)
            live.update(picture, refresh=True)

        yield show


def drawn(
    frame: top.Frame | None, width: int, *, height: int | None = None, fault: str | None = None, is_live: bool = False
) -> RenderableType:
    """The picture, as wide as the terminal; with `height` only as many runs as fit.

    Args:
        frame: the last that was read; None if there was none yet.
        fault: why there is no newer one.
        is_live: whether it changes, and says how to end that.
    """
    lines: list[RenderableType] = []
    if fault is not None:
        lines.append(Text(f"{plain(fault)}; it is asked again", "bold red"))
    if frame is not None:
        tables = [_masters(frame), _workers(frame), _groups(frame)]
        lines.append(_head(frame, is_old=fault is not None))
        for columns in tables:
            if columns[0].values:
                lines += [Text(), laid_out(columns, width)[0]]
        rows = sum(len(columns[0].values) + 2 for columns in tables if columns[0].values)
        left = RUNS_SHOWN_MIN if height is None else max(height - rows - len(lines[:2]) - 3, RUNS_SHOWN_MIN)
        runs = frame.runs if height is None else frame.runs[:left]
        if runs:
            lines += [Text(), laid_out(_runs(frame, runs), width)[0]]
    if is_live:
        lines.append(Text("q ends it", "dim"))
    return Group(*lines)


def _head(frame: top.Frame, *, is_old: bool) -> Text:
    commands = sum(each.waiting for each in frame.queue.slots)
    tasks = sum(each.waiting for each in frame.queue.worker_groups)
    waits = f"{counted(commands, 'command')} and {counted(tasks, 'task')} wait"
    if not frame.slots.masters:
        waits = f"no master is alive; {counted(tasks, 'task')} {'waits' if tasks == 1 else 'wait'}"
    members = f"{counted(len(frame.slots.masters), 'master')}, {counted(len(frame.workers), 'worker')}"
    return Text(f"shoal   {exact(frame.now)}   {members}; {waits}", "dim" if is_old else "bold")


def _masters(frame: top.Frame) -> list[Column]:
    masters = frame.slots.masters
    per_s: dict[int, float] = {each.epoch: each.per_s for each in frame.claims}
    waiting = {each.slot: each for each in frame.queue.slots}
    slots = [waiting.get(each.slot) if each.slot is not None else None for each in masters]
    states = [master_state(each) for each in masters]
    return [
        Column("SLOT", [_number(each.slot) for each in masters], right=True),
        Column("MASTER", [each.name for each in masters]),
        Column("EPOCH", [each.epoch for each in masters], keep=1, right=True),
        Column("STATE", [state(each) for each in states]),
        Column("RUNS", [_number(each.running) for each in masters], right=True),
        Column("CLAIMS/S", [f"{per_s.get(each.epoch, 0.0):.1f}" for each in masters], keep=6, right=True),
        Column("WAITING", [slot.waiting if slot else 0 for slot in slots], keep=5, right=True),
        Column("OLDEST", [duration(slot.oldest_s if slot else None) for slot in slots], keep=4, right=True),
        Column("LOAD", [load(each) for each in masters], keep=2, right=True),
        Column("BEAT", [ago(each.beat_age_s) for each in masters], keep=3, right=True),
    ]


def _workers(frame: top.Frame) -> list[Column]:
    workers = frame.workers[:WORKERS_SHOWN]
    names, *others = columns_of(WORKERS.fields, workers, frame.now, utc=False)
    if left := len(frame.workers) - len(workers):
        names = replace(names, values=[*names.values[:-1], f"{names.values[-1]} (and {left} more)"])
    return _of_one_line([names, *others])


def _groups(frame: top.Frame) -> list[Column]:
    return group_columns([each for each in frame.queue.worker_groups if each.waiting])


def _runs(frame: top.Frame, runs: Sequence[answers.RunAnswer]) -> list[Column]:
    return _of_one_line(run_columns(runs, frame.now, utc=False))


def _of_one_line(columns: Sequence[Column]) -> list[Column]:
    """The columns without sentences, which take several lines where there is little room."""
    return [each for each in columns if not each.sentence]


def _number(given: int | None) -> str:
    return "-" if given is None else str(given)
