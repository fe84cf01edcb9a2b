"""The rows of both stores and what their statements answer, put into one form in which they can be compared.

A time is compared by the call in which it was written: the clocks of the two differ, the order of the calls does not.
Times that a caller gave lie far from today, and are compared as they are.
"""

from __future__ import annotations

import json
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from math import inf
from typing import Any

from model.cluster.nodes import Heartbeat
from tests.simulation.server import EPOCH
from tests.simulation.statements.pools.pool_claims import waiting
from tests.simulation.tables import Transaction, Values

Told = dict[str, Any]
Rows = dict[tuple[str, Any], Told]

_ID = "id"
_TODAY = range(2021, 2040)
"""Years in which a time is one of a clock, and not one that a caller gave."""
_DUE_UNIT_S = 600.0
"""To which a time that was computed from a clock is rounded: the two clocks run apart by seconds at most."""
_FAR_S = 1e6
"""A longer span is only "long", into the past or the future."""
_OF_ONE_STORE = (
    "horizon",
    "age_s",
    "process",
    "log_url",
    "beat_age_s",
    "beaten_s",
    "created_at",
    "day",
    "updated_at",
    "counts_from",
    "now",
    "ran_s",
    "run_began_us",
    "waited_s",
)
"""Fields of answers that say nothing of what a statement decided."""

TABLES = (
    *("node", "node_beat", "command", "command_history", "error_command", "workflow_instance", "task_instance"),
    *("task_event", "schedule", "stream_restart", "pool_resource", "pool_line", "dataset_wait"),
)
SEQUENCES = {
    "node": "nodes",
    "command": "commands",
    "workflow_instance": "instances",
    "task_instance": "tasks",
    "task_event": "events",
    "schedule": "schedules",
}
"""Tables whose ids the database gives, and where the model keeps them."""
SNAPSHOT = " UNION ALL ".join(
    [
        "SELECT '' AS name, clock_timestamp()::text AS row",
        *(f"SELECT '{name}', to_jsonb({name})::text FROM {name}" for name in TABLES),
        *(
            f"SELECT '{name}_id_seq', CASE WHEN is_called THEN last_value ELSE 0 END::text FROM {name}_id_seq"
            for name in SEQUENCES
        ),
    ]
)
"""The first row is the database's time, the last ones are the sequences."""


class Moments:
    """When each call of a program ended, in the time of one store, in seconds; and the rows read with them so far."""

    def __init__(self) -> None:
        self.ends_s: list[float] = []
        self.read: dict[object, Told] = {}

    def shift(self, seconds: float) -> None:
        """Age everything that was written."""
        self.ends_s = [end_s - seconds for end_s in self.ends_s]

    def of(self, time: datetime | None) -> object:
        """The number of the call in which this time was written, or the time itself if a caller gave it."""
        if time is None:
            return None
        if time.year not in _TODAY:
            return time.astimezone(UTC).isoformat()
        return f"call {bisect(self.ends_s, time.timestamp())}"


def plain(value: Any, moments: Moments) -> Any:
    """An answer without what differs though nothing was decided differently."""
    if isinstance(value, datetime):
        return moments.of(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return round(value / _DUE_UNIT_S) if abs(value) < _FAR_S else value > 0
    if isinstance(value, Heartbeat):
        return value.model_dump_json()
    if names := _names(value):
        told = {name: plain(getattr(value, name), moments) for name in names if name not in _OF_ONE_STORE}
        if "schedule_time" in told and isinstance(told["schedule_time"], str):
            told["schedule_time"] = _same_time(told["schedule_time"])
        if "params" in told:
            told["params"] = _params(told["params"])
        if told.get("leases"):
            told["leases"] = json.loads(told["leases"])
        for name in _FIRES:
            if told.get(name):
                told[name] = _same_time(told[name])
        return told
    if isinstance(value, Mapping):
        return {key: plain(each, moments) for key, each in sorted(value.items(), key=str)}
    if isinstance(value, set | frozenset):
        return sorted((plain(each, moments) for each in value), key=str)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each, moments) for each in value]
    return value


def _names(value: Any) -> Sequence[str]:
    """The fields of a record."""
    if isinstance(value, tuple):
        return getattr(value, "_fields", ())
    return [field.name for field in fields(value)] if is_dataclass(value) and not isinstance(value, type) else ()


def _params(text: Any) -> object:
    """Without the times of the runs that an event is of."""
    if not isinstance(text, str) or '"event"' not in text:
        return text
    values = json.loads(text)
    event = json.loads(values["event"])
    for told in (event, *event.get("updates", {}).values()):
        told.pop("schedule_time", None)
    return {**values, "event": event}


def _same_time(text: str | None) -> str | None:
    """PostgreSQL and Python write one time differently."""
    if text is None or text.startswith("call"):
        return text
    return datetime.fromisoformat(text).astimezone(UTC).isoformat()


# ------------------------------------------------------------------------------------------- the real database

_COMMAND = (
    *("type", "params", "priority", "failure_strategy", "worker_group", "dry_run", "environment", "task_depend_type"),
    *(
        "start_tasks",
        "time_zone",
        "parent",
        "created_by",
        "from_above",
        "workflow_code",
        "workflow_version",
        "workflow_instance_id",
        "schedule_id",
    ),
)
_INSTANCE = (
    *("command_id", "workflow_code", "workflow_version", "state", "master_id", "failure_strategy", "priority"),
    *("worker_group", "params", "takeovers", "reason", "command_type", "execution_type", "requested_state"),
    *("run_times", "startup_names", "time_zone", "schedule_id", "dry_run", "environment", "scope", "executing"),
    *("backfill", "outputs", "depth", "resumes", "ending_as", "ending_reason", "ending_after", "started_by"),
)
_TASK = (
    *("workflow_instance_id", "task_code", "attempt", "state", "retries", "wait_reason", "kill_requested"),
    *("write_ahead", "worker_group", "workflow_priority", "task_priority", "worker_id", "params", "parameter_values"),
    *("outputs", "reason", "branch", "is_plain", "handover", "updated_datasets"),
)
_EVENT = ("owner", "workflow_instance_id", "task_code", "attempt", "state", "child_index", "outputs")
_PLACE = ("workflow_priority", "workflow_instance_id", "task_priority", "worker_group")
_FIRES = ("next_fire_at", "last_fire_at")
_SCHEDULE = ("workflow_code", "crontab", "state", "misfire", "problem")


def of_database(found: Sequence[tuple[str, str]], moments: Moments) -> Rows:
    """The rows of a `SNAPSHOT`."""
    rows: Rows = {}
    for name, row in found:
        if name in TABLES:
            told = moments.read.get(row)
            if told is None:
                read = json.loads(row)
                told = moments.read[row] = _READ[name](read, moments)
                told[_ID] = _id(name, read)
            rows[name, told[_ID]] = told
    return rows


def _id(name: str, row: Mapping[str, Any]) -> Any:
    """The id of a row in the model."""
    match name:
        case "stream_restart":
            return row["workflow_instance_id"], row["task_code"]
        case "pool_resource":
            return row["name"]
        case "pool_line":
            return row["pool_name"], row["task_instance_id"]
        case "dataset_wait":
            return row["workflow_code"], row["project"], tuple(row["datasets"])
    return next(row[key] for key in ("id", "node_id", "command_id") if key in row)


def _time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _picked(row: Mapping[str, Any], names: Sequence[str]) -> Told:
    return {name: row[name] for name in names}


def _command(row: Mapping[str, Any], moments: Moments) -> Told:
    told = _picked(row, (*_COMMAND, "deaths", "tried_by")) | {"params": _params(row["params"])}
    told |= {"rank": row["priority_rank"], "created": moments.of(_time(row["created_at"]))}
    return told | {"schedule_time": _same_time(row["schedule_time"])}


def _instance(row: Mapping[str, Any], moments: Moments) -> Told:
    parent = [row[name] for name in ("parent_instance_id", "parent_task_code", "parent_attempt", "child_index")]
    told = _picked(row, _INSTANCE) | {"parent": None if parent[0] is None else "/".join(map(str, parent))}
    times = ("schedule_time", "started_at", "ended_at", "owned_since")
    return told | {name: moments.of(_time(row[name])) for name in times}


def _task(row: Mapping[str, Any], moments: Moments) -> Told:
    told = _picked(row, _TASK) | {"flag": row["flag"] == "YES", "name": row["task_name"], "type": row["task_type"]}
    told |= {name: moments.of(_time(row[name])) for name in ("queued_at", "started_at", "ended_at")}
    told |= _picked(row, ("stream", "resources")) | {"reason": _reason(row["reason"], row["resources"])}
    told["looks"] = 0 if row["looks"] is None else row["looks"]["count"]
    due, queued = _time(row["due_at"]), _time(row["queued_at"])
    return told | {
        "due": None if due is None or queued is None else round((due - queued).total_seconds() / _DUE_UNIT_S)
    }


def _reason(reason: str | None, resources: object) -> str | None:
    """Drop the part of a reason about missing resources, which is for people: the model lacks it."""
    is_late = resources is not None and reason is not None and " within its dispatch_timeout " in reason
    return "late" if is_late else reason


def _history(row: Mapping[str, Any], moments: Moments) -> Told:
    slot = None if row["slot_total"] is None else f"{row['slot_current']}/{row['slot_total']}"
    return {**_picked(row, ("type", "outcome")), "instance": row["workflow_instance_id"], "slot": slot} | {
        "master": row["master_id"]
    }


def _schedule(row: Mapping[str, Any], moments: Moments) -> Told:
    told = _picked(row, _SCHEDULE) | {name: moments.of(_time(row[name])) for name in ("updated_at", "counts_from")}
    return told | {name: _same_time(row[name]) for name in _FIRES}


def _restart(row: Mapping[str, Any], moments: Moments) -> Told:
    told = {name: moments.of(_time(row[f"{name}_at"])) for name in ("asked", "begun")}
    return told | {"ended_attempt": row["ended_attempt"] or 0, "asked_by": row["asked_by"]}


def _resource(row: Mapping[str, Any], moments: Moments) -> Told:
    since = None if row["free_since"] == "-infinity" else _time(row["free_since"])
    return {"holder": row["task_instance_id"], "worker_id": row["worker_id"], "free_since": moments.of(since)}


def _wait(row: Mapping[str, Any], _: Moments) -> Told:
    for told in row["updates"].values():
        told.pop("schedule_time", None)
    return _picked(row, ("missing", "updates"))


_READ: Mapping[str, Callable[[Mapping[str, Any], Moments], Told]] = {
    "node": lambda row, _: _picked(row, ("incarnation", "kind", "address", "state")),
    "node_beat": lambda row, moments: {
        "beat_no": row["beat_no"],
        "beaten": moments.of(_time(row["beaten_at"])),
        "heartbeat": row["heartbeat"],
    },
    "command": _command,
    "command_history": _history,
    "error_command": lambda row, _: _picked(row, ("reason",)) | {"master": row["master_id"]},
    "workflow_instance": _instance,
    "task_instance": _task,
    "task_event": lambda row, _: _picked(row, _EVENT),
    "schedule": _schedule,
    "stream_restart": _restart,
    "pool_resource": _resource,
    "pool_line": lambda row, _: _picked(row, (*_PLACE, "needed", "needs")),
    "dataset_wait": _wait,
}


# --------------------------------------------------------------------------------------------------- the model


def of_model(tx: Transaction, moments: Moments) -> Rows:
    """The rows that a transaction of the model sees."""
    server, rows = tx.server, Rows()
    for table in (
        *(server.nodes, server.beats, server.commands, server.history, server.instances, server.tasks, server.events),
        *(server.schedules, server.stream_restarts, server.resources, server.dataset_waits),
    ):
        for row, each in tx.scan(table.rows):
            told = moments.read.get(each)
            if told is None or told[_ID] != row.id:
                told = moments.read[each] = {**_SHOW[table.name](each, moments), _ID: row.id}
            rows[table.name, row.id] = told
            if table.name == "command_history" and each.reason is not None:
                rows["error_command", row.id] = {"reason": each.reason, "master": each.master, _ID: row.id}
    for row, task in waiting(tx):
        for pool, needed in (needs := json.loads(task.resources)).items():
            place = pool, row.id
            rows["pool_line", place] = _shown(task, _PLACE) | {"needed": needed, "needs": needs, _ID: place}
    return rows


def _model_command(each: Values, moments: Moments) -> Told:
    told = _shown(each.row, _COMMAND) | {"deaths": each.deaths, "tried_by": each.tried_by, "rank": each.rank}
    told["params"] = _params(each.row.params)
    for name in ("workflow_code", "workflow_version", "workflow_instance_id", "schedule_id"):
        told[name] = None if told[name] is None else int(str(told[name]))
    told |= {"dry_run": told["dry_run"] == "true", "from_above": told["from_above"] == "true"}
    told |= {"created": moments.of(_moment(each.created_s))}
    return told | {"schedule_time": _same_time(each.row.schedule_time)}


def _model_instance(each: Values, moments: Moments) -> Told:
    told = _shown(each, _INSTANCE) | {"parent": None if each.parent is None else str(each.parent)}
    told |= {"schedule_time": moments.of(each.schedule_time), "started_at": moments.of(_moment(each.started_s))}
    return told | {"ended_at": moments.of(_moment(each.ended_s)), "owned_since": moments.of(_moment(each.owned_s))}


def _model_task(each: Values, moments: Moments) -> Told:
    told = _shown(each, _TASK) | {"flag": each.flag, "name": each.name, "type": each.type}
    told |= {f"{name}_at": moments.of(_moment(getattr(each, f"{name}_s"))) for name in ("queued", "started", "ended")}
    told |= {"stream": _read(each.stream), "resources": _read(each.resources), "looks": each.looks}
    told["reason"] = _reason(each.reason, each.resources)
    return told | {"due": None if each.wait_reason is None else round((each.due_s - each.queued_s) / _DUE_UNIT_S)}


def _model_schedule(each: Values, moments: Moments) -> Told:
    told = _shown(each, _SCHEDULE) | {
        name: moments.of(_time(getattr(each, name))) for name in ("updated_at", "counts_from")
    }
    return told | {name: _same_time(getattr(each, name)) for name in _FIRES}


def _model_restart(each: Values, moments: Moments) -> Told:
    told = {name: moments.of(_moment(getattr(each, f"{name}_s"))) for name in ("asked", "begun")}
    return told | _shown(each, ("ended_attempt", "asked_by"))


def _model_resource(each: Values, moments: Moments) -> Told:
    since = None if each.free_since_s == -inf else _moment(each.free_since_s)
    return {**_shown(each, ("holder", "worker_id")), "free_since": moments.of(since)}


_SHOW: Mapping[str, Callable[[Values, Moments], Told]] = {
    "node": lambda each, _: _shown(each, ("kind", "address", "state")) | {"incarnation": str(each.incarnation)},
    "node_beat": lambda each, moments: {
        "beat_no": each.beat_no,
        "beaten": moments.of(_moment(each.beaten_s)),
        "heartbeat": "{}" if each.heartbeat is None else each.heartbeat.model_dump_json(),
    },
    "command": _model_command,
    "command_history": lambda each, _: {
        "type": str(each.type),
        "outcome": "DONE" if each.reason is None else "ERROR",
        "instance": each.instance,
        "slot": None if each.slot is None else str(each.slot),
        "master": each.master,
    },
    "workflow_instance": _model_instance,
    "task_instance": _model_task,
    "task_event": lambda each, _: _shown(each, _EVENT),
    "schedule": _model_schedule,
    "stream_restart": _model_restart,
    "pool_resource": _model_resource,
    "dataset_wait": lambda each, _: _shown(each, ("missing", "updates")),
}


def _shown(each: object, names: Sequence[str]) -> Told:
    values = {name: getattr(each, name) for name in names}
    return {name: value.value if isinstance(value, Enum) else value for name, value in values.items()}


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else EPOCH + timedelta(seconds=seconds)
