"""What a call may cost where one process answers everybody.

What takes a time that grows with its input says so before it begins: `spend`. Where the call has a budget and it does
not suffice, `TooCostly` is raised, and the caller has the work done elsewhere. Costs are estimates for a slow machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

READ_SPEC_US = 0.3
"""Microseconds of processor for each byte of a definition in JSON; of YAML that is parsed or written: `YAML_US`."""
YAML_US = 10.0
MATCH_LINE_US = 50.0
"""For each line of a text that is compared with another."""


class TooCostly(Exception):
    """The work costs more than is left of the budget; nothing was done."""


@dataclass(slots=True)
class _Budget:
    left_us: float


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(us: float | None) -> Iterator[None]:
    """Within this block at most so many microseconds may be spent; None: any number. Threads that it starts obey."""
    token = _budget.set(None if us is None else _Budget(us))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(us: float) -> None:
    """Take microseconds of processor from the budget, if there is one. Raises `TooCostly`."""
    if (left := _budget.get()) is not None:
        left.left_us -= us
        if left.left_us < 0:
            raise TooCostly
