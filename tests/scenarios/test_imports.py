"""An export of DolphinScheduler, imported, saved and run on real servers."""

from __future__ import annotations

import json
from pathlib import Path

from tests.importers.exports import code_of, definition, export, task
from tests.scenarios.engine import Engine
from tests.shoal.command_line import CommandLine
from tests.shoal.test_every_verb import EXPORT


async def test_an_imported_workflow_runs_with_its_order_and_values(engine: Engine, tmp_path: Path) -> None:
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    text = EXPORT.read_text().replace('"name": "daily"', '"name": "imported daily"')
    (tmp_path / "export.json").write_text(text)
    out = tmp_path / "out"
    imported = await shoal(
        "workflow", "import", "dolphinscheduler", str(tmp_path / "export.json"), "--out", str(out), "--online"
    )
    assert imported.code == 0, imported.err
    applied = await shoal("workflow", "apply", str(out / "workflows" / "imported_daily.yaml"), "--json")
    (saved,) = applied.json
    code = int(saved["code"])
    query = "SELECT state, time_zone, misfire FROM schedule WHERE workflow_code = %s"
    assert engine.cluster.rows(query, code) == [("ONLINE", "Europe/Berlin", "FIRE_ALL")]
    run = await engine.run(code, "SCHEDULER", schedule_time="2026-01-31 04:00:00+00")
    assert (engine.state(run), engine.tasks(run)) == ("SUCCESS", {"count": "SUCCESS", "report": "SUCCESS"})
    log = await shoal("log", f"{run}/report")
    assert log.out.splitlines()[-1] == "42 rows of 2026-01-30"
    shown = await shoal("workflow", "show", str(code), "--json")
    assert [task["after"] for task in shown.json["tasks"]] == [[], ["count"]]
    assert engine.cluster.one("SELECT count(*) FROM error_command WHERE workflow_code = %s", code) == 0
    await shoal("schedule", "off", str(engine.cluster.one("SELECT id FROM schedule WHERE workflow_code = %s", code)))


async def test_imported_branches_children_and_lists_do_what_they_did_there(engine: Engine, tmp_path: Path) -> None:
    """SWITCH, CONDITIONS, SUB_PROCESS, DYNAMIC and PYTHON, each by code in the export."""
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    child = export(
        task("hello", params={"rawScript": "echo '#{setValue(found=hello ${city})}'"}),
        head=definition("imported child", code=77, globalParams=[{"prop": "found", "direct": "OUT", "value": ""}]),
    )
    chooses = {
        "dependTaskList": [{"condition": "'${size}' === 'large'", "nextNode": code_of(1)}],
        "nextNode": code_of(2),
    }
    asks = {"dependTaskList": [{"dependItemList": [{"depTaskCode": code_of(3), "status": "SUCCESS"}]}]}
    ends = {"successNode": [code_of(5)], "failedNode": [code_of(6)]}
    lists = [{"name": "city", "value": "Lima;Oslo", "separator": ";"}]
    parent = export(
        task("choose", "SWITCH", {"switchResult": chooses}),
        task("large"),
        task("small"),
        task("fails", "PYTHON", {"rawScript": "raise SystemExit(1)"}),
        task("how", "CONDITIONS", {"dependence": asks, "conditionResult": ends}),
        task("went well"),
        task("went wrong"),
        task("one", "SUB_PROCESS", {
            "processDefinitionCode": 77, "localParams": [{"prop": "city", "direct": "IN", "value": "Rome"}],
        }),
        task("each", "DYNAMIC", {"processDefinitionCode": 77, "listParameters": lists, "degreeOfParallelism": 2}),
        task("use", params={"rawScript": "echo \"${found}\"; echo '${dynamic.out}'"}),
        edges=[(0, 1), (0, 2), (3, 4), (4, 5), (4, 6), (7, 9), (8, 9)],
        head=definition("imported parent", globalParams=[{"prop": "size", "direct": "IN", "value": "large"}]),
    )  # fmt: skip
    for name, content in (("child", child), ("parent", parent)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    inputs = [str(tmp_path / f"{name}.json") for name in ("parent", "child")]
    imported = await shoal("workflow", "import", "dolphinscheduler", *inputs, "--out", str(tmp_path / "out"))
    assert imported.code == 0, (tmp_path / "out" / "import-report.md").read_text()
    files = sorted(map(str, (tmp_path / "out" / "workflows").iterdir()))
    applied = await shoal("workflow", "apply", *files, "--json")
    codes = {each["name"]: int(each["code"]) for each in applied.json}
    for code in codes.values():
        await shoal("workflow", "online", str(code))
    run = await engine.run(codes["imported parent"])
    succeeded = dict.fromkeys(("choose", "large", "how", "went wrong", "one", "each", "use"), "SUCCESS")
    assert engine.tasks(run) == {**succeeded, "fails": "FAILURE"}
    assert engine.state(run) == "SUCCESS"
    log = (await shoal("log", f"{run}/use")).out
    assert "hello Rome" in log
    assert '[{"found": "hello Lima"}, {"found": "hello Oslo"}]' in log


DAG = """
from datetime import datetime
from airflow import DAG
from airflow.decorators import task
from airflow.operators.bash import BashOperator
from airflow.operators.empty import EmptyOperator

with DAG("imported_dag", schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False):

    @task
    def days():
        return ["20260101", "20260102", 3]

    @task
    def kind(day):
        return f"{type(day).__name__} {day}"

    @task
    def total(kinds, ds):
        assert kinds == ["str 20260101", "str 20260102", "int 3"], kinds
        return {"day": ds, "kinds": kinds}

    @task.branch
    def choose(found):
        return "right" if found["day"] == "2026-01-30" else "wrong"

    found = total(kind.expand(day=days()))
    say = BashOperator(task_id="say", bash_command="echo {{ ds }} {{ data_interval_end }}; echo it is {{ ds_nodash }}")
    heard = BashOperator(task_id="heard", bash_command="echo heard: {{ ti.xcom_pull(task_ids='say') }}")
    choose(found) >> [EmptyOperator(task_id="right"), EmptyOperator(task_id="wrong")]
    say >> heard
"""


async def test_a_dag_of_airflow_does_what_it_did_there(engine: Engine, tmp_path: Path) -> None:
    """The day of its interval, results with their types, a mapped task, a branch, the last line of a script."""
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    (tmp_path / "dag.py").write_text(DAG)
    out = tmp_path / "out"
    imported = await shoal("workflow", "import", "airflow", str(tmp_path / "dag.py"), "--out", str(out))
    assert imported.code == 0, imported.err
    applied = await shoal("workflow", "apply", str(out / "workflows" / "imported_dag.yaml"), "--json")
    code = int(applied.json[0]["code"])
    (schedule,) = engine.cluster.rows("SELECT id, state, crontab FROM schedule WHERE workflow_code = %s", code)
    assert schedule[1:] == ("OFFLINE", "@daily")
    run = await engine.run(code, "SCHEDULER", schedule_time="2026-01-31 00:00:00+00")
    states = engine.tasks(run)
    assert engine.state(run) == "SUCCESS", states
    assert {name: states.get(name) for name in ("right", "wrong", "kind", "total")} == {
        "right": "SUCCESS", "wrong": None, "kind": "SUCCESS", "total": "SUCCESS",
    }  # fmt: skip
    log = await shoal("log", f"{run}/heard")
    assert log.out.splitlines() == ["heard: it is 20260130"]
    log = await shoal("log", f"{run}/say")
    assert "2026-01-30 2026-01-31T00:00:00+00:00" in log.out
