"""Each form of export gives the same workflow; what only looks like one is said to be none."""

from __future__ import annotations

import json
from typing import Any

from importers.report import Grade
from tests.every import every
from tests.importers.exports import (
    body,
    code_of,
    definition,
    documents,
    export,
    imported,
    legacy,
    legacy_task,
    newer,
    only,
    said,
    schedule,
    task,
    the_task,
)

LOCATIONS = json.dumps([{"taskCode": code_of(place), "x": 100 * place, "y": 40} for place in range(2)])
TWO = export(
    task("a", failRetryTimes=2, timeoutFlag="OPEN", timeout=5, delayTime=3),
    task("b"),
    edges=[(0, 1)],
    head=definition(locations=LOCATIONS, timeout=30),
)
SDK = """
workflow:
  name: daily
  timeout: 30
  release_state: offline
  tenant: airflow
tasks:
  - {name: a, task_type: Shell, command: echo a, fail_retry_times: 2, fail_retry_interval: 1, timeout: 5, delay_time: 3}
  - {name: b, task_type: Shell, command: echo b, deps: [a]}
"""
OLD = legacy(
    legacy_task("a", maxRetryTimes="2", timeout={"strategy": "WARN", "interval": 5, "enable": True}, delayTime=3),
    legacy_task("b", preTasks=["a"]),
)


@every(
    ("given", "form"),
    [
        (TWO, "export of 2.0 to 3.2"),
        (newer(TWO), "export of 3.3"),
        (body(TWO), "body of a request"),
        (body(TWO, as_texts=True), "body of a request"),
        ({"code": 0, "msg": "success", "data": TWO[0], "failed": False, "success": True}, "export of 2.0 to 3.2"),
        (TWO[0], "export of 2.0 to 3.2"),
        (OLD, "export of 1.2 and 1.3"),
        (OLD[0], "export of 1.2 and 1.3"),
        (SDK, "YAML of the Python SDK"),
    ],
)
def test_each_form_gives_the_same_tasks(given: Any, form: str) -> None:
    found = imported(given)
    assert found.report.forms["in0.json"].startswith(form)
    assert not found.report.has_todo, said(found, Grade.TODO)
    assert not said(found, Grade.LOST)
    a, b = only(found).spec.tasks
    assert (a.name, a.type, a.params, a.retry_times, a.retry_interval) == ("a", "SHELL", {"script": "echo a"}, 2, 1)
    assert (a.timeout, a.timeout_strategy, a.delay_time) == (5, "WARN", 3)
    assert (b.name, b.after, b.params) == ("b", ("a",), {"script": "echo b"})


def test_places_on_the_canvas_survive_in_old_and_new_forms() -> None:
    layout = only(imported(TWO)).layout
    assert layout is not None
    assert {name: (place.x, place.y) for name, place in layout.tasks.items()} == {"a": (0, 40), "b": (100, 40)}
    layout = only(imported(OLD)).layout
    assert layout is not None
    assert {name: (place.x, place.y) for name, place in layout.tasks.items()} == {"a": (10, 20), "b": (10, 20)}


def test_several_files_are_one_import_and_refer_to_each_other() -> None:
    child = export(task("x"), head=definition("child", code=77))
    parent = export(task("a", "SUB_PROCESS", {"processDefinitionCode": 77}))
    found = imported(parent, child)
    assert set(documents(found)) == {"daily", "child"}
    sub = documents(found)["daily"].spec.tasks[0]
    assert (sub.type, sub.params) == ("SUB_PROCESS", {"workflow": "child"})


def test_a_look_alike_is_named_as_such_and_read_only_leniently() -> None:
    written = {
        "processDefinition": {"name": "by hand", "globalParams": [{"prop": "x", "value": "1"}]},
        "tasks": [
            {"id": "t1", "name": "first", "type": "SHELL", "params": {"rawScript": "echo ${x}"}, "preTasks": []},
            {"id": "t2", "name": "second", "type": "SHELL", "params": {"rawScript": "true"}, "preTasks": ["t1"]},
        ],
    }
    strict = imported(written)
    assert not documents(strict)
    (sentence,) = said(strict, Grade.TODO)
    assert sentence.startswith("it is no export of DolphinScheduler")
    assert "--lenient" in sentence
    assert not said(strict, Grade.LOST), "one sentence for the whole file"
    lenient = imported(written, lenient=True)
    assert [(each.name, each.after) for each in only(lenient).spec.tasks] == [("first", ()), ("second", ("first",))]
    assert any("no export" in each for each in said(lenient, Grade.CHANGED))


def test_a_task_alone_is_named_as_such() -> None:
    (sentence,) = said(imported([task("a")]), Grade.TODO)
    assert "its entry 0 is no export of DolphinScheduler: it is a task alone" in sentence


@every("given", ["{", "[1", '{"a": 1}', "[]", "name: x\ntasks: []\n", "\x00", "[[[", '["a"]', "a: [b"])
def test_what_is_no_export_is_said_and_stops_nothing(given: str) -> None:
    found = imported(given, TWO)
    assert set(documents(found)) == {"daily"}
    assert found.report.has_todo
    assert [line.file for line in found.report.lines() if line.grade is Grade.TODO] == ["in0.json"]


def test_a_template_is_read_with_its_gaps() -> None:
    text = json.dumps(TWO).replace(f'"projectCode": {definition()["projectCode"]}', '"projectCode": ${projectCode}')
    found = imported(text)
    assert [each.name for each in only(found).spec.tasks] == ["a", "b"]
    assert any("gaps" in each for each in said(found, Grade.CHANGED))


def test_a_field_that_stands_twice_is_said() -> None:
    found = imported(json.dumps(TWO).replace('"flag": "YES"', '"flag": "NO", "flag": "YES"', 1))
    assert any("twice" in each for each in said(found, Grade.CHANGED))


def test_the_same_input_gives_the_same_bytes() -> None:
    assert imported(TWO, SDK).files == imported(TWO, SDK).files


def test_a_schedule_keeps_cron_zone_and_window_and_fires_what_was_missed() -> None:
    given = schedule(
        releaseState="ONLINE",
        failureStrategy="END",
        processInstancePriority="HIGH",
        warningType="ALL",
        warningGroupId=3,
    )
    names = {"alert_groups": {"3": "data"}}
    document = only(imported(export(task("a"), schedule=given), names=names, online=True))
    (entry,) = document.schedules
    assert (document.spec.time_zone, entry.cron, entry.state, entry.misfire) == (
        "Asia/Shanghai", "0 0 2 * * ? *", "ONLINE", "FIRE_ALL",
    )  # fmt: skip
    assert (entry.start_time, entry.end_time) == ("2024-06-07T00:00:00+08:00", "2124-06-07T00:00:00+08:00")
    assert (entry.failure_strategy, entry.priority, entry.warning_type, entry.alert_group) == (
        "END", "HIGH", "ALL", "data",
    )  # fmt: skip
    assert only(imported(export(task("a"), schedule=given), names=names)).schedules[0].state == "OFFLINE"


def test_a_schedule_of_version_1_has_no_zone_and_says_so() -> None:
    found = imported(
        legacy(
            legacy_task("a"),
            scheduleCrontab="0 0 5 * * ? *",
            scheduleStartTime="2019-06-07 00:00:00",
            scheduleEndTime="2119-06-07 00:00:00",
            scheduleReleaseState="OFFLINE",
            scheduleFailureStrategy="CONTINUE",
            scheduleWarningType="NONE",
            scheduleWarningGroupId=0,
            scheduleProcessInstancePriority="LOW",
            scheduleWorkerGroupName="gpu",
        )
    )
    (entry,) = only(found).schedules
    assert (entry.cron, entry.priority, entry.worker_group) == ("0 0 5 * * ? *", "LOW", "gpu")
    assert any("no time zone" in each for each in said(found, Grade.CHANGED))


def test_a_task_without_a_relation_never_runs_here_either() -> None:
    given = export(task("a"), task("b"))
    given[0]["processTaskRelationList"].pop()
    assert the_task(imported(given), "b").flag == "NO"


def test_the_sdk_s_conditions_switches_and_waits_are_read_by_name() -> None:
    found = imported(
        """
workflow: {name: logic, param: {var: 1}, schedule: "0 0 0 * * ? *", start_time: "2021-01-01", timezone: UTC}
tasks:
  - {name: one, task_type: Shell, command: "true"}
  - {name: good, task_type: Shell, command: "true"}
  - {name: bad, task_type: Shell, command: "true"}
  - {name: cond, task_type: Condition, success_task: good, failed_task: bad, op: AND,
     groups: [{op: AND, groups: [{task: one, flag: true}]}]}
  - {name: x, task_type: Shell, command: "true"}
  - {name: y, task_type: Shell, command: "true"}
  - {name: sw, task_type: Switch, condition: [{task: x, condition: "${var} > 1"}, {task: y}]}
  - {name: dep, task_type: Dependent, op: or, groups: [{op: and, groups: [
     {project_name: other, workflow_name: there, dependent_task_name: t, dependent_date: LAST_TWO_DAYS}]}]}
"""
    )
    assert not said(found, Grade.LOST)
    tasks = {each.name: each for each in only(found).spec.tasks}
    assert tasks["cond"].after == ("one",)
    assert tasks["cond"].params["on_success"] == ["good"]
    assert tasks["bad"].after == ("cond",)
    assert tasks["sw"].params == {"cases": [{"when": "${var} > 1", "then": ["x"]}], "default": ["y"]}
    item = {"workflow": "there", "project": "other", "task": "t", "cycle": "last2Days"}
    assert tasks["dep"].params == {"groups": [{"items": [item]}], "relation": "OR"}
    assert only(found).schedules[0].cron == "0 0 0 * * ? *"


def test_a_schedule_of_the_sdk_has_the_zone_that_the_sdk_takes() -> None:
    found = imported(
        "workflow: {name: w, schedule: '0 0 1 * * ? *'}\ntasks: [{name: a, task_type: Shell, command: 'true'}]\n"
    )
    assert only(found).spec.time_zone == "Asia/Shanghai"
    assert any("the SDK takes Asia/Shanghai" in each for each in said(found, Grade.CHANGED))


def test_what_the_sdk_takes_from_its_machine_is_a_todo() -> None:
    found = imported(
        "workflow: {name: w}\n"
        "tasks: [{name: a, task_type: Sql, datasource_name: db, sql: '$FILE{\"x.sql\"}'},"
        " {name: b, task_type: Shell, command: 'echo $ENV{HOME}'}]\n"
    )
    assert [each.split(" ")[0] for each in said(found, Grade.TODO)] == ['$FILE{"x.sql"}', "$ENV{HOME}"]


def test_types_of_the_sdk_that_are_one_there_are_one_here() -> None:
    text = (
        "uri: &uri http://127.0.0.1:5000\nworkflow: {name: w}\ntasks:\n"
        "  - {name: a, task_type: MLflowModels, mlflow_tracking_uri: *uri, port: 7001}\n"
        "  - {name: b, task_type: DVCInit, store_url: ~/data}\n"
    )
    found = imported(text)
    assert said(found, Grade.TODO) == ["call mlflow by a SHELL task", "call dvc by a SHELL task"]
    assert said(found, Grade.LOST) == [], "what an anchor stands for is where its aliases are"
