"""Whether a database user has the rights that a part of Shoal needs, asked once when it starts.

Without this a node with the rights of another part of Shoal would join, and fail at each statement. `sql/roles.sql`
grants at least these rights; `tests/dao/test_roles.py` compares both.
"""

from __future__ import annotations

from collections.abc import Mapping

from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.errors import Denied

SHOWN_MAX = 4

_EVERY_NODE = {
    "schema_version": "SELECT",
    "cluster": "SELECT INSERT UPDATE",
    "node": "SELECT INSERT UPDATE(state)",
    "node_beat": "SELECT INSERT UPDATE(beat_no)",
}
NEEDS: Mapping[str, Mapping[str, str]] = {
    "master": {
        **_EVERY_NODE,
        "node": "SELECT INSERT UPDATE DELETE",
        "node_beat": "SELECT INSERT UPDATE",
        "command": "SELECT INSERT UPDATE DELETE",
        "command_history": "SELECT INSERT DELETE",
        "error_command": "SELECT INSERT UPDATE DELETE",
        "history_floor": "SELECT INSERT UPDATE",
        "workflow_instance": "SELECT INSERT UPDATE DELETE",
        "task_instance": "SELECT INSERT UPDATE DELETE",
        "task_event": "SELECT INSERT UPDATE DELETE",
        "schedule": "SELECT UPDATE",
        "slot_change": "SELECT INSERT DELETE",
        "duty": "SELECT INSERT UPDATE",
        "duty_done": "SELECT INSERT UPDATE DELETE",
        "resource_pool": "SELECT UPDATE",
        "pool_resource": "SELECT UPDATE DELETE",
        "pool_line": "SELECT INSERT DELETE",
        "project": "SELECT",
        "workflow_definition": "SELECT UPDATE(updated_at)",
        "deleted_workflow": "SELECT",
        "deleted_run": "SELECT INSERT DELETE",
        "workflow_version": "SELECT",
        "alert": "SELECT INSERT UPDATE DELETE",
        "alert_condition": "SELECT INSERT UPDATE DELETE",
        "alert_rule": "SELECT UPDATE(problem)",
        "alert_rule_state": "SELECT INSERT UPDATE DELETE",
        "run_end": "SELECT INSERT DELETE",
        "stream_restart": "SELECT UPDATE DELETE",
        "rebalance": "SELECT DELETE",
        "file_content": "SELECT DELETE",
        "project_file": "SELECT",
        "version_file": "SELECT",
    },
    "worker": {
        **_EVERY_NODE,
        "log_key": "SELECT(node_id) INSERT",
        "workflow_instance": "SELECT",
        "task_instance": "SELECT UPDATE(state) UPDATE(worker_id) UPDATE(started_at) UPDATE(ended_at) "
        "UPDATE(exit_code) UPDATE(reason) UPDATE(outputs) UPDATE(queued_at) "
        "UPDATE(progress_done) UPDATE(progress_total) UPDATE(progress_text) UPDATE(progress_at) "
        "UPDATE(ready_at) UPDATE(handover) UPDATE(wait_reason) UPDATE(due_at) UPDATE(looks)",
        "task_event": "INSERT",
        "resource_pool": "SELECT UPDATE(changed_at)",
        "pool_resource": "SELECT UPDATE(task_instance_id) UPDATE(set_aside_at) UPDATE(checking_by) DELETE",
        "pool_line": "SELECT",
        "task_cache": "SELECT INSERT UPDATE",
        "environment": "SELECT",
        "data_source": "SELECT",
        "file_content": "SELECT",
        "project": "SELECT",
        "workflow_definition": "SELECT",
        "deleted_workflow": "SELECT",
        "alert": "SELECT(unique_key) INSERT",
    },
    "api": {
        "schema_version": "SELECT",
        "cluster": "SELECT",
        "node": "SELECT",
        "command": "SELECT INSERT(type) INSERT(workflow_code) INSERT(workflow_instance_id) INSERT(created_by)",
        "command_history": "SELECT",
        "history_floor": "SELECT",
        "error_command": "SELECT DELETE",
        "workflow_instance": "SELECT UPDATE(traceparent)",
        "task_instance": "SELECT UPDATE(state) UPDATE(reason)",
        "log_key": "SELECT",
        "project": "SELECT INSERT UPDATE",
        "workflow_definition": "SELECT INSERT UPDATE DELETE",
        "workflow_version": "SELECT INSERT UPDATE DELETE",
        "file_content": "SELECT INSERT UPDATE",
        "project_file": "SELECT INSERT UPDATE DELETE",
        "version_file": "SELECT INSERT",
        "schedule": "SELECT INSERT UPDATE DELETE",
        "resource_pool": "SELECT INSERT UPDATE DELETE",
        "pool_resource": "SELECT INSERT UPDATE DELETE",
        "pool_line": "SELECT",
        "environment": "SELECT INSERT UPDATE DELETE",
        "data_source": "SELECT INSERT UPDATE DELETE",
        "account": "SELECT INSERT UPDATE",
        "token": "SELECT INSERT UPDATE",
        "login_link": "SELECT INSERT UPDATE DELETE",
        "login_session": "SELECT INSERT UPDATE DELETE",
        "project_member": "SELECT INSERT UPDATE DELETE",
        "login_attempt": "SELECT INSERT UPDATE DELETE",
        "idempotency_key": "SELECT INSERT UPDATE DELETE",
        "audit": "SELECT INSERT",
        "bulk_operation": "SELECT INSERT UPDATE DELETE",
        "alert": "SELECT INSERT UPDATE(state) UPDATE(state_reason)",
        "alert_channel": "SELECT INSERT UPDATE DELETE",
        "alert_delivery": "SELECT UPDATE(state) UPDATE(next_try_at) UPDATE(waits_since) UPDATE(tries)",
        "alert_group": "SELECT INSERT UPDATE DELETE",
        "alert_group_channel": "SELECT INSERT UPDATE DELETE",
        "alert_rule": "SELECT INSERT UPDATE DELETE",
        "alert_silence": "SELECT INSERT UPDATE DELETE",
        "stream_restart": "SELECT INSERT UPDATE(asked_at) UPDATE(asked_by) UPDATE(begun_at) UPDATE(ended_attempt)",
        "rebalance": "SELECT INSERT",
    },
    "alert": {
        "schema_version": "SELECT",
        "alert": "SELECT UPDATE(state) UPDATE(state_reason)",
        "alert_channel": "SELECT UPDATE(claimed_by) UPDATE(claimed_until)",
        "alert_delivery": "SELECT INSERT UPDATE",
        "alert_group": "SELECT",
        "alert_group_channel": "SELECT",
        "alert_silence": "SELECT",
        "project": "SELECT(name) SELECT(alert_groups)",
    },
}
"""The rights of each part, by table; one with a column in parentheses is needed on that column only."""

_MISSING = Sql(r"""
    SELECT n.action || ' on ' || n.name
    FROM unnest(CAST(:tables AS text[]), CAST(:actions AS text[])) WITH ORDINALITY AS n (name, action, position),
         split_part(n.action, '(', 1) AS verb, nullif(rtrim(split_part(n.action, '(', 2), ')'), '') AS column_name
    WHERE NOT CASE WHEN column_name IS NULL THEN has_table_privilege(to_regclass(n.name), verb)
                   ELSE has_column_privilege(to_regclass(n.name), column_name, verb) END
    ORDER BY n.position
""")


async def missing(database: Database, needs: Mapping[str, str]) -> list[str]:
    """Those of the rights in `needs` (table: rights) that the user lacks, such as "DELETE on command"."""
    pairs = [(table, action) for table, actions in needs.items() for action in actions.split()]
    values = {"tables": [table for table, _ in pairs], "actions": [action for _, action in pairs]}
    async with database.reading() as connection:
        return (await connection.execute(_MISSING, values)).scalars()


async def check(database: Database, part: str) -> None:
    """Return if the user has the rights of this part: "master", "worker", "api" or "alert".

    Raises `Denied` with the missing ones, and `Unavailable`.
    """
    lacked = await missing(database, NEEDS[part])
    if lacked:
        more = f" and {len(lacked) - SHOWN_MAX} more" if len(lacked) > SHOWN_MAX else ""
        raise Denied(
            f"this user lacks rights that {_named(part)} needs: {', '.join(lacked[:SHOWN_MAX])}{more}; grant it "
            f"(docs/reference/roles.md), or name another user in the database URL, one IN ROLE shoal_{part}; "
            "after an upgrade run `shoal db roles` again"
        )


def _named(part: str) -> str:
    return {"api": "the API", "alert": "a sender of alerts"}.get(part, f"a {part}")
