"""DAGs as Airflow 2.10.5 and 3.1.3 stored them, in `stored/`: with their DAG file, and alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from importers.airflow.convert import import_dags
from importers.report import Grade
from tests.every import every
from tests.importers.exports import TYPES, documents, said

STORED = Path(__file__).parent / "stored"
ORDERS = """
from datetime import date, datetime, timedelta
from pathlib import Path

try:
    from airflow.sdk import DAG, Param, task
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.sensors.external_task import ExternalTaskSensor
    from airflow.providers.standard.sensors.time_delta import TimeDeltaSensor
except ImportError:
    from airflow import DAG
    from airflow.decorators import task
    from airflow.models.param import Param
    from airflow.operators.bash import BashOperator
    from airflow.sensors.external_task import ExternalTaskSensor
    from airflow.sensors.time_delta import TimeDeltaSensor

with DAG(
    Path(__file__).stem,
    dag_display_name="Orders of a day",
    schedule="0 5 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
    params={"since": Param(str(date.today()), type="string"), "limit": Param(10, type="integer", minimum=1)},
):
    @task(task_display_name="Read them")
    def read(ds, params):
        print(ds, params["limit"])
        return [1, 2, 3]

    @task
    def double(number):
        return 2 * number

    late = TimeDeltaSensor(task_id="late", delta=timedelta(hours=26))
    other = ExternalTaskSensor(task_id="other", external_dag_id="shop", external_task_id="load", mode="reschedule")
    shown = BashOperator.partial(task_id="shown", env={"DAY": "{{ ds }}"}).expand(bash_command=["date", "echo $DAY"])
    [late, other] >> shown
    doubled = double.expand(number=read())
    doubled >> BashOperator(task_id="done", bash_command="echo {{ prev_ds }}", trigger_rule="all_done")
"""


@every("version", [2, 3])
def test_a_stored_dag_with_its_file_leaves_nothing_to_do(version: int) -> None:
    stored = STORED / f"airflow{version}.json"
    found = import_dags([("orders.py", ORDERS.encode())], TYPES, stored=[("stored.json", stored.read_bytes())])
    assert not said(found, Grade.TODO) + said(found, Grade.LOST)
    (document,) = documents(found).values()
    tasks: dict[str, Any] = {task.name: task for task in document.spec.tasks}
    interval = ("interval_start(", "interval_end(", ")") if version == 2 else ("", "", "")
    day, time = (f"$[{interval[1]}{part}+1560/24/60{interval[2]}]" for part in ("yyyy-MM-dd", "HH:mm:ss"))
    assert tasks["late"].params["for"] == {"time": f"{day} {time}"}
    assert tasks["other"].params["groups"][0]["items"] == [{"workflow": "shop", "at": "same", "task": "load"}]
    assert tasks["done"].params["script"] == f"echo $[{interval[0]}yyyy-MM-dd-1{interval[2]}]\n"
    assert tasks["read"].description == "Read them"
    assert {name: list(task.after) for name, task in tasks.items() if task.after} == {
        "shown": ["late", "other"], "double": ["read"], "done": ["double"],
    }  # fmt: skip
    assert any('the default of "since", str(date.today()), is not known' in each for each in said(found, Grade.CHANGED))


@every("version", [2, 3])
def test_a_stored_dag_alone_says_what_its_file_would_give(version: int) -> None:
    stored = STORED / f"airflow{version}.json"
    found = import_dags([], TYPES, stored=[("stored.json", stored.read_bytes())])
    assert not said(found, Grade.LOST)
    for what in ('"other" is a ExternalTaskSensor', "its function read (give orders.py, too)"):
        assert any(what in each for each in said(found, Grade.TODO))
