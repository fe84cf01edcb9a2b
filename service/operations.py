"""Every operation there is, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from service.accounts import audit_pages, own_account, own_sessions, own_tokens, people, project_access
from service.cluster import clock
from service.explain import why
from service.operation import Operation
from service.runs import control
from service.runs import listing as run_listing
from service.workflows import listing as workflow_listing

_MODULES = (
    *(run_listing, control, why, workflow_listing, clock),
    *(own_account, people, own_sessions, own_tokens, project_access, audit_pages),
)

ALL: tuple[Operation[Any, Any], ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Operation)
)
