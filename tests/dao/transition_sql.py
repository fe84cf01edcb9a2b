"""The tables of `model/runs/states.py` as SQL: the database refuses every other change of a state.

`sql/schema.sql` contains the generated text, so that there is one file to read; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

S = TypeVar("S", bound=StrEnum)


def transition_trigger(table: str, transitions: Mapping[S, frozenset[S]], *unless: str) -> str:
    """The trigger that refuses every change of `table.state` that is not listed, unless one of these holds."""
    pairs = [f"('{old}', '{new}')" for old, news in transitions.items() for new in sorted(news)]
    lines = ",\n        ".join(pairs)
    return (
        f"CREATE TRIGGER {table}_moves_legally BEFORE UPDATE OF state ON {table} FOR EACH ROW\n"
        f"    WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (\n        {lines})"
        + "".join(f"\n        AND NOT {each}" for each in unless)
        + ")\n"
        "    EXECUTE FUNCTION refuse_transition();"
    )
