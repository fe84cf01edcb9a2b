"""Each task type of DolphinScheduler: as what it is written, and what is said of it."""

from __future__ import annotations

from typing import Any

from importers.dolphinscheduler.types.catalog import NEVER
from importers.dolphinscheduler.types.javascript import condition_of
from importers.report import Grade
from tests.every import every
from tests.importers.exports import code_of, export, imported, legacy, legacy_task, lines, only, said, task, the_task

NAMES = {
    "datasources": {"7": "shop"},
    "resources": {"jars/app.jar": "/opt/jars/app.jar", "5": "/opt/load.sh"},
    "alert_groups": {"3": "data"},
    "kubeconfigs": {"east": "/etc/east.yaml"},
    "workflows": {"99": "other/theirs"},
    "tasks": {"1234": "load"},
}
JAR = {"resourceName": "jars/app.jar"}


def made(type_: str, params: dict[str, Any], **fields: Any) -> Any:
    """The task that one of this type becomes."""
    return the_task(imported(export(task("a", type_, params, **fields)), names=NAMES))


def params_of(type_: str, params: dict[str, Any]) -> Any:
    return made(type_, params).params


def test_shell_and_python_keep_their_scripts() -> None:
    assert params_of("SHELL", {"rawScript": "echo 1"}) == {"script": "echo 1"}
    assert params_of("PYTHON", {"rawScript": "print(1)"}) == {"script": "print(1)"}


def test_a_file_of_the_resource_centre_is_copied_into_the_folder_of_a_script() -> None:
    given = export(task("a", params={"rawScript": "bash load.sh", "resourceList": [{"id": 5}]}))
    assert the_task(imported(given, names=NAMES)).params["script"] == 'cp -r -- "/opt/load.sh" .\nbash load.sh'
    assert any("resource 5" in each for each in said(imported(given), Grade.TODO))


@every(
    ("named", "path"),
    [
        ({"resourceName": "file:/dolphinscheduler/etl/resources/sql/load.sh", "id": None}, "sql/load.sh"),
        ({"res": "load.sh"}, "load.sh"),
        ("/jobs/load.sh", "jobs/load.sh"),
    ],
)
def test_a_file_of_the_resource_centre_with_a_name_is_one_of_the_project(named: Any, path: str) -> None:
    given = imported(export(task("a", params={"rawScript": f"bash {path}", "resourceList": [named]})))
    assert the_task(given).files == (path,)
    assert any(f"shoal project file put {path}" in each for each in said(given, Grade.CHANGED))


@every(
    ("params", "wanted"),
    [
        ({"sqlType": "0", "sql": "SELECT 1"}, {"type": "QUERY", "sql": "SELECT 1"}),
        ({"sqlType": 1, "sql": "DELETE FROM t"}, {"type": "NON_QUERY", "sql": "DELETE FROM t"}),
        (
            {"sqlType": "0", "sql": "SELECT 1", "preStatements": ["a", ""], "postStatements": ["b"], "limit": 5},
            {"type": "QUERY", "sql": "SELECT 1", "pre_statements": ["a"], "post_statements": ["b"], "limit": 5},
        ),
        (
            {"sqlType": "1", "sql": "a @ b", "segmentSeparator": "@"},
            {"type": "NON_QUERY", "sql": ["a", "b"]},
        ),
        (
            {"sqlType": "0", "sql": "SELECT 1", "sendEmail": True, "groupId": 3, "title": "T", "displayRows": 20},
            {"type": "QUERY", "sql": "SELECT 1", "alert_group": "data", "title": "T", "display_rows": 20},
        ),
        (
            {"sqlType": "0", "sql": "SELECT '${d}', \"${d}\" FROM ${t} WHERE x = ${d}"},
            {"type": "QUERY", "sql": "SELECT '${d}', \"${d}\" FROM !{t} WHERE x = ${d}"},
        ),
    ],
)
def test_sql_keeps_statements_and_binds_values(params: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert params_of("SQL", {"type": "MYSQL", "datasource": 7, **params}) == {"datasource": "shop", **wanted}


def test_sql_out_lists_are_columns() -> None:
    out = {"prop": "ids", "direct": "OUT", "type": "LIST", "value": ""}
    params = {"type": "MYSQL", "datasource": 7, "sql": "SELECT id AS ids FROM t", "localParams": [out]}
    assert params_of("SQL", params)["as_list"] is True


def test_a_procedure_has_its_arguments_in_their_order() -> None:
    local = [
        {"prop": "day", "direct": "IN", "type": "DATE", "value": "2026-01-31"},
        {"prop": "n", "direct": "OUT", "type": "INTEGER", "value": ""},
    ]
    wanted = {
        "datasource": "shop",
        "name": "p.close",
        "arguments": [{"type": "DATE", "value": "${day}"}, {"direct": "OUT", "name": "n", "type": "INTEGER"}],
    }
    given = {"type": "MYSQL", "datasource": 7, "localParams": local}
    assert params_of("PROCEDURE", {**given, "method": "{call p.close(?, ?)}"}) == wanted
    assert params_of("PROCEDURE", {**given, "method": "call p.close(${day}, ${n})"}) == wanted
    found = imported(export(task("a", "PROCEDURE", {**given, "method": "{? = call f(?)}"})), names=NAMES)
    assert any("no plain call" in each for each in said(found, Grade.TODO))


@every(
    ("params", "wanted"),
    [
        ({}, {"expected_status": [200]}),
        ({"httpMethod": "POST", "httpBody": "{}"}, {"method": "POST", "body": "{}", "expected_status": [200]}),
        ({"httpRequestMethod": "PUT"}, {"method": "PUT", "expected_status": [200]}),
        ({"httpCheckCondition": "STATUS_CODE_CUSTOM", "condition": "404"}, {"expected_status": [404]}),
        (
            {"httpCheckCondition": "BODY_CONTAINS", "condition": "ok"},
            {"expected_status": ["100-599"], "body_contains": "ok"},
        ),
        (
            {"connectTimeout": 5000, "socketTimeout": 60000},
            {"expected_status": [200], "connect_timeout_s": 5, "timeout_s": 60},
        ),
        (
            {
                "httpParams": [
                    {"prop": "q", "httpParametersType": "PARAMETER", "value": "1"},
                    {"prop": "b", "httpParametersType": "BODY", "value": "2"},
                    {"prop": "X-A", "httpParametersType": "HEADERS", "value": "3"},
                ]
            },
            {"query": {"q": "1"}, "body": {"b": "2"}, "headers": {"X-A": "3"}, "expected_status": [200]},
        ),
    ],
)
def test_http_keeps_places_checks_and_times(params: dict[str, Any], wanted: dict[str, Any]) -> None:
    common = {"url": "http://x/", "connect_timeout_s": 60}  # as DolphinScheduler waits where nothing is said
    assert params_of("HTTP", {"url": "http://x/", **params}) == {**common, **wanted}


def test_spark_reads_the_options_in_its_texts() -> None:
    given = {
        "programType": "SCALA",
        "mainClass": "org.Sales",
        "mainJar": JAR,
        "deployMode": "cluster",
        "mainArgs": "--day '${day} x'",
        "others": "--conf spark.a=1 --files a.txt,b.txt --queue q --packages g:a:1",
        "driverMemory": "512M",
        "driverCores": 1,
        "executorMemory": "2G",
        "executorCores": 2,
        "numExecutors": 3,
        "appName": "sales",
        "yarnQueue": "",
    }
    assert params_of("SPARK", given) == {
        "application": "/opt/jars/app.jar",
        "main_class": "org.Sales",
        "args": ["--day", "${day} x"],
        "master": "yarn",
        "deploy_mode": "cluster",
        "driver_memory": "512M",
        "driver_cores": 1,
        "executor_memory": "2G",
        "executor_cores": 2,
        "num_executors": 3,
        "name": "sales",
        "files": ["a.txt", "b.txt"],
        "conf": {"spark.a": "1", "spark.yarn.queue": "q", "spark.jars.packages": "g:a:1"},
    }


def test_spark_s_sql_becomes_a_script_that_calls_spark_sql() -> None:
    given = {"programType": "SQL", "rawScript": "SELECT 1;", "deployMode": "local", "driverCores": 1, "mainClass": ""}
    assert params_of("SPARK", given) == {
        "script": "cat > query.sql <<'END'\nSELECT 1;\nEND\nspark-sql --master local --driver-cores 1 -f query.sql\n"
    }


def test_mr_reads_settings_of_its_options() -> None:
    given = {"mainJar": JAR, "mainClass": "W", "mainArgs": "in out", "others": "-D a=1 -Db=2", "yarnQueue": "q"}
    assert params_of("MR", given) == {
        "jar": "/opt/jars/app.jar",
        "main_class": "W",
        "args": ["in", "out"],
        "conf": {"mapreduce.job.queuename": "q", "a": "1", "b": "2"},
    }


def test_k8s_has_its_cluster_by_kubeconfig() -> None:
    given = {
        "image": "busybox",
        "command": '["sh", "-c"]',
        "args": '["echo 1"]',
        "imagePullPolicy": "Always",
        "namespace": '{"name":"jobs","cluster":"east"}',
        "minCpuCores": 2,
        "minMemorySpace": 10,
        "customizedLabels": [{"label": "app", "value": "x"}],
        "nodeSelectors": [{"key": "disk", "operator": "In", "values": "ssd"}],
    }
    assert params_of("K8S", given) == {
        "image": "busybox",
        "command": ["sh", "-c"],
        "args": ["echo 1"],
        "namespace": "jobs",
        "kubeconfig": "/etc/east.yaml",
        "image_pull_policy": "Always",
        "requests": {"cpu": "2", "memory": "10Mi"},
        "limits": {"cpu": "4", "memory": "20Mi"},
        "labels": {"app": "x"},
        "node_selector": {"disk": "ssd"},
    }


def dependence(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "dependence": {
            "relation": "OR",
            "checkInterval": 10,
            "failurePolicy": "DEPENDENT_FAILURE_FAILURE",
            "dependTaskList": [{"relation": "AND", "dependItemList": list(items)}],
            **more,
        }
    }


def test_dependent_waits_for_workflows_tasks_and_all_tasks() -> None:
    items = [
        {"projectCode": 1, "definitionCode": 99, "depTaskCode": task_code, "cycle": "day", "dateValue": "last2Days"}
        for task_code in (0, -1, 1234)
    ]
    items[2] |= {"parameterPassing": True, "dateValue": "lastMonday"}
    waits = {"failurePolicy": "DEPENDENT_FAILURE_WAITING", "failureWaitingTime": 30}
    there = {"workflow": "theirs", "project": "other"}
    assert params_of("DEPENDENT", dependence(*items, **waits)) == {
        "groups": [
            {
                "items": [
                    {**there, "cycle": "last2Days"},
                    {**there, "task": "*", "cycle": "last2Days"},
                    {**there, "task": "load", "cycle": "lastMonday", "pass_outputs": True},
                ]
            }
        ],
        "relation": "OR",
        "on_failure": "WAIT",
        "wait_minutes": 30,
    }


def test_dependent_on_an_unknown_workflow_is_a_todo() -> None:
    item = {"definitionCode": 4711, "depTaskCode": 0, "dateValue": "today"}
    found = imported(export(task("a", "DEPENDENT", dependence(item))))
    assert said(found, Grade.TODO) == ["name the workflow 4711 in catalog.yaml, and import again with --names"]
    assert '"4711": ""' in found.files["catalog.yaml"]


def test_conditions_get_the_arrow_that_dolphinscheduler_does_not_need() -> None:
    item = {"depTaskCode": code_of(0), "status": "FAILURE"}
    params = {
        **dependence(item),
        "conditionResult": {"successNode": [code_of(2)], "failedNode": [code_of(3)]},
    }
    given = export(task("first"), task("cond", "CONDITIONS", params), task("good"), task("bad"), edges=[(1, 2), (1, 3)])
    found = imported(given)
    cond = the_task(found, "cond")
    assert cond.params == {
        "when": [{"items": [{"task": "first", "status": "FAILURE"}]}],
        "relation": "OR",
        "on_success": ["good"],
        "on_failure": ["bad"],
    }
    assert cond.after == ("first",)
    assert any("comes directly after" in each for each in said(found, Grade.CHANGED, "cond"))


def test_version_1_has_conditions_beside_the_parameters_and_by_name() -> None:
    wanted = {"relation": "AND", "dependItemList": [{"depTasks": "first", "status": "SUCCESS"}]}
    found = imported(
        legacy(
            legacy_task("first"),
            legacy_task(
                "cond",
                "CONDITIONS",
                {},
                preTasks=["first"],
                dependence={"relation": "AND", "dependTaskList": [wanted]},
                conditionResult={"successNode": ["good"], "failedNode": ["bad"]},
            ),
            legacy_task("good", preTasks=["cond"]),
            legacy_task("bad", preTasks=["cond"]),
        )
    )
    assert the_task(found, "cond").params["on_failure"] == ["bad"]
    assert not found.report.has_todo


def test_switch_chooses_by_name() -> None:
    result = {
        "dependTaskList": [{"condition": "${a} === 'x'", "nextNode": code_of(1)}],
        "nextNode": [code_of(2)],
    }
    given = export(task("sw", "SWITCH", {"switchResult": result}), task("b"), task("c"), edges=[(0, 1), (0, 2)])
    assert the_task(imported(given), "sw").params == {
        "cases": [{"when": "${a} == 'x'", "then": ["b"]}],
        "default": ["c"],
    }


@every(
    ("written", "meant"),
    [
        ("${a} > 5", "${a} > 5"),
        ("${a} === 5 and ${b} !== 6", "${a} == 5 && ${b} != 6"),
        ("(${a} > 1) or not (${b} > 2)", "(${a} > 1) || !(${b} > 2)"),
        ("'${a}'.equals('x and y')", "'${a}' == 'x and y'"),
        ("'${a}'.indexOf('x') >= 0", "'${a}'.contains('x')"),
        ("${a}.includes('x')", "${a}.contains('x')"),
        ("'${a}'.length > 3;", "size('${a}') > 3"),
    ],
)
def test_a_condition_in_javascript_is_one_in_cel(written: str, meant: str) -> None:
    assert condition_of(written) == (meant, "")


def test_a_condition_that_cannot_be_read_is_a_todo() -> None:
    result = {"dependTaskList": [{"condition": "new Date() > 5", "nextNode": code_of(1)}]}
    found = imported(export(task("sw", "SWITCH", {"switchResult": result}), task("b"), edges=[(0, 1)]))
    assert any(each.startswith("new Date() > 5: ") for each in said(found, Grade.TODO))


def test_dynamic_runs_a_workflow_for_each_tuple() -> None:
    given = {
        "processDefinitionCode": 99,
        "maxNumOfSubWorkflowInstances": 100,
        "degreeOfParallelism": 3,
        "filterCondition": "a, b",
        "listParameters": [{"name": "x", "value": "a;c", "separator": ";"}],
    }
    assert params_of("DYNAMIC", given) == {
        "workflow": "theirs",
        "project": "other",
        "lists": [{"name": "x", "value": "a;c", "separator": ";"}],
        "filter": ["a", "b"],
        "parallelism": 3,
        "max_instances": 100,
    }


@every(
    ("type_", "params", "calls"),
    [
        ("DATAX", {"customConfig": 1, "json": '{"job": {}}', "xms": 1, "xmx": 2}, "datax.py"),
        (
            "SEATUNNEL",
            {"startupScript": "seatunnel.sh", "rawScript": "env {}", "deployMode": "cluster"},
            "seatunnel.sh",
        ),
        ("SQOOP", {"jobType": "CUSTOM", "customShell": "sqoop import --table t"}, "sqoop import --table t"),
        ("HIVECLI", {"hiveSqlScript": "SELECT 1", "hiveCliOptions": "-v"}, "hive -f query.sql -v"),
        ("FLINK", {"programType": "JAVA", "mainJar": JAR, "mainClass": "M", "parallelism": 2}, "/opt/jars/app.jar"),
        ("FLINK", {"programType": "SQL", "rawScript": "SELECT 1", "initScript": "SET a"}, "sql-client.sh"),
        ("JAVA", {"runType": "JAR", "mainJar": JAR, "mainArgs": "x", "jvmArgs": "-Xmx1G"}, "java -Xmx1G -jar"),
    ],
)
def test_types_that_are_a_command_line_become_scripts(type_: str, params: dict[str, Any], calls: str) -> None:
    found = imported(export(task("a", type_, params)), names=NAMES)
    made_ = the_task(found)
    assert made_.type == "SHELL"
    assert calls in made_.params["script"]
    assert any("SHELL task" in each for each in said(found, Grade.CHANGED, "a"))
    assert not said(found, Grade.TODO)


@every("type_", [*NEVER, "OF_TOMORROW", "REMOTESHELL"])
def test_a_type_without_a_counterpart_is_a_todo_that_keeps_its_parameters(type_: str) -> None:
    found = imported(export(task("a", type_, {"jobFlow": "x" * 10, "apiKey": "abcdef123"})))
    text = found.files["workflows/daily.yaml"]
    assert text.startswith("todo:\n")
    assert said(found, Grade.TODO, "a")
    if type_ != "REMOTESHELL":
        assert '"jobFlow": "xxxxxxxxxx"' in text
    assert "abcdef123" not in "".join(found.files.values())


def test_what_tasks_have_in_common_is_kept() -> None:
    names = {**NAMES, "task_groups": {"4": "proxies"}, "task_group_sizes": {"4": "3"}, "environments": {"88": "spark"}}
    given = task(
        "a",
        description="about it",
        flag="NO",
        taskPriority="HIGHEST",
        workerGroup="gpu",
        environmentCode=88,
        failRetryTimes=3,
        failRetryInterval=2,
        timeoutFlag="OPEN",
        timeoutNotifyStrategy="WARNFAILED",
        timeout=7,
        delayTime=4,
        isCache="YES",
        taskGroupId=4,
    )
    found = imported(export(given), names=names)
    made_ = the_task(found)
    assert made_.model_dump(mode="json", exclude_defaults=True) == {
        "name": "a",
        "description": "about it",
        "type": "SHELL",
        "params": {"script": "echo a"},
        "flag": "NO",
        "priority": "HIGHEST",
        "worker_group": "gpu",
        "environment": "spark",
        "retry_times": 3,
        "retry_interval": 2.0,
        "timeout": 7.0,
        "timeout_strategy": "WARNFAILED",
        "delay_time": 4.0,
        "cache": True,
        "resources": {"proxies": 1},
    }
    assert found.files["workflows/pools.yaml"] == "kind: pool\nname: proxies\ncount: 3\n"


def test_an_open_timeout_without_a_strategy_only_warns() -> None:
    assert made("SHELL", {"rawScript": "x"}, timeoutFlag="OPEN", timeout=7).timeout_strategy == "WARN"


def test_a_stream_stays_one_and_limits_are_lost_aloud() -> None:
    found = imported(export(task("a", taskExecuteType="STREAM", cpuQuota=50, memoryMax=100, taskGroupPriority=2)))
    assert the_task(found).stream
    assert [line.field for line in lines(found, Grade.LOST)] == ["taskGroupPriority", "cpuQuota", "memoryMax"]


def test_a_logic_task_loses_what_the_master_does_not_do() -> None:
    result = {"dependTaskList": [{"condition": "${a} > 1", "nextNode": code_of(1)}]}
    given = export(task("sw", "SWITCH", {"switchResult": result}, failRetryTimes=2), task("b"), edges=[(0, 1)])
    found = imported(given)
    assert only(found).spec.tasks[0].retry_times == 0
    assert [line.field for line in lines(found, Grade.LOST)] == ["retry_times"]
