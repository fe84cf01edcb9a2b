"""DAGs as Airflow stores them, with and without the file that made them."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from importers.airflow.convert import import_dags
from importers.imported import Imported
from importers.report import Grade
from tests.every import every
from tests.importers.exports import TYPES, documents, said

CRON = {
    "__type": "airflow.timetables.interval.CronDataIntervalTimetable",
    "__var": {"expression": "0 5 * * *", "timezone": "Europe/Berlin"},
}
BASH = {
    "task_id": "load", "_task_type": "BashOperator", "_task_module": "airflow.operators.bash", "_is_empty": False,
    "template_fields": ["bash_command", "env"], "template_ext": [".sh", ".bash"], "ui_color": "#f0ede4",
    "template_fields_renderers": {"bash_command": "bash", "env": "json"}, "ui_fgcolor": "#000", "pool": "default_pool",
    "downstream_task_ids": ["show"], "bash_command": "echo {{ ds }}", "owner": "ann", "retries": 2,
    "retry_delay": 300.0, "execution_timeout": 1800.0, "_is_setup": False, "_is_teardown": False,
    "_on_failure_fail_dagrun": False, "start_date": 1735689600.0, "email_on_failure": False,
}  # fmt: skip
SHOW = {
    "task_id": "show", "_task_type": "_PythonDecoratedOperator", "_task_module": "airflow.decorators.python",
    "_operator_name": "@task", "template_fields": ["templates_dict", "op_args", "op_kwargs"], "op_kwargs": {},
    "op_args": "(XComArg(<Task(BashOperator): load>), {'deep': [1, 'x']})", "downstream_task_ids": [],
}  # fmt: skip
"""As Airflow writes it: arguments that have a result in them are what Python prints of them."""


def second(*written: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A DAG of Airflow 2, version 1 of the form."""
    group: dict[str, Any] = {"_group_id": None, "prefix_group_id": True, "children": {}, "tooltip": ""}
    head = {
        "_dag_id": "sales", "fileloc": "/opt/airflow/dags/sales.py", "timezone": "Europe/Berlin", "timetable": CRON,
        "start_date": 1735689600.0, "catchup": False, "edge_info": {}, "dataset_triggers": [], "_task_group": group,
        "default_args": {"__type": "dict", "__var": {"retries": 2, "email": ["a@example.com"]}}, "dag_dependencies": [],
        "_processor_dags_folder": "/opt/airflow/dags", "params": {},
    }  # fmt: skip
    return {"__version": 1, "dag": {**head, "tasks": list(written), **fields}}


def third(*written: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A DAG of Airflow 3, version 3 of the form."""
    head = {
        "dag_id": "sales", "fileloc": "/dags/sales.py", "relative_fileloc": "sales.py", "timezone": "UTC",
        "timetable": {"__type": "airflow.timetables.simple.NullTimetable", "__var": {}}, "start_date": 1564617600.0,
        "edge_info": {}, "params": [], "deadline": None, "allowed_run_types": None, "catchup": False,
        "disable_bundle_versioning": False, "max_active_runs": 16, "max_active_tasks": 16, "dag_dependencies": [],
        "max_consecutive_failed_dag_runs": 0, "task_group": {"_group_id": None, "children": {}},
    }  # fmt: skip
    inner = [{"__type": "operator", "__var": each} for each in written]
    return {"__version": 3, "dag": {**head, "tasks": inner, **fields}, "client_defaults": {"tasks": {"retries": 1}}}


def task(id_: str, kind: str, **fields: Any) -> dict[str, Any]:
    """A task of the third form."""
    return {
        "task_id": id_,
        "task_type": kind,
        "_task_module": "airflow.providers",
        "template_fields": [*fields],
        **fields,
    }


def imported(*stored: Any, code: str | None = None) -> Imported:
    files = [("dags/sales.py", code.encode())] if code is not None else []
    return import_dags(files, TYPES, stored=[("dags.json", "\n".join(map(json.dumps, stored)).encode())])


def sales(found: Imported) -> Any:
    assert not found.report.has_todo, said(found, Grade.TODO)
    return documents(found)["sales"]


def tasks(found: Imported) -> dict[str, Any]:
    return {each.name: each for each in sales(found).spec.tasks}


def test_a_dag_of_airflow_2_keeps_its_order_values_and_schedule() -> None:
    found = imported(second(BASH, {**BASH, "task_id": "show", "downstream_task_ids": []}))
    document = sales(found)
    (schedule,) = document.schedules
    assert (schedule.cron, document.spec.time_zone) == ("0 5 * * *", "Europe/Berlin")
    load, show = document.spec.tasks
    assert load.params == {"script": "echo $[interval_start(yyyy-MM-dd)]\n"}
    assert (load.retry_times, load.retry_interval, load.timeout) == (2, 5, 30)
    assert (load.after, show.after) == ((), ("load",))
    assert found.report.forms == {"dags.json": "serialized DAG of Airflow 2"}
    assert any("email of all its tasks" in each for each in said(found, Grade.CHANGED))


def test_a_function_whose_file_is_not_given_is_left_to_do() -> None:
    found = imported(second(BASH, SHOW))
    assert said(found, Grade.TODO) == [
        "@task: its function show (give sales.py, too) is not in this file; write the script"
    ]
    assert not any("line 0" in text for text in found.files.values())


CODE = """
from airflow import DAG
from airflow.decorators import task
from airflow.operators.bash import BashOperator

def names():
    return loaded_elsewhere()

with DAG("sales"):
    load = BashOperator(task_id="load", bash_command=names(), skip_on_exit_code=7)

    @task
    def show(text, more):
        print(text, more["deep"])

    show(load.output, {})
"""


def test_its_file_has_the_functions_and_the_arguments_that_are_no_templates() -> None:
    found = imported(second(BASH, SHOW), code=CODE)
    assert said(found, Grade.TODO) == []
    assert [name for name in found.files if name.startswith("workflows/")] == ["workflows/sales.yaml"]
    assert list(tasks(found)["load"].skip_exit_codes) == [7]
    script = tasks(found)["show"].params["script"]
    assert "${load.return_value}" in script and "{'deep': [1, 'x']}" in script


def test_results_of_functions_keep_their_paths() -> None:
    given = task("give", "_PythonDecoratedOperator", _operator_name="@task", op_kwargs={}, downstream_task_ids=["use"])
    use = task(
        "use",
        "BashOperator",
        bash_command="echo {{ task_instance.xcom_pull(task_ids='give', dag_id='sales', key='return_value')['a'] }}",
    )
    code = 'from airflow.sdk import DAG, task\nwith DAG("sales"):\n @task\n def give():\n  return {"a": 1}\n give()\n'
    found = imported(third(given, use), code=code)
    assert said(found, Grade.TODO) == []
    assert tasks(found)["use"].params["script"] == "echo ${give.return_value.a}\n"


def test_a_mapped_task_runs_once_for_each_element() -> None:
    arguments = {
        "__type": "dict",
        "__var": {"n": {"__type": "xcomref", "__var": {"task_id": "give", "key": "return_value"}}},
    }
    mapped = {
        "task_id": "one", "task_type": "_PythonDecoratedOperator", "_operator_name": "@task", "_is_mapped": True,
        "_expand_input_attr": "op_kwargs_expand_input", "template_fields": ["op_args", "op_kwargs"],
        "op_kwargs_expand_input": {"type": "dict-of-lists", "value": arguments}, "_disallow_kwargs_override": False,
        "partial_kwargs": {"op_args": [], "op_kwargs": {"__type": "dict", "__var": {"by": 2}}, "retries": 4,
                           "retry_delay": {"__type": "timedelta", "__var": 60.0}},
    }  # fmt: skip
    given = task("give", "_PythonDecoratedOperator", _operator_name="@task", op_kwargs={}, downstream_task_ids=["one"])
    code = """
from airflow.sdk import dag, task
@dag
def sales():
    @task
    def give():
        return [1, 2]
    @task
    def one(n, by):
        print(n * by)
    one.partial(by=2).expand(n=give())
sales()
"""
    found = imported(third(given, mapped), code=code)
    assert said(found, Grade.TODO) == []
    one = tasks(found)["one"]
    assert (one.each.over, one.retry_times, one.retry_interval) == ("${give.return_value_each}", 4, 1)
    assert "by=2" in one.params["script"]


@every(
    ("kind", "var", "expected"),
    [
        ("simple.OnceTimetable", {}, "it ran once; start it by hand"),
        ("simple.ContinuousTimetable", {}, "write it as a stream"),
        (
            "events.EventsTimetable",
            {"event_dates": []},
            "its schedule EventsTimetable {'event_dates': []} is not known",
        ),
        ("trigger.MultipleCronTriggerTimetable", {"expressions": ["@daily"]}, "MultipleCronTriggerTimetable"),
        ("trigger.CronTriggerTimetable", {"expression": "@daily", "timezone": "UTC", "interval": 60.0}, "is not known"),
        ("my.Own", {"x": 1}, "its schedule Own {'x': 1} is not known; write schedules"),
    ],
)
def test_a_timetable_without_a_counterpart_is_said(kind: str, var: dict[str, Any], expected: str) -> None:
    found = imported(
        third(task("a", "EmptyOperator"), timetable={"__type": f"airflow.timetables.{kind}", "__var": var})
    )
    assert any(expected in each for each in (*said(found, Grade.TODO), *said(found, Grade.CHANGED)))


def test_days_follow_the_timetable_and_not_the_version() -> None:
    scripts = []
    for kind in ("trigger.DeltaTriggerTimetable", "interval.DeltaDataIntervalTimetable"):
        timetable = {"__type": f"airflow.timetables.{kind}", "__var": {"delta": 86400.0, "interval": 0.0}}
        found = imported(third(task("a", "BashOperator", bash_command="echo {{ ds }}"), timetable=timetable))
        assert [each.cron for each in sales(found).schedules] == ["0 0 * * *"]
        scripts.append(tasks(found)["a"].params["script"])
    assert scripts == ["echo $[yyyy-MM-dd]\n", "echo $[interval_start(yyyy-MM-dd)]\n"]


def test_assets_start_a_dag_and_are_updated_by_tasks() -> None:
    asset = {"name": "raw", "uri": "s3://b/raw", "group": "asset", "extra": {}}
    condition = {"__type": "asset_any", "objects": [{"__type": "asset", **asset}]}
    timetable = {"__type": "airflow.timetables.simple.AssetTriggeredTimetable", "__var": {"asset_condition": condition}}
    alias = {"__type": "asset_alias", "__var": {"name": "any", "group": "asset"}}
    outlets = [{"__type": "asset", "__var": {**asset, "name": "clean"}}, alias]
    found = imported(third(task("a", "EmptyOperator", outlets=outlets), timetable=timetable))
    assert "- dataset: raw\n" in found.files["workflows/sales.yaml"]
    assert list(tasks(found)["a"].updates) == ["clean"]
    assert any("not all of what it updates is known" in each for each in said(found, Grade.LOST))


def test_what_only_its_file_says_of_an_operator_is_left_to_do() -> None:
    found = imported(third(task("ask", "HttpOperator", endpoint="x", data={"q": "{{ ds }}"}, headers={})))
    assert said(found, Grade.TODO) == [
        'the task "ask" is a HttpOperator: a serialized DAG has only those of its arguments that are templates; import '
        "sales.py, too"
    ]


def test_a_field_that_nobody_knows_is_lost_aloud() -> None:
    for whole in (second(BASH), third(task("a", "EmptyOperator"))):
        changed = deepcopy(whole)
        changed["dag"]["colour"] = "red"
        first = changed["dag"]["tasks"][0]
        first.get("__var", first)["shape"] = "round"
        lost = said(imported(changed), Grade.LOST)
        assert any("colour = red has no counterpart" in each for each in lost), lost
        assert any("shape = round has no counterpart" in each for each in lost), lost


@every(
    ("content", "reason"),
    [
        ('{"dags": [], "total_entries": 0}', "it is an answer of Airflow's API"),
        ('{"dag_id": "a", "fileloc": "x.py", "is_paused": true}', "it is an answer of Airflow's API"),
        (
            '{"__classname__": "builtins.set", "__version__": 1, "__data__": []}',
            "it is a value that a task gave (XCom)",
        ),
        ('{"processDefinition": {}, "taskDefinitionList": []}', "say `import dolphinscheduler`"),
        ('{"sales": {"tasks": {"a": {"operator": "x"}}}}', "it is written for dag-factory"),
        ('{"__version": 4, "dag": {"tasks": []}}', "its __version is 4, and those from 1 to 3 are known"),
        ('{"dag_id": "a", "data": null, "data_compressed": "eJw="}', "its DAGs are compressed"),
        ("from airflow import DAG", "a DAG file is given without --serialized"),
        ("[1]", "it has no `__version` beside a `dag` with `tasks`"),
        ("", "it is empty"),
        (
            '{"__version": 1, "dag": {"dag_id": "a", "tasks": [{"task_id": "t", "partial_kwargs": 5}]}}',
            "is not what it is",
        ),
    ],
)
def test_what_only_looks_like_one_is_refused_by_its_name(content: str, reason: str) -> None:
    found = import_dags([], TYPES, stored=[("x.json", content.encode())])
    assert any(reason in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)
    assert found.report.forms == {"x.json": "none"}


def test_rows_of_the_table_and_several_dags_in_one_file_are_read() -> None:
    rows = [{"dag_id": "sales", "data": second(BASH)}, {"dag_id": "b", "data": json.dumps(third(BASH, dag_id="b"))}]
    assert set(documents(imported(rows, second(BASH, _dag_id="c")))) == {"sales", "b", "c"}


def test_a_group_that_runs_for_each_element_is_left_to_do() -> None:
    inner = {"_group_id": "g", "is_mapped": True, "children": {"g.a": ["operator", "g.a"]}}
    group = {"_group_id": None, "children": {"g": ["taskgroup", {"__type": "taskgroup", "__var": inner}]}}
    found = imported(third(task("g.a", "EmptyOperator"), task_group=group))
    assert any("the group g runs once for each element of a list" in each for each in said(found, Grade.TODO))
    assert "name: g_a\n" in found.files["workflows/sales.yaml"]
