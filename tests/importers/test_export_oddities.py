"""Exports of DolphinScheduler whose fields are odd or say less than others do."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from importers.dolphinscheduler.decoding import read_input
from importers.report import Grade
from model.errors import Refused
from tests.every import every
from tests.importers.exports import (
    code_of,
    definition,
    documents,
    export,
    imported,
    legacy,
    legacy_task,
    lines,
    only,
    said,
    schedule,
    task,
    the_task,
)


def test_a_query_of_version_1_sends_its_rows_without_saying_so() -> None:
    query = {"type": "MYSQL", "datasource": 1, "sql": "SELECT 1", "sqlType": "0", "title": "T", "receivers": "a@b.c"}
    names = {"datasources": {"1": "db"}}
    found = imported(legacy(legacy_task("a", "SQL", query)), names=names)
    assert any("it is sent to a@b.c" in each for each in said(found, Grade.TODO))
    assert not imported(legacy(legacy_task("a", "SQL", {**query, "sendEmail": False})), names=names).report.has_todo


def test_the_sdk_waits_a_minute_between_attempts_where_it_says_none() -> None:
    text = "workflow: {name: w}\ntasks: [{name: a, task_type: Shell, command: date, fail_retry_times: 2%s}]\n"
    assert the_task(imported(text % "")).retry_interval == 1
    assert the_task(imported(text % ", fail_retry_interval: 5")).retry_interval == 5


def test_a_task_in_the_master_is_not_said_to_be_retried() -> None:
    late: dict[str, Any] = {"timeoutFlag": "OPEN", "timeoutNotifyStrategy": "FAILED", "timeout": 5, "failRetryTimes": 2}
    found = imported(export(task("a", **late), task("b", "CONDITIONS", {}, **late)))
    assert any("retried here" in each for each in said(found, Grade.CHANGED, "a"))
    assert not any("retried here" in each for each in said(found, Grade.CHANGED, "b"))


def test_two_tasks_of_one_name_are_told_apart_and_retries_have_a_limit() -> None:
    found = imported(export(task("a"), task("a", failRetryTimes=5_000)))
    assert 'the name was "a", which another task has' in said(found, Grade.CHANGED)
    assert "it was retried 5000 times, here at most 1000" in said(found, Grade.CHANGED)
    assert the_task(found, "a 2").retry_times == 1000


def test_a_workflow_that_is_referred_to_by_its_name_has_the_name_that_it_has_here() -> None:
    found = imported(
        "workflow: {name: a/b}\n"
        "tasks: [{name: x, task_type: SubWorkflow, workflow_name: c/d},"
        " {name: y, task_type: Dependent, groups: [{op: and, groups: ["
        "{project_name: default, workflow_name: a/b, dependent_date: today}]}]}]\n"
    )
    assert the_task(found, "x").params["workflow"] == "c_d"
    (group,) = the_task(found, "y").params["groups"]
    assert group["items"][0]["workflow"] == only(found).name == "a_b"


def test_a_query_that_sends_an_alert_is_one_that_sends_mail() -> None:
    query = {"type": "MYSQL", "datasource": 1, "sql": "SELECT 1", "sqlType": "0", "title": "T", "groupId": 2}
    names = {"datasources": {"1": "db"}, "alert_groups": {"2": "ops"}}
    found = imported(export(task("a", "SQL", {**query, "sendAlert": True})), names=names)
    assert the_task(found).params["alert_group"] == "ops"
    assert not said(found, Grade.LOST)
    assert "alert_group" not in the_task(imported(export(task("a", "SQL", query)), names=names)).params


def test_global_parameters_that_nobody_can_refer_to_or_that_are_there_twice_are_said() -> None:
    listed = [
        {"prop": name, "direct": direct, "type": "VARCHAR", "value": value}
        for name, direct, value in (("x", "IN", "1"), ("x", "OUT", "2"), ("x", "OUT", "3"), ("start-date", "IN", "4"))
    ]
    found = imported(export(task("a"), head=definition(globalParams=listed)))
    assert 'the parameter "x" is there twice; the last one counts' in said(found, Grade.CHANGED)
    assert said(found, Grade.TODO) == ['the parameter "start-date" has a name that no ${...} can have; rename it']
    assert found.files["workflows/daily.yaml"].count("  - x\n") == 1
    found = imported("workflow: {name: w, param: {a-b: 1}}\ntasks: [{name: a, task_type: Shell, command: date}]\n")
    assert len(said(found, Grade.TODO)) == 1


def test_a_worker_group_that_is_called_otherwise_is_said_wherever_it_is_named() -> None:
    given = export(
        task("a", workerGroup="a b"), schedule=schedule(workerGroup="a b"), head=definition(workerGroup="a b")
    )
    found = imported(given)
    sentence = 'the worker group was "a b", which no group may be called here; it is "a_b"'
    told = [line.task for line in lines(found, Grade.CHANGED) if line.sentence == sentence]
    assert sorted(told) == ["", "a", "its schedule"]
    assert (only(found).spec.worker_group, only(found).schedules[0].worker_group) == ("a_b", "a_b")


def test_an_arrow_from_a_task_to_itself_is_said() -> None:
    for found in (
        imported(export(task("a"), edges=[(0, 0)])),
        imported(legacy(legacy_task("a", preTasks=["a"]))),
    ):
        assert said(found, Grade.CHANGED, "a") == [
            "it comes after itself there, which no task can; the arrow is left out"
        ]
        assert the_task(found).after == ()


def test_each_part_may_be_a_text_with_json_in_it() -> None:
    given = export(task("a", "HTTP", {"url": "http://x", "httpParams": '[{"prop": "q", "value": "1"}]'}), task("b"))
    texts = [{name: each and json.dumps(each) for name, each in given[0].items()}]
    found = imported(texts)
    assert found.report.lines() == imported(given).report.lines()
    assert the_task(found).params["query"] == {"q": "1"}


def test_the_body_of_a_request_says_nothing_in_its_other_parameters() -> None:
    body = {"name": "w", "taskDefinitionJson": [task("a")], "taskRelationJson": [], "otherParamsJson": "{}"}
    assert not said(imported(body), Grade.LOST)


def test_a_file_of_powershell_is_read_and_a_compressed_one_is_called_so() -> None:
    assert read_input(json.dumps({"a": "ü"}).encode("utf-16")).tree == {"a": "ü"}
    assert read_input("workflow: ü".encode("utf-16")).tree == {"workflow": "ü"}
    with pytest.raises(Refused, match="it is compressed"):
        read_input(gzip.compress(b"{}"))


def test_the_command_that_puts_files_into_a_project_can_be_pasted() -> None:
    found = imported(export(task("a", params={"rawScript": "date", "resourceList": [{"resourceName": "a b/$c.sh"}]})))
    assert any(each.endswith("shoal project file put 'a b/$c.sh'") for each in said(found, Grade.CHANGED, "a"))


def test_an_answer_of_version_1_has_the_id_that_others_refer_to() -> None:
    child, parent = legacy(legacy_task("a"))[0], legacy(legacy_task("b", "SUB_PROCESS", {"processDefinitionId": 9}))
    answer = {"code": 0, "msg": "success", "data": {**child, "id": 9, "processDefinitionName": "child"}}
    found = imported(answer, parent)
    assert not found.report.has_todo
    sub = next(each for each in documents(found).values() if each.name != "child")
    assert sub.spec.tasks[0].params["workflow"] == "child"


def test_a_field_that_nobody_knows_is_lost_where_it_stood() -> None:
    given = [
        {**each, "of_workflow": 1}
        for name in ("one", "two")
        for each in export(task("a"), head=definition(name), schedule=schedule(of_schedule=1))
    ]
    found = [(line.workflow, line.task, line.field) for line in lines(imported(given), Grade.LOST)]
    assert sorted(found) == [
        (name, *where) for name in ("one", "two") for where in (("", "of_workflow"), ("its schedule", "of_schedule"))
    ]


def test_a_condition_that_chooses_no_task_is_a_todo() -> None:
    cases = [{"condition": "${a} == 1", "nextNode": None}, {"condition": "${a} > 0", "nextNode": code_of(1)}]
    found = imported(
        export(task("s", "SWITCH", {"switchResult": {"dependTaskList": cases}}), task("b"), edges=[(0, 1)])
    )
    assert [each.split(" so ")[0] for each in said(found, Grade.TODO)] == ["${a} == 1 chooses no task,"]


def test_the_sdk_has_json_in_texts_too_and_a_switch_for_its_schedule() -> None:
    text = """
workflow: {name: w, schedule: "0 0 0 * * ? *", timezone: UTC, online_schedule: %s}
tasks:
  - {name: k, task_type: K8S, image: busybox, namespace: '{"name": "jobs"}', deps: [r]}
  - {name: r, task_type: RemoteShell, command: uptime, datasource_name: host1}
"""
    off, on = imported(text % "false", online=True), imported(text % "true", online=True)
    assert not said(on, Grade.LOST)
    assert "state: OFFLINE" in off.files["workflows/w.yaml"].partition("schedules:")[2]
    assert "state: OFFLINE" not in on.files["workflows/w.yaml"].partition("schedules:")[2]
    assert "namespace: jobs" in on.files["workflows/w.yaml"]
    assert '"rawScript": "uptime"' in on.files["workflows/w.yaml"]
    assert said(on, Grade.TODO) == ["run its script by ssh on host1, with a key that the workers have"]


@every("day", ["2025-01-31", "2025/01/31", "20250131", "2025/01/31 00:00:00", 1738281600000])
def test_a_day_alone_is_its_beginning_also_at_the_end_of_a_schedule(day: object) -> None:
    timed = schedule(startTime=day, endTime=day, timezoneId="UTC")
    (entry,) = only(imported(export(task("a"), schedule=timed))).schedules
    assert (entry.start_time, entry.end_time) == ("2025-01-31T00:00:00+00:00", "2025-01-31T00:00:00+00:00")


def test_an_answer_of_version_1_has_fields_of_its_workflow_outside_of_its_json() -> None:
    (entry,) = legacy(legacy_task("a"))
    inner = json.loads(entry["processDefinitionJson"])
    inner = {name: inner[name] for name in inner if name not in ("timeout", "globalParams")}
    answer = {
        **{**entry, "processDefinitionJson": json.dumps(inner)},
        **{"flag": "YES", "timeout": 30, "globalParams": '[{"prop": "x", "direct": "IN", "value": "1"}]'},
        **{"globalParamMap": {"x": "1"}, "modifyBy": "ann", "userName": "ann", "scheduleReleaseState": "OFFLINE"},
        **{"warningType": "ALL", "warningGroupId": 3, "resourceIds": "1"},
    }
    found = imported(answer, names={"alert_groups": {"3": "ops"}})
    assert not said(found, Grade.LOST)
    spec = only(found).spec
    assert (spec.timeout_minutes, spec.alert_group, spec.warning_type) == (30, "ops", "ALL")
    assert spec.params == {"x": "1"}


def test_a_task_before_one_that_the_file_does_not_have_still_runs() -> None:
    (made,) = export(task("a"))
    made["processTaskRelationList"] = [{"preTaskCode": code_of(0), "postTaskCode": 99}]
    found = imported([made])
    assert any("names the task 99" in each for each in said(found, Grade.TODO))
    assert not any("stands in no relation" in each for each in said(found, Grade.CHANGED))


def test_names_that_version_1_writes_beside_ids_are_used() -> None:
    item = {"projectId": 3, "definitionId": 12, "depTasks": "ALL", "cycle": "day", "dateValue": "today"}
    listed = [{"value": 11, "label": "other"}, {"value": 12, "label": "upstream"}]
    dependence = {"relation": "AND", "dependTaskList": [{"relation": "AND", "dependItemList": [
        {**item, "definitionList": listed, "depTasksList": ["x"]}]}]}  # fmt: skip
    found = imported(
        legacy(
            legacy_task("a", "DEPENDENT", {}, dependence=dependence),
            scheduleCrontab="0 0 1 * * ? *", scheduleWarningType="ALL", scheduleWarningGroupId=3,
            scheduleWarningGroupName="ops",
        )
    )  # fmt: skip
    assert not said(found, Grade.LOST)
    assert '"12": ""  # "upstream" there; task "a" of "daily"' in found.files["catalog.yaml"]
    assert "alert_group: ops\n" in found.files["workflows/daily.yaml"]


def test_a_script_for_python_2_is_to_be_done() -> None:
    scripts = ["print ${day}", "print(${day})", "exec 'x'", "echo ${day}"]
    found = imported(export(*(task(f"t{place}", "PYTHON", {"rawScript": each}) for place, each in enumerate(scripts))))
    assert [bool(said(found, Grade.TODO, f"t{place}")) for place in range(4)] == [True, False, True, True]
    (sentence,) = said(found, Grade.TODO, "t0")
    assert sentence.startswith("line 1: it is no Python 3 (Missing parentheses in call to 'print'")
