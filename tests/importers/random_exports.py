"""Exports as a generator makes them: any tasks, edges, parameters and schedules, in any form."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.importers.exports import (
    body,
    code_of,
    definition,
    export,
    legacy,
    legacy_task,
    newer,
    schedule,
    task,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
TEXTS = st.sampled_from(
    ["", "echo ${x}", "echo $[yyyyMMdd-1]", "ls | wc -l\n", "#{setValue(x=1)}", "it's", "\tx: y # z"]
)
NUMBERS = st.sampled_from([-1, 0, 1, 5, "2", None, 1.5, "x", 10**9])
VALUES = st.one_of(TEXTS, NUMBERS, st.booleans(), st.just([]), st.just({}))
PASSWORD = st.just({"prop": "db_password", "direct": "IN", "type": "VARCHAR", "value": "hunter2hunter2"})
PARAMETERS = st.lists(
    PASSWORD
    | st.fixed_dictionaries(
        {
            "prop": st.sampled_from(["x", "y", "day", "", "a b"]),
            "direct": st.sampled_from(["IN", "OUT", None]),
            "type": st.sampled_from(["VARCHAR", "INTEGER", "DATE", "TIME", "LIST", "FILE", "MAP"]),
            "value": st.sampled_from(["", "1", "2026-01-31", "${y}", "$[yyyy-MM-dd]", "[1, 2]"]),
        }
    ),
    max_size=3,
)
CODES = st.sampled_from([0, code_of(0), code_of(1), code_of(2), 99])


def _groups(field: str) -> st.SearchStrategy[dict[str, Any]]:
    item = st.fixed_dictionaries(
        {
            field: CODES,
            "status": st.sampled_from(["SUCCESS", "FAILURE"]),
            "dateValue": st.sampled_from(["today", "never"]),
        },
        optional={"definitionCode": CODES, "parameterPassing": st.booleans()},
    )
    group = st.fixed_dictionaries(
        {"relation": st.sampled_from(["AND", "OR"]), "dependItemList": st.lists(item, max_size=2)}
    )
    return st.fixed_dictionaries(
        {"relation": st.sampled_from(["AND", "OR"]), "dependTaskList": st.lists(group, max_size=2)}
    )


_CASES = st.lists(
    st.fixed_dictionaries(
        {"condition": st.sampled_from(["${x} > 1", "'a' === 'a'", "new X()", ""]), "nextNode": CODES}
    ),
    max_size=2,
)
PARAMS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "SHELL": st.fixed_dictionaries({"rawScript": TEXTS}),
    "PYTHON": st.fixed_dictionaries({"rawScript": TEXTS}),
    "SQL": st.fixed_dictionaries(
        {"type": st.sampled_from(["MYSQL", "HIVE", ""]), "datasource": NUMBERS, "sql": TEXTS, "sqlType": NUMBERS},
        optional={"preStatements": st.lists(TEXTS, max_size=2), "limit": NUMBERS, "sendEmail": st.booleans()},
    ),
    "PROCEDURE": st.fixed_dictionaries(
        {"datasource": NUMBERS, "method": st.sampled_from(["call p(?)", "{call p()}", "call p(${x}, 'a', 5)", "p"])}
    ),
    "HTTP": st.fixed_dictionaries(
        {"url": st.sampled_from(["", "http://x/${x}"]), "httpMethod": st.sampled_from(["GET", "POST", "BREW"])},
        optional={"connectTimeout": NUMBERS, "socketTimeout": NUMBERS, "httpCheckCondition": TEXTS},
    ),
    "SPARK": st.fixed_dictionaries(
        {
            "programType": st.sampled_from(["SCALA", "PYTHON", "SQL"]),
            "deployMode": st.sampled_from(["local", "client"]),
        },
        optional={
            "mainArgs": TEXTS,
            "others": TEXTS,
            "driverCores": NUMBERS,
            "rawScript": TEXTS,
            "mainJar": st.just({"id": 5, "resourceName": "/a.jar"}),
            "resourceList": st.just([{"id": 4}, {"res": "b"}]),
        },
    ),
    "MR": st.fixed_dictionaries({"mainJar": st.just({"id": 5})}, optional={"others": TEXTS, "mainArgs": TEXTS}),
    "K8S": st.fixed_dictionaries({"image": TEXTS}, optional={"command": TEXTS, "minCpuCores": NUMBERS}),
    "DEPENDENT": st.fixed_dictionaries({"dependence": _groups("depTaskCode")}),
    "CONDITIONS": st.fixed_dictionaries(
        {
            "dependence": _groups("depTaskCode"),
            "conditionResult": st.fixed_dictionaries({"successNode": st.lists(CODES), "failedNode": st.lists(CODES)}),
        }
    ),
    "SWITCH": st.fixed_dictionaries(
        {
            "switchResult": st.fixed_dictionaries(
                {"dependTaskList": _CASES, "nextNode": st.one_of(CODES, st.lists(CODES))}
            )
        }
    ),
    "SUB_PROCESS": st.fixed_dictionaries({"processDefinitionCode": CODES}),
    "DYNAMIC": st.fixed_dictionaries({"processDefinitionCode": CODES, "degreeOfParallelism": NUMBERS}),
    "DATAX": st.fixed_dictionaries({"customConfig": NUMBERS, "json": TEXTS}),
    "FLINK": st.fixed_dictionaries({"programType": st.sampled_from(["JAVA", "SQL"]), "mainArgs": TEXTS}),
    "EMR": st.fixed_dictionaries({"jobFlowDefineJson": TEXTS}),
    "NOBODY_KNOWS": st.fixed_dictionaries({"a": VALUES}),
}


@st.composite
def tasks(draw: st.DrawFn) -> dict[str, Any]:
    """A task of any type, with any of the fields that all have."""
    type_ = draw(st.sampled_from(sorted(PARAMS)))
    params = {**draw(PARAMS[type_]), "localParams": draw(PARAMETERS)}
    fields = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "flag": st.sampled_from(["YES", "NO"]),
                "taskPriority": st.sampled_from(["HIGHEST", "LOW", 3, "?"]),
                "workerGroup": st.sampled_from(["default", "gpu", "a b", ""]),
                "environmentCode": NUMBERS,
                "failRetryTimes": NUMBERS,
                "failRetryInterval": NUMBERS,
                "timeoutFlag": st.sampled_from(["OPEN", "CLOSE"]),
                "timeoutNotifyStrategy": st.sampled_from(["WARN", "FAILED", "", None]),
                "timeout": NUMBERS,
                "delayTime": NUMBERS,
                "taskGroupId": NUMBERS,
                "cpuQuota": NUMBERS,
                "taskExecuteType": st.sampled_from(["BATCH", "STREAM"]),
                "description": NAMES,
            },
        )
    )
    return task(draw(NAMES), type_, params, **fields)


@st.composite
def old_exports(draw: st.DrawFn) -> Any:
    """An export of version 1, its tasks of any type."""
    made = []
    for name in draw(st.lists(st.sampled_from(["a", "b", "c/d", "12", ""]), max_size=3)):
        type_ = draw(st.sampled_from(sorted(PARAMS)))
        params = {**draw(PARAMS[type_]), "localParams": draw(PARAMETERS)}
        beside = {key: params.pop(key) for key in ("dependence", "conditionResult") if key in params}
        fields = draw(
            st.fixed_dictionaries(
                {"preTasks": st.lists(st.sampled_from(["a", "b", "nobody"]), max_size=2)},
                optional={
                    "runFlag": st.sampled_from(["NORMAL", "FORBIDDEN"]),
                    "maxRetryTimes": NUMBERS,
                    "timeout": st.sampled_from(["", {"strategy": "WARN,FAILED", "interval": 5, "enable": True}]),
                    "workerGroupId": NUMBERS,
                    "waitStartTimeout": st.just({"enable": True, "interval": 3, "strategy": "FAILED"}),
                },
            )
        )
        made.append(legacy_task(name, type_, params, **beside, **fields))
    timed = draw(st.sampled_from([{}, {"scheduleCrontab": "0 0 5 * * ? *", "scheduleReleaseState": "ONLINE"}]))
    return legacy(*made, name=draw(NAMES), **timed)


@st.composite
def sdk_files(draw: st.DrawFn) -> str:
    """YAML of the SDK, which JSON is too, with a comment that makes it YAML alone."""
    kinds = st.sampled_from(
        [
            {"task_type": "Shell", "command": "echo $ENV{HOME}"},
            {"task_type": "Python", "definition": "print(1)", "input_params": {"x": "INTEGER(1)"}},
            {"task_type": "Sql", "datasource_name": "db", "sql": "SELECT 1", "sql_type": "0"},
            {"task_type": "Switch", "condition": [{"task": "a", "condition": "${x} > 1"}, {"task": "b"}]},
            {"task_type": "Condition", "success_task": "a", "failed_task": "b", "op": "and", "groups": []},
            {"task_type": "SubWorkflow", "workflow_name": "theirs"},
            {"task_type": "Datax", "datasource_name": "x", "datatarget_name": "y", "sql": "s", "target_table": "t"},
            {"task_type": "Unheard", "of": {"a": [1, {"b": 2}]}},
        ]
    )
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3))
    made = [{"name": name, "deps": draw(st.just([]) | st.just(["a"])), **draw(kinds)} for name in names]
    head = {
        "name": "w",
        **draw(st.sampled_from([{}, {"schedule": "0 0 0 * * ? *", "timezone": "UTC", "param": {"x": 1}}])),
    }
    return "# an SDK's\n" + json.dumps({"workflow": head, "tasks": made})


@st.composite
def exports(draw: st.DrawFn) -> Any:
    """An export of version 2 or 3, or the body of a request."""
    made = draw(st.lists(tasks(), max_size=4))
    count = len(made)
    places = st.integers(0, max(count - 1, 0))
    edges = draw(st.lists(st.tuples(places, places), max_size=4)) if count else []
    head = definition(
        draw(NAMES),
        globalParams=draw(st.one_of(st.just("[]"), PARAMETERS, PARAMETERS.map(json.dumps))),
        executionType=draw(st.sampled_from(["PARALLEL", "SERIAL_WAIT", "SERIAL_?", 1])),
        timeout=draw(NUMBERS),
        tenantCode=draw(st.sampled_from(["default", "etl", "No User"])),
        releaseState=draw(st.sampled_from(["ONLINE", "OFFLINE"])),
    )
    timed = draw(
        st.none()
        | st.builds(
            schedule,
            crontab=st.sampled_from(["0 0 5 * * ? *", "0 0/5 * * * ?", "never"]),
            timezoneId=st.sampled_from(["Asia/Shanghai", "Mars", None]),
            endTime=st.sampled_from(["2124-06-07 00:00:00", "9999-01-01 00:00:00", None, "later"]),
            warningType=st.sampled_from(["NONE", "ALL"]),
            warningGroupId=NUMBERS,
        )
    )
    whole = export(*made, edges=edges, head=head, schedule=timed)
    return draw(st.sampled_from([whole, newer(whole), body(whole), body(whole, as_texts=True)]))
