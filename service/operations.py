"""Every operation there is, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from service import names
from service.accounts import audit_pages, own_account, own_sessions, own_tokens, people, project_access
from service.cluster import (
    claims,
    clock,
    command_queue,
    data_sources,
    environments,
    examination,
    members,
    secrets,
    settings_in_force,
    slot_replay,
)
from service.explain import why
from service.operation import Operation
from service.projects import projects
from service.runs import attempts, backfills, bulk, control, counting, error_commands, log_source
from service.runs import listing as run_listing
from service.workflows import (
    applying,
    drafting,
    history,
    last_runs,
    layouts,
    relations,
    saving,
    schedule_changes,
    schedule_listing,
    schemas,
)
from service.workflows import listing as workflow_listing

_MODULES = (
    *(run_listing, log_source, control, bulk, error_commands, backfills, attempts, why, counting),
    *(workflow_listing, history, applying, saving, drafting, layouts, last_runs, relations, schemas, projects),
    *(schedule_listing, schedule_changes),
    *(clock, members, slot_replay, claims, command_queue, examination, settings_in_force, names),
    *(data_sources, environments, secrets),
    *(own_account, people, own_sessions, own_tokens, project_access, audit_pages),
)

ALL: tuple[Operation[Any, Any], ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Operation)
)
