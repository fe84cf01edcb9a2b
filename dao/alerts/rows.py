"""Alerts, channels and silences as answers show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Delivery:
    """What became of an alert on a channel. Times are aware UTC, database time."""

    channel: str
    state: str
    tries: int
    next_try_at: datetime | None
    error: str | None
    sent_at: datetime | None
    grouped_with: int | None


@dataclass(frozen=True)
class AlertRow:
    """An alert. `project` None: it concerns the cluster."""

    id: int
    created_at: datetime
    kind: str
    severity: str
    project: str | None
    workflow: str | None
    run_id: int | None
    task_id: int | None
    group: str
    subject: str
    state: str
    state_reason: str | None


@dataclass(frozen=True)
class Channel:
    """A channel for display: `url` is without secrets. Times are aware UTC, database time.

    `waiting` alerts are still to be sent, the oldest of them `waits_since`; `last_error` is why it was not sent yet,
    and `next_try_at` when it is tried again.
    """

    id: int
    name: str
    kind: str
    url: str
    key_id: str
    description: str
    enabled: bool
    version: int
    updated_at: datetime
    updated_by: str
    subject_template: str | None
    text_template: str | None
    groups: Sequence[str]
    waiting: int
    waits_since: datetime | None
    last_error: str | None
    next_try_at: datetime | None
    last_sent_at: datetime | None


@dataclass(frozen=True)
class Group:
    """An alert group; its channels by name. Times are aware UTC, database time."""

    id: int
    name: str
    description: str
    version: int
    updated_at: datetime
    updated_by: str
    channels: Sequence[str]


@dataclass(frozen=True)
class SavedRule:
    """A rule. `problem`: why it raises nothing. Times are aware UTC, database time."""

    id: int
    project: str
    name: str
    text: str
    enabled: bool
    problem: str | None
    version: int
    updated_at: datetime
    updated_by: str


@dataclass(frozen=True)
class Silence:
    """A silence; project, workflow and kind None = all. Times are aware UTC."""

    id: int
    starts_at: datetime
    ends_at: datetime
    project: str | None
    workflow: str | None
    kind: str | None
    reason: str
    created_at: datetime
    created_by: str
