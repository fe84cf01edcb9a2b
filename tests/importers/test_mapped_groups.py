"""Groups and tasks of DAG files that are mapped over lists, and DAGs that are parts of others."""

from __future__ import annotations

import subprocess
import sys

from importers.report import Grade
from tests.every import every
from tests.importers.exports import documents, said
from tests.importers.test_airflow import arrows, imported, in_dag, tasks
from tests.importers.test_functions_and_sensors import printed

GROUP = """
@task_group
def one(number, factor=10):
    @task
    def doubled(value): return value * factor
    @task
    def more(value): print(value + 1); return value + 1
    return more(doubled(number))
@task
def total(values): print(sum(values))
"""


@every(
    "mapped",
    [
        "one.expand(number=[1, 2])",
        "one.partial(factor=10).expand(number=[1, 2])",
        "one.expand_kwargs([{'number': 1}, {'number': 2, 'factor': 10}])",
    ],
)
def test_a_group_that_is_mapped_over_a_known_list_has_tasks_for_each_element(mapped: str) -> None:
    found = in_dag(f"{GROUP}\nstart = EmptyOperator(task_id='start')\nfound = {mapped}\nstart >> found\ntotal(found)")
    assert arrows(found) == {
        "start": [], "one_0_doubled": [], "one_0_more": ["one_0_doubled", "start"],
        "one_1_doubled": [], "one_1_more": ["one_1_doubled", "start"], "total": ["one_0_more", "one_1_more"],
    }  # fmt: skip
    assert printed(tasks(found)["one_1_doubled"].params["script"])[-1] == "#{setValue(return_value_json=20)}"
    groups = [tasks(found)[name].group for name in ("start", "one_0_doubled", "one_0_more", "one_1_more", "total")]
    assert groups == [None, "one_0", "one_0", "one_1", None]
    script = tasks(found)["total"].params["script"]
    for name, value in (("one_0_more", "11"), ("one_1_more", "21")):
        script = script.replace(f"${{{name}.return_value_json}}", value)
    assert printed(script) == ["32"]


def test_a_group_that_is_mapped_over_a_result_is_a_workflow_of_its_own() -> None:
    found = in_dag(
        f"""{GROUP}
@task
def numbers(): return [1, 2]
EmptyOperator(task_id="a") >> one.partial(factor=3).expand(number=numbers()) >> EmptyOperator(task_id="b")""",
        "schedule='@daily', start_date=datetime(2026, 1, 1), catchup=False, default_args={'retries': 2}",
    )
    assert not found.report.has_todo, said(found, Grade.TODO)
    whole, part = documents(found)["d"], documents(found)["d.one"]
    assert {task.name: list(task.after) for task in whole.spec.tasks} == {
        "numbers": [], "a": [], "one": ["numbers", "a"], "b": ["one"],
    }  # fmt: skip
    params = next(task for task in whole.spec.tasks if task.name == "one").params
    assert (params["workflow"], params["lists"]) == ("d.one", [{"name": "number", "value": "${numbers.return_value}"}])
    assert (len(part.schedules), list(part.spec.declared)) == (0, ["number"])
    doubled, more = part.spec.tasks
    assert (doubled.name, more.name, more.after, doubled.retry_times) == ("doubled", "more", ("doubled",), 2)
    script = doubled.params["script"].replace("${number}", "7")
    assert printed(script) == ["#{setValue(return_value=21)}", "#{setValue(return_value_json=21)}"]


def test_a_group_that_is_mapped_again_is_another_workflow() -> None:
    found = in_dag(f"""{GROUP}
@task
def numbers(): return [1, 2]
one.expand(number=numbers())
with TaskGroup("outer"):
    one.expand(number=numbers())
one.expand(number=numbers())""")
    assert not found.report.has_todo, said(found, Grade.TODO)
    assert documents(found).keys() == {"d", "d.one", "d.outer.one", "d.one__1"}
    made = {task.name: task.params["workflow"] for task in documents(found)["d"].spec.tasks if task.type == "DYNAMIC"}
    assert made == {"one": "d.one", "outer_one": "d.outer.one", "one__1": "d.one__1"}


@every(
    ("body", "expected"),
    [
        ("total(one.expand(number=total([1])))", "what the group one returns is not known before it runs"),
        (
            "first = total([1])\none.partial(factor=first).expand(number=total([2]))",
            "its code uses factor, which does not stand by itself",
        ),
    ],
)
def test_what_a_group_of_its_own_gives_and_takes_is_to_be_done(body: str, expected: str) -> None:
    found = in_dag(f"{GROUP}\n{body}")
    assert any(expected in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


@every("mapped", ["one.expand_kwargs(total([1]))", "one.expand(number=secret())"])
def test_a_group_that_is_mapped_over_what_a_run_knows_is_to_be_done(mapped: str) -> None:
    found = in_dag(f"{GROUP}\n{mapped}\nEmptyOperator(task_id='a')")
    assert any("run that by a DYNAMIC task" in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_how_many_elements_run_at_once_is_kept() -> None:
    found = in_dag("""
        @task(max_active_tis_per_dagrun=2)
        def load(x): print(x)
        load.expand(x=[1, 2, 3])
        BashOperator(task_id="a", bash_command="true", max_active_tis_per_dagrun=1)
    """)
    assert (tasks(found)["load"].each.over, tasks(found)["load"].each.parallel) == ([1, 2, 3], 2)
    assert not said(found, Grade.CHANGED) and not said(found, Grade.LOST)


def test_a_dag_that_is_a_part_of_another_one_is_run_by_that_alone() -> None:
    found = imported("""
        from airflow.operators.subdag import SubDagOperator
        def part(parent, child):
            with DAG(f"{parent}.{child}", schedule_interval="@daily", start_date=datetime(2026, 1, 1)) as dag:
                BashOperator(task_id="say", bash_command="echo {{ ds }}")
            return dag
        with DAG("whole", schedule_interval="@daily", start_date=datetime(2026, 1, 1), catchup=False):
            a = EmptyOperator(task_id="a")
            a >> SubDagOperator(task_id="b", subdag=part("whole", "b")) >> EmptyOperator(task_id="c")
    """)
    assert not found.report.has_todo, said(found, Grade.TODO)
    whole, part = documents(found)["whole"], documents(found)["whole.b"]
    assert (len(whole.schedules), len(part.schedules)) == (1, 0)
    assert [(task.name, task.type, list(task.after)) for task in whole.spec.tasks] == [
        ("a", "FAKE", []), ("b", "SUB_PROCESS", ["a"]), ("c", "FAKE", ["b"]),
    ]  # fmt: skip
    assert whole.spec.tasks[1].params["workflow"] == "whole.b"
    assert part.spec.tasks[0].params["script"] == "echo $[interval_start(yyyy-MM-dd)]\n"


def test_a_part_that_is_not_known_is_to_be_done() -> None:
    found = in_dag(
        "SubDagOperator(task_id='a', subdag=made())", before="from airflow.operators.subdag import SubDagOperator"
    )
    assert any("is not known; write a SUB_PROCESS" in each for each in said(found, Grade.TODO))


@every(
    ("function", "pulls", "expected"),
    [
        ("return f'echo {x}'", False, (0, ["7"])),
        ("command = ['exit', str(x)]\n    return ' '.join(command)", False, (7, [])),
        ("y = x\n    return f'echo $A; echo {y}'", True, (0, ["s", "7", "", "#{setValue(return_value=7)}"])),
    ],
)
def test_a_function_that_gives_the_text_of_a_script(
    function: str, pulls: bool, expected: tuple[int, list[str]]
) -> None:
    use = "BashOperator(task_id='b', bash_command='echo {{ ti.xcom_pull(task_ids=\"a\") }}')" if pulls else ""
    found = in_dag(f"@task.bash(env={{'A': 's'}})\ndef a(x):\n    {function}\na(7)\n{use}")
    task = tasks(found)["a"]
    program = [sys.executable, "-c"] if task.type == "PYTHON" else ["bash", "-c"]
    done = subprocess.run([*program, task.params["script"]], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[:4]) == expected, done
    assert task.skip_exit_codes == (99,)


def test_a_function_that_gives_a_script_finds_results_of_others_in_its_environment() -> None:
    found = in_dag("""
        @task
        def names(): return ["a"]
        @task.bash
        def say(given):
            words = " ".join(given)
            return f"echo {words}"
        say(names())
    """)
    task = tasks(found)["say"]
    assert {each.name: each.value for each in task.local_params} == {"VALUE_1": "${names.return_value_json}"}
    assert "os.environ['SHOAL_PARAM_VALUE_1']" in task.params["script"]
