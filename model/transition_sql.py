"""The tables of `model/states.py` as SQL: which change of a state the database refuses.

`sql/schema.sql` holds the text that this makes, so that a person reads one file; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

S = TypeVar("S", bound=StrEnum)


def transition_trigger(table: str, transitions: Mapping[S, frozenset[S]]) -> str:
    """The trigger that refuses every change of `table.state` which is not listed."""
    pairs = [f"('{old}', '{new}')" for old, news in transitions.items() for new in sorted(news)]
    lines = ",\n        ".join(pairs)
    return (
        f"CREATE TRIGGER {table}_moves_legally BEFORE UPDATE OF state ON {table} FOR EACH ROW\n"
        f"    WHEN (OLD.state <> NEW.state AND (OLD.state, NEW.state) NOT IN (\n        {lines}))\n"
        f"    EXECUTE FUNCTION refuse_transition();"
    )
