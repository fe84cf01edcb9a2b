"""Alerts: what people are notified of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

DEFAULT_GROUP = "default"
"""The alert group for the cluster's own alerts, and for alerts that name no group."""


class AlertKind(StrEnum):
    """What happened."""

    RUN_ENDED = "RUN_ENDED"
    APPROVAL = "APPROVAL"
    TASK_TIMEOUT = "TASK_TIMEOUT"
    RUN_TIMEOUT = "RUN_TIMEOUT"
    FAILOVER = "FAILOVER"
    SCHEDULE_MISSED = "SCHEDULE_MISSED"
    SCHEDULE_RESTS = "SCHEDULE_RESTS"
    GROUP_WITHOUT_WORKERS = "GROUP_WITHOUT_WORKERS"
    ERROR_COMMANDS = "ERROR_COMMANDS"
    POOL_STANDS = "POOL_STANDS"
    QUEUE_STANDS = "QUEUE_STANDS"
    DATABASE_WENT_BACK = "DATABASE_WENT_BACK"
    RULE = "RULE"
    RECOVERED = "RECOVERED"
    SQL_RESULT = "SQL_RESULT"
    TEST = "TEST"


class Severity(StrEnum):
    """How bad it is."""

    INFO = "INFO"
    WARNING = "WARNING"
    CRITICAL = "CRITICAL"


@dataclass(frozen=True, slots=True)
class NewAlert:
    """An alert to be written.

    Args:
        subject: what happened, in a sentence.
        facts: names and numbers, JSON, never a secret.
        unique_key: alerts with the same key are one alert; None = always a new one.
    """

    kind: AlertKind
    severity: Severity
    subject: str
    facts: Mapping[str, object] = field(default_factory=dict)
    alert_group: str = DEFAULT_GROUP
    project: str | None = None
    workflow: str | None = None
    workflow_instance_id: int | None = None
    task_instance_id: int | None = None
    unique_key: str | None = None
