"""The tables that queries are composed from, as SQLAlchemy objects.

`sql/schema.sql` is the source, with its keys, defaults, checks and comments; this file has only the columns that a
composed query names. A test compares their types with a live database. Nothing is ever created from this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ENUM, JSONB
from sqlalchemy.types import TypeEngine

from model.choices import Priority

metadata = MetaData()

_TIME = DateTime(timezone=True)
_PRIORITY = ENUM(*Priority, name="priority_level", create_type=False)


def _table(name: str, columns: Mapping[type[TypeEngine[Any]] | TypeEngine[Any], str]) -> Table:
    """A table with these columns: their type -> their names."""
    return Table(name, metadata, *(Column(each, type_) for type_, names in columns.items() for each in names.split()))


workflow_definition = _table(
    "workflow_definition",
    {BigInteger: "code", Text: "project name", Integer: "version", _TIME: "created_at updated_at"},
)
node = _table("node", {BigInteger: "id", Text: "kind address state log_url name", _TIME: "started_at ended_at"})
workflow_instance = _table(
    "workflow_instance",
    {
        BigInteger: "id command_id workflow_code master_id parent_instance_id parent_task_code",
        Integer: "workflow_version run_times",
        Text: "state worker_group params reason command_type execution_type requested_state startup_names time_zone "
        "environment scope executing backfill outputs serial_key started_by ending_as",
        _PRIORITY: "priority",
        SmallInteger: "takeovers parent_attempt",
        _TIME: "started_at ended_at schedule_time interval_start interval_end",
    },
)
task_instance = _table(
    "task_instance",
    {
        BigInteger: "id workflow_instance_id task_code worker_id",
        Integer: "attempt exit_code",
        Text: "task_name task_type state wait_reason worker_group params outputs reason flag branch environment "
        "progress_text",
        SmallInteger: "retries",
        _TIME: "due_at queued_at started_at ended_at progress_at ready_at",
        Boolean: "kill_requested",
        _PRIORITY: "task_priority",
        Double: "progress_done progress_total",
        JSONB: "stream looks",
    },
)
