"""Lists of task codes as stored in a column: text, so a row written by hand may contain anything."""

from __future__ import annotations

import json

from dao.postgres.errors import BadData
from model.ids import TaskCode


class Unreadable(BadData):
    """A column contains what the database takes and this program does not."""


def read_codes(text_: str | None, what: str) -> frozenset[TaskCode] | None:
    """The codes of a JSON list; None for null. Raises `Unreadable`, naming `what`, for anything else."""
    if text_ is None:
        return None
    try:
        return frozenset(TaskCode(int(code)) for code in json.loads(text_))
    except (ValueError, TypeError, RecursionError):
        raise Unreadable(f"{what}, as the database has it, is not a JSON list of task codes") from None


def readable_codes(text_: str | None) -> frozenset[TaskCode] | None:
    """The same for lists of rows, which show also the row that has something else there: then None."""
    try:
        return read_codes(text_, "it")
    except Unreadable:
        return None
