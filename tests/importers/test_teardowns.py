"""Setups and teardowns of DAG files: what cleans up here, what waits for it, and what is said of that."""

from __future__ import annotations

from importers.report import Grade
from tests.importers.exports import said
from tests.importers.test_airflow import arrows, in_dag, tasks

FOUR = """
up, work, down, end = [EmptyOperator(task_id=name) for name in ("up", "work", "down", "end")]
"""


def test_a_teardown_that_comes_after_all_other_tasks_cleans_up_as_there() -> None:
    found = in_dag(FOUR + "up >> end >> work >> down.as_teardown(setups=up)")
    assert tasks(found)["down"].teardown
    assert not said(found, Grade.CHANGED)


def test_a_teardown_waits_here_for_tasks_that_it_does_not_come_after() -> None:
    found = in_dag(FOUR + "up >> work >> down.as_teardown(setups=up)\nup >> end")
    assert tasks(found)["down"].teardown
    assert any("it runs when all other tasks are over" in each for each in said(found, Grade.CHANGED))


def test_a_teardown_that_tasks_wait_for_is_one_that_runs_in_any_case() -> None:
    found = in_dag(
        FOUR
        + "more = EmptyOperator(task_id='more').as_teardown()\nup >> work >> more >> down.as_teardown(setups=up) >> end"
    )
    made = tasks(found)
    assert [(made[name].teardown, made[name].start_when) for name in ("more", "down")] == [(False, "all_done")] * 2
    assert made["end"].after == ("down",)
    assert any("so it is no teardown here" in each for each in said(found, Grade.CHANGED))


def test_what_comes_after_a_group_does_not_wait_for_its_teardowns() -> None:
    found = in_dag("""
        with TaskGroup("g") as g:
            up, work, down = [EmptyOperator(task_id=name) for name in ("up", "work", "down")]
            up >> work >> down.as_teardown(setups=up)
        g >> EmptyOperator(task_id="end")
    """)
    assert arrows(found)["end"] == ["g_work"]
    assert tasks(found)["g_down"].teardown
