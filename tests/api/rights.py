"""How each operation is called in the table test of roles, and by whom.

A new operation needs a row in `ROWS`: the values of its path, and its query and body if it needs them. A value that is
a word of `Objects`, such as `run`, stands for that object of the project; all others for themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """How an operation is called.

    Args:
        path: values of the path.
        body: JSON.
        query: its fields.
        is_own: it is about the caller's own account: right and project do not count, but whose it is.
        is_open: everybody who is known may ask, whatever a token is for.
        is_for_all: everybody who is known may ask, by a token that is for it.
        is_list: it is answered with what the caller may see: who may see nothing gets an empty list.
    """

    path: Mapping[str, object] = field(default_factory=dict)
    body: Any = None
    query: Mapping[str, object] = field(default_factory=dict)
    is_own: bool = False
    is_open: bool = False
    is_for_all: bool = False
    is_list: bool = False

    def with_objects(self, objects: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object], Any]:
        """The values of path and query, and the body; in that an object is written as `@run`."""
        path, query = (
            {name: objects.get(str(value), value) for name, value in given.items()} for given in (self.path, self.query)
        )
        return path, query, _filled(self.body, objects)


def _filled(given: Any, objects: Mapping[str, object]) -> Any:
    if isinstance(given, dict):
        return {name: _filled(each, objects) for name, each in given.items()}
    if isinstance(given, list):
        return [_filled(each, objects) for each in given]
    return str(objects[given[1:]]) if isinstance(given, str) and given.startswith("@") else given


RUN, TASK, DEFINITION = Row({"id": "run"}), Row({"id": "task"}), Row({"code": "workflow"})
PROJECT = {"project": "project"}
WORKFLOW = {"code": "workflow"}
SCHEDULE = Row({"id": "schedule"})
SOURCE, ENVIRONMENT = {"name": "source"}, {"name": "environment"}
FILES = [{"name": "w.yaml", "content": "@yaml"}]
ACCOUNT, OF_ACCOUNT = {"id": "account"}, {"account": "account"}

ROWS: Mapping[str, Row] = {
    "list_runs": Row(is_list=True),
    "find_run": Row(query={"name": "run"}),
    "get_run": RUN,
    "find_task_instance": Row(query={"name": "task"}),
    "get_command": Row({"id": "command"}),
    "start_run": Row({"code": "workflow"}, {}),
    "rerun_run": Row({"id": "run"}, {}),
    "pause_run": RUN,
    "stop_run": RUN,
    "resume_run": RUN,
    "force_task_success": TASK,
    "explain_run": RUN,
    "explain_command": Row({"id": "command"}),
    "find_workflow": Row(query={"name": "w", "project": "project"}),
    "read_clock": Row(),
    "get_story": RUN,
    "find_log": TASK,
    "read_log": TASK,
    "list_error_commands": Row(is_list=True),
    "get_error_command": Row({"id": "error_1"}),
    "retry_error_command": Row({"id": "error_1"}, {}),
    "drop_error_command": Row({"id": "error_2"}),
    "retry_error_commands": Row(body={"ids": ["@error_3"]}),
    "drop_error_commands": Row(body={"ids": ["@error_4"]}),
    "start_backfill": Row(WORKFLOW, {"dates": ["2026-01-31"]}),
    "count_backfill": Row({"id": "command"}, {"workflows": ["@workflow"], "chains": [["2026-01-31T00:00:00Z"]]}),
    "list_task_instances": Row(is_list=True),
    "get_task_instance": TASK,
    "list_workflows": Row(is_list=True),
    "get_workflow": DEFINITION,
    "get_workflow_version": Row({**WORKFLOW, "version": 1}),
    "list_workflow_versions": DEFINITION,
    "diff_workflow_versions": Row(WORKFLOW, query={"older": 1, "newer": 1}),
    "export_workflow": DEFINITION,
    "apply_workflows": Row(body={"files": FILES}),
    "validate_workflows": Row(body={"files": FILES}),
    "diff_workflow_files": Row(WORKFLOW, {"files": FILES}),
    "put_workflow": Row(WORKFLOW, {"yaml": "@yaml"}),
    "roll_back_workflow": Row(WORKFLOW, {"version": 1}),
    "set_release_state": Row(WORKFLOW, {"release_state": "ONLINE"}),
    "delete_workflow": DEFINITION,
    "list_relations": Row(is_list=True),
    "get_workflow_relations": DEFINITION,
    "get_workflow_schema": Row(is_for_all=True),
    "list_task_types": Row(is_for_all=True),
    "list_projects": Row(is_list=True),
    "get_project": Row({"name": "project"}),
    "create_project": Row(body={"name": "fresh"}),
    "change_project": Row({"name": "project"}, {}),
    "delete_project": Row({"name": "project"}),
    "list_schedules": Row(is_list=True),
    "get_schedule": SCHEDULE,
    "preview_schedule": Row(body={"cron": "0 5 * * *"}),
    "list_fires": Row(is_list=True),
    "add_schedule": Row(WORKFLOW, {"cron": "0 6 * * *"}),
    "change_schedule": Row({"id": "schedule"}, {"cron": "0 7 * * *"}),
    "turn_on_schedule": SCHEDULE,
    "turn_off_schedule": SCHEDULE,
    "delete_schedule": SCHEDULE,
    "get_slots": Row(),
    "list_masters": Row(),
    "list_workers": Row(),
    "list_worker_groups": Row(),
    "list_claims": Row(),
    "suggest_names": Row(query={"kind": "run"}, is_list=True),
    "get_queue": Row(),
    "list_commands": Row(is_list=True),
    "locate_command": Row({"id": "command"}),
    "examine_cluster": Row(),
    "get_settings": Row(),
    "list_data_sources": Row(),
    "get_data_source": Row(SOURCE),
    "save_data_source": Row(SOURCE, {"url": "sqlite:///x.db"}),
    "delete_data_source": Row(SOURCE),
    "check_data_source": Row(SOURCE),
    "check_data_source_url": Row(body={"url": "sqlite:///x.db"}),
    "list_environments": Row(),
    "get_environment": Row(ENVIRONMENT),
    "save_environment": Row(ENVIRONMENT, {"script": "export A=1"}),
    "delete_environment": Row(ENVIRONMENT),
    "list_secrets": Row(),
    "list_keys": Row(),
    "rotate_secrets": Row(),
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
    "list_audit": Row(query={"project": "project"}),
}
