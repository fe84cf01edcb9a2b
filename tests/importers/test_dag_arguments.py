"""What arguments of DAG files mean here: each is followed, or the report says that it is not."""

from __future__ import annotations

from importers.report import Grade
from tests.every import every
from tests.importers.exports import said
from tests.importers.test_airflow import DAILY, HEAD, arrows, imported, in_dag, tasks, workflow
from tests.importers.test_functions_and_sensors import printed

TIMETABLE = "import pendulum\nfrom airflow.timetables.trigger import CronTriggerTimetable"
LOCAL = "run_as_user='bob'", "max_active_tis_per_dag=1", "executor_config={'a': 1}", "wait_for_downstream=True"


@every(
    "given",
    [
        *LOCAL,
        *("start_date=datetime(2027, 1, 1)", "end_date=datetime(2027, 1, 1)", "resources={'cpu': 1}"),
        "task_concurrency=2",
    ],
)
def test_an_argument_that_nothing_follows_is_told(given: str) -> None:
    found = in_dag(f"EmptyOperator(task_id='a', {given})")
    assert tasks(found)
    assert any(line.field == given.partition("=")[0] for line in found.report.lines()), found.report.lines()


@every("given", LOCAL)
def test_one_of_all_tasks_is_told_once(given: str) -> None:
    name, _, value = given.partition("=")
    found = in_dag(
        "EmptyOperator(task_id='a')\nEmptyOperator(task_id='b')", f"{DAILY}, default_args={{'{name}': {value}}}"
    )
    assert len([line for line in found.report.lines() if line.field == name]) == 1


def test_the_end_of_default_args_is_that_of_the_schedule() -> None:
    found = in_dag("EmptyOperator(task_id='a')", f"{DAILY}, default_args={{'end_date': datetime(2027, 1, 1)}}")
    (schedule,) = workflow(found).schedules
    assert str(schedule.end_time).startswith("2027-01-01")


def test_the_zone_of_a_start_that_is_not_known_is_read_in_it() -> None:
    given = "schedule='0 5 * * *', start_date=pendulum.now('Asia/Tokyo').subtract(days=2), catchup=False"
    assert workflow(in_dag("EmptyOperator(task_id='a')", given)).spec.time_zone == "Asia/Tokyo"


@every(
    ("given", "said_"),
    [
        ("retries=Variable.get('n', 3)", "retries = ${n} is no number that is known"),
        ("depends_on_past=Variable.get('p')", "depends_on_past = ${p} is no yes or no that is known"),
    ],
)
def test_a_text_in_place_of_a_number_is_to_be_done(given: str, said_: str) -> None:
    assert any(said_ in each for each in said(in_dag(f"EmptyOperator(task_id='a', {given})"), Grade.TODO))


def test_a_number_may_stand_in_a_text_and_a_group_has_default_args_of_its_own() -> None:
    found = in_dag("""
        with TaskGroup("g", default_args={"retries": "2"}):
            with TaskGroup("h", default_args={"priority_weight": 1}):
                EmptyOperator(task_id="a")
            EmptyOperator(task_id="b", retries=1)
    """)
    assert {name: task.retry_times for name, task in tasks(found).items()} == {"g_h_a": 2, "g_b": 1}


def test_what_a_type_of_tasks_does_not_have_is_left_out() -> None:
    defaults = "{'retries': 2, 'execution_timeout': timedelta(hours=1), 'pool': 'p'}"
    found = in_dag(
        """
        a = ExternalTaskSensor(task_id="a", external_dag_id="other")
        b = TriggerDagRunOperator(task_id="b", trigger_dag_id="other", wait_for_completion=True)
        c = LatestOnlyOperator(task_id="c")
        d = FileSensor(task_id="d", filepath="/x")
        a >> b >> c >> d
        """,
        f"{DAILY}, default_args={defaults}",
    )
    made = tasks(found)
    assert (made["a"].timeout, made["a"].retry_times, made["d"].retry_times) == (60, 0, 2)
    assert "a SUB_PROCESS task runs in the master, and has no retry_times, no timeout, no resources" in said(
        found, Grade.CHANGED
    )


def test_a_first_task_has_no_start_rule() -> None:
    found = in_dag(
        "EmptyOperator(task_id='a') >> EmptyOperator(task_id='b')",
        f"{DAILY}, default_args={{'trigger_rule': 'all_done'}}",
    )
    assert [(name, str(task.start_when)) for name, task in tasks(found).items()] == [
        ("a", "all_success"), ("b", "all_done"),
    ]  # fmt: skip


@every(
    ("states", "grade"),
    [
        ("allowed_states=['skipped']", Grade.TODO),
        ("allowed_states=[State.SUCCESS, State.SKIPPED]", Grade.CHANGED),
        ("skipped_states=['skipped']", Grade.CHANGED),
        ("allowed_states=['success']", Grade.SAME),
    ],
)
def test_the_states_that_another_dag_may_end_in(states: str, grade: Grade) -> None:
    before = "from airflow.utils.state import State"
    found = in_dag(f"ExternalTaskSensor(task_id='a', external_dag_id='b', {states})", before=before)
    assert found.report.grade_of(("dags.py", "d", "a")) is grade


# ------------------------------------------------------------------------------------ setups, branches and joins


def test_a_setup_and_a_teardown_are_tasks_and_frame_what_is_between_them() -> None:
    found = in_dag("""
        from airflow.decorators import setup, teardown
        @setup
        def make():
            return "x"
        @teardown
        def drop(name):
            print(name)
        with drop(make()):
            EmptyOperator(task_id="a") >> EmptyOperator(task_id="b")
    """)
    assert arrows(found) == {"make": [], "drop": ["make", "b"], "a": ["make"], "b": ["a"]}
    assert tasks(found)["drop"].teardown


FORK = """
    choice = BranchPythonOperator(task_id="choice", python_callable=lambda: "a")
    a, b, c, d = [EmptyOperator(task_id=name) for name in "abcd"]
    join = EmptyOperator(task_id="join")
"""


@every(
    ("body", "differs"),
    [
        (FORK + "    choice >> [a, b]; a >> c; b >> d; [c, d] >> join", True),
        (FORK + "    choice >> a >> [b, c] >> join >> d", False),
        ("LatestOnlyOperator(task_id='l') >> (a := EmptyOperator(task_id='a'))", False),
        (
            "a, join = EmptyOperator(task_id='a'), EmptyOperator(task_id='join')\n"
            "LatestOnlyOperator(task_id='l') >> join\na >> join",
            True,
        ),
        (FORK + "    [BashOperator(task_id='s', bash_command='exit 99'), a] >> join", True),
        (FORK + "    [BashOperator(task_id='s', bash_command='exit 9'), a] >> join", False),
        (FORK + "    [BashOperator(task_id='s', bash_command='x', skip_on_exit_code=7), a] >> join", True),
        (FORK + "    [FileSensor(task_id='s', filepath='/x', timeout=9, soft_fail=True), a] >> join", True),
        (FORK + "    BashOperator(task_id='s', bash_command='exit 99') >> join", False),
    ],
)
def test_a_join_of_which_a_part_may_be_skipped_differs(body: str, differs: bool) -> None:
    found = in_dag(body)
    assert any("there it is skipped if one" in each for each in said(found, Grade.CHANGED)) is differs


@every(
    ("rule", "before", "starts", "said_"),
    [
        ("all_done", "", "all_success", 'it starts only if "choice" chooses it'),
        ("none_failed", "", "all_success", 'it starts only if "choice" chooses it'),
        ("always", "c", "always", 'is skipped if "choice" does not choose it'),
        ("none_failed", "a", "none_failed", ""),
        ("one_success", "", "one_success", ""),
    ],
)
def test_a_task_that_is_not_chosen_does_not_start(rule: str, before: str, starts: str, said_: str) -> None:
    found = in_dag(f"{FORK}    b.trigger_rule = '{rule}'; choice >> [a, b]; [{before}] >> b")
    assert tasks(found)["b"].start_when == starts
    spoken = [each for each in said(found, Grade.CHANGED, "b") if "choose" in each]
    assert [said_ in each for each in spoken] == ([True] if said_ else [])


def test_a_short_circuit_skips_there_what_has_a_start_rule_here() -> None:
    found = in_dag("""
        a, b = EmptyOperator(task_id="a"), EmptyOperator(task_id="b", trigger_rule="all_done")
        ShortCircuitOperator(task_id="s", python_callable=lambda: False) >> a >> b
    """)
    assert any('skipped with all tasks after "s"' in each for each in said(found, Grade.CHANGED))


def test_a_branch_that_collects_what_goes_on_has_a_case_for_each_combination() -> None:
    found = in_dag("""
        def choose(n):
            found = []
            for each in "ab"[:n]:
                found.append(each)
            return found
        BranchPythonOperator(task_id="c", python_callable=choose, op_args=[2]) >> [
            EmptyOperator(task_id="a"), EmptyOperator(task_id="b")]
    """)
    assert [case["then"] for case in tasks(found)["c_switch"].params["cases"]] == [["a", "b"], ["a"], ["b"]]


# ------------------------------------------------------------------------------------------------ texts and code


def test_the_name_of_a_table_is_put_into_a_statement() -> None:
    found = in_dag(
        "PostgresOperator(task_id='a', sql='select * from {{ params.t }} where d = {{ params.d }}')",
        f"{DAILY}, params={{'t': 'x', 'd': '1'}}",
    )
    assert tasks(found)["a"].params["sql"] == "select * from !{t} where d = ${d}"


def test_a_dollar_of_an_environment_is_no_variable_of_bash() -> None:
    found = in_dag("BashOperator(task_id='a', bash_command='echo', env={'P': 'a$b {{ ds }}'})")
    assert 'export P="a\\$b $[interval_start(yyyy-MM-dd)]"' in tasks(found)["a"].params["script"]


def test_a_text_of_several_lines_in_a_function_stays_as_it_is() -> None:
    body = '''
        try:
            import absent as fast
        except ImportError:
            fast = None
        def show():
            print("""a
                b
            c""", fast)
        PythonOperator(task_id="p", python_callable=show)
    '''
    lines = [f"    {line}" for line in body.splitlines()[1:]]
    found = imported(f"{'with DAG(' + repr('d')}, {DAILY}):\n" + "\n".join(lines), HEAD)
    assert printed(tasks(found)["p"].params["script"]) == ["a", "                    b", "                c None"]


@every(
    ("cron", "grade"),
    [
        ("0 5 * * 1 0", Grade.SAME),
        ("0 5 * * 1 30", Grade.TODO),
        ("0 0 5 * * 1", Grade.TODO),
        ("0 0 */2 * 1", Grade.CHANGED),
        ("0 0 1 * */2", Grade.CHANGED),
        ("0 0 1 * 1", Grade.SAME),
        ("0 5 * * 1-5", Grade.SAME),
    ],
)
def test_a_cron_of_six_fields_ends_with_seconds(cron: str, grade: Grade) -> None:
    found = in_dag("EmptyOperator(task_id='a')", f"schedule='{cron}', start_date=datetime(2026, 1, 1), catchup=False")
    assert found.report.grade_of(("dags.py", "d", "")) is grade
    if grade is Grade.SAME:
        assert workflow(found).schedules[0].cron == " ".join(cron.split()[:5])


@every(
    "more",
    ["timezone='UTC', interval=timedelta(days=1)", "timezone=secret()"],
)
def test_a_timetable_that_is_not_known_as_a_whole_is_to_be_done(more: str) -> None:
    given = f"schedule=CronTriggerTimetable('0 1 * * *', {more}), catchup=False"
    found = in_dag("EmptyOperator(task_id='a')", given, TIMETABLE)
    assert any("is not known; write schedules" in each for each in said(found, Grade.TODO))


def test_a_timetable_by_names_and_a_dag_that_fails_fast() -> None:
    given = "schedule=CronTriggerTimetable(cron='0 1 * * *', timezone=pendulum.UTC), catchup=False, fail_fast=True"
    spec = workflow(in_dag("EmptyOperator(task_id='a')", given, TIMETABLE)).spec
    assert (spec.time_zone, str(spec.failure_strategy)) == ("UTC", "END")


def test_a_start_in_a_zone_that_is_not_known_says_which_one_counts() -> None:
    given = "schedule='0 5 * * *', start_date=datetime(2026, 1, 1, tzinfo=secret()), catchup=False"
    found = in_dag("EmptyOperator(task_id='a')", given)
    assert any("from when it is saved, in UTC" in each for each in said(found, Grade.CHANGED))


def test_a_sensor_waits_for_a_time_of_the_day() -> None:
    before = "from datetime import time\nfrom airflow.sensors.time_sensor import TimeSensor"
    made = tasks(in_dag("TimeSensor(task_id='a', target_time=time(9, 30))", before=before))
    assert made["a"].params["for"] == {"time": "09:30"}


@every(
    ("schedule", "conditions"),
    [
        ("Dataset('a') | Dataset('b')", ["a", "b"]),
        ("Dataset('a') | Dataset('b') | Dataset('a')", ["a", "b"]),
        ("AssetAny(Asset('a'), Asset('b'))", ["a", "b"]),
        ("[Dataset('a')]", ["a"]),
        ("[Dataset('a'), Dataset('b')]", ["ab"]),
        ("Dataset('a') & Dataset('b')", ["ab"]),
        ("Dataset('a') | (Dataset('b') & Dataset('c'))", ["a", "bc"]),
        ("(Dataset('a') | Dataset('b')) & Dataset('c')", ["ac", "bc"]),
        ("(Dataset('a') | Dataset('b')) & Dataset('a')", ["a"]),
        ("AssetAll(Asset('a'), AssetAny(Asset('a'), Asset('b')))", ["a"]),
        ("AssetAll(Asset('a'), Asset('b'))", ["ab"]),
        ("[Dataset('a') | Dataset('b'), Dataset('c')]", ["ac", "bc"]),
    ],
)
def test_conditions_on_datasets_are_triggers(schedule: str, conditions: list[str]) -> None:
    found = in_dag(
        "EmptyOperator(task_id='a')", f"schedule=({schedule})", "from airflow.sdk import Asset, AssetAll, AssetAny"
    )
    triggers = workflow(found).spec.triggers
    assert [each.dataset or "".join(each.datasets) for each in triggers] == conditions
    is_mixed = len(conditions) > 1 and any(len(each) > 1 for each in conditions)
    assert any("a start forgets" in each for each in said(found, Grade.CHANGED)) == is_mixed
    assert said(found, Grade.TODO) == []


def test_a_condition_on_very_many_datasets_is_to_be_done() -> None:
    either = " & ".join(f"(Dataset('a{each}') | Dataset('b{each}'))" for each in range(5))
    found = in_dag("EmptyOperator(task_id='a')", f"schedule={either}")
    assert any("more than 20 parts" in each for each in said(found, Grade.TODO))


def test_a_schedule_of_times_and_datasets_has_both() -> None:
    timetable = "CronTriggerTimetable('0 6 * * *', timezone='Europe/Berlin')"
    schedule = f"DatasetOrTimeSchedule(timetable={timetable}, datasets=Dataset('a') | Dataset('b'))"
    found = in_dag("EmptyOperator(task_id='a')", f"schedule={schedule}, catchup=False", """
        from airflow.timetables.datasets import DatasetOrTimeSchedule
        from airflow.timetables.trigger import CronTriggerTimetable
    """)  # fmt: skip
    one = workflow(found)
    assert [each.dataset for each in one.spec.triggers] == ["a", "b"]
    assert ([each.cron for each in one.schedules], one.spec.time_zone) == (["0 6 * * *"], "Europe/Berlin")


@every(
    "schedule", ["Dataset('a') | secret()", "[Dataset('a'), secret()]", "DatasetOrTimeSchedule(own(), Dataset('a'))"]
)
def test_datasets_that_are_not_known_are_to_be_done(schedule: str) -> None:
    found = in_dag("EmptyOperator(task_id='a')", f"schedule={schedule}")
    assert any("not known" in each for each in said(found, Grade.TODO))


def test_what_no_task_reads_of_the_default_arguments_is_said_once() -> None:
    found = in_dag(
        "PostgresOperator(task_id='a', sql='SELECT 1') >> EmptyOperator(task_id='b')",
        f"{DAILY}, default_args={{'postgres_conn_id': 'dwh', 'colour': 'red', 'provide_context': True}}",
    )
    assert said(found, Grade.LOST) == ["default_args: colour = red has no counterpart"]
    assert tasks(found)["a"].params["datasource"] == "dwh"


def test_a_timetable_of_several_expressions_is_a_schedule_for_each() -> None:
    found = in_dag(
        "BashOperator(task_id='a', bash_command='echo {{ ds }}')",
        "schedule=MultipleCronTriggerTimetable('0 6 * * *', '30 8 * * 1', timezone='Asia/Tokyo'), catchup=False",
        before="from airflow.timetables.trigger import MultipleCronTriggerTimetable",
    )
    document = workflow(found)
    assert [each.cron for each in document.schedules] == ["0 6 * * *", "30 8 * * 1"]
    assert document.spec.time_zone == "Asia/Tokyo"
    assert tasks(found)["a"].params["script"] == "echo $[yyyy-MM-dd]\n"


@every(("rule", "differs"), [("one_failed", True), ("all_done", True), ("none_failed", False)])
def test_a_run_with_a_failed_task_is_told_to_fail_here(rule: str, differs: bool) -> None:
    found = in_dag(f"EmptyOperator(task_id='a') >> EmptyOperator(task_id='b', trigger_rule='{rule}')")
    told = [each for each in said(found, Grade.CHANGED, "") if "is FAILURE here" in each]
    assert len(told) == differs
