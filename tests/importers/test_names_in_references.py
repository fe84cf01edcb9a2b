"""Ids of Airflow with - or a digit before all else: `${...}` can hold none of them, so tasks and values have others."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import arrows, imported, in_dag, tasks, workflow


def test_the_result_of_a_task_is_found_whatever_its_id_is() -> None:
    found = in_dag("""
        @task(task_id="read-it")
        def read():
            return 5

        @task(task_id="2nd")
        def second(given):
            return given

        number = second(read())
        BashOperator(task_id="show", bash_command="echo {{ ti.xcom_pull(task_ids='2nd') }}")
    """)
    assert arrows(found) == {"read_it": [], "_2nd": ["read_it"], "show": ["_2nd"]}
    made = tasks(found)
    assert 'second(given=json.loads("${read_it.return_value_json}"))' in made["_2nd"].params["script"]
    assert made["show"].params["script"] == "echo ${_2nd.return_value}\n"
    assert any('such as "read_it"' in each for each in said(found, Grade.CHANGED))


def test_a_choice_is_read_from_a_task_whatever_its_id_is() -> None:
    found = in_dag("""
        pick = BranchPythonOperator(task_id="pick-one", python_callable=lambda: "to-left")
        gate = ShortCircuitOperator(task_id="go-on", python_callable=lambda: True)
        pick >> EmptyOperator(task_id="to-left")
        gate >> EmptyOperator(task_id="right")
    """)
    made = tasks(found)
    assert made["pick_one_switch"].params["cases"] == [
        {"when": '"${pick_one.branch}" == "to-left"', "then": ["to_left"]}
    ]
    assert made["go_on_switch"].params["cases"] == [{"when": "${go_on.goes_on} == true", "then": ["right"]}]


def test_another_dag_is_asked_for_the_task_by_the_name_that_it_has_here() -> None:
    found = in_dag("ExternalTaskSensor(task_id='a', external_dag_id='other', external_task_id='load-all')")
    (item,) = tasks(found)["a"].params["groups"][0]["items"]
    assert item["task"] == "load_all"


def test_a_name_in_other_letters_whose_result_is_used_is_left_to_a_person() -> None:
    found = in_dag("""
        first = BashOperator(task_id="größe", bash_command="date")
        first >> BashOperator(task_id="b", bash_command="echo {{ ti.xcom_pull(task_ids='größe') }}")
    """)
    assert any('can have the name "größe"' in each for each in said(found, Grade.TODO, "b"))


@every(
    ("command", "written"),
    [
        ("echo {{ params['my-region'] }}", "echo ${my_region}"),
        ("echo {{ params.get('my-region') }}", "echo ${my_region}"),
        ("echo {{ dag_run.conf['my-region'] }}", "echo ${my_region}"),
        ("echo {{ var.value.get('a-key') }}", "echo ${a_key}"),
        ("echo {{ var.value.get('a-key', 'none') }}", "echo ${a_key}"),
    ],
)
def test_a_value_with_a_hyphen_in_its_name_is_given_to_a_script(command: str, written: str) -> None:
    found = in_dag(f'BashOperator(task_id="a", bash_command="{command}")', "schedule=None, params={'my-region': 'eu'}")
    assert tasks(found)["a"].params["script"] == f"{written}\n"
    assert workflow(found).spec.params["my_region"] == "eu"


def test_variables_that_the_file_reads_have_names_that_scripts_can_hold() -> None:
    found = in_dag(
        "BashOperator(task_id='a', bash_command=f'echo {KEY} {FIRST}')",
        before='KEY = Variable.get("api-key-name", "k")\nFIRST = Variable.get("1st", "x")',
    )
    assert tasks(found)["a"].params["script"] == "echo ${api_key_name} ${_1st}\n"
    assert workflow(found).spec.params == {"api_key_name": "k", "_1st": "x"}


def test_a_function_reads_params_and_variables_under_their_old_names() -> None:
    found = in_dag(
        """
        @task
        def show(params=None):
            print(params["my-region"], Variable.get("a-key"))
        show()
        """,
        "schedule=None, params={'my-region': 'eu'}",
    )
    script = tasks(found)["show"].params["script"]
    assert "params={'my-region': '${my_region}'}" in script
    assert "_VARIABLES = {'a-key': '${a_key}'}" in script


def test_what_is_given_to_a_started_dag_has_the_name_that_it_reads() -> None:
    found = in_dag("TriggerDagRunOperator(task_id='a', trigger_dag_id='other', conf={'my-region': 'eu'})")
    assert tasks(found)["a"].params["params"] == {"my_region": "eu"}


def test_which_dag_is_started_must_be_known() -> None:
    found = imported("""
        with DAG("d", schedule=None) as dag:
            @task
            def runs():
                return [{"trigger_dag_id": "x"}]
            TriggerDagRunOperator.partial(task_id="a").expand_kwargs(runs())
    """)
    assert any("which DAG it starts is not known" in each for each in said(found, Grade.TODO, "a"))
