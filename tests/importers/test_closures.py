"""Functions of tasks that use names of the functions and loops around them: each script has what they are at a run."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import documents, said
from tests.importers.test_airflow import imported, in_dag, tasks
from tests.importers.test_functions_and_sensors import printed


def test_a_function_of_a_factory_has_what_the_factory_was_given() -> None:
    found = imported("""
        number = 100
        def make(name, number, rates=(1, 2)):
            import string
            table = f"{name}_{number}"
            def shown(what):
                return string.capwords(what)
            def work():
                print(shown(table), number, rates, {"a": [number]})
            with DAG(name, schedule=None) as dag:
                PythonOperator(task_id="a", python_callable=work)
            return dag
        for number in (1, 2):
            globals()[f"d{number}"] = make(f"d{number}", number)
    """)
    assert not found.report.has_todo, said(found, Grade.TODO)
    scripts = {name: one.spec.tasks[0].params["script"] for name, one in documents(found).items()}
    assert printed(scripts["d1"]) == ["D1_1 1 (1, 2) {'a': [1]}"]
    assert printed(scripts["d2"]) == ["D2_2 2 (1, 2) {'a': [2]}"]


@every(
    ("function", "lines"),
    [
        ("lambda: print(x)", ["c", "c", "c"]),  # as there: the file was read to its end
        ("lambda x=x: print(x)", ["a", "b", "c"]),
        ("lambda *, x=x: print(x)", ["a", "b", "c"]),
    ],
)
def test_a_name_of_a_loop_is_the_last_one_unless_it_is_a_default(function: str, lines: list[str]) -> None:
    found = in_dag(f"for x in 'abc':\n    PythonOperator(task_id=x, python_callable={function})")
    assert [line for task in tasks(found).values() for line in printed(task.params["script"])] == lines


def test_a_function_that_another_one_returns_has_the_arguments_of_that_one() -> None:
    found = in_dag(
        """
        for x in "ab":
            PythonOperator(task_id=x, python_callable=saying(x, end="!"))
        """,
        before="""
        def saying(what, end):
            def say():
                print(what + end)
            return say
        """,
    )
    assert [printed(task.params["script"]) for task in tasks(found).values()] == [["a!"], ["b!"]]


@every(
    "given",
    [
        "secret()",  # nobody knows it
        "datetime(2026, 1, 1)",  # no plain data
    ],
)
def test_what_only_a_run_knows_of_a_factory_is_to_be_done(given: str) -> None:
    found = in_dag(f"make({given})", before="""
        def make(what):
            PythonOperator(task_id="a", python_callable=lambda: print(what))
    """)  # fmt: skip
    assert any("its code uses what, which does not stand by itself" in each for each in said(found, Grade.TODO))


def test_one_name_that_means_two_things_is_to_be_done() -> None:
    found = in_dag("make(2)", before="""
        size = 1
        def bigger():
            return size + 1
        def make(size):
            PythonOperator(task_id="a", python_callable=lambda: print(size, bigger()))
    """)  # fmt: skip
    assert any("its code uses size" in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)
