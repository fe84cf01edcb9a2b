"""The tables that queries are composed from, as SQLAlchemy objects.

`sql/schema.sql` is the source, with its keys, defaults, checks and comments; this file has only the columns that a
composed query names. A test compares their types with a live database. Nothing is ever created from this file.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Double,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)
from sqlalchemy.dialects.postgresql import ENUM, JSONB

from model.choices import Priority

metadata = MetaData()

_TIME = DateTime(timezone=True)
_PRIORITY = ENUM(*Priority, name="priority_level", create_type=False)

workflow_definition = Table(
    "workflow_definition",
    metadata,
    Column("code", BigInteger),
    Column("project", Text),
    Column("name", Text),
    Column("version", Integer),
    Column("created_at", _TIME),
    Column("updated_at", _TIME),
)

node = Table(
    "node",
    metadata,
    Column("id", BigInteger),
    Column("kind", Text),
    Column("address", Text),
    Column("state", Text),
    Column("log_url", Text),
    Column("started_at", _TIME),
    Column("ended_at", _TIME),
    Column("name", Text),
)

workflow_instance = Table(
    "workflow_instance",
    metadata,
    Column("id", BigInteger),
    Column("command_id", BigInteger),
    Column("workflow_code", BigInteger),
    Column("workflow_version", Integer),
    Column("state", Text),
    Column("master_id", BigInteger),
    Column("priority", _PRIORITY),
    Column("worker_group", Text),
    Column("params", Text),
    Column("takeovers", SmallInteger),
    Column("started_at", _TIME),
    Column("ended_at", _TIME),
    Column("reason", Text),
    Column("command_type", Text),
    Column("execution_type", Text),
    Column("requested_state", Text),
    Column("run_times", Integer),
    Column("startup_names", Text),
    Column("schedule_time", _TIME),
    Column("time_zone", Text),
    Column("interval_start", _TIME),
    Column("interval_end", _TIME),
    Column("environment", Text),
    Column("scope", Text),
    Column("executing", Text),
    Column("backfill", Text),
    Column("outputs", Text),
    Column("serial_key", Text),
    Column("parent_instance_id", BigInteger),
    Column("parent_task_code", BigInteger),
    Column("parent_attempt", SmallInteger),
    Column("started_by", Text),
    Column("ending_as", Text),
)

task_instance = Table(
    "task_instance",
    metadata,
    Column("id", BigInteger),
    Column("workflow_instance_id", BigInteger),
    Column("task_code", BigInteger),
    Column("attempt", Integer),
    Column("task_name", Text),
    Column("task_type", Text),
    Column("state", Text),
    Column("retries", SmallInteger),
    Column("wait_reason", Text),
    Column("due_at", _TIME),
    Column("kill_requested", Boolean),
    Column("worker_group", Text),
    Column("task_priority", _PRIORITY),
    Column("worker_id", BigInteger),
    Column("params", Text),
    Column("outputs", Text),
    Column("exit_code", Integer),
    Column("reason", Text),
    Column("queued_at", _TIME),
    Column("started_at", _TIME),
    Column("ended_at", _TIME),
    Column("flag", Text),
    Column("branch", Text),
    Column("environment", Text),
    Column("progress_done", Double),
    Column("progress_total", Double),
    Column("progress_text", Text),
    Column("progress_at", _TIME),
    Column("stream", JSONB),
    Column("ready_at", _TIME),
    Column("looks", JSONB),
)

environment = Table(
    "environment",
    metadata,
    Column("name", Text),
    Column("script", LargeBinary),
    Column("key_id", Text),
    Column("created_at", _TIME),
    Column("updated_at", _TIME),
)

data_source = Table(
    "data_source",
    metadata,
    Column("name", Text),
    Column("url", LargeBinary),
    Column("shown_url", Text),
    Column("key_id", Text),
    Column("created_at", _TIME),
    Column("updated_at", _TIME),
)

alert_channel = Table(
    "alert_channel",
    metadata,
    Column("id", BigInteger),
    Column("name", Text),
    Column("kind", Text),
    Column("url", LargeBinary),
    Column("key_id", Text),
    Column("description", Text),
    Column("enabled", Boolean),
    Column("version", Integer),
    Column("updated_at", _TIME),
    Column("updated_by", Text),
    Column("shown_url", Text),
    Column("subject_template", Text),
    Column("text_template", Text),
)
