"""Every operation there is, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from service import names
from service.cluster import claims, clock, command_queue, examination, members, settings_in_force
from service.explain import why
from service.operation import Operation
from service.runs import control, error_commands, log_source
from service.runs import listing as run_listing
from service.workflows import listing as workflow_listing

_MODULES = (
    *(run_listing, log_source, control, error_commands, why, workflow_listing),
    *(clock, members, claims, command_queue, examination, settings_in_force, names),
)

ALL: tuple[Operation[Any, Any], ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Operation)
)
