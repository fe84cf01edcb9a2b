"""Cost limits for calls in a process that serves everybody.

Work whose time grows with its input calls `spend` before it begins. If the call has a budget that does not suffice,
`TooCostly` is raised, and the caller moves the work elsewhere. Costs are estimates for a slow machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

READ_SPEC_US = 0.3
"""Microseconds of processor time for each byte of a definition in JSON; `YAML_US` is for YAML."""
YAML_US = 10.0
MATCH_LINE_US = 50.0
"""For each line of a text that is matched with another."""


class TooCostly(Exception):
    """The work costs more than the budget has left; nothing was done."""


@dataclass(slots=True)
class _Budget:
    left_us: float


_budget: ContextVar[_Budget | None] = ContextVar("budget", default=None)


@contextmanager
def budget(us: float | None) -> Iterator[None]:
    """Limit the processor time within this block, in microseconds; None = no limit. Threads that it starts obey it."""
    token = _budget.set(None if us is None else _Budget(us))
    try:
        yield
    finally:
        _budget.reset(token)


def spend(us: float) -> None:
    """Take processor time from the budget, if there is one. Raises `TooCostly`."""
    if (left := _budget.get()) is not None:
        left.left_us -= us
        if left.left_us < 0:
            raise TooCostly
