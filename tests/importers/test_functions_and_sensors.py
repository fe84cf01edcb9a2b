"""Functions of DAG files as scripts that run, and sensors as WAIT tasks."""

from __future__ import annotations

import subprocess
import sys

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import DAILY, HEAD, imported, in_dag, tasks


def printed(script: str) -> list[str]:
    """What a script of Python prints."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_lambda_is_a_function_of_the_script() -> None:
    found = in_dag("PythonOperator(task_id='a', python_callable=lambda: print(LIMIT))", before="LIMIT = 3")
    assert printed(tasks(found)["a"].params["script"]) == ["3"]


def test_a_script_has_what_stands_in_the_block_of_its_dag_and_in_conditions() -> None:
    found = in_dag(
        """
        rate = 7
        def used():
            print(rate, fast)
        PythonOperator(task_id="a", python_callable=used)
        """,
        before="""
        try:
            import absent as fast
        except ImportError:
            fast = None
        """,
    )
    assert printed(tasks(found)["a"].params["script"]) == ["7 None"]


@every(
    ("function", "said_"),
    [
        ("lambda: print(absent)", "its code uses absent, which does not stand by itself in the file"),
        ("lambda item: print(item)", "what its argument item is, is not known"),
        ("lambda logical_date: logical_date.in_timezone('UTC')", "it uses logical_date.in_timezone, and here"),
    ],
)
def test_what_a_function_lacks_is_to_be_done(function: str, said_: str) -> None:
    found = in_dag(f"for name in ['x']:\n    PythonOperator(task_id='a', python_callable={function})")
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_the_time_of_a_run_is_a_time_in_its_functions() -> None:
    found = in_dag("PythonOperator(task_id='a', python_callable=lambda logical_date: print(logical_date.year + 1))")
    script = tasks(found)["a"].params["script"].replace("${system.interval.start}", "2026-01-31T05:00:00.000Z")
    assert printed(script) == ["2027"]


def test_a_file_whose_dags_depend_on_what_is_not_known_says_on_what() -> None:
    found = imported("if asked_elsewhere():\n    dag = DAG('d')")
    assert any("whether asked_elsewhere() is not known" in each for each in said(found, Grade.TODO))


@every(("body", "code"), [("True", 0), ("False", 1), ("1 / 0", 2)])
def test_a_sensor_by_function_looks_again_only_if_it_is_not_satisfied(body: str, code: int) -> None:
    found = in_dag(
        f"PythonSensor(task_id='a', python_callable=lambda: {body}, poke_interval=10)",
        before="from airflow.sensors.python import PythonSensor",
    )
    task = tasks(found)["a"]
    assert (task.type, task.params["every"]) == ("WAIT", "10s")
    done = subprocess.run(["bash", "-c", task.params["for"]["script"]], capture_output=True, check=False)
    assert done.returncode == code


S3 = "from airflow.providers.amazon.aws.sensors.s3 import S3KeySensor"


@every(
    ("given", "datasource", "key"),
    [
        ("'s3://b/x/{{ ds }}.csv'", "aws_default_b", "x/$[interval_start(yyyy-MM-dd)].csv"),
        ("'x[1]*.csv', bucket_name='b', aws_conn_id='lake'", "lake_b", "x[[]1][*].csv"),
        ("'x[1]*.csv', bucket_name='b', aws_conn_id='lake', wildcard_match=True", "lake_b", "x[1]*.csv"),
    ],
)
def test_a_sensor_for_an_object_waits_for_it(given: str, datasource: str, key: str) -> None:
    found = in_dag(f"S3KeySensor(task_id='a', bucket_key={given}, mode='reschedule')", before=S3)
    assert tasks(found)["a"].params["for"] == {"s3": {"datasource": datasource, "key": key}}
    assert said(found, Grade.TODO) == []


@every(
    ("given", "todo"),
    [
        ("['s3://b/x', 's3://b/y']", "write a task for each of the others"),
        ("'x', bucket_name='b', aws_conn_id=None", "name a data source with the bucket"),
        ("'x', bucket_name='{{ var.value.bucket }}'", "name a data source with the bucket"),
        ("'s3://b/x', check_fn=secret", "do so in a task after it"),
    ],
)
def test_what_of_a_sensor_for_objects_has_no_name_is_to_be_done(given: str, todo: str) -> None:
    found = in_dag(f"S3KeySensor(task_id='a', bucket_key={given})", before=S3)
    assert any("line " in each and todo in each for each in said(found, Grade.TODO))


def test_other_sensors_and_branches_by_time() -> None:
    found = in_dag(
        """
        a = TimeDeltaSensor(task_id="a", delta=timedelta(minutes=90))
        b = ExternalTaskSensor(task_id="b", external_dag_id="o", execution_date_fn=lambda at: at - timedelta(hours=2))
        c = BranchDayOfWeekOperator(task_id="c", week_day={WeekDay.MONDAY, "sunday"}, use_task_logical_date=True,
                                    follow_task_ids_if_true="d", follow_task_ids_if_false=["e"])
        [a, b] >> c >> [EmptyOperator(task_id="d"), ExternalTaskMarker(task_id="e", external_dag_id="o")]
        """,
        before="""
        from airflow.sensors.time_delta import TimeDeltaSensor
        from airflow.operators.weekday import BranchDayOfWeekOperator
        from airflow.utils.weekday import WeekDay
        from airflow.sensors.external_task import ExternalTaskMarker
        """,
        given=DAILY,
    )
    made = tasks(found)
    assert made["a"].params["for"] == {
        "time": "$[interval_end(yyyy-MM-dd+90/24/60)] $[interval_end(HH:mm:ss+90/24/60)]"
    }
    assert made["b"].params["groups"][0]["items"][0]["at"] == "-2h"
    yes, no = made["c"].params["cases"]
    assert (yes["then"], no["then"]) == (["d"], ["e"])
    assert no["when"] == "!" + f"({yes['when'].strip('()')})"
    assert made["e"].type == "FAKE"


def test_a_script_has_all_that_changes_what_its_function_reads() -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=show)",
        before="""
        names, seen = ["a"], {}
        names.append("b")
        seen["x"] = 1
        count = 1
        count += 4
        for each in "yz":
            seen[each] = count
        def show():
            print(names, seen, count)
        """,
    )
    assert printed(tasks(found)["a"].params["script"]) == ["['a', 'b'] {'x': 1, 'y': 5, 'z': 5} 5"]


@every(
    ("function", "given", "said_"),
    [
        ("lambda ds, dag=None: print(dag)", "", "it uses dag of Airflow's context"),
        ("lambda task_state_store=None: print(task_state_store)", "", "it uses task_state_store of Airflow's context"),
        ("lambda ti: print(ti.hostname)", "", "it uses hostname of its task instance"),
        (
            "lambda ti: print(ti.xcom_pull(key='rows'))",
            "",
            "which result ti.xcom_pull(key='rows') asks for is not known",
        ),
        ("lambda a, *rest: print(rest)", "op_args=[1, 2]", "it takes more than it names"),
    ],
)
def test_what_a_function_would_get_only_there_is_to_be_done(function: str, given: str, said_: str) -> None:
    found = in_dag(f"PythonOperator(task_id='a', python_callable={function}, {given})")
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_a_function_knows_its_task_and_attempt() -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=lambda ti: print(ti.dag_id, ti.task_id, ti.try_number))"
    )
    assert not said(found, Grade.TODO)
    script = tasks(found)["a"].params["script"].replace("${system.task.attempt}", "2")
    assert printed(script) == ["d ${system.task.definition.name} 2"]


@every(
    ("param", "start", "shown", "told"),
    [
        ("None", "", "None", 0),
        ("None", "a", "'a'", 0),
        ("Param(None, type=['null', 'string'], enum=['a', None])", "", "None", 1),
        ("Param(None, type=['null', 'integer'], minimum=1)", "", "None", 1),
        ("Param(None, type=['null', 'integer'])", "7", "7", 0),
        ("Param(None, type=['null', 'array'])", '["a"]', "['a']", 0),
    ],
)
def test_a_parameter_that_is_none_is_none_in_a_function(param: str, start: str, shown: str, told: int) -> None:
    found = in_dag(
        "PythonOperator(task_id='a', python_callable=lambda params: print(repr(params['p'])))",
        f"schedule=None, params={{'p': {param}}}",
    )
    assert printed(tasks(found)["a"].params["script"].replace("${p}", start)) == [shown]
    assert said(found, Grade.CHANGED) == ['the values of "p" are not checked, since it may be None'] * told


def test_an_argument_without_a_name_is_given_by_its_place() -> None:
    found = in_dag("add(1, c=3)", before="@task\ndef add(a, /, b=2, *, c):\n    print(a, b, c)")
    assert printed(tasks(found)["add"].params["script"]) == ["1 2 3"]


def test_a_result_without_a_task_is_that_of_the_only_one_that_pushes_it() -> None:
    found = in_dag(
        """
        a = PythonOperator(task_id="a", python_callable=lambda ti: ti.xcom_push(key="rows", value=3))
        a >> PythonOperator(task_id="b", python_callable=lambda ti: print(ti.xcom_pull(key="rows")))
        """
    )
    assert not said(found, Grade.TODO)
    script = tasks(found)["b"].params["script"]
    assert printed(script.replace("${a.rows_json}", "3")) == ["3"]


@every(
    "givers",
    [
        "[giver('a'), giver('b')]",
        "PythonOperator.partial(task_id='a', python_callable=gives).expand(op_args=[[1], [2]])",
    ],
)
def test_a_result_that_several_tasks_may_give_is_not_guessed(givers: str) -> None:
    found = in_dag(
        f"""
        def giver(id_):
            return PythonOperator(task_id=id_, python_callable=gives)
        {givers} >> PythonOperator(task_id="c", python_callable=lambda ti: print(ti.xcom_pull(key="rows")))
        """,
        before="def gives(ti, number=3):\n    ti.xcom_push(key='rows', value=number)",
    )
    assert any("which result ti.xcom_pull(key='rows') asks for" in each for each in said(found, Grade.TODO, "c"))


def test_what_is_in_other_files_is_imported_by_the_script_or_to_be_done() -> None:
    found = in_dag(
        """
        PythonOperator(task_id="a", python_callable=Loader.load)
        PostgresOperator(task_id="b", sql=Queries.users, postgres_conn_id="w", queue=queue_of())
        PythonOperator(task_id="c", python_callable=print_all, op_args=[Queries.users])
        """,
        before="from airflow.operators.postgres import PostgresOperator\nfrom others import Loader, Queries, print_all",
    )
    text = found.files["workflows/d.yaml"]
    assert "from others import Loader\n\n        Loader.load()\n" in text and "worker_group" not in text
    assert not said(found, Grade.TODO, "a")
    assert any("sql = others.Queries.users is in another file" in each for each in said(found, Grade.TODO, "b"))
    assert any("others.Queries.users is in another file" in each for each in said(found, Grade.TODO, "c"))


@every(
    ("given", "task", "said_"),
    [
        ("default_args=cfg.ARGS", "", "default_args cfg.ARGS are not known"),
        ("max_active_runs=cfg.RUNS", "", "cfg.RUNS is not known; write max_active"),
        ("schedule=cfg.WHEN", "", "its schedule cfg.WHEN is not known"),
        ("schedule=None, params=cfg.PARAMS", "", "its params cfg.PARAMS are not known"),
        ("schedule=None", "pool=cfg.POOL, queue=cfg.QUEUE, retries=cfg.TIMES", "pool = cfg.POOL is in another file"),
    ],
)
def test_no_value_of_another_file_is_lost(given: str, task: str, said_: str) -> None:
    body = f"""
    with DAG("d", {given}):
        BashOperator(task_id="a", bash_command="date", {task})
    """
    found = imported(body, f"import cfg\n{HEAD}")
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)
    assert not any("Shoal refuses it" in each for each in said(found, Grade.TODO))


def test_a_list_that_a_loop_of_tasks_fills_is_to_be_done() -> None:
    found = in_dag("""
        made = []
        for name in "ab":
            EmptyOperator(task_id=name)
            made.append(name)
        PythonOperator(task_id="c", python_callable=lambda: print(made))
    """)
    assert any("its code uses made" in each for each in said(found, Grade.TODO))


@every(("rows", "expected"), [("[]", (1, "")), ('["a"]', (0, '#{setValue(return_value=["a"])}'))])
def test_a_sensor_finds_values_in_its_environment_and_gives_on_what_it_found(
    rows: str, expected: tuple[int, str]
) -> None:
    found = in_dag("""
        @task
        def names(): return ["a"]
        @task.sensor
        def there(given, day):
            assert day == "s3://x/2026-01-31"
            return PokeReturnValue(is_done=bool(given), xcom_value=given)
        @task
        def use(given): print(given)
        use(there(names(), "s3://x/{{ ds }}"))
    """, before="from airflow.sensors.base import PokeReturnValue")  # fmt: skip
    script = tasks(found)["there"].params["for"]["script"]
    script = script.replace("${names.return_value_json}", rows.replace('"', '\\"'))
    script = script.replace("$[interval_start(yyyy-MM-dd)]", "2026-01-31")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.partition("\n")[0]) == expected, done
    assert "${there.return_value_json}" in tasks(found)["use"].params["script"]


def test_a_sensor_that_skips_itself_is_to_be_done() -> None:
    found = in_dag("""
        def there(): raise AirflowSkipException
        from airflow.sensors.python import PythonSensor
        PythonSensor(task_id="a", python_callable=there)
    """, before="from airflow.exceptions import AirflowSkipException")  # fmt: skip
    assert any("it skips itself" in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


@every(
    ("given", "kept"),
    [('["numpy~=1.26.0"]', ["numpy~=1.26.0"]), ('"numpy\\nfish==1"', ["numpy", "fish==1"]), ('["-r x.txt"]', None)],
)
def test_requirements_of_a_virtual_environment_are_those_of_its_task(given: str, kept: list[str] | None) -> None:
    found = in_dag(f"PythonVirtualenvOperator(task_id='a', python_callable=lambda: 1, requirements={given})")
    if kept is None:
        assert said(found, Grade.TODO) == ["line 22: write requirements, as names of packages: ['-r x.txt']"]
    else:
        assert tasks(found)["a"].params["requirements"] == kept


def test_an_async_function_is_run_to_its_end() -> None:
    found = in_dag(
        """
async def half(x):
    await asyncio.sleep(0)
    return x / 2

@task
async def a(x):
    # Both at once.
    return sum(await asyncio.gather(half(x), half(x)))

@task
def b(y):
    return y

b(a(3))
async def work(): await half(2); print("worked")
PythonOperator(task_id="d", python_callable=work)
""",
        before="import asyncio",
    )
    assert not said(found, Grade.TODO)
    assert "#{setValue(return_value=3.0)}" in printed(tasks(found)["a"].params["script"])
    assert printed(tasks(found)["d"].params["script"]) == ["worked"]


def test_a_branch_that_returns_a_list_in_one_case_has_a_case_for_it() -> None:
    found = in_dag(
        """
        br = BranchPythonOperator(task_id="br", python_callable=chooses)
        br >> [EmptyOperator(task_id="a"), EmptyOperator(task_id="b")]
        """,
        before='def chooses(ds):\n    return ["b", "a"] if ds > "2026" else (ds and "b")',
    )
    cases = tasks(found)["br_switch"].params["cases"]
    assert cases[0] == {"when": '"${br.branch}" == "a,b"', "then": ["a", "b"]}
    assert [each["then"] for each in cases[1:]] == [["a"], ["b"]]
