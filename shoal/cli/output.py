"""How verbs print results: tables for people, JSON for programs, plain text in pipes.

The rules: ids and states are never truncated. When a terminal is too narrow the least useful column is left out as a
whole; the last column, if it is a sentence, is wrapped. A pipe has no width, so nothing is left out there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from service.words import STATES, exact, plain
from shoal.cli.encoding import shows_all

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.invocation import Invocation

GAP = 2
"""Spaces between two columns."""

PIPE_WIDTH = 10_000
SENTENCE_WIDTH_MIN = 24
"""A wrapped column narrower than this is hard to read: leave out another one instead."""


@dataclass(frozen=True)
class Column:
    """A column of a table, with its value in each row.

    `keep` is its priority: None is never left out, else the column with the lowest number is removed first.
    """

    title: str
    values: Sequence[object]
    keep: int | None = None
    right: bool = False
    sentence: bool = False


@cache
def console(width: int | None = None) -> Console:
    """Standard output, as wide as the terminal, unlimited in a pipe, or `width` characters wide."""
    from rich.console import Console

    natural = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(markup=False, highlight=False, emoji=False, width=width or natural)


def state(name: str) -> Text:
    """A state with its symbol and colour."""
    from rich.text import Text

    sign, style = STATES.get(name, ("?", ""))
    return Text(f"{sign} {name}", style=style)


def assembled(*parts: tuple[str, str]) -> Text:
    """A line of parts, each with its style."""
    from rich.text import Text

    return Text.assemble(*parts)


def table(*columns: Column, indent: int = 0) -> None:
    """Print a table; without rows nothing, since the caller prints a sentence."""
    if not columns[0].values:
        return
    room = console().width - indent
    grid, needed = laid_out(columns, room)
    # The columns that must stay may be wider than the terminal: then the terminal wraps them, without truncation.
    canvas = console(max(room, needed))
    with canvas.capture() as captured:
        canvas.print(grid)
    for line in captured.get().splitlines():
        sys.stdout.write(f"{' ' * indent}{line.rstrip()}\n")


def laid_out(columns: Sequence[Column], room: int) -> tuple[Table, int]:
    """A table of the columns that fit into `room`, and the width that it needs."""
    from rich.table import Table
    from rich.text import Text

    cells = [
        [each if isinstance(each, Text) else Text(plain(str(each))) for each in column.values] for column in columns
    ]
    widths = [max(len(column.title), *(cell.cell_len for cell in cells[at])) for at, column in enumerate(columns)]
    kept = fitting(columns, widths, room)
    grid = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", collapse_padding=True)
    for place in kept:
        column = columns[place]
        grid.add_column(
            column.title,
            justify="right" if column.right else "left",
            no_wrap=not column.sentence,
            overflow="fold",
            min_width=None if column.sentence else widths[place],
        )
    for row in zip(*(cells[place] for place in kept), strict=True):
        grid.add_row(*row)
    return grid, needed_width(columns, widths, kept)


def fitting(columns: Sequence[Column], widths: Sequence[int], room: int) -> list[int]:
    """The indexes of the columns that fit into `room`: the least useful are left out until the rest fits."""
    kept = list(range(len(columns)))
    while needed_width(columns, widths, kept) > room:
        spare = [at for at in kept if columns[at].keep is not None]
        if not spare:
            break
        kept.remove(min(spare, key=lambda at: columns[at].keep or 0))
    return kept


def needed_width(columns: Sequence[Column], widths: Sequence[int], kept: Sequence[int]) -> int:
    """The minimum width of a table of the `kept` columns; sentences may be wrapped."""
    least = (min(widths[at], SENTENCE_WIDTH_MIN) if columns[at].sentence else widths[at] for at in kept)
    return sum(least) + GAP * (len(kept) - 1)


def say(text: object = "", *, style: str | None = None) -> None:
    """Print a line; colours only on a terminal."""
    console().print(text, style=style, crop=False, overflow="ignore", no_wrap=True)


def hint(text: str) -> None:
    """Print the most likely next command, after a list."""
    say(text, style="dim")


def print_result(call: Invocation, fields: object, sentence: str, next_step: str = "") -> None:
    """Print what a verb did or found: `fields` in JSON, else a sentence, and the most likely next command."""
    if call.as_json:
        print_json(fields)
        return
    say(sentence)
    if next_step:
        hint(next_step)


def needs_table(call: Invocation, found: Sequence[BaseModel], none: str, next_step: str = "") -> bool:
    """Whether the caller must print a table. Otherwise the list was printed as JSON, or `none` was."""
    if found and not call.as_json:
        return True
    print_result(call, [answer_fields(each) for each in found], none, next_step)
    return False


def printed_json(call: Invocation, found: BaseModel | Sequence[BaseModel]) -> bool:
    """Print an answer, or several, as JSON if requested; return whether it did."""
    if call.as_json:
        print_json([answer_fields(each) for each in found] if isinstance(found, Sequence) else answer_fields(found))
    return call.as_json


def print_json(value: object) -> None:
    text = json.dumps(value, ensure_ascii=not shows_all(sys.stdout), indent=2, default=_as_json)
    sys.stdout.write(text + "\n")


def answer_fields(answer: BaseModel) -> dict[str, Any]:
    """The fields of an answer for JSON, as the API gives them."""
    fields: dict[str, Any] = answer.model_dump(mode="json", exclude_none=True)
    return fields


def json_fields(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fields for JSON: ids as texts, since a JSON number cannot contain 64 bits; unknown ones are left out."""
    return {name: _field(name, value) for name, value in given.items() if value is not None}


def _field(name: str, value: Any) -> Any:
    is_id = name in ("id", "code", "epoch") or name.endswith(("_id", "_code"))
    return str(value) if is_id and isinstance(value, int) else value


def _as_json(value: object) -> str:
    return exact(value) if isinstance(value, datetime) else str(value)
