"""What makes the tasks and arrows of DAG files: chains, loops, comprehensions, and conditions on variables."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import documents, said
from tests.importers.test_airflow import DAILY, arrows, imported, in_dag, tasks

ABC = "a, b, c = [EmptyOperator(task_id=name) for name in 'abc']\n"
IN_ROW = {"a": [], "b": ["a"], "c": ["b"]}


@every(
    "body",
    [
        "chain(*[a, b, c])",
        "chain(a, *[b, c])",
        "from airflow.sdk import chain_linear\nchain_linear([a], [b], [c])",
        "a.set_downstream(task_or_task_list=b)\nc.set_upstream(task_or_task_list=[b])",
        "cross_downstream([a], to_tasks=[b])\ncross_downstream(from_tasks=[b], to_tasks=[c])",
        "row = [a, b, c]\nfor one, other in zip(row[:-1], row[1:]):\n    one >> other",
    ],
)
def test_arrows_of_a_row_are_followed(body: str) -> None:
    assert arrows(in_dag(ABC + body)) == IN_ROW


@every(
    ("body", "names"),
    [
        ("for x in 'abc':\n    if x == 'b':\n        continue\n    EmptyOperator(task_id=x)", "ac"),
        ("for x in 'abc':\n    if x == 'b':\n        break\n    EmptyOperator(task_id=x)", "a"),
        ("for x in 'ab':\n    EmptyOperator(task_id=x)\nelse:\n    EmptyOperator(task_id='c')", "abc"),
        ("made = {x: EmptyOperator(task_id=x) for x in 'ab'}", "ab"),
        ("made = [EmptyOperator(task_id=x + y) for x in 'a' for y in '12' if y != '1']", ["a2"]),
        ("made = list(EmptyOperator(task_id=x) for x in 'ab')", "ab"),
        ("try:\n    x = 'a'\nexcept Exception:\n    x = 'b'\nelse:\n    EmptyOperator(task_id=x)", "a"),
    ],
)
def test_what_loops_and_comprehensions_make_is_there(body: str, names: list[str]) -> None:
    assert list(arrows(in_dag(body))) == list(names)


@every(
    ("body", "said_"),
    [
        ("made = parts_of('x')\nEmptyOperator(task_id='a')", "what parts_of('x') makes is not known"),
        ("chain(EmptyOperator(task_id='a'), secret())", "the arrows to and from secret() are left out"),
        ("EmptyOperator(task_id='a').set_upstream(secret())", "the arrows to and from secret() are left out"),
        ("made = {x: EmptyOperator(task_id=x) for x in names()}\nEmptyOperator(task_id='a')", "names() is not known"),
        ("match NAME:\n    case _:\n        EmptyOperator(task_id='b')\nEmptyOperator(task_id='a')", "a match is not"),
        ("if Variable.get('env') == 'prod':\n    EmptyOperator(task_id='b')\nEmptyOperator(task_id='a')", "whether"),
        ("if Variable.get('on', False):\n    EmptyOperator(task_id='b')\nEmptyOperator(task_id='a')", "whether"),
        (
            "for x in Variable.get('l').split(','):\n    EmptyOperator(task_id=x)\nEmptyOperator(task_id='a')",
            "the loop",
        ),
        ("name = Variable.get('name')\nEmptyOperator(task_id=f'load_{name}')", "the task_id load_${name} is not known"),
    ],
)
def test_what_only_a_run_knows_of_the_structure_is_to_be_done(body: str, said_: str) -> None:
    found = in_dag(body)
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_a_chain_of_lists_that_are_not_equally_long_is_no_arrow_to_all() -> None:
    found = in_dag(ABC + "chain([a], [b, c])")
    assert any("not equally long" in each for each in said(found, Grade.TODO))


def test_a_dag_id_with_a_variable_in_it_has_to_be_named() -> None:
    found = imported(
        "name = Variable.get('team', 'x')\nwith DAG(f'{name}_d', schedule=None):\n    EmptyOperator(task_id='a')"
    )
    assert any("has a variable in it; name it" in each for each in said(found, Grade.TODO))


def test_a_dag_that_no_code_makes_that_is_followed_is_told() -> None:
    found = imported("""
        class Factory:
            def build(self):
                return DAG("other")
        made = Factory().build()
        with DAG("d", schedule=None):
            EmptyOperator(task_id="a")
    """)
    assert any("the DAG that is made there is left out" in each for each in said(found, Grade.LOST))


def test_a_comparison_with_none_raises_nothing() -> None:
    assert list(arrows(in_dag("x = None < 3\ny = None in [1]\nEmptyOperator(task_id='a')"))) == ["a"]


@every(
    ("body", "expected"),
    [
        ("(a := EmptyOperator(task_id='a')) >> EmptyOperator(task_id='b')", {"a": [], "b": ["a"]}),
        (
            "a, *rest = [EmptyOperator(task_id=x) for x in 'abc']\na >> rest\nrest[0] >> rest[1]",
            {"a": [], "b": ["a"], "c": ["a", "b"]},
        ),
        (
            "for x in 'ab':\n    globals()[x] = EmptyOperator(task_id=x)\na >> b",
            {"a": [], "b": ["a"]},
        ),
        ("EmptyOperator(task_id=f'a{datetime(2026, 1, 2).strftime(\"%Y%m\")}')", {"a202601": []}),
    ],
)
def test_names_that_are_bound_in_other_ways_are_known(body: str, expected: dict[str, list[str]]) -> None:
    assert arrows(in_dag(body)) == expected


@every(
    ("body", "said_"),
    [
        ("made = list(map(lambda x: EmptyOperator(task_id=x), 'ab'))", "the tasks that a lambda makes are left out"),
        ("if Variable.get('x') is not None:\n    EmptyOperator(task_id='b')", "whether Variable.get('x') is not None"),
    ],
)
def test_what_is_made_by_lambdas_and_by_variables_that_may_be_none_is_told(body: str, said_: str) -> None:
    found = in_dag(f"{body}\nEmptyOperator(task_id='a')")
    assert any(said_ in each for each in said(found, Grade.TODO)), said(found, Grade.TODO)


def test_a_task_belongs_to_the_dag_of_those_around_it_and_to_no_other() -> None:
    found = imported(f"""
        one, two = DAG("d", {DAILY}), DAG("e", {DAILY})
        a, b, c = EmptyOperator(task_id="a", dag=one), EmptyOperator(task_id="b"), EmptyOperator(task_id="c")
        a >> b >> c
        EmptyOperator(task_id="x", dag=two)
    """)
    assert arrows(found) == IN_ROW
    found = imported(f"""
        one, two = DAG("d", {DAILY}), DAG("e", {DAILY})
        EmptyOperator(task_id="a", dag=one) >> EmptyOperator(task_id="b", dag=two)
        EmptyOperator(task_id="alone")
    """)
    assert any('comes after "a", which is a task of another DAG' in each for each in said(found, Grade.TODO))
    assert any('"alone" belongs to no DAG' in each for each in said(found, Grade.TODO))


def test_a_block_ends_where_a_function_returns_or_a_loop_goes_on_inside_of_it() -> None:
    found = imported("""
        def inner():
            with DAG("inner", schedule=None) as made:
                EmptyOperator(task_id="a")
                return made
        with DAG("outer", schedule=None):
            inner()
            for x in "bcd":
                with TaskGroup(x):
                    if x == "c":
                        continue
                    EmptyOperator(task_id="e")
            EmptyOperator(task_id="f")
    """)
    names = {name: [task.name for task in one.spec.tasks] for name, one in documents(found).items()}
    assert names == {"inner": ["a"], "outer": ["b_e", "d_e", "f"]}


@every(
    "body",
    [
        "if secret() not in sys.path:\n    sys.path.insert(0, secret())",
        "if not Variable.get('on', False):\n    raise ValueError('off')",
        "for each in names():\n    print(each)",
        "given = settings()\nprint(given)",
    ],
)
def test_a_condition_or_loop_that_makes_nothing_needs_no_person(body: str) -> None:
    assert list(arrows(in_dag(f"{body}\nEmptyOperator(task_id='a')", before="import sys"))) == ["a"]


def test_a_task_id_that_stands_twice_is_said() -> None:
    found = in_dag("EmptyOperator(task_id='a')\nEmptyOperator(task_id='a')")
    assert any('there is another task "a"' in each for each in said(found, Grade.TODO))


def test_a_part_that_another_file_makes_is_one_task() -> None:
    found = in_dag(
        "SubDagOperator(task_id='a', subdag=made_elsewhere(parent_dag_name='d', task_id='a'))",
        before="from airflow.operators.subdag import SubDagOperator\nfrom parts import made_elsewhere",
    )
    assert [task for _, _, task in found.report.subjects if task] == ["a"]


def test_what_is_said_of_a_dag_stands_in_one_place() -> None:
    found = imported(
        "".join(f"with DAG('{name}', schedule='@once'):\n    EmptyOperator(task_id='a')\n" for name in "xy")
    )
    heads = [line for line in found.files["import-report.md"].splitlines() if line.startswith("## ")]
    assert heads == ["## x", "## y", "## Files"]


def test_an_operator_of_another_module_is_a_task_without_a_task_id_too() -> None:
    found = in_dag("found = ListenOperator(queue='q')", before="from team.tasks import ListenOperator")
    assert [task for _, _, task in found.report.subjects if task] == ["ListenOperator"]
    assert any("ListenOperator has no counterpart" in each for each in said(found, Grade.TODO))


def test_the_lists_of_a_mapped_task_that_a_person_has_to_write_are_shown() -> None:
    found = in_dag(
        "CopyOperator.partial(task_id='a', bucket='b').expand_kwargs([{'path': '/srv/one.csv'}])",
        before="from team.tasks import CopyOperator",
    )
    assert "/srv/one.csv" in found.files["workflows/d.yaml"]


def test_a_group_that_is_made_twice_has_a_number_the_second_time() -> None:
    found = in_dag("""
        @task_group
        def pair():
            EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")
        pair() >> pair()
    """)
    assert arrows(found) == {"pair_a": [], "pair_b": ["pair_a"], "pair__1_a": ["pair_b"], "pair__1_b": ["pair__1_a"]}


def test_a_dag_is_started_for_each_element_of_a_list_that_the_file_says() -> None:
    found = in_dag("""
        a, z = EmptyOperator(task_id="a"), EmptyOperator(task_id="z")
        each = TriggerDagRunOperator.partial(task_id="t", trigger_dag_id="other", wait_for_completion=True)
        a >> each.expand(conf=[{"x": 1, "y": "a"}, {"x": 2}]) >> z
        TriggerDagRunOperator.partial(task_id="u").expand_kwargs([{"trigger_dag_id": "b", "conf": {"day": "{{ ds }}"}}])
    """)
    made = tasks(found)
    assert {name: task.params for name, task in made.items() if task.type == "SUB_PROCESS"} == {
        "t_0": {"workflow": "other", "params": {"x": "1", "y": "a"}},
        "t_1": {"workflow": "other", "params": {"x": "2"}},
        "u_0": {"workflow": "b", "wait": False, "params": {"day": "$[interval_start(yyyy-MM-dd)]"}},
    }
    assert (made["t_1"].after, made["z"].after) == (("a",), ("t_0", "t_1"))


def test_a_dag_that_is_started_for_each_result_of_a_task_is_to_be_done() -> None:
    found = in_dag("""
        @task
        def confs():
            return [{"x": 1}]
        TriggerDagRunOperator.partial(task_id="t", trigger_dag_id="other").expand(conf=confs())
    """)
    assert any("it starts a DAG for each element of a list" in each for each in said(found, Grade.TODO))


def test_a_group_without_a_prefix_hides_those_around_it() -> None:
    found = in_dag("""
        with TaskGroup("outer"):
            with TaskGroup("bare", prefix_group_id=False):
                a = EmptyOperator(task_id="a")
                with TaskGroup("inner"):
                    EmptyOperator(task_id="b") >> a
        BashOperator(task_id="c", bash_command="echo {{ task_id }}") >> a
    """)
    assert list(tasks(found)) == ["a", "inner_b", "c"]


@every(
    ("body", "said_"),
    [
        ("one.expand(each=some())", "of an empty list it is skipped there"),
        ("one.expand(each=[1, 2])", ""),
        ("one.override(task_id='c').expand(each=[1, 2]) >> EmptyOperator(task_id='z')", ""),
        ("skips.expand(each=[1, 2]) >> EmptyOperator(task_id='z')", "if one of its elements is skipped"),
        ("skips.expand(each=[1, 2])", ""),
    ],
)
def test_what_comes_after_no_or_skipped_elements_differs(body: str, said_: str) -> None:
    found = in_dag(f"""
        from airflow.exceptions import AirflowSkipException
        @task
        def some():
            return []
        @task
        def one(each):
            print(each)
        @task
        def skips(each):
            raise AirflowSkipException(each)
        {body}
    """)
    spoken = said(found, Grade.CHANGED)
    assert [said_ in each for each in spoken] == ([True] if said_ else []), spoken


@every("given", ["bash_command=['echo', 'a']", "bash_command={'a': 'b'}"])
def test_a_script_that_is_no_text_is_to_be_done(given: str) -> None:
    said_ = "its bash_command is a list, and no text"
    assert any(said_ in each for each in said(in_dag(f"BashOperator(task_id='a', {given})"), Grade.TODO))
    mapped = in_dag("BashOperator.partial(task_id='a').expand(bash_command=[['echo'], 'date'])")
    assert any(said_ in each for each in said(mapped, Grade.TODO))


@every(
    ("given", "count"),
    [
        ("email='a@x.org'", 1),
        ("email='a@x.org', email_on_failure=False, email_on_retry=False", 0),
        ("email='a@x.org', email_on_failure=False", 1),
    ],
)
def test_a_mail_about_a_failure_is_told_of_a_task_and_of_all(given: str, count: int) -> None:
    assert len(said(in_dag(f"EmptyOperator(task_id='a', {given})"), Grade.CHANGED, "a")) == count
    defaults = f"schedule=None, default_args=dict({given})"
    assert len(said(in_dag("EmptyOperator(task_id='a')", defaults), Grade.CHANGED)) == count


def test_a_template_knows_the_number_of_the_attempt() -> None:
    made = tasks(in_dag("BashOperator(task_id='a', bash_command='echo {{ ti.try_number }}')"))
    assert made["a"].params["script"].startswith("echo ${system.task.attempt}")
