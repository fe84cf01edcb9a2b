"""The tables of `model/runs/states.py` as a diagram, for `docs/reference/states.md`; a test compares the two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

S = TypeVar("S", bound=StrEnum)


def transition_drawing(firsts: Iterable[S], transitions: Mapping[S, frozenset[S]]) -> str:
    """A Mermaid state diagram that begins with any of `firsts` and ends in the states without a transition."""
    lines = ["stateDiagram-v2", *(f"    [*] --> {first}" for first in firsts)]
    for old, news in transitions.items():
        lines += [f"    {old} --> {new}" for new in sorted(news)] or [f"    {old} --> [*]"]
    return "\n".join(lines)
