"""What a statement that runs often may do, and the rows of `million.sql` that it is tried with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from dao.postgres.pool import AsyncConnection
from model.choices import Priority
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.pools.turns import Waiter

POOLED_FIRST = 5_000_001
RUNNING = [WorkflowInstanceId(id_) for id_ in range(4, 1001, 4)]
"""The unfinished instances of the living master."""
WAITERS = [
    Waiter(
        Priority.MEDIUM,
        WorkflowInstanceId(999),
        Priority.MEDIUM,
        TaskInstanceId(POOLED_FIRST + number),
        "pooled",
        {"a": 1},
    )
    for number in range(40)
]
"""The first in the line of the pool `a`, which are those of `million.sql` that are not plain."""


@dataclass(frozen=True)
class Hot:
    """A statement, the indexes that it must walk, and how many rows of the big tables it may read in all."""

    call: Callable[[AsyncConnection], Awaitable[Any]]
    indexes: set[str]
    rows_read_max: int
