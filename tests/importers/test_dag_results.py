"""Results that tasks of DAG files hand on: who gives which, and what is said where none is given."""

from __future__ import annotations

from importers.airflow.templates import AS_JSON
from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import in_dag, tasks
from tests.importers.test_functions_and_sensors import printed

PULL = "BashOperator(task_id='b', bash_command='echo {{ ti.xcom_pull(task_ids=\"a\"%s) }}')"


@every(
    ("giver", "more", "said_"),
    [
        ("KubernetesPodOperator(task_id='a', image='i')", "", "a K8S task gives none of that name"),
        ("PostgresOperator(task_id='a', sql='select 1')", "", "the columns of its first row are results"),
        ("BashOperator(task_id='a', bash_command='date')", ', key="k"', "its result k is used"),
        ("BranchPythonOperator(task_id='a', python_callable=lambda: 'b')", "", "its result return_value is used"),
    ],
)
def test_a_result_that_nobody_gives_is_to_be_done(giver: str, more: str, said_: str) -> None:
    found = in_dag(giver + "\n" + PULL % more)
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_what_a_lambda_pulls_is_given() -> None:
    found = in_dag("""
        PythonOperator(task_id="a", python_callable=lambda: 1) >> PythonOperator(
            task_id="b", python_callable=lambda ti: print(ti.xcom_pull(task_ids="a")))
    """)
    assert '_give("return_value", result)' in tasks(found)["a"].params["script"]


def test_a_helper_that_asks_for_results_is_to_be_done() -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=lambda ti: helper(ti))",
        before="def helper(ti):\n    return ti.xcom_pull(task_ids='x')",
    )
    assert any("helper asks for results too" in each for each in said(found, Grade.TODO))


def test_an_environment_and_amounts_of_a_pod_are_read() -> None:
    found = in_dag(
        """
        KubernetesPodOperator(task_id="a", image="i", env_vars=[k8s.V1EnvVar(name="DAY", value="{{ ds }}")],
            container_resources=k8s.V1ResourceRequirements(requests={"cpu": 1}, limits={"memory": "1Gi"}))
        """,
        before="from kubernetes.client import models as k8s",
    )
    params = tasks(found)["a"].params
    assert params["env"] == {"DAY": "$[interval_start(yyyy-MM-dd)]"}
    assert (params["requests"], params["limits"]) == ({"cpu": "1"}, {"memory": "1Gi"})


@every(
    ("filter_", "path"),
    [
        ("lambda response: response.json()", "$"),
        ("lambda given: json.loads(given.text)", "$"),
        ("lambda r: r.json()['rows'][0]", '$["rows"][0]'),
    ],
)
def test_what_a_filter_takes_of_a_response_is_the_result_of_a_request(filter_: str, path: str) -> None:
    found = in_dag(
        f"""
        ask = SimpleHttpOperator(task_id="ask", endpoint="x", method="GET", response_filter={filter_})
        @task
        def show(given):
            print(given["n"])
        show(ask.output)
        BashOperator(task_id="b", bash_command="echo {{{{ ti.xcom_pull('ask')['n'] }}}}")
        """,
        before="import json\nfrom airflow.providers.http.operators.http import SimpleHttpOperator",
    )
    made = tasks(found)
    assert made["ask"].params["outputs"] == {"return_value": path}
    assert 'show(given=json.loads("${ask.return_value}"))' in made["show"].params["script"]
    assert made["b"].params["script"] == "echo ${ask.return_value.n}\n"


def test_a_response_that_no_filter_reads_is_left_to_a_person_where_it_is_used() -> None:
    found = in_dag(
        "ask = SimpleHttpOperator(task_id='ask', endpoint='x')\n"
        "BashOperator(task_id='b', bash_command=\"echo {{ ti.xcom_pull('ask') }}\")",
        before="from airflow.providers.http.operators.http import SimpleHttpOperator",
    )
    assert any("its result return_value is used" in each for each in said(found, Grade.TODO, "ask"))


def test_a_script_that_is_a_result_is_left_to_a_person_whether_or_not_its_own_is_used() -> None:
    found = in_dag("""
        @task
        def commands():
            return ["date", "date -u"]
        made = BashOperator.partial(task_id="a").expand(bash_command=commands())
        BashOperator(task_id="b", bash_command="echo {{ ti.xcom_pull('a') }}")
    """)
    assert any("is no script here" in each for each in said(found, Grade.TODO, "a"))


@every(
    ("value", "text"), [("True", "True"), ("None", "None"), ("1.5", "1.5"), ("'a b'", "a b"), ("flags['on']", "True")]
)
def test_a_result_in_a_template_is_the_text_that_python_shows(value: str, text: str) -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=gives)\n" + PULL % "",
        before=f"def gives():\n    flags = {{'on': True}}\n    return {value}",
    )
    made = tasks(found)
    assert f"#{{setValue(return_value={text})}}" in printed(made["a"].params["script"])
    assert AS_JSON not in said(found, Grade.CHANGED)


@every("body", ["return ['x']", "return {'a': True}", "return [each for each in 'ab']"])
def test_a_list_in_a_template_is_json(body: str) -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=gives)\n" + PULL % "", before=f"def gives():\n    {body}"
    )
    assert AS_JSON in said(found, Grade.CHANGED)


@every(
    ("template", "said_"),
    [
        ("params.names", AS_JSON),
        ("params.m", AS_JSON),
        ("var.json.cfg", AS_JSON),
        ("params.nothing", '"nothing" is None, and here an empty text'),
        ("params.m.k", None),
        ("params.n", None),
        ("var.json.cfg.host", None),
    ],
)
def test_a_parameter_that_python_shows_otherwise_is_told(template: str, said_: str | None) -> None:
    given = "schedule=None, params={'names': ['a'], 'm': {'k': 1}, 'nothing': None, 'n': 3}"
    found = in_dag(f"BashOperator(task_id='a', bash_command='echo {{{{ {template} }}}}')", given)
    assert said(found, Grade.CHANGED, "a") == ([] if said_ is None else [said_])
