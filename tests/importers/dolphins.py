"""A database of DolphinScheduler 3.3: tables with the columns of its public SQL, and definitions of all task types.

Each definition has three tasks: a script that gives a value, a task of one type, and a script after it. Their
parameters are as that version writes them; what differs from one to the next are schedules, times, retries, groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import psycopg
from psycopg import sql

from importers.dolphinscheduler.types.catalog import CONVERSIONS, NEVER
from importers.dolphinscheduler.types.commands import COMMANDS

_STAMPS = "create_time timestamp, update_time timestamp"
_TASK = """code bigint NOT NULL, name varchar(255), version int NOT NULL DEFAULT 1, description text,
    project_code bigint, user_id int, task_type varchar(50), task_execute_type int DEFAULT 0, task_params text,
    flag int, is_cache int DEFAULT 0, task_priority int DEFAULT 2, worker_group varchar(255),
    environment_code bigint DEFAULT -1, fail_retry_times int, fail_retry_interval int, timeout_flag int,
    timeout_notify_strategy int, timeout int DEFAULT 0, delay_time int DEFAULT 0, task_group_id int,
    task_group_priority int DEFAULT 0, resource_ids text, cpu_quota int NOT NULL DEFAULT -1,
    memory_max int NOT NULL DEFAULT -1"""
TABLES = {
    "t_ds_project": f"""code bigint NOT NULL, name varchar(255), description varchar(255), user_id int,
        flag int DEFAULT 1, {_STAMPS}""",
    "t_ds_project_parameter": f"""param_name varchar(255) NOT NULL, param_value text NOT NULL,
        param_data_type varchar(50) DEFAULT 'VARCHAR', code bigint NOT NULL, project_code bigint NOT NULL, user_id int,
        operator int, {_STAMPS}""",
    "t_ds_workflow_definition": f"""code bigint NOT NULL, name varchar(255), version int NOT NULL DEFAULT 1,
        description text, project_code bigint, release_state int, user_id int, global_params text, locations text,
        warning_group_id int, flag int, timeout int DEFAULT 0, execution_type int DEFAULT 0, {_STAMPS},
        UNIQUE (name, project_code)""",
    "t_ds_task_definition": f"{_TASK}, {_STAMPS}",
    "t_ds_task_definition_log": f"{_TASK}, operator int, operate_time timestamp, {_STAMPS}",
    "t_ds_workflow_task_relation": f"""name varchar(255), project_code bigint, workflow_definition_code bigint,
        workflow_definition_version int, pre_task_code bigint, pre_task_version int DEFAULT 0, post_task_code bigint,
        post_task_version int DEFAULT 0, condition_type int, condition_params text, {_STAMPS}""",
    "t_ds_schedules": f"""workflow_definition_code bigint NOT NULL, start_time timestamp NOT NULL,
        end_time timestamp NOT NULL, timezone_id varchar(40), crontab varchar(255) NOT NULL,
        failure_strategy int NOT NULL, user_id int NOT NULL, release_state int NOT NULL, warning_type int NOT NULL,
        warning_group_id int, workflow_instance_priority int DEFAULT 2, worker_group varchar(255),
        tenant_code varchar(64) DEFAULT 'default', environment_code bigint DEFAULT -1, {_STAMPS}""",
    "t_ds_environment": f"code bigint NOT NULL, name varchar(255), config text, description text, {_STAMPS}",
    "t_ds_datasource": f"""name varchar(64) NOT NULL, note varchar(255), type int NOT NULL, user_id int NOT NULL,
        connection_params text NOT NULL, {_STAMPS}""",
    "t_ds_alertgroup": f"""alert_instance_ids varchar(255), create_user_id int, group_name varchar(255),
        description varchar(255), {_STAMPS}""",
    "t_ds_task_group": f"""name varchar(255), description varchar(255), group_size int NOT NULL, project_code bigint,
        use_size int DEFAULT 0, user_id int, status int DEFAULT 1, {_STAMPS}""",
    "t_ds_tenant": f"tenant_code varchar(64), description varchar(255), queue_id int, {_STAMPS}",
    "t_ds_resources": f"""alias varchar(64), file_name varchar(64), description varchar(255), user_id int, type int,
        size bigint, pid int, full_name varchar(128), is_directory boolean DEFAULT false, {_STAMPS}""",
}  # fmt: skip
"""Table -> its columns without the first, which is `id int`."""
PROJECT, ENVIRONMENT, DATA_SOURCE, ALERTED, GROUP, JAR = 13_821_668_364_768, 88, 7, 3, 4, 5
COUNT = 200
CODE = 20_000_000_000_000
"""Of no definition: the first has the next one, and tasks have a hundred times as much."""
NAMED: dict[str, list[dict[str, Any]]] = {
    "t_ds_project": [{"code": PROJECT, "name": "sales", "user_id": 1}],
    "t_ds_project_parameter": [
        {"param_name": "region", "param_value": "h1dden-region", "code": 1, "project_code": PROJECT, "user_id": 1}
    ],
    "t_ds_environment": [{"code": ENVIRONMENT, "name": "tools", "config": "export TOKEN=h1dden-token"}],
    "t_ds_datasource": [
        {"id": DATA_SOURCE, "name": "shop", "type": 1, "user_id": 1, "connection_params": '{"password": "h1dden-shop"}'}
    ],
    "t_ds_alertgroup": [{"id": ALERTED, "group_name": "ops"}],
    "t_ds_task_group": [{"id": GROUP, "name": "proxies", "group_size": 3, "project_code": PROJECT}],
    "t_ds_tenant": [{"tenant_code": "etl"}],
    "t_ds_resources": [{"id": JAR, "full_name": "/jobs/work.jar", "type": 0, "size": 12}],
}
TYPES = (*CONVERSIONS, *COMMANDS, *NEVER)
_PROGRAM = {"mainClass": "org.example.Work", "mainJar": {"id": JAR}, "mainArgs": "--day 1", "others": ""}


def params_of(type_: str, number: int, url: str) -> dict[str, Any]:
    """What a task of a type says of itself, in the definition of this number; `url` answers requests."""
    code = 100 * (CODE + number)
    first = {"workflowDefinitionCode": CODE + 1, "processDefinitionCode": CODE + 1}
    at_end = {"relation": "AND", "dependItemList": [{"depTaskCode": code, "status": "SUCCESS"}]}
    waits = {"projectCode": PROJECT, "definitionCode": CODE + 1, "depTaskCode": 0, "cycle": "day", "dateValue": "today"}
    database = {"type": "POSTGRESQL", "datasource": DATA_SOURCE}
    found: dict[str, dict[str, Any]] = {
        "SHELL": {"rawScript": "echo ${rows} of ${word}"},
        "PYTHON": {"rawScript": "print('${word}')"},
        "SQL": {**database, "sql": "SELECT ${rows} AS n", "sqlType": "0", "displayRows": 10, "preStatements": [],
                "postStatements": [], "udfs": "", "connParams": "", "sendEmail": False},
        "PROCEDURE": {**database, "method": "call nothing()"},
        "HTTP": {"url": url, "httpMethod": "GET", "httpBody": "", "httpCheckCondition": "STATUS_CODE_DEFAULT",
                 "condition": "", "connectTimeout": 10_000,
                 "httpParams": [{"prop": "word", "httpParametersType": "PARAMETER", "value": "${word}"}]},
        "SPARK": {"programType": "SQL", "rawScript": "SELECT 1", "deployMode": "client", "driverCores": 1,
                  "driverMemory": "512M", "numExecutors": 2, "executorMemory": "2G", "executorCores": 2,
                  "sqlExecutionType": "SCRIPT"},
        "MR": {"programType": "JAVA", **_PROGRAM},
        "K8S": {"image": "busybox", "command": '["true"]', "args": "[]", "namespace": '{"name":"n","cluster":"lab"}',
                "imagePullPolicy": "IfNotPresent", "minCpuCores": 1, "minMemorySpace": 64, "customizedLabels": [],
                "nodeSelectors": []},
        "DEPENDENT": {"dependence": {"relation": "AND", "checkInterval": 10, "failurePolicy":
                      "DEPENDENT_FAILURE_FAILURE", "dependTaskList": [{"relation": "AND", "dependItemList": [waits]}]}},
        "CONDITIONS": {"dependence": {"relation": "AND", "dependTaskList": [at_end]},
                       "conditionResult": {"successNode": [code + 2], "failedNode": []}},
        "SWITCH": {"switchResult": {"dependTaskList": [{"condition": "${rows} > 41", "nextNode": code + 2}]}},
        "SUB_PROCESS": first,
        "SUB_WORKFLOW": first,
        "DYNAMIC": {**first, "maxNumOfSubWorkflowInstances": 10, "degreeOfParallelism": 2, "filterCondition": "",
                    "listParameters": [{"name": "word", "value": "a,b", "separator": ","}]},
        "REMOTESHELL": {"type": "SSH", "datasource": DATA_SOURCE, "rawScript": "date"},
        "DATAX": {"customConfig": 1, "json": '{"job": {}}', "xms": 1, "xmx": 1},
        "SEATUNNEL": {"startupScript": "seatunnel.sh", "useCustom": True, "rawScript": "env {}", "deployMode": "local"},
        "WATERDROP": {"startupScript": "seatunnel.sh", "useCustom": True, "rawScript": "env {}", "deployMode": "local"},
        "SQOOP": {"jobType": "CUSTOM", "customShell": "sqoop version"},
        "HIVECLI": {"hiveCliTaskExecutionType": "SCRIPT", "hiveSqlScript": "SELECT 1", "hiveCliOptions": ""},
        "FLINK": {"programType": "JAVA", **_PROGRAM, "deployMode": "local", "flinkVersion": ">=1.12", "parallelism": 2},
        "FLINK_STREAM": {"programType": "SQL", "rawScript": "SELECT 1", "initScript": "", "deployMode": "local"},
        "JAVA": {"runType": "FAT_JAR", **_PROGRAM, "jvmArgs": "-Xmx1g", "isModulePath": False},
    }  # fmt: skip
    return found.get(type_, {"rawScript": "x", "resourceList": [{"id": JAR}]})


def fill(connection: psycopg.Connection[Any], url: str, count: int = COUNT) -> None:
    """Make the tables, and write so many definitions."""
    for table, columns in TABLES.items():
        connection.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, {columns})".encode())
    for table, rows in NAMED.items():
        _insert(connection, table, rows)
    made = [(number, TYPES[number % len(TYPES)]) for number in range(count)]
    _insert(connection, "t_ds_workflow_definition", [_definition(number, type_) for number, type_ in made])
    tasks = [each for number, type_ in made for each in _tasks(number, type_, url)]
    _insert(connection, "t_ds_task_definition", tasks)
    _insert(connection, "t_ds_task_definition_log", tasks)
    _insert(connection, "t_ds_workflow_task_relation", [each for number, _ in made for each in _relations(number)])
    _insert(connection, "t_ds_schedules", [_schedule(number) for number, _ in made if number % 3 == 0])


def type_of(name: str) -> str:
    """The type of the second task of the definition with this name."""
    return name.split(" ", 1)[1]


def _definition(number: int, type_: str) -> dict[str, Any]:
    code = CODE + number + 1
    places = [{"taskCode": 100 * code + place, "x": 200 * place, "y": 80} for place in range(3)]
    params = [{"prop": "word", "direct": "IN", "type": "VARCHAR", "value": f"w{number}"}]
    return {
        "code": code, "name": f"{number} {type_}", "version": 1, "description": f"about {number}",
        "project_code": PROJECT, "release_state": number % 2, "user_id": 1, "global_params": json.dumps(params),
        "locations": json.dumps(places), "warning_group_id": ALERTED if number % 5 == 0 else None, "flag": 1,
        "timeout": number % 2 * 60, "execution_type": number % 2, **_stamps(),
    }  # fmt: skip


def _tasks(number: int, type_: str, url: str) -> Iterator[dict[str, Any]]:
    code = 100 * (CODE + number + 1)
    gives = {
        "rawScript": "echo '#{setValue(rows=42)}'",
        "localParams": [{"prop": "rows", "direct": "OUT", "type": "INTEGER", "value": ""}],
    }
    after = {"rawScript": "echo after", "resourceList": []}
    given = (("begin", "SHELL", gives), ("work", type_, params_of(type_, number + 1, url)), ("end", "SHELL", after))
    for place, (name, kind, params) in enumerate(given):
        is_work = place == 1
        yield {
            "code": code + place, "name": name, "version": 1, "description": f"the {name}" if is_work else "",
            "project_code": PROJECT, "user_id": 1, "task_type": kind, "task_execute_type": 0,
            "task_params": json.dumps({"localParams": [], "resourceList": [], **params}), "flag": 1, "is_cache": 0,
            "task_priority": number % 5, "worker_group": "default", "environment_code": ENVIRONMENT if is_work else -1,
            "fail_retry_times": 1 if is_work else 0, "fail_retry_interval": number % 2, "timeout_flag": number % 2,
            "timeout_notify_strategy": number % 3, "timeout": 30, "delay_time": 0,
            "task_group_id": GROUP if is_work and number % 4 == 0 else 0, "task_group_priority": 0, **_stamps(),
        }  # fmt: skip


def _relations(number: int) -> Iterator[dict[str, Any]]:
    code = CODE + number + 1
    for place in range(3):
        yield {
            "name": "", "project_code": PROJECT, "workflow_definition_code": code, "workflow_definition_version": 1,
            "pre_task_code": 0 if place == 0 else 100 * code + place - 1, "pre_task_version": 1,
            "post_task_code": 100 * code + place, "post_task_version": 1, "condition_type": 0,
            "condition_params": "{}", **_stamps(),
        }  # fmt: skip


def _schedule(number: int) -> dict[str, Any]:
    return {
        "workflow_definition_code": CODE + number + 1, "start_time": "2024-06-07 00:00:00",
        "end_time": "2124-06-07 00:00:00", "timezone_id": "Asia/Shanghai", "crontab": f"0 {number % 60} 2 * * ? *",
        "failure_strategy": number % 2, "user_id": 1, "release_state": number % 2, "warning_type": number % 4,
        "warning_group_id": ALERTED, "workflow_instance_priority": number % 5, "worker_group": "default",
        "environment_code": -1, **_stamps(),
    }  # fmt: skip


def _stamps() -> dict[str, str]:
    return {"create_time": "2024-06-07 10:55:32", "update_time": "2024-06-07 10:57:56"}


def _insert(connection: psycopg.Connection[Any], table: str, rows: Sequence[dict[str, Any]]) -> None:
    for id_, row in enumerate(rows, 1):
        whole = {"id": id_, **row}
        query = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier(table),
            sql.SQL(", ").join(map(sql.Identifier, whole)),
            sql.SQL(", ").join(map(sql.Placeholder, whole)),
        )
        connection.execute(query, whole)
