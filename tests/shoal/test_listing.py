"""What a column of a list shows of a row; and how often an absent server is reported."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel

from model.errors import Unavailable
from shoal.cli.listing import Field, columns_of
from shoal.clients.waiting import poll

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Row(BaseModel):
    """A row."""

    at: datetime | None = None
    names: Sequence[str] = ()
    note: str = ""


FIELDS: Sequence[Field[Row]] = (
    Field("AT", lambda each: each.at),
    Field("NAMES", lambda each: each.names),
    Field("NOTE", lambda each: each.note, rare=True),
)


def _shown(*rows: Row, utc: bool = False) -> dict[str, Sequence[object]]:
    return {column.title: column.values for column in columns_of(FIELDS, rows, NOW, utc=utc)}


def test_times_are_relative_lists_joined_and_nothing_is_a_dash() -> None:
    rows = Row(at=NOW - timedelta(hours=2), names=["a", "b"]), Row(at=NOW + timedelta(minutes=3)), Row()
    assert _shown(*rows) == {"AT": ["2 h ago", "in 3 min", "-"], "NAMES": ["a, b", "-", "-"]}
    assert _shown(Row(at=NOW), utc=True)["AT"] == ["2026-01-31T12:00:00.000Z"]


def test_a_rare_column_is_there_once_a_row_has_something_in_it() -> None:
    assert _shown(Row(), Row(note="why"))["NOTE"] == ["", "why"]


async def test_a_server_that_is_away_is_told_of_once_until_it_answers_again() -> None:
    answers = iter([Unavailable("first"), Unavailable("first again"), None, Unavailable("second"), 7])
    told: list[str] = []

    async def read() -> int | None:
        if isinstance(found := next(answers), Unavailable):
            raise found
        return found

    assert await poll(read, lambda error: told.append(str(error))) == 7
    assert told == ["first", "second"]
