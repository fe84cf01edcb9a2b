"""The rows of a DolphinScheduler database of version 3, as an export of all workflows and a catalog of all names.

Rows come as they are, with their columns as names: a column that nobody knows is reported as a field is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import Any

Row = Mapping[str, Any]
WHOLE: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "definitions": ("t_ds_workflow_definition", "t_ds_process_definition"),
        "relations": ("t_ds_workflow_task_relation", "t_ds_process_task_relation"),
        "tasks": ("t_ds_task_definition",),
        "schedules": ("t_ds_schedules",),
    }
)
"""What is read with all columns -> the names of its table, the newest first."""
PARAMETERS = ("t_ds_project_parameter", ("project_code", "param_name"))
"""The table with the parameters of projects, which 3.2 has, and what is read of it: their values may be passwords."""
VERSIONS = "t_ds_task_definition_log"
"""The table with all versions of the tasks; relations may name an older one than the current."""
NAMED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "projects": ("t_ds_project", "code", "name"),
        "environments": ("t_ds_environment", "code", "name"),
        "datasources": ("t_ds_datasource", "id", "name"),
        "alert_groups": ("t_ds_alertgroup", "id", "group_name"),
        "task_groups": ("t_ds_task_group", "id", "name"),
        "task_group_sizes": ("t_ds_task_group", "id", "group_size"),
        "tenants": ("t_ds_tenant", "id", "tenant_code"),
        "resource_files": ("t_ds_resources", "id", "full_name"),
    }
)
"""Kind of names -> table, column of the id and column of the name. Nothing else of these tables is read: they have
passwords."""


def export_of(rows: Mapping[str, Sequence[Row]], parameters: Sequence[Row] = ()) -> bytes:
    """The rows of `WHOLE` as an export of version 2, in the order of the codes; beside each definition the names of
    the parameters that its project has."""
    of_projects: dict[str, list[str]] = {}
    for row in parameters:
        of_projects.setdefault(str(row["project_code"]), []).append(str(row["param_name"]))
    definitions = sorted(rows["definitions"], key=lambda row: int(row["code"]))
    relations = _by_workflow(rows["relations"])
    schedules = _by_workflow(rows["schedules"])
    tasks = {int(row["code"]): row for row in rows["tasks"]}
    older = {(int(row["code"]), int(row["version"])): row for row in rows.get("versions", ())}
    exported = []
    for definition in definitions:
        code = int(definition["code"])
        own = sorted(relations.get(code, []), key=lambda row: int(row["id"]))
        keys = _tasks_of(own)
        scheduled = schedules.get(code, [])
        exported.append(
            {
                "processDefinition": {
                    **_camel(definition),
                    "projectParameters": sorted(of_projects.get(str(definition.get("project_code")), [])),
                },
                "processTaskRelationList": [_camel(row) for row in own],
                "taskDefinitionList": [
                    _camel(found)
                    for key, version in keys.items()
                    if (found := older.get((key, version), tasks.get(key))) is not None
                ],
                "schedule": _camel(scheduled[0]) if scheduled else None,
            }
        )
    return json.dumps(exported, ensure_ascii=False).encode("utf-8", "replace")


def older_tasks(rows: Mapping[str, Sequence[Row]]) -> set[int]:
    """The codes of tasks of which relations name another version than the current one."""
    current = {int(row["code"]): _number(row.get("version")) for row in rows["tasks"]}
    named = [_tasks_of([row]) for row in rows["relations"]]
    return {key for each in named for key, version in each.items() if version and current.get(key, 0) != version}


def _tasks_of(relations: Iterable[Row]) -> dict[int, int]:
    """Task -> the version that relations name; 0 if they name none."""
    found: dict[int, int] = {}
    for row in relations:
        for end in ("pre", "post"):
            key = int(row[f"{end}_task_code"])
            found[key] = max(found.get(key, 0), _number(row.get(f"{end}_task_version")))
    return found


def _number(value: Any) -> int:
    return 0 if value is None else int(value)


def names_of(rows: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, str]]:
    """The rows of `NAMED` as names behind ids."""
    return {
        kind: {str(row[id_]): str(row[name]) for row in rows.get(kind, ()) if row[name] is not None}
        for kind, (_, id_, name) in NAMED.items()
    }


def with_names(found: Mapping[str, Mapping[str, str]], given: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The names of a database, and those that a person gives in their place."""
    return {
        kind: {**found.get(kind, {}), **{id_: name for id_, name in given.get(kind, {}).items() if name}}
        for kind in {*found, *given}
    }


def _by_workflow(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        code = row.get("workflow_definition_code") or row.get("process_definition_code")
        if code is not None:
            found.setdefault(int(code), []).append(row)
    return found


def _camel(row: Row) -> dict[str, Any]:
    return {re.sub(r"_([a-z0-9])", lambda at: at[1].upper(), name): _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(" ", "seconds")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if isinstance(value, str | int | float | bool | None) else str(value)
