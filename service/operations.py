"""Every operation there is, in the order of the documentation."""

from __future__ import annotations

from typing import Any

from service import names, search
from service.accounts import audit_pages, own_account, own_sessions, own_tokens, people, project_access, saved_views
from service.alerts import channels as alert_channels
from service.alerts import groups as alert_groups
from service.alerts import history as alert_history
from service.alerts import rules as alert_rules
from service.alerts import silences as alert_silences
from service.checks import examination
from service.cluster import (
    clock,
    command_queue,
    drains,
    drill,
    duties,
    failover_receipt,
    figures,
    members,
    servers,
    settings_in_force,
)
from service.explain import why
from service.logs import log_search, log_source, value_source
from service.operation import Operation
from service.pools import pool_changes, pools
from service.projects import files, projects
from service.runs import (
    approvals,
    attempts,
    attention,
    backfills,
    bulk,
    control,
    counting,
    elements,
    error_commands,
    line,
    recent_backfills,
    showing,
    story_answers,
    streams,
)
from service.runs import bulk_operations as operations
from service.runs import listing as run_listing
from service.schedules import schedule_calendar, schedule_changes, schedule_listing
from service.secrets import data_sources, environments, key_rotation
from service.slots import claims, command_slot, slot_picture, slot_replay
from service.workflows import apply_operations as applying
from service.workflows import (
    choosing,
    content,
    drafting,
    folder_sync,
    history,
    importing,
    last_runs,
    layouts,
    moving,
    relations,
    saving,
    schemas,
    trying,
)
from service.workflows import listing as workflow_listing

_MODULES = (
    *(
        run_listing,
        showing,
        story_answers,
        line,
        log_source,
        log_search,
        value_source,
        control,
        streams,
        bulk,
        operations,
        error_commands,
        backfills,
        recent_backfills,
    ),
    *(attempts, elements, approvals, why, counting, attention),
    *(
        workflow_listing,
        content,
        history,
        applying,
        folder_sync,
        importing,
        saving,
        choosing,
        trying,
        drafting,
        layouts,
        moving,
        last_runs,
        relations,
    ),
    *(schemas, projects, files, schedule_listing, schedule_calendar, schedule_changes),
    *(clock, members, slot_replay, failover_receipt, claims, command_queue, command_slot, examination),
    *(settings_in_force, names, search),
    *(slot_picture, figures, servers, drains, drill, duties),
    *(pools, pool_changes),
    *(alert_history, alert_channels, alert_groups, alert_silences, alert_rules),
    *(data_sources, environments, key_rotation),
    *(own_account, people, own_sessions, own_tokens, project_access, audit_pages, saved_views),
)

ALL: tuple[Operation[Any, Any], ...] = tuple(
    each for module in _MODULES for each in vars(module).values() if isinstance(each, Operation)
)
