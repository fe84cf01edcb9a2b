"""Operators that are mapped over lists: what stands for an element, and what a value never becomes."""

from __future__ import annotations

from importers.report import Grade
from tests.importers.exports import said
from tests.importers.test_airflow import in_dag, tasks, workflow


def test_params_and_parameters_of_each_element_are_parts_of_it() -> None:
    found = in_dag("""
        @task
        def rows():
            return [{"a": 1, "b": "x"}]
        given = rows()
        PostgresOperator.partial(task_id="p", conn_id="c", sql="INSERT INTO t VALUES (%(a)s, %(b)s)").expand(
            parameters=given)
        PostgresOperator.partial(task_id="q", conn_id="c", sql="INSERT INTO t VALUES ('{{ params.b }}')").expand(
            params=given)
        BashOperator.partial(task_id="r", bash_command="echo {{ params['a'] }}").expand(params=[{"a": 1}, {"a": 2}])
    """)
    made = tasks(found)
    assert made["p"].params["sql"] == "INSERT INTO t VALUES (${a}, ${b})"
    assert {each.name: each.value for each in made["p"].local_params} == {"a": "${each.a}", "b": "${each.b}"}
    assert made["q"].params["sql"] == "INSERT INTO t VALUES ('${each.b}')"
    assert made["r"].params["script"] == "echo ${each.a}\n"
    assert not workflow(found).spec.params


def test_statements_of_a_list_are_tasks_and_those_of_a_run_to_be_done() -> None:
    found = in_dag("""
        PostgresOperator.partial(task_id="p", conn_id="c").expand(sql=["SELECT 1", "SELECT '{{ ds }}'"])
    """)
    assert {name: task.params["sql"] for name, task in tasks(found).items()} == {
        "p_0": "SELECT 1",
        "p_1": "SELECT '$[interval_start(yyyy-MM-dd)]'",
    }
    asked = in_dag("""
        @task
        def queries():
            return ["SELECT 1"]
        PostgresOperator.partial(task_id="p", conn_id="c").expand(sql=queries())
        PostgresOperator(task_id="q", conn_id="c", sql="{{ var.value.query }}")
    """)
    for name in "pq":
        assert "a value is no statement here: values are never run as code" in said(asked, Grade.TODO, name)[0]


def test_params_of_each_element_in_a_longer_expression_are_to_be_done() -> None:
    found = in_dag("""
        BashOperator.partial(task_id="r", bash_command="echo {{ params.a | upper }}").expand(params=[{"a": "x"}])
    """)
    assert any("it gets other params for each element" in each for each in said(found, Grade.TODO))
