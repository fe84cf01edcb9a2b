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
        is_open: everybody who is known may ask.
        is_list: it is answered with what the caller may see: who may see nothing gets an empty list.
    """

    path: Mapping[str, object] = field(default_factory=dict)
    body: Any = None
    query: Mapping[str, object] = field(default_factory=dict)
    is_own: bool = False
    is_open: bool = False
    is_list: bool = False

    def with_objects(self, objects: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
        """The values of path and query."""
        path, query = (
            {name: objects.get(str(value), value) for name, value in given.items()} for given in (self.path, self.query)
        )
        return path, query


RUN, TASK, DEFINITION = Row({"id": "run"}), Row({"id": "task"}), Row({"code": "workflow"})
PROJECT = {"project": "project"}
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
