"""Templates and values of DAG files that look like simpler ones, and what is said of them."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import DAILY, arrows, imported, in_dag, tasks, workflow
from tests.importers.test_functions_and_sensors import printed

PUSH = """
@task
def push():
    return 1
push()
"""


@every(
    "expression",
    [
        *("params.get('a') or params.get('b')", "dag_run.conf.get('a') ~ var.value.get('b')"),
        *("ti.xcom_pull(task_ids='push').strip()", "ti.xcom_pull('push') + ti.xcom_pull('push')"),
        *("ti.xcom_pull(task_ids=['push', 'other'])", "ti.xcom_pull('push', dag_id='x')"),
        *("logical_date.add(days=1).subtract(days=2).strftime('%Y')", "ti.xcom_pull('push', key='a key')"),
        "execution_date.strftime('%Y') + execution_date.strftime('%m')",
    ],
)
def test_an_expression_that_only_begins_and_ends_like_a_known_one_is_to_be_done(expression: str) -> None:
    found = in_dag(PUSH + f'BashOperator(task_id="a", bash_command="echo {{{{ {expression} }}}}")')
    assert found.report.grade_of(("dags.py", "d", "a")) is Grade.TODO


@every(
    ("expression", "name", "default"),
    [
        ("dag_run.conf.get('c', 'x y')", "c", "x y"),
        ("params.get('n', 5)", "n", "5"),
        ("var.value.get('v', default='w')", "v", "w"),
    ],
)
def test_a_default_in_a_template_is_that_of_the_parameter(expression: str, name: str, default: str) -> None:
    found = in_dag(f'BashOperator(task_id="a", bash_command="echo {{{{ {expression} }}}}")')
    assert workflow(found).spec.params == {name: default}


def test_two_defaults_of_one_parameter_are_to_be_done() -> None:
    texts = "{{ params.get('n', 5) }} {{ params.get('n', 6) }}"
    found = in_dag(f'BashOperator(task_id="a", bash_command="{texts}")')
    assert any("another default" in each for each in said(found, Grade.TODO))


def test_a_key_that_is_no_name_here_is_to_be_done() -> None:
    found = in_dag("""
        def push(ti):
            ti.xcom_push(key="a key", value=1)
        PythonOperator(task_id="a", python_callable=push)
    """)
    assert any('"a key" is no name for a value' in each for each in said(found, Grade.TODO))


def test_whether_a_task_is_none_is_known() -> None:
    found = in_dag("""
        last = None
        for name in "ab":
            made = EmptyOperator(task_id=name)
            if last is not None:
                last >> made
            last = made
    """)
    assert arrows(found) == {"a": [], "b": ["a"]}


def test_an_asset_is_a_dag_that_is_left_out() -> None:
    found = imported(f"""
        from airflow.sdk import asset
        @asset(uri="s3://x", schedule=None)
        def made():
            pass
        with DAG("d", {DAILY}):
            EmptyOperator(task_id="a")
    """)
    assert any("the asset made has a DAG of its own" in each for each in said(found, Grade.TODO))


def test_the_text_of_the_file_describes_its_dag() -> None:
    head = '"""What it does."""\nfrom airflow import DAG\nfrom airflow.operators.empty import EmptyOperator\n'
    found = imported("with DAG('d', schedule=None, doc_md=__doc__):\n    EmptyOperator(task_id='a')", head)
    assert workflow(found).spec.description == "What it does."


def test_a_group_gives_what_its_function_returns() -> None:
    found = in_dag("""
        @task
        def one():
            return 1
        @task_group
        def group():
            return one()
        @task
        def show(values):
            print(values)
        show([group()])
    """)
    script = tasks(found)["show"].params["script"].replace("${group_one.return_value_json}", "1")
    assert printed(script) == ["[1]"]


def test_arrows_lead_to_what_the_function_of_a_group_returns() -> None:
    found = in_dag("""
        @task
        def one(given):
            return given
        @task_group
        def group(given):
            first = one.override(task_id="a")(given)
            EmptyOperator(task_id="b")
            return first, one.override(task_id="c")(first)
        start = EmptyOperator(task_id="start")
        first, last = group(5)
        start >> last >> EmptyOperator(task_id="end")
    """)
    assert arrows(found) == {
        "start": [], "group_a": [], "group_b": [], "group_c": ["group_a", "start"], "end": ["group_c"],
    }  # fmt: skip


def test_a_span_of_airflow_3_has_no_intervals() -> None:
    body = 'BashOperator(task_id="a", bash_command="echo {{ ds }}")'
    given = "schedule=timedelta(hours=1), start_date=datetime(2026, 1, 1), catchup=False"
    assert "$[interval_start(" in tasks(in_dag(body, given))["a"].params["script"]
    found = in_dag(body, given, before="from airflow.sdk import Variable")
    assert tasks(found)["a"].params["script"] == "echo $[yyyy-MM-dd]\n"
    assert any("without create_delta_data_intervals" in each for each in said(found, Grade.CHANGED))


def test_executors_networks_and_scripts_with_a_blank_behind_them() -> None:
    found = in_dag(
        """
        SparkSubmitOperator(task_id="s", application="/x.py", num_executors=4)
        DockerOperator(task_id="d", image="i", command="date", network_mode="host")
        BashOperator(task_id="b", bash_command="/opt/run.sh ")
        """,
        before="""
        from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
        from airflow.providers.docker.operators.docker import DockerOperator
        """,
    )
    made = tasks(found)
    assert made["s"].params["num_executors"] == 4
    assert made["d"].params["script"] == "docker run --rm --network host i date\n"
    assert made["b"].params["script"] == "/opt/run.sh \n"


def test_a_variable_of_bash_is_none_of_the_parameters() -> None:
    command = "day=1; city=2; echo ${day} ${city} ${x} {{ params.day }} {{ dag_run.conf['city'] }}"
    found = in_dag(f'BashOperator(task_id="a", bash_command="{command}")', f"{DAILY}, params={{'day': '7'}}")
    script = tasks(found)["a"].params["script"]
    assert script == "day=1; city=2; echo $${day} $${city} ${x} ${day} ${city}\n"


def test_a_script_that_is_not_known_fails_until_a_person_writes_it() -> None:
    found = in_dag("BashOperator(task_id='a', bash_command=script_of('x'), cwd='/srv')")
    written = found.files["workflows/d.yaml"]
    assert '"cwd": "/srv"' in written
    assert written.rstrip().endswith("exit 1")


@every(
    ("expression", "given", "text"),
    [
        (f"({when} {sign} macros.dateutil.relativedelta.relativedelta({span})){end}", DAILY, text)
        for when, sign, span, end, text in (
            ("execution_date", "-", "months=1", ".strftime('%Y%m')", "$[interval_start(add_months(yyyyMM,-1))]"),
            ("data_interval_end", "+", "years=-2", " | ds", "$[interval_end(add_months(yyyy-MM-dd,-24))]"),
            ("logical_date", "-", "months=2", ".replace(day=1).strftime('%Y-%m-%d')",
             "$[interval_start(month_first_day(yyyy-MM-dd,-2))]"),
        )
    ]
    + [("execution_date.replace(day=1).strftime('%d.%m.%Y')", "schedule=None", "$[month_first_day(dd.MM.yyyy,+0)]")],
)  # fmt: skip
def test_a_day_of_another_month(expression: str, given: str, text: str) -> None:
    found = in_dag(f"""BashOperator(task_id="a", bash_command="echo {{{{ {expression} }}}}")""", given)
    assert tasks(found)["a"].params["script"].splitlines() == [f"echo {text}"]


@every(
    "expression",
    [
        "execution_date.replace(day=1).strftime('%H')",
        "(execution_date - macros.dateutil.relativedelta.relativedelta(months=1, days=2)) | ds",
        "(prev_execution_date - macros.dateutil.relativedelta.relativedelta(months=1)) | ds",
        "execution_date.replace(day=2) | ds",
    ],
)
def test_a_day_that_only_looks_like_that_is_to_be_done(expression: str) -> None:
    found = in_dag(f"""BashOperator(task_id="a", bash_command="echo {{{{ {expression} }}}}")""")
    assert said(found, Grade.TODO)
