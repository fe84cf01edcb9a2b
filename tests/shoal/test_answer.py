"""The rules of output: nothing that names something is ever cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from shoal.cli import output
from shoal.cli.output import Column, fitting, json_fields, needed_width

columns_and_widths = st.lists(
    st.tuples(
        st.builds(Column, st.just("X"), st.just(()), st.none() | st.integers(0, 9), st.booleans(), st.booleans()),
        st.integers(1, 60),
    ),
    min_size=1,
    max_size=9,
)


@given(columns_and_widths, st.integers(1, 300))
def test_columns_fit_or_only_those_are_left_that_must_stay(table: list[tuple[Column, int]], room: int) -> None:
    columns, widths = [column for column, _ in table], [width for _, width in table]
    kept = fitting(columns, widths, room)
    must = [place for place, column in enumerate(columns) if column.keep is None]
    assert set(must) <= set(kept)
    assert needed_width(columns, widths, kept) <= room or kept == must


@given(columns_and_widths, st.integers(1, 300))
def test_a_less_useful_column_never_stays_where_a_more_useful_one_goes(
    table: list[tuple[Column, int]], room: int
) -> None:
    columns = [column for column, _ in table]
    kept = fitting(columns, [width for _, width in table], room)
    gone = [column.keep for place, column in enumerate(columns) if place not in kept and column.keep is not None]
    stay = [columns[place].keep for place in kept]
    assert all(keep is None or keep >= max(gone, default=0) for keep in stay)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(output, "console", lambda width=40: Console(width=width, highlight=False))
    yield


def test_on_a_narrow_terminal_ids_and_states_stay_whole(narrow: None, capsys: pytest.CaptureFixture[str]) -> None:
    output.table(
        Column("RUN", [9_223_372_036_854_775_807], right=True),
        Column("STATE", [output.state("NEED_FAULT_TOLERANCE")]),
        Column("MASTER", ["10.0.0.1:5678"], keep=0),
        Column("WHY", ["a reason [b] in many words"], sentence=True),
    )
    said = capsys.readouterr().out
    assert "9223372036854775807" in said
    assert "NEED_FAULT_TOLERANCE" in said
    assert "10.0.0.1" not in said
    assert "[b]" in said


def test_ids_are_texts_in_json_and_what_is_unknown_is_left_out() -> None:
    fields = json_fields({"id": 2**60, "master_id": 1, "version": 3, "reason": None})
    assert fields == {"id": str(2**60), "master_id": "1", "version": 3}
