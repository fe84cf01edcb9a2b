"""How each operation is called in the table test of roles, and by whom.

A new operation needs a row in `ROWS`: the values of its path, and its query and body if it needs them. A value that is
a word of `Objects`, such as `run`, stands for that object of the project; all others for themselves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """How an operation is called.

    Args:
        path: values of the path.
        body: JSON; in it `<run>` stands for that object.
        query: its fields.
        is_own: it is about the caller's own account: right and project do not count, but whose it is.
        is_open: everybody who is known may ask.
        is_list: everybody may ask, and gets what it may see: an empty list where that is nothing.
        is_of_any: who has the right in no project at all is told so before anything is read.
        skips_hidden: it does with many what it can, and leaves out what is not there.
    """

    path: Mapping[str, object] = field(default_factory=dict)
    body: Any = None
    query: Mapping[str, object] = field(default_factory=dict)
    is_own: bool = False
    is_open: bool = False
    is_list: bool = False
    is_of_any: bool = False
    skips_hidden: bool = False

    def with_objects(self, objects: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object], Any]:
        """The values of path and query, and the body."""
        path, query = (
            {name: value if name == "kind" else objects.get(str(value), value) for name, value in given.items()}
            for given in (self.path, self.query)
        )
        body = json.dumps(self.body)
        for name, value in objects.items():
            body = body.replace(f"<{name}>", str(value))
        return path, query, json.loads(body)


RUN, TASK, DEFINITION, ALL_OF_THEM = (
    Row({"id": "run"}),
    Row({"id": "task"}),
    Row({"code": "workflow"}),
    Row(is_list=True),
)
COMMAND, ERROR, SCHEDULE = Row({"id": "command"}), Row({"id": "error"}), Row({"id": "schedule"})
VIEW = Row({"id": "view"})
NAMED = Row({"name": "x"})
FILES = [{"name": "w.yaml", "content": "name: w2\nproject: <project>\ntasks: [{name: a, type: FAKE}]\n"}]
PROJECT = {"project": "project"}
DRAFT = {"project": "project", "name": "w"}
ACCOUNT, OF_ACCOUNT = {"id": "account"}, {"account": "account"}

ROWS: Mapping[str, Row] = {
    "list_runs": ALL_OF_THEM,
    "find_run": Row(query={"name": "run"}),
    "get_run": RUN,
    "find_task_instance": Row(query={"name": "task"}),
    "get_command": COMMAND,
    "start_run": Row({"code": "workflow"}, {}),
    "rerun_run": Row({"id": "run"}, {}),
    "pause_run": RUN,
    "stop_run": RUN,
    "resume_run": RUN,
    "restart_streams": Row({"id": "run"}, {}),
    "rebalance_streams": Row(body={}),
    "force_task_success": TASK,
    "list_approvals": ALL_OF_THEM,
    "answer_approval": Row({"id": "task"}, {"answer": "APPROVE"}),
    "explain_run": RUN,
    "change_runs": Row(body={"action": "STOP", "ids": ["<run>"], "dry_run": False}, skips_hidden=True),
    "get_operation": Row({"id": "operation"}),
    "stop_operation": Row({"id": "operation"}),
    "resume_operation": Row({"id": "operation"}),
    "count_commands": Row(body={"ids": ["<command>"]}, is_list=True),
    "explain_command": COMMAND,
    "get_line": RUN,
    "get_story": RUN,
    "find_log": TASK,
    "read_log": TASK,
    "read_value": Row({"id": "task"}, query={"name": "x"}),
    "search_log": TASK,
    "list_elements": Row({"id": "run"}, query={"task": "a"}),
    "list_task_instances": ALL_OF_THEM,
    "get_task_instance": TASK,
    "list_error_commands": ALL_OF_THEM,
    "get_error_command": ERROR,
    "retry_error_command": Row({"id": "error"}, {}),
    "drop_error_command": ERROR,
    "retry_error_commands": Row(body={"ids": ["<error>"]}),
    "drop_error_commands": Row(body={"ids": ["<error>"]}),
    "start_backfill": Row({"code": "workflow"}, {"dates": ["2026-01-01"]}),
    "count_backfill": Row({"id": "command"}, {"workflows": ["<workflow>"], "chains": []}),
    "list_backfills": ALL_OF_THEM,
    "get_backfill": Row({"id": "backfill"}),
    "list_commands": ALL_OF_THEM,
    "locate_command": COMMAND,
    "list_workflows": ALL_OF_THEM,
    "get_workflow": DEFINITION,
    "get_workflow_version": Row({"code": "workflow", "version": 1}),
    "list_workflow_versions": DEFINITION,
    "diff_workflow_versions": Row({"code": "workflow"}, query={"older": 1, "newer": 1}),
    "export_workflow": DEFINITION,
    "apply_workflows": Row(body={"files": FILES}, is_of_any=True),
    "sync_workflows": Row(body={"files": FILES, "origin": "shop"}, is_of_any=True),
    "import_workflows": Row(
        body={
            "source": "crontab",
            "project": "<project>",
            "files": [{"name": "c", "content": "@daily true\n"}],
        }
    ),
    "validate_workflows": Row(body={"files": FILES}, is_of_any=True),
    "diff_workflow_files": Row({"code": "workflow"}, {"files": FILES}),
    "put_workflow": Row({"code": "workflow"}, {"yaml": "name: w"}),
    "roll_back_workflow": Row({"code": "workflow"}, {"version": 1}),
    "move_workflow": Row({"code": "workflow"}, {"project": "<project>"}),
    "set_release_state": Row({"code": "workflow"}, {"release_state": "ONLINE"}),
    "delete_workflow": DEFINITION,
    "list_drafts": ALL_OF_THEM,
    "get_draft": Row(DRAFT),
    "save_draft": Row(DRAFT, {"content": "name: w"}),
    "discard_draft": Row(DRAFT),
    "publish_draft": Row(DRAFT),
    "check_draft": Row(DRAFT),
    "diff_draft": Row(DRAFT),
    "choose_branch": Row(body={"project": "<project>", "params": {"cases": [{"when": "${a} > 1", "then": "b"}]}}),
    "try_task": Row(body={"project": "<project>", "task": {"name": "a", "type": "FAKE"}}),
    "get_layout": DEFINITION,
    "put_layout": Row({"code": "workflow"}, {}),
    "list_last_runs": Row(query={"code": "workflow"}, is_list=True),
    "get_grid": DEFINITION,
    "count_runs_by_time": ALL_OF_THEM,
    "count_runs": ALL_OF_THEM,
    "list_late": ALL_OF_THEM,
    "list_failed": ALL_OF_THEM,
    "show_progress": Row(query={"id": "run"}, is_list=True),
    "list_relations": ALL_OF_THEM,
    "get_workflow_relations": DEFINITION,
    "get_workflow_schema": ALL_OF_THEM,
    "list_task_types": ALL_OF_THEM,
    "list_projects": ALL_OF_THEM,
    "get_project": Row({"name": "project"}),
    "create_project": Row(body={"name": "fresh"}),
    "change_project": Row({"name": "project"}, {"params": {"a": "b"}}),
    "delete_project": Row({"name": "project"}),
    "list_files": Row({"name": "project"}),
    "get_file": Row({"name": "project"}, query={"path": "a.sql"}),
    "put_file": Row({"name": "project"}, {"path": "a.sql", "content": "MQ=="}),
    "delete_file": Row({"name": "project"}, query={"path": "a.sql"}),
    "list_schedules": ALL_OF_THEM,
    "get_schedule": SCHEDULE,
    "preview_schedule": Row(body={"cron": "0 0 5 * * ?"}, is_list=True),
    "list_fires": ALL_OF_THEM,
    "get_calendar": Row(query={"from": "2026-01-01", "to": "2026-01-02"}, is_list=True),
    "add_schedule": Row({"code": "workflow"}, {"cron": "0 0 6 * * ?", "again": True}),
    "change_schedule": Row({"id": "schedule"}, {"cron": "0 0 7 * * ?"}),
    "turn_on_schedule": SCHEDULE,
    "turn_off_schedule": SCHEDULE,
    "delete_schedule": SCHEDULE,
    "get_slots": Row(),
    "list_masters": Row(),
    "list_workers": Row(),
    "list_worker_groups": Row(),
    "list_slot_changes": Row(),
    "get_receipt": Row({"number": 1}),
    "list_claims": Row(),
    "get_frame": Row(),
    "list_cluster_figures": Row(),
    "list_arrivals": Row(query={"arrived_after": "2026-01-31T14:00:00Z", "arrived_before": "2026-01-31T14:01:00Z"}),
    "get_database": Row(),
    "get_registry": Row(),
    "drain_master": Row({"name": "x"}, query={"wait": 0}),
    "undrain_master": NAMED,
    "drain_worker": Row({"name": "x"}, query={"wait": 0}),
    "undrain_worker": NAMED,
    "get_drill": Row(),
    "list_duties": Row(),
    "kill_master": Row(body={"master": "m1"}),
    "suggest_names": Row(query={"kind": "run"}, is_list=True),
    "search": Row(query={"q": "w"}, is_list=True),
    "get_queue": Row(),
    "examine_cluster": Row(),
    "get_settings": Row(),
    "list_alerts": ALL_OF_THEM,
    "get_alert": Row({"id": "alert"}),
    "retry_alert": Row({"id": "alert"}, {}),
    "list_channels": Row(),
    "get_channel": NAMED,
    "save_channel": Row({"name": "x"}, {"url": "mailto://127.0.0.1?to=a@b.org&from=c@d.org"}),
    "delete_channel": NAMED,
    "check_channel": Row({"name": "x"}, query={"wait": 0}),
    "list_alert_groups": Row(),
    "get_alert_group": NAMED,
    "save_alert_group": Row({"name": "x"}, {"channels": []}),
    "delete_alert_group": NAMED,
    "list_silences": ALL_OF_THEM,
    "add_silence": Row(body={"project": "<project>", "lasts_s": 60}),
    "end_silence": Row({"id": "silence"}),
    "list_alert_rules": ALL_OF_THEM,
    "check_alert_rule": Row(body={"project": "<project>", "text": "any run of w fails -> group data"}),
    "get_alert_rule": Row({"project": "project", "name": "rule"}),
    "save_alert_rule": Row({"project": "project", "name": "r2"}, {"text": "any run of w fails -> group data"}),
    "delete_alert_rule": Row({"project": "project", "name": "rule"}),
    "list_pools": Row(),
    "get_pool": NAMED,
    "list_resources": NAMED,
    "get_pool_line": NAMED,
    "put_pool": Row({"name": "x"}, {"spec": {"count": 1}}),
    "apply_pools": Row(body={"files": [{"name": "p.yaml", "content": "kind: pool\nname: x\ncount: 1\n"}]}),
    "delete_pool": NAMED,
    "set_aside_resource": Row({"name": "x"}, {"resource": "1"}),
    "take_resource_back": Row({"name": "x"}, {"resource": "1"}),
    "list_data_sources": Row(),
    "get_data_source": NAMED,
    "save_data_source": Row({"name": "x"}, {"url": "sqlite:////nothing"}),
    "delete_data_source": NAMED,
    "check_data_source": NAMED,
    "check_data_source_url": Row(body={"url": "sqlite:////nothing"}),
    "list_environments": Row(),
    "get_environment": NAMED,
    "save_environment": Row({"name": "x"}, {"script": "export A=1"}),
    "delete_environment": NAMED,
    "list_secrets": Row(),
    "list_keys": Row(),
    "rotate_secrets": Row(),
    "find_workflow": Row(query={"name": "w", "project": "project"}),
    "read_clock": Row(),
    "get_me": Row(is_open=True),
    "change_own_password": Row(body={"password": "a new password"}, is_own=True),
    "list_users": Row(),
    "find_user": Row(query={"name": "stranger"}),
    "get_user": Row(ACCOUNT),
    "create_user": Row(body={"name": "fresh"}),
    "change_user": Row(ACCOUNT, {}),
    "make_login_link": Row(ACCOUNT),
    "set_user_password": Row(ACCOUNT, {"password": "a new password"}),
    "list_sessions": Row(OF_ACCOUNT, is_own=True),
    "end_session": Row({**OF_ACCOUNT, "id": 1}, is_own=True),
    "end_other_sessions": Row(OF_ACCOUNT, is_own=True),
    "list_tokens": Row(OF_ACCOUNT, is_own=True),
    "make_token": Row(OF_ACCOUNT, {"name": "fresh", "scopes": ["runs:read"]}, is_own=True),
    "revoke_token": Row({**OF_ACCOUNT, "id": 999_999}, is_own=True),
    "list_members": Row(PROJECT),
    "put_member": Row({**PROJECT, "name": "stranger"}, {"role": "VIEWER"}),
    "remove_member": Row({**PROJECT, "name": "stranger"}),
    "get_project_limits": Row(PROJECT),
    "set_project_limits": Row(PROJECT, {}),
    "list_saved_views": ALL_OF_THEM,
    "get_saved_view": VIEW,
    "create_saved_view": Row(
        body={"list": "workflow-instances", "name": "x", "query": {"state": ["FAILURE"]}, "project": "<project>"}
    ),
    "change_saved_view": Row({"id": "view"}, {"name": "mine", "query": {}}),
    "delete_saved_view": VIEW,
    "list_audit": Row(query={"project": "project"}),
}
