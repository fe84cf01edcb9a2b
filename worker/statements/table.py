"""A result as a table for the log, and as texts for later tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from worker.statements.driver import Result, Row

ROWS_SHOWN_MAX = 50
CELL_LENGTH_MAX = 60
NULL = "NULL"


def table(result: Result, masked: Callable[[str], str] = str) -> str:
    """An aligned table, a line for each row, and a last line with the number of rows; each cell is masked and cut."""
    shown = [[_cell(value, masked) for value in row] for row in result.rows[:ROWS_SHOWN_MAX]]
    titles = [_cell(column, masked) for column in result.columns]
    widths = [max(map(len, cells)) for cells in zip(titles, *shown, strict=True)]
    lines = [_line(titles, widths), _line(["-" * width for width in widths], widths)]
    lines += [_line(row, widths) for row in shown]
    count = len(result.rows)
    total = "1 row" if count == 1 and not result.dropped else f"{count + result.dropped} rows"
    notes = [f"the first {ROWS_SHOWN_MAX} shown"] if count > ROWS_SHOWN_MAX else []
    notes += [f"the first {count} kept (limit)"] if result.dropped else []
    return "\n".join([*lines, f"({', '.join([total, *notes])})", ""])


def as_text(value: Any) -> str:
    """A database value as a parameter's text: an empty one for NULL, true or false, ISO dates and times."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case datetime():
            return value.isoformat(" ")
        case bytes() | bytearray() | memoryview():
            return bytes(value).hex()
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=as_text)
        case _ if hasattr(value, "isoformat"):
            return str(value.isoformat())
        case _:
            return str(value)


def as_list(rows: Sequence[Row], place: int) -> str:
    """A column as a JSON list: numbers, booleans and NULL as such, all else as text."""
    return json.dumps([_plain(row[place]) for row in rows], ensure_ascii=False)


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int) else _number(value)


def _number(value: Any) -> Any:
    is_finite = isinstance(value, float) and value - value == 0
    return value if is_finite else as_text(value)


def _cell(value: Any, masked: Callable[[str], str]) -> str:
    text = NULL if value is None else masked(as_text(value))
    text = "".join(sign if sign.isprintable() else "·" for sign in text[: CELL_LENGTH_MAX + 1])
    return text if len(text) <= CELL_LENGTH_MAX else f"{text[: CELL_LENGTH_MAX - 1]}…"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
