"""Branches by a query, by a time and by a person, and people who approve or give values."""

from __future__ import annotations

import sqlite3
import subprocess
from datetime import UTC, datetime
from typing import Any

from importers.report import Grade
from model.logic.approval import ApprovalParams
from model.logic.switch import SwitchParams, choose
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import in_dag, tasks
from tests.importers.test_functions_and_sensors import printed

IMPORTS = """
from datetime import datetime, time
from airflow.providers.common.sql.operators.sql import BranchSQLOperator
from airflow.providers.standard.operators.datetime import BranchDateTimeOperator
from airflow.providers.standard.operators.hitl import (
    ApprovalOperator, HITLBranchOperator, HITLEntryOperator, HITLOperator
)
"""
AFTER = ">> [EmptyOperator(task_id='yes'), EmptyOperator(task_id='no')]"
FOLLOW = "follow_task_ids_if_true='yes', follow_task_ids_if_false='no'"


def chosen(found: Any, name: str, values: dict[str, str]) -> tuple[str, ...]:
    """The tasks that a SWITCH chooses."""
    return choose(SwitchParams.model_validate(tasks(found)[name].params), values)


@every(
    ("query", "follows"),
    [
        ("SELECT count(*) FROM t", ("yes",)),
        ("SELECT count(*) AS n FROM t WHERE a > 9", ("no",)),
        ("SELECT max(a) > 1, b FROM t", ("yes",)),
        ("WITH u AS (SELECT a FROM t) SELECT EXISTS(SELECT 1 FROM u WHERE a = 5)", ("no",)),
        ("SELECT max(a) > 1 FROM t WHERE a > 9", ()),
        ("SELECT b FROM t", None),
        ("SELECT count(*) FROM t UNION SELECT 1", None),
    ],
)
def test_a_query_chooses(query: str, follows: tuple[str, ...] | None) -> None:
    found = in_dag(f"BranchSQLOperator(task_id='a', conn_id='w', sql='{query}', {FOLLOW}) {AFTER}", before=IMPORTS)
    if follows is None:
        assert said(found, Grade.TODO)
        return
    assert not said(found, Grade.TODO)
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE TABLE t (a int, b text)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(1, "x"), (2, "y")])
        cursor = database.execute(tasks(found)["a"].params["sql"])
        value = cursor.fetchone()[[each[0] for each in cursor.description].index("follows")]
    assert chosen(found, "a_switch", {"a.follows": "" if value is None else str(value)}) == follows


@every(
    ("span", "now", "follows"),
    [
        ("target_lower=time(8), target_upper=time(17, 30)", "08:00:00", "yes"),
        ("target_lower=time(8), target_upper=time(17, 30)", "17:30:01", "no"),
        ("target_lower=time(23), target_upper=time(1)", "23:30:00", "yes"),
        ("target_lower=time(23), target_upper=time(1)", "00:30:00", "no"),
        ("target_upper=datetime(2026, 1, 31, 5)", "2026-01-31 05:00:00", "yes"),
        ("target_lower=datetime(2026, 1, 31, 5), target_upper=None", "2026-01-30 23:00:00", "no"),
    ],
)
def test_a_time_chooses(span: str, now: str, follows: str) -> None:
    text = f"BranchDateTimeOperator(task_id='a', {span}, use_task_logical_date=True, {FOLLOW}) {AFTER}"
    found = in_dag(text, before=IMPORTS)
    assert not said(found, Grade.TODO)
    assert chosen(found, "a", {"now": now}) == (follows,)
    assert "interval_start" in str(tasks(found)["a"].local_params)


def test_a_time_that_is_not_known_is_to_be_done() -> None:
    more = "use_task_logical_date=True, target_lower=early()"
    found = in_dag(f"BranchDateTimeOperator(task_id='a', {more}, {FOLLOW}) {AFTER}", before=IMPORTS)
    assert any("SWITCH" in each or "not known" in each for each in said(found, Grade.TODO))


@every(
    ("operator", "pattern"),
    [
        ("BranchDateTimeOperator(task_id='a', target_lower=time(0)", "%H:%M:%S"),
        ("BranchDateTimeOperator(task_id='a', target_lower=datetime(2026, 1, 1)", "%Y-%m-%d %H:%M:%S"),
        ("BranchDayOfWeekOperator(task_id='a', week_day={TODAY}", "%A"),
    ],
)
def test_the_clock_chooses_when_the_task_runs(operator: str, pattern: str) -> None:
    before = datetime.now(UTC).strftime(pattern)
    text = f"{operator.replace('TODAY', repr(before))}, {FOLLOW}) {AFTER}"
    found = in_dag(text, before=f"{IMPORTS}from airflow.operators.weekday import BranchDayOfWeekOperator")
    assert not said(found, Grade.TODO)
    ran = subprocess.run(["bash", "-c", tasks(found)["a"].params["script"]], capture_output=True, text=True, check=True)
    now = ran.stdout.strip().removeprefix("#{setValue(now=").removesuffix(")}")
    assert before <= now <= datetime.now(UTC).strftime(pattern)
    assert chosen(found, "a_switch", {"a.now": now}) == ("yes",)


def test_a_person_approves_or_what_comes_later_is_skipped() -> None:
    found = in_dag(
        "ApprovalOperator(task_id='a', subject='Publish {{ ds }}?', body='All of it', defaults='Reject',"
        f" assigned_users=[{{'id': '1', 'name': 'ada'}}], execution_timeout=timedelta(hours=8)) {AFTER}",
        before=f"{IMPORTS}from datetime import timedelta",
    )
    assert not said(found, Grade.TODO)
    asked = ApprovalParams.model_validate(tasks(found)["a"].params)
    assert asked.text == "Publish $[interval_start(yyyy-MM-dd)]?\n\nAll of it"
    assert (asked.timeout, asked.on_timeout, asked.form["chosen"].value, asked.users) == (
        480,
        "APPROVE",
        "Reject",
        ("ada",),
    )
    assert chosen(found, "a_switch", {"a.chosen": "Approve"}) == ("yes", "no")
    assert chosen(found, "a_switch", {"a.chosen": "Reject"}) == ()


def test_one_who_rejects_fails_it_where_that_is_said() -> None:
    text = f"ApprovalOperator(task_id='a', subject='Go?', fail_on_reject=True) {AFTER}"
    found = in_dag(text, before=IMPORTS)
    assert not said(found, Grade.TODO)
    assert (tasks(found)["a"].params, "a_switch" in tasks(found)) == ({"text": "Go?"}, False)


def test_a_person_chooses_the_way() -> None:
    found = in_dag(
        "HITLBranchOperator(task_id='a', subject='Which?', options=['Yes!', 'no'], options_mapping={'Yes!': 'yes'})"
        f" {AFTER}",
        before=IMPORTS,
    )
    assert not said(found, Grade.TODO)
    assert [chosen(found, "a_switch", {"a.chosen": each}) for each in ("Yes!", "no")] == [("yes",), ("no",)]


def test_a_person_gives_values() -> None:
    found = in_dag(
        """
        HITLEntryOperator(task_id="a", subject="How many?", params={"rows": Param(3, type="integer", minimum=1)})
        HITLOperator(task_id="b", subject="Which?", options=["x", "y"])
        """,
        before=f"{IMPORTS}from airflow.sdk import Param",
    )
    assert not said(found, Grade.TODO)
    form = ApprovalParams.model_validate(tasks(found)["a"].params).form
    assert (form["rows"].type, form["rows"].value, form["rows"].min) == ("INTEGER", "3", "1")
    assert not tasks(found)["a"].local_params
    assert tasks(found)["b"].params["form"]["chosen"]["enum"] == ["x", "y"]


def test_an_answer_reaches_templates_and_functions() -> None:
    found = in_dag(
        """
        @task
        def show(answer, way):
            print(answer["params_input"], answer["chosen_options"], answer["responded_by_user"]["id"], way)
        a = HITLEntryOperator(task_id="a", subject="?", params={"rows": Param(3, type="integer"), "note": "x"})
        b = HITLOperator(task_id="b", subject="Which?", options=["x", "y"])
        BashOperator(task_id="c", bash_command="echo {{ ti.xcom_pull(task_ids='a')['params_input']['rows'] }}"
                     " {{ ti.xcom_pull('b')['chosen_options'][0] }}")
        show(a.output, b.output["chosen_options"][0])
        """,
        before=f"{IMPORTS}from airflow.sdk import Param, task",
    )
    assert not said(found, Grade.TODO)
    assert tasks(found)["c"].params["script"] == "echo ${a.rows} ${b.chosen}\n"
    script = tasks(found)["show"].params["script"]
    for name, value in {"a.rows": "4", "a.note": "5", "a.answered_by": "ada", "b.chosen": "y"}.items():
        script = script.replace(f"${{{name}}}", value)
    assert printed(script) == ["{'rows': 4, 'note': '5'} ['OK'] ada y"]


@every("given", ["options=['x'], multiple=True", "options=ways()"])
def test_several_choices_and_unknown_ones_are_to_be_done(given: str) -> None:
    assert said(in_dag(f"HITLOperator(task_id='a', subject='Which?', {given})", before=IMPORTS), Grade.TODO)
