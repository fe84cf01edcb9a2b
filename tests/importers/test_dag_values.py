"""Values that DAG files hand on: params with their types, keywords of helpers, and decorators of functions."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import documents, said
from tests.importers.test_airflow import imported, in_dag, tasks, workflow
from tests.importers.test_functions_and_sensors import printed

SHOW = """
@task
def show(params):
    print([(name, type(value).__name__) for name, value in sorted(params.items())])
show()
"""


def test_params_reach_a_function_with_their_types() -> None:
    given = "schedule=None, params={'b': False, 'd': {'k': 1}, 'l': ['a'], 's': '7', 'p': Param(True)}"
    found = in_dag(SHOW, given)
    params = workflow(found).spec.params
    assert params == {"b": "False", "d": '{"k": 1}', "l": '["a"]', "s": "7", "p": "True"}
    types = {name: str(each.type) for name, each in workflow(found).spec.declared.items()}
    assert types == {"b": "BOOLEAN", "d": "JSON", "l": "LIST", "p": "BOOLEAN"}
    script = tasks(found)["show"].params["script"]
    assert "'s': '${s}'" in script
    assert "'b': ${b}" in script


def test_params_of_the_task_reach_its_function_too() -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=show, params={'x': False})",
        before="def show(**context):\n    print(context['params']['x'])",
    )
    task = tasks(found)["a"]
    assert (task.local_params[0].type, task.local_params[0].value) == ("BOOLEAN", "False")
    assert printed(task.params["script"].replace("${x}", "False")) == ["False"]


def test_keywords_that_a_helper_hands_on_are_those_of_the_task() -> None:
    found = in_dag(
        "make('a', 1, 2, retries=3, priority_weight=1)",
        before="""
        def make(name, *rest, **given):
            return BashOperator(task_id=name, bash_command=f"echo {len(rest)}", **given)
        """,
    )
    task = tasks(found)["a"]
    assert (task.params["script"], task.retry_times) == ("echo 2\n", 3)


@every(
    ("body", "before", "said_"),
    [
        ("EmptyOperator(task_id='a', **secret())", "", "what **secret() gives is not known"),
        ("EmptyOperator(task_id='a')\nmade = group(group_id='g')", "", "what group(group_id='g') makes is not known"),
        ("EmptyOperator(task_id='a')\nmade = tasks_of(dag)", "", "what tasks_of(dag) makes is not known"),
    ],
)
def test_calls_that_may_make_tasks_are_told(body: str, before: str, said_: str) -> None:
    assert any(said_ in each for each in said(in_dag(body, before=before), Grade.TODO))


def test_what_a_dag_gets_from_elsewhere_and_who_gets_the_dag_is_told() -> None:
    found = imported("d = DAG('d', **secret())\nEmptyOperator(task_id='a', dag=d)\nmore(d)")
    sentences = " ".join(said(found, Grade.TODO))
    assert "what **secret() gives is not known" in sentences
    assert "what more(d) makes is not known" in sentences


def test_a_loop_over_an_enum_and_a_function_mapped_over_keywords() -> None:
    found = in_dag(
        """
        for kind in Kind:
            EmptyOperator(task_id=f"of_{kind.value}")
        PythonOperator.partial(task_id="p", python_callable=lambda x, y: print(x + y)).expand(
            op_kwargs=[{"x": 1, "y": 2}, {"x": 3, "y": 4}])
        BashOperator.partial(task_id="b").expand(bash_command=["date", "ls"])
        """,
        before="""
        from enum import Enum
        class Kind(Enum):
            A = "a"
            B = "b"
        """,
    )
    made = tasks(found)
    assert list(made) == ["of_a", "of_b", "p", "b"]
    assert printed(made["p"].params["script"].replace("${each.x}", "1").replace("${each.y}", "2")) == ["3"]
    assert not said(found, Grade.LOST)


def test_decorators_of_functions_stay_and_those_of_airflow_go() -> None:
    found = in_dag(
        """
        @task
        @twice
        def show():
            # a comment
            with opened(Row(7)) as row:
                print(row.a)
        show()
        """,
        before="""
        from contextlib import contextmanager
        from dataclasses import dataclass
        def twice(function):
            def called():
                function()
                function()
            return called
        @contextmanager
        def opened(what):
            yield what
        @dataclass
        class Row:
            a: int
        """,
    )
    script = tasks(found)["show"].params["script"]
    assert "@task" not in script
    assert printed(script) == ["7", "7"]


def test_arguments_of_a_function_that_makes_a_dag_are_its_params() -> None:
    found = imported("""
        @dag(schedule=None, params={"x": "y"})
        def d(url="http://a", count=3):
            BashOperator(task_id="a", bash_command=f"curl {url} {count}")
        d()
    """)
    assert workflow(found).spec.params == {"x": "y", "url": "http://a"}
    assert tasks(found)["a"].params["script"] == "curl ${url} 3\n"
    assert said(found, Grade.LOST) == ["its argument count = 3 has no counterpart"]


def test_a_start_that_is_a_text_is_a_date() -> None:
    found = in_dag("EmptyOperator(task_id='a')", "schedule='@daily', default_args={'start_date': '2020-01-08'}")
    assert any("--from 2020-01-08" in each for each in said(found, Grade.CHANGED))
    assert any("'soon' is not known" in each for each in said(in_dag("EmptyOperator(task_id='a')",
        "schedule='@daily', start_date='soon', catchup=False"), Grade.CHANGED))  # fmt: skip


def test_results_of_several_tasks_are_a_list() -> None:
    found = in_dag(
        """
        one, two = [PythonOperator(task_id=name, python_callable=lambda: 1) for name in ("one", "two")]
        [one, two] >> PythonOperator(task_id="best", python_callable=best)
        """,
        before="""
        def best(ti):
            print(max(ti.xcom_pull(task_ids=["one", "two"])), ti.xcom_pull(task_ids=["one"]), ti.xcom_pull("two"))
        """,
    )
    script = tasks(found)["best"].params["script"]
    assert printed(script.replace("${one.return_value_json}", "4").replace("${two.return_value_json}", "7")) == [
        "7 [4] 7"
    ]


@every(
    ("pull", "written"),
    [
        ("ti.xcom_pull(task_ids='p')['rows']", "${p.return_value.rows}"),
        ("ti.xcom_pull(task_ids=['p'])[0]", "${p.return_value}"),
        ("ti.xcom_pull('p', key='k')[1]['x']", "${p.k[1].x}"),
        ("ti.xcom_pull(task_ids=['p'])", None),
    ],
)
def test_steps_into_a_result_and_a_list_of_one(pull: str, written: str | None) -> None:
    found = in_dag(f"""
        @task
        def p(ti):
            ti.xcom_push("k", [1])
            return {{"rows": 1}}
        p() >> BashOperator(task_id="a", bash_command=\"\"\"echo {{{{ {pull} }}}}\"\"\")
    """)
    if written is None:
        assert any("it is a list there" in each for each in said(found, Grade.TODO))
    else:
        assert tasks(found)["a"].params["script"] == f"echo {written}\n"


@every(
    "name",
    [
        "Path(__file__).stem",
        "pathlib.Path(__file__).stem",
        "os.path.basename(__file__).replace('.py', '')",
        "os.path.basename(__file__)[:-3]",
        "os.path.splitext(os.path.basename(__file__))[0]",
    ],
)
def test_a_dag_may_be_named_after_its_file(name: str) -> None:
    found = imported(f"NAME = {name}\nwith DAG(NAME, schedule=None):\n    EmptyOperator(task_id='a')")
    assert not found.report.has_todo
    assert list(documents(found)) == ["dags"]
    assert any("named after its file" in each for each in said(found, Grade.CHANGED))


def test_a_result_is_also_asked_for_by_an_xcom_arg() -> None:
    found = in_dag("""
        a = BashOperator(task_id="a", bash_command="echo 1")
        BashOperator(task_id="b", bash_command=f"echo {XComArg(a)}")
    """, before="from airflow.models.xcom_arg import XComArg")  # fmt: skip
    assert tasks(found)["b"].params["script"] == "echo ${a.return_value}\n"
    assert tasks(found)["b"].after == ("a",)


def test_an_asset_that_has_only_a_name_is_one() -> None:
    found = in_dag("EmptyOperator(task_id='a', outlets=[Asset(name='x')])", before="from airflow.sdk import Asset")
    assert tasks(found)["a"].updates == ("x",)


def test_an_asset_that_something_else_updates_is_left_to_a_person() -> None:
    before = """
        from airflow.sdk import Asset, AssetWatcher
        queue = Asset("orders", watchers=[AssetWatcher(name="w", trigger=secret())])
    """
    found = in_dag("EmptyOperator(task_id='a')", "schedule=[queue]", before)
    assert any('nothing watches "orders" here' in each for each in said(found, Grade.TODO))
