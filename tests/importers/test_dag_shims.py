"""What functions of DAG files use of Airflow itself: what a script has in its place, and what is told."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

from importers.report import Grade
from tests.every import every
from tests.importers.exports import documents, said
from tests.importers.test_airflow import in_dag, tasks, workflow
from tests.importers.test_functions_and_sensors import printed


def called(body: str, *, imports: str = "", **defaults: object) -> str:
    """The DAG with a function of this body."""
    function = "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    return f"{imports}\ndef work():\n{function}PythonOperator(task_id='a', python_callable=work)"


@every(
    "text",
    [
        called("from airflow.providers.postgres.hooks.postgres import PostgresHook\nprint(PostgresHook)"),
        called("import airflow.settings\nprint(airflow.settings)"),
        called("print(send_email)", imports="from airflow.utils.email import send_email"),
        called("Variable.set('x', 1)", imports="from airflow.models import Variable"),
        called("Variable.get(f'x{1}')", imports="from airflow.models import Variable"),
    ],
)
def test_what_code_uses_of_airflow_and_has_nothing_here_is_to_be_done(text: str) -> None:
    assert any("Airflow" in each for each in said(in_dag(text), Grade.TODO))


def test_modules_that_a_function_imports_inside_are_told() -> None:
    found = in_dag(called("import json, pandas\nfrom yaml import load\nprint(pandas, load)"))
    assert "the workers' python3 needs pandas, yaml" in said(found, Grade.CHANGED)


@every("base", ["Exception", "AirflowException"])
def test_a_function_that_skips_its_task_skips_it(base: str) -> None:
    text = called(
        f"try:\n    raise AirflowSkipException('no rows')\nexcept KeyError:\n    print({base})",
        imports="from airflow.exceptions import AirflowException, AirflowSkipException",
    )
    task = tasks(in_dag(text))["a"]
    done = subprocess.run([sys.executable, "-c", task.params["script"]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (99, "no rows\n")
    assert task.skip_exit_codes == (99,)


def test_an_exception_of_airflow_is_imported_inside_and_under_another_name() -> None:
    body = """
        from airflow.exceptions import AirflowException as Wrong
        try:
            raise Wrong("x")
        except Exception as error:
            print(error)
    """
    assert printed(tasks(in_dag(called(body)))["a"].params["script"]) == ["x"]


def test_a_failure_for_good_is_retried_here_which_is_told() -> None:
    text = called("raise AirflowFailException", imports="from airflow.exceptions import AirflowFailException")
    found = in_dag(text.replace("task_id", "retries=2, task_id"))
    assert any("AirflowFailException" in each for each in said(found, Grade.CHANGED))
    assert not any("AirflowFailException" in each for each in said(in_dag(text), Grade.CHANGED))


def test_the_variables_that_a_function_asks_for_are_parameters() -> None:
    body = """
        print(Variable.get("town"), Variable.get("limits", deserialize_json=True)["a"], URL)
        print(Variable.get("size", default_var=False), Variable.get("kind", "x"))
    """
    found = in_dag(called(body), before='URL = Variable.get("url") + "/x"')
    one = workflow(found).spec
    script = one.tasks[0].params["script"]
    for name, value in {"town": "Lima", "limits": '{"a": 3}', "url": "http://h", "size": "", "kind": ""}.items():
        script = script.replace(f"${{{name}}}", value)
    assert printed(script) == ["Lima 3 http://h/x", "False x"]
    assert (one.params["size"], one.params["kind"]) == ("", "")
    assert {name for name, declared in one.declared.items() if declared.required} == {"town", "limits", "url"}


def test_annotations_of_a_functions_own_names_need_nothing() -> None:
    text = called(
        "rows: Param = 3\nprint(rows)", imports="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import absent"
    )
    found = in_dag(text)
    assert printed(tasks(found)["a"].params["script"]) == ["3"]
    assert list(documents(found)) == ["d"]


def with_context(body: str, given: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    return f"def work(**context):\n{lines}PythonOperator(task_id='a', python_callable=work{given})"


@every(
    "body",
    [
        "print(context['dag_run'].conf.get('town', 'none'), context['dag_run'].conf['size'])",
        "conf = context['dag_run'].conf or {}\nif 'town' in conf: print(conf['town'], conf.get('size'))",
        "if context['dag_run'].conf: print(context['dag_run'].conf['town'], context['dag_run'].conf['size'])",
    ],
)  # fmt: skip
def test_what_a_start_gives_is_the_conf_of_a_run(body: str) -> None:
    found = in_dag(with_context(body))
    one = workflow(found).spec
    assert dict(one.params) == {"town": "", "size": ""} and not any(each.required for each in one.declared.values())
    script = one.tasks[0].params["script"]
    assert printed(script.replace("${town}", "Lima").replace("${size}", "3")) == ["Lima 3"]
    assert any("texts, lists or mappings" in each for each in said(found, Grade.CHANGED))


@every(
    ("body", "expected"),
    [
        ("print(context['dag_run'].conf)", "which parts of dag_run.conf it uses is not known"),
        ("print(context['dag_run'].conf[x])", "which parts of dag_run.conf it uses is not known"),
        ("conf = context['dag_run'].conf\nconf = 1\nprint(conf['a'])", "which parts of dag_run.conf it uses"),
        ("print(context['dag_run'].external_trigger)", "it uses dag_run.external_trigger"),
        ("print(get_current_context())", "which parts of get_current_context() it uses is not known"),
    ],
)
def test_what_is_not_known_of_the_context_is_to_be_done(body: str, expected: str) -> None:
    found = in_dag(with_context(body), before="from airflow.sdk import get_current_context")
    assert any(expected in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_a_function_that_asks_for_its_current_context_gets_what_it_asks_for() -> None:
    text = """
        @task
        def load():
            from airflow.operators.python import get_current_context
            context = get_current_context()
            context["ti"].xcom_push(key="rows", value=context["params"]["limit"] + 1)
            print(get_current_context()["run_id"])
        load()
    """
    found = in_dag(text, 'params={"limit": Param(3, type="integer")}, schedule=None')
    script = tasks(found)["load"].params["script"]
    done = printed(script.replace("${limit}", "3").replace("${system.workflow.instance.id}", "42"))
    assert done[:3] == ["#{setValue(rows=4)}", "#{setValue(rows_json=4)}", "42"]


def test_templates_of_a_function_are_given_to_it() -> None:
    given = ", templates_dict={'day': '{{ ds }}'}"
    script = tasks(in_dag(with_context("print(context['templates_dict']['day'])", given)))["a"].params["script"]
    assert printed(script) == ["$[interval_start(yyyy-MM-dd)]"]


@every(("given", "printed_"), [('{"b": 2}', "2"), ("[x]", "none")])
def test_a_start_may_give_a_tree(given: str, printed_: str) -> None:
    found = in_dag(
        "def show(dag_run):\n"
        "    a = dag_run.conf.get('a')\n"
        "    print(a['b'] if isinstance(a, dict) else 'none')\n"
        "PythonOperator(task_id='a', python_callable=show)"
    )
    assert printed(tasks(found)["a"].params["script"].replace("${a}", given)) == [printed_]


def test_a_function_that_yields_runs_to_its_end_and_gives_what_it_returns() -> None:
    found = in_dag(
        """
        @task(outlets=[A])
        def made():
            print("begins")
            yield Metadata(A, {"rows": 3})
            print("goes on")
            return 7
        @task
        def inner():
            def numbers():
                yield 1
            return sum(numbers())
        @task
        def seen(a, b):
            print(a, b)
        seen(made(), inner())
        """,
        before="from airflow.sdk import Asset, Metadata\nA = Asset('s3://b/x')",
    )
    scripts = {name: task.params["script"] for name, task in tasks(found).items()}
    assert printed(scripts["made"])[:2] == ["begins", "goes on"]
    assert "#{setValue(return_value=7)}" in printed(scripts["made"])
    assert "#{setValue(return_value=1)}" in printed(scripts["inner"])
    assert said(found, Grade.CHANGED).count("what it yields reaches nobody here") == 1


def test_a_function_may_ask_for_the_context_in_another_one() -> None:
    found = in_dag(
        """
        @task
        def work():
            skip_unless("on")
            print("works")
        work()
        """,
        given='schedule=None, params={"on": Param(default=False, type="boolean")}',
        before="""
        from airflow.exceptions import AirflowSkipException
        from airflow.operators.python import get_current_context
        def params():
            return get_current_context()["params"]
        def skip_unless(name):
            if not params()[name]:
                raise AirflowSkipException(name)
        """,
    )
    script = tasks(found)["work"].params["script"]
    for value, said_ in (("False", "on"), ("True", "works")):
        text = script.replace("${on}", value)
        assert "${" not in text
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
        assert done.stdout == f"{said_}\n", done.stderr


def test_a_function_of_python_itself_needs_nothing() -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=call, op_args=[['ls', '-l']])",
        before="from subprocess import call",
    )
    assert said(found, Grade.CHANGED) == ["of Airflow's context call gets nothing by itself"]


def test_a_text_for_yes_or_no_is_told() -> None:
    found = in_dag("BashOperator(task_id='a', bash_command='ls', depends_on_past='False')")
    assert any('the text "False", which Airflow takes for true' in each for each in said(found, Grade.TODO))


def test_what_a_branching_function_pushes_keeps_its_type() -> None:
    found = in_dag(
        """
        go = ShortCircuitOperator(task_id="go", python_callable=goes)
        go >> PythonOperator(task_id="use", python_callable=use)
        """,
        before="""
        def goes(**context):
            context["ti"].xcom_push(key="day", value=3)
            return True
        def use(ti, dag, **context):
            print(ti.xcom_pull(task_ids="go", key="day") + 1, dag.dag_id, context["task"].task_id)
        """,
    )
    made = tasks(found)
    (given,) = (line for line in printed(made["go"].params["script"]) if "day_json=" in line)
    script = made["use"].params["script"].replace("${go.day_json}", given.removesuffix(")}").partition("day_json=")[2])
    assert printed(script.replace("${system.task.definition.name}", "use")) == ["4 d use"]


def test_a_dag_that_is_more_than_its_name_is_to_be_done() -> None:
    text = called("print(dag.dag_id, dag)").replace("work()", "work(dag)")
    assert any("it uses dag of Airflow's context" in each for each in said(in_dag(text), Grade.TODO))


def test_seconds_of_a_span_are_known() -> None:
    made = tasks(in_dag("BashSensor(task_id='a', bash_command='ls', timeout=timedelta(hours=3).total_seconds())"))
    assert made["a"].params["timeout"] == "180m"
