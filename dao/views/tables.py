"""The tables that queries are composed from, as SQLAlchemy objects.

`sql/schema.sql` is the source, with its comments, defaults, checks and indexes; this file has only the columns and keys
that a query can name. A test compares the two on a live database. Nothing is ever created from this file.
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
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.dialects.postgresql import ENUM, JSONB

from model.choices import Priority

metadata = MetaData()

_TIME = DateTime(timezone=True)
_PRIORITY = ENUM(*Priority, name="priority_level", create_type=False)

workflow_definition = Table(
    "workflow_definition",
    metadata,
    Column("code", BigInteger, primary_key=True),
    Column("project", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("release_state", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("updated_at", _TIME, nullable=False),
    Column("is_trial", Boolean, nullable=False),
    UniqueConstraint("project", "name", name="workflow_definition_name"),
)

node = Table(
    "node",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("incarnation", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("address", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("process_boot", Text, nullable=False),
    Column("process_id", Integer, nullable=False),
    Column("process_started", BigInteger, nullable=False),
    Column("log_url", Text),
    Column("started_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    Column("ended_why", Text),
    Column("name", Text, nullable=False),
)

workflow_instance = Table(
    "workflow_instance",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("command_id", BigInteger, nullable=False),
    Column("workflow_code", BigInteger, nullable=False),
    Column("workflow_version", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("master_id", BigInteger, nullable=False),
    Column("failure_strategy", Text, nullable=False),
    Column("priority", _PRIORITY, nullable=False),
    Column("worker_group", Text, nullable=False),
    Column("params", Text, nullable=False),
    Column("takeovers", SmallInteger, nullable=False),
    Column("started_at", _TIME, nullable=False),
    Column("ended_at", _TIME),
    Column("reason", Text),
    Column("command_type", Text, nullable=False),
    Column("execution_type", Text, nullable=False),
    Column("requested_state", Text),
    Column("run_times", Integer, nullable=False),
    Column("startup_names", Text, nullable=False),
    Column("schedule_time", _TIME, nullable=False),
    Column("time_zone", Text, nullable=False),
    Column("schedule_id", BigInteger),
    Column("dry_run", Boolean, nullable=False),
    Column("environment", Text),
    Column("warning_type", Text, nullable=False),
    Column("alert_group", Text),
    Column("scope", Text),
    Column("executing", Text),
    Column("backfill", Text),
    Column("outputs", Text),
    Column("depth", SmallInteger, nullable=False),
    Column("serial_key", Text, nullable=False),
    Column("traceparent", Text),
    Column("parent_instance_id", BigInteger),
    Column("parent_task_code", Integer),
    Column("parent_attempt", SmallInteger),
    Column("child_index", Integer),
    Column("owned_since", _TIME),
    Column("running_since", _TIME),
    UniqueConstraint("command_id", name="workflow_instance_command"),
)

task_instance = Table(
    "task_instance",
    metadata,
    Column("id", BigInteger, primary_key=True),
    Column("workflow_instance_id", BigInteger, nullable=False),
    Column("task_code", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("task_name", Text, nullable=False),
    Column("task_type", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("retries", SmallInteger, nullable=False),
    Column("wait_reason", Text),
    Column("due_at", _TIME),
    Column("timeout_s", Double),
    Column("timeout_strategy", Text),
    Column("kill_requested", Boolean, nullable=False),
    Column("write_ahead", Boolean, nullable=False),
    Column("worker_group", Text, nullable=False),
    Column("workflow_priority", _PRIORITY, nullable=False),
    Column("task_priority", _PRIORITY, nullable=False),
    Column("worker_id", BigInteger),
    Column("params", Text, nullable=False),
    Column("parameter_values", Text, nullable=False),
    Column("outputs", Text),
    Column("exit_code", Integer),
    Column("reason", Text),
    Column("queued_at", _TIME, nullable=False),
    Column("started_at", _TIME),
    Column("ended_at", _TIME),
    Column("flag", Text, nullable=False),
    Column("branch", Text),
    Column("cache_key", Text),
    Column("dry_run", Boolean, nullable=False),
    Column("environment", Text),
    Column("tenant", Text),
    Column("parameter_types", Text),
    Column("dispatch_timeout_s", Double),
    Column("dispatch_by", _TIME),
    Column("progress_done", Double),
    Column("progress_total", Double),
    Column("progress_text", Text),
    Column("progress_at", _TIME),
    Column("is_plain", Boolean, nullable=False),
    Column("resources", JSONB),
    Column("stream", JSONB),
    Column("ready_at", _TIME),
    Column("handover", Text),
    UniqueConstraint("workflow_instance_id", "task_code", "attempt", name="task_instance_attempt"),
)

environment = Table(
    "environment",
    metadata,
    Column("name", Text, primary_key=True),
    Column("script", LargeBinary, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("updated_at", _TIME, nullable=False),
)

data_source = Table(
    "data_source",
    metadata,
    Column("name", Text, primary_key=True),
    Column("url", LargeBinary, nullable=False),
    Column("shown_url", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("created_at", _TIME, nullable=False),
    Column("updated_at", _TIME, nullable=False),
)
