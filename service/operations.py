"""Every operation there is, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from service.cluster import clock
from service.explain import why
from service.operation import Operation
from service.runs import attempts, backfills, bulk, control
from service.runs import listing as run_listing
from service.workflows import listing as workflow_listing
from service.workflows import schedule_changes, schedule_listing

_MODULES = (
    *(run_listing, control, bulk, backfills, attempts, why),
    *(workflow_listing, schedule_listing, schedule_changes),
    clock,
)

ALL: tuple[Operation[Any, Any], ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Operation)
)
