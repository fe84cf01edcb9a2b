"""DAG files of Airflow: what is read of them without running them, and what becomes of it."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import dedent
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from importers.airflow.convert import Options, import_dags
from importers.airflow.dates import NoText, java_pattern
from importers.airflow.templates import Templates
from importers.imported import Imported
from importers.report import Grade
from model.time.time_expressions import time_expression
from tests.every import every
from tests.importers.exports import TYPES, documents, said

HEAD = """
from datetime import datetime, timedelta
import pendulum
from airflow import DAG, Dataset
from airflow.decorators import dag, task, task_group
from airflow.models import Variable
from airflow.models.param import Param
from airflow.operators.bash import BashOperator
from airflow.operators.empty import EmptyOperator
from airflow.operators.latest_only import LatestOnlyOperator
from airflow.operators.python import BranchPythonOperator, PythonOperator, ShortCircuitOperator
from airflow.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.postgres.operators.postgres import PostgresOperator
from airflow.providers.cncf.kubernetes.operators.pod import KubernetesPodOperator
from airflow.sensors.external_task import ExternalTaskSensor
from airflow.sensors.filesystem import FileSensor
from airflow.utils.task_group import TaskGroup
from airflow.utils.trigger_rule import TriggerRule
from airflow.models.baseoperator import chain, cross_downstream
"""
DAILY = 'schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False'


def imported(text: str, head: str = HEAD, **options: bool) -> Imported:
    return import_dags([("dags.py", (head + dedent(text)).encode())], TYPES, Options(**options))


def in_dag(body: str, given: str = DAILY, before: str = "") -> Imported:
    lines = "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    return imported(f'{dedent(before)}\nwith DAG("d", {given}) as dag:\n{lines}')


def workflow(found: Imported) -> Any:
    assert not found.report.has_todo, said(found, Grade.TODO)
    return documents(found)["d"]


def tasks(found: Imported) -> dict[str, Any]:
    return {task.name: task for task in workflow(found).spec.tasks}


def arrows(found: Imported) -> dict[str, list[str]]:
    return {name: list(task.after) for name, task in tasks(found).items()}


# ------------------------------------------------------------------------------------------------ what is read


def test_arrows_of_all_forms_are_followed() -> None:
    found = in_dag("""
        a, b, c, d, e, f, g = [EmptyOperator(task_id=name) for name in "abcdefg"]
        a >> [b, c] >> d
        e << d
        chain(e, [f, g])
        cross_downstream([a], [g])
        f.set_downstream(g)
    """)
    assert arrows(found) == {
        "a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"], "f": ["e"], "g": ["e", "a", "f"],
    }  # fmt: skip


def test_loops_functions_and_constants_of_the_file_make_tasks() -> None:
    before = """
        TABLES = {"orders": 3, "items": 5}
        def make(name, retries):
            return BashOperator(task_id=f"load_{name}", bash_command="echo " + name.upper(), retries=retries)
    """
    found = in_dag(
        """
        before = None
        for name, retries in sorted(TABLES.items()):
            made = make(name, retries=retries)
            if before:
                before >> made
            before = made
    """,
        before=before,
    )
    assert arrows(found) == {"load_items": [], "load_orders": ["load_items"]}
    assert tasks(found)["load_items"].params == {"script": "echo ITEMS\n"}
    assert tasks(found)["load_items"].retry_times == 5


def test_groups_name_their_tasks_and_have_a_first_and_a_last() -> None:
    found = in_dag("""
        start = EmptyOperator(task_id="start")
        with TaskGroup("g") as g:
            with TaskGroup("inner"):
                a = EmptyOperator(task_id="a")
            b = EmptyOperator(task_id="b")
            a >> b
        @task_group
        def h():
            EmptyOperator(task_id="c")
        start >> g >> h() >> EmptyOperator(task_id="end")
    """)
    assert arrows(found) == {"start": [], "g_inner_a": ["start"], "g_b": ["g_inner_a"], "h_c": ["g_b"], "end": ["h_c"]}


@every(
    ("body", "said_"),
    [
        ("for x in names():\n    EmptyOperator(task_id=x)\nEmptyOperator(task_id='a')", "the loop over names()"),
        ("if secret():\n    EmptyOperator(task_id='b')\nEmptyOperator(task_id='a')", "whether secret()"),
        ("make_tasks(dag)\nEmptyOperator(task_id='a')", "what make_tasks(dag) makes is not known"),
        ("EmptyOperator(task_id='a') >> secret()", "the arrows to and from secret() are left out"),
        ("EmptyOperator(task_id=secret())", "the task_id secret() is not known"),
        ("BashOperator(task_id='a', bash_command=secret())", "bash_command = secret() is not known"),
        ("BashOperator(task_id='a', bash_command='{% if x %}1{% endif %}')", "is a statement of Jinja"),
        ("BashOperator(task_id='a', bash_command='{{ macros.mine(ds) }}')", "{{ macros.mine(ds) }} has no counterpart"),
        ("CustomOperator(task_id='a', x=1)", "CustomOperator has no counterpart"),
        ("EmptyOperator(task_id='a', trigger_rule='all_skipped')", "no start_when does what all_skipped does"),
    ],
)
def test_what_is_not_known_is_to_be_done_and_no_apply_takes_it(body: str, said_: str) -> None:
    found = in_dag(body)
    assert any(said_ in sentence for sentence in said(found, Grade.TODO)), said(found, Grade.TODO)
    (text,) = [text for name, text in found.files.items() if name.startswith("workflows/")]
    assert text.startswith("todo:\n")


def test_an_argument_that_nobody_knows_is_said_to_be_lost() -> None:
    found = in_dag("EmptyOperator(task_id='a', colour='red', weight=secret())")
    assert said(found, Grade.LOST, "a") == [
        "line 22: colour = red has no counterpart", "line 22: weight = secret() has no counterpart",
    ]  # fmt: skip


@every("text", ["def (", "x = 1\n", "\x00"])
def test_a_file_without_a_dag_is_said_to_have_none(text: str) -> None:
    found = import_dags([("a.py", text.encode())], TYPES)
    assert found.report.has_todo
    assert not [name for name in found.files if name.startswith("workflows/")]


def test_nothing_of_a_file_is_run(tmp_path: Any) -> None:
    made = tmp_path / "made"
    imported(f'import pathlib\npathlib.Path("{made}").touch()\nopen("{made}", "w")\nwith DAG("d"): pass\n')
    assert not made.exists()


# ------------------------------------------------------------------------------------------------ schedules


@every(
    ("given", "cron", "day"),
    [
        ('schedule="0 5 * * *"', "0 5 * * *", "$[interval_start(yyyy-MM-dd)]"),
        ('schedule_interval="@weekly"', "@weekly", "$[interval_start(yyyy-MM-dd)]"),
        ('schedule="@quarterly"', "0 0 1 */3 *", "$[interval_start(yyyy-MM-dd)]"),
        ("schedule=timedelta(hours=6)", "0 0,6,12,18 * * *", "$[interval_start(yyyy-MM-dd)]"),
        ("schedule=timedelta(minutes=15)", "*/15 * * * *", "$[interval_start(yyyy-MM-dd)]"),
        ("schedule=None", None, "$[yyyy-MM-dd]"),
    ],
)
def test_the_day_of_a_run_is_that_of_its_interval(given: str, cron: str | None, day: str) -> None:
    found = in_dag(
        'BashOperator(task_id="a", bash_command="echo {{ ds }}")', f"{given}, start_date=datetime(2026, 1, 1)"
    )
    document = workflow(found)
    assert [each.cron for each in document.schedules] == ([] if cron is None else [cron])
    assert document.spec.tasks[0].params == {"script": f"echo {day}\n"}


def test_in_airflow_3_the_day_is_that_of_the_run() -> None:
    head = "from airflow.sdk import DAG\nfrom airflow.providers.standard.operators.bash import BashOperator\n"
    text = 'with DAG("d", schedule="@daily"):\n    BashOperator(task_id="a", bash_command="{{ ds }} {{ ts }}")\n'
    (document,) = documents(imported(text, head)).values()
    assert document.spec.tasks[0].params == {"script": "$[yyyy-MM-dd] $[yyyy-MM-dd]T$[HH:mm:ss]+00:00\n"}


def test_limits_zone_and_catchup_are_those_of_the_dag() -> None:
    found = in_dag(
        'EmptyOperator(task_id="a")',
        'schedule="0 5 * * *", start_date=pendulum.datetime(2026, 1, 1, tz="Europe/Berlin"), max_active_runs=2, '
        'dagrun_timeout=timedelta(hours=2), tags=["x"], default_args={"depends_on_past": False, "retries": 3}, '
        'description="what", doc_md="more"',
    )
    document = workflow(found)
    spec = document.spec
    assert (spec.time_zone, spec.max_active, spec.timeout_minutes, spec.timeout_strategy) == (
        "Europe/Berlin", 2, 120, "FAILED",
    )  # fmt: skip
    assert (list(spec.tags), spec.description) == (["x"], "what\n\nmore")
    assert (document.schedules[0].misfire, document.schedules[0].state) == ("FIRE_ALL", "OFFLINE")
    task = next(each for each in spec.tasks if each.name == "a")
    assert (task.retry_times, task.retry_interval) == (3, 5)


def test_what_depends_on_the_past_runs_one_date_after_the_other() -> None:
    given = f'{DAILY}, max_active_runs=1, default_args={{"depends_on_past": True}}'
    found = in_dag('EmptyOperator(task_id="a")', given)
    spec = workflow(found).spec
    assert (spec.after_last, spec.execution_type) == ("succeeded", "PARALLEL")


def test_datasets_start_what_waits_for_them() -> None:
    found = imported("""
        with DAG("from_", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False):
            EmptyOperator(task_id="a", outlets=[Dataset("s3://b/o")])
        with DAG("d", schedule=[Dataset("s3://b/o")], start_date=datetime(2026, 1, 1)):
            EmptyOperator(task_id="a")
    """)
    found_ = documents(found)
    assert list(found_["from_"].spec.tasks[0].updates) == ["s3://b/o"]
    assert [each.dataset for each in found_["d"].spec.triggers] == ["s3://b/o"]


@every(
    ("body", "updates", "todo"),
    [
        ("outlet_events[AssetAlias('x')].add(Asset('s3://b/o'), extra={})", ["x", "s3://b/o"], ""),
        (
            "outlet_events and outlet_events[AssetAlias('x')].add(Asset('y'))",
            [],
            "whether or which dataset",
        ),
        ("print(outlet_events)", [], "whether or which dataset"),
    ],
)
def test_an_alias_of_assets_starts_what_waits_for_it(body: str, updates: list[str], todo: str) -> None:
    found = imported(
        f"""
        @task(outlets=[AssetAlias("x")])
        def add(*, outlet_events):
            {body}
        with DAG("source", schedule=None):
            add()
        with DAG("d", schedule=AssetAlias("x")):
            EmptyOperator(task_id="a")
        """,
        f"{HEAD}\nfrom airflow.sdk import Asset, AssetAlias, task",
    )
    assert "triggers:\n  - dataset: x\n" in found.files["workflows/d.yaml"]
    text = found.files["workflows/source.yaml"]
    assert ("    updates:\n" in text, all(f"      - {each}\n" in text for each in updates)) == (bool(updates), True)
    assert any(todo in each for each in said(found, Grade.TODO)) if todo else not said(found, Grade.TODO)
    if not todo:
        exec(compile(documents(found)["source"].spec.tasks[0].params["script"], "add", "exec"), {})


def test_a_dag_of_another_class_is_read_and_what_that_adds_is_to_be_done() -> None:
    found = imported(
        """
        with OurDAG("d", schedule_interval="@daily", params=ParamsDict({"n": Param(5, type="integer")})):
            EmptyOperator(task_id="a")
        """,
        f"{HEAD}\nfrom ours import OurDAG\nfrom airflow.sdk.definitions.param import ParamsDict",
    )
    assert "  - name: a\n" in found.files["workflows/d.yaml"]
    assert "  n:\n    type: INTEGER\n" in found.files["workflows/d.yaml"]
    (sentence,) = said(found, Grade.TODO)
    assert "what ours.OurDAG makes beside a plain DAG is not known" in sentence


def test_params_keep_their_types_and_limits() -> None:
    found = in_dag(
        'BashOperator(task_id="a", bash_command="{{ params.n }} {{ dag_run.conf[\'city\'] }} {{ var.value.bucket }}")',
        'schedule=None, params={"n": Param(5, type="integer", minimum=1), "s": "text", '
        '"on": Param(False, type="boolean")}',
    )
    spec = workflow(found).spec
    assert (spec.params["n"], spec.params["s"], spec.declared["n"].min) == ("5", "text", "1")
    assert spec.declared["on"].type == "BOOLEAN"
    assert (spec.declared["city"].required, spec.declared["bucket"].required) == (True, True)
    assert spec.tasks[0].params == {"script": "${n} ${city} ${bucket}\n"}


# ------------------------------------------------------------------------------------------------ tasks


def test_operators_become_tasks_of_their_kinds() -> None:
    found = tasks(in_dag("""
        PostgresOperator(task_id="sql", postgres_conn_id="dwh", sql="SELECT %(x)s", parameters={"x": "{{ ds }}"})
        TriggerDagRunOperator(task_id="start", trigger_dag_id="other", conf={"day": "{{ ds }}"})
        ExternalTaskSensor(task_id="there", external_dag_id="other", external_task_id="t",
                           execution_delta=timedelta(hours=23))
        FileSensor(task_id="file", filepath="/srv/{{ ds }}.csv", poke_interval=30, timeout=3600, soft_fail=True)
        KubernetesPodOperator(task_id="pod", image="busybox", cmds=["sh"], arguments=["-c", "echo"],
                              env_vars={"A": "1"}, name="x", namespace="jobs")
        LatestOnlyOperator(task_id="latest") >> EmptyOperator(task_id="after", trigger_rule=TriggerRule.ONE_SUCCESS)
        BashOperator(task_id="sh", bash_command="echo 1", env={"A": "{{ ds }}"}, cwd="/srv",
                     execution_timeout=timedelta(minutes=3), pool="small", pool_slots=2, queue="gpu")
    """))  # fmt: skip
    day = "$[interval_start(yyyy-MM-dd)]"
    assert found["sql"].params == {"datasource": "dwh", "sql": "SELECT ${x}"}
    assert [(each.name, each.value) for each in found["sql"].local_params] == [("x", day)]
    assert found["start"].params == {"workflow": "other", "wait": False, "params": {"day": day}}
    items = found["there"].params["groups"][0]["items"]
    assert items == [{"workflow": "other", "at": "-23h", "task": "t"}]
    assert found["file"].params == {
        "for": {"file": f"/srv/{day}.csv"}, "every": "30s", "timeout": "60m", "on_timeout": "SKIP",
    }  # fmt: skip
    assert found["pod"].params == {
        "image": "busybox", "namespace": "jobs", "command": ["sh"], "args": ["-c", "echo"], "env": {"A": "1"},
    }  # fmt: skip
    assert found["latest"].params == {"cases": [{"when": "${system.is_latest} == true", "then": ["after"]}]}
    assert found["after"].start_when == "one_success"
    assert found["sh"].params["script"] == f'cd /srv || exit\nexport A="{day}"\necho 1\n'
    assert (found["sh"].timeout, dict(found["sh"].resources), found["sh"].worker_group) == (3, {"small": 2}, "gpu")
    assert list(found["sh"].skip_exit_codes) == [99]


def test_a_branch_is_followed_by_a_switch() -> None:
    before = """
        def choose(**kwargs):
            return "a" if len("x") else ["a", "b"]
    """
    found = in_dag(
        """
        a, b, c = [EmptyOperator(task_id=name) for name in "abc"]
        BranchPythonOperator(task_id="choose", python_callable=choose) >> [a, b] >> c
    """,
        before=before,
    )
    made = tasks(found)
    assert list(made["a"].after) == list(made["b"].after) == ["choose_switch"]
    assert [case["then"] for case in made["choose_switch"].params["cases"]] == [["a", "b"], ["a"], ["b"]]
    assert any("it is skipped if one task before it is" in each for each in said(found, Grade.CHANGED, "c"))


def test_a_script_has_what_its_function_needs_and_nothing_else() -> None:
    before = """
        import math
        import requests
        LIMIT = 3
        UNUSED = 4
        def helper(x: int) -> int:
            # it doubles
            return 2 * x + LIMIT
        def work(ds: str, table: str, **context) -> None:
            print(ds, table, helper(1), math.pi, context["run_id"])
    """
    body = 'PythonOperator(task_id="a", python_callable=work, op_kwargs={"table": "{{ params.t }}"}, params={"t": 1})'
    found = in_dag(body, f'{DAILY}, params={{"t": "x"}}', before)
    script = tasks(found)["a"].params["script"]
    assert "import math" in script
    assert "# it doubles" in script
    assert "LIMIT = 3" in script
    assert not {"UNUSED", "requests", "@", "airflow"} & set(script.replace("(", " ").split())
    assert script.splitlines()[-1] == (
        "work(table='${t}', ds='$[interval_start(yyyy-MM-dd)]', run_id='${system.workflow.instance.id}')"
    )


def test_a_function_of_another_module_is_imported_by_its_script() -> None:
    before = "from company.jobs import load"
    found = in_dag(
        'PythonOperator(task_id="a", python_callable=load, op_args=[1], op_kwargs={"day": "{{ params.d }}"}, '
        'params={"d": "{{ ds }}"})',
        before=before,
    )
    task = tasks(found)["a"]
    assert task.params["script"] == "from company.jobs import load\n\nload(1, day='${d}')\n"
    assert [(each.name, each.value) for each in task.local_params] == [("d", "$[interval_start(yyyy-MM-dd)]")]
    assert "needs company.jobs" in said(found, Grade.CHANGED, "a")[0]


def test_code_that_needs_airflow_is_to_be_written() -> None:
    before = """
        from airflow.models import DagModel
        def work():
            DagModel.get("x")
    """
    found = in_dag('PythonOperator(task_id="a", python_callable=work)', before=before)
    assert "uses Airflow (from airflow.models import DagModel)" in said(found, Grade.TODO, "a")[0]


def test_a_password_is_never_written() -> None:
    found = in_dag('BashOperator(task_id="a", bash_command="mysql --password hunter22secret -e 1")')
    assert "hunter22secret" not in str(found.files)
    assert any("a password was found" in each for each in said(found, Grade.TODO))


# ------------------------------------------------------------------------------------------------ templates


@every(
    ("template", "text"),
    [
        ("{{ ds_nodash }}", "$[interval_start(yyyyMMdd)]"),
        ("{{ macros.ds_add(ds, -7) }}", "$[interval_start(yyyy-MM-dd-7)]"),
        (
            "{{ macros.ds_format(macros.ds_add(ds, +7), '%Y-%m-%d', '%Y%m') }}",
            "$[interval_start(yyyyMM+7)]",
        ),
        ("{{ data_interval_end }}", "${system.interval.end}"),
        ("{{ logical_date.strftime('%Y/%m/%dT%H') }}", "$[interval_start(yyyy/MM/dd'T'HH)]"),
        ("{{ (execution_date - macros.timedelta(hours=3)).strftime('%H') }}", "$[interval_start(HH-180/24/60)]"),
        ("{{ data_interval_end | ds }}", "$[interval_end(yyyy-MM-dd)]"),
        ("{{ execution_date.format('YYYYMMDDTHHmm') }}", "$[interval_start(yyyyMMdd'T'HHmm)]"),
        ("{{ data_interval_end.format('YYYY/MM-01') }}", "$[interval_end(yyyy/MM-'01')]"),
        (
            "{{ (data_interval_end - macros.timedelta(days=1)).strftime('%d') }}",
            "$[interval_end(dd-1)]",
        ),
        ("{{ ds.replace('-', '/') }}", "$[interval_start(yyyy/MM/dd)]"),
        ("{{ ds[:7] }}", "$[interval_start(yyyy-MM)]"),
        ("{{ execution_date.strftime('%Y-%m-01') }}", "$[interval_start(yyyy-MM-'01')]"),
        ("{{ next_execution_date.isoformat() }}", "${system.interval.end}"),
        ("{{ ti.xcom_pull(task_ids='g.a', key='rows') }}", "${g_a.rows}"),
        ("{{ ti.xcom_pull('g.a') }}", "${g_a.return_value}"),
        ("{# a note #}{{ dag.dag_id }}", "d"),
        (
            "{% for i in range(2) %}{{ i }}:{{ ds }};{% endfor %}",
            "0:D;1:D;".replace("D", "$[interval_start(yyyy-MM-dd)]"),
        ),
    ],
)
def test_a_template_becomes_a_text(template: str, text: str) -> None:
    assert Templates(True, "d", lambda id_, path: f"${{{id_.replace('.', '_')}.{path}}}").text(template) == text


def test_a_date_pattern_without_a_counterpart_is_refused() -> None:
    with pytest.raises(NoText, match='"%U"'):
        java_pattern("%Y-%U")


@every("pattern", ["%Y-%m-01", "%Y-%m-%dT%H:00:00+00:00", "hour-1 %H", "%Y%m01"])
def test_a_digit_of_a_pattern_is_no_span_of_time(pattern: str) -> None:
    at = datetime(2026, 3, 1, 5, tzinfo=UTC)
    assert time_expression(java_pattern(pattern), at, ZoneInfo("UTC")) == at.strftime(pattern)
