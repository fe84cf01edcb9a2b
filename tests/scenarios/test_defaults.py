"""Defaults for the tasks of a workflow and of a project, as runs have them."""

from __future__ import annotations

from pathlib import Path

from tests.scenarios.engine import Engine
from tests.shoal.command_line import CommandLine

FAILS = {"type": "SHELL", "params": {"script": "exit 7"}}


async def test_a_workflow_gives_its_tasks_what_they_do_not_say(engine: Engine) -> None:
    code = engine.define(
        {"name": "twice", **FAILS, "skip_exit_codes": []},
        {"name": "once", **FAILS, "skip_exit_codes": [], "retry_times": 0},
        {"name": "skipped", **FAILS},
        {"name": "late", "params": {"sleep_s": 60}, "retry_times": 0},
        {"name": "choice", "type": "SWITCH", "params": {"cases": [{"when": "true", "then": "after"}]}},
        {"name": "after", "after": ["choice"]},
        defaults={"retry_times": 1, "skip_exit_codes": [7], "timeout": "1s"},
    )
    run = await engine.run(code)
    states = {"twice": "FAILURE", "once": "FAILURE", "skipped": "SKIPPED", "late": "FAILURE", "after": "SUCCESS"}
    assert {name: state for name, state in engine.tasks(run).items() if name != "choice"} == states
    assert len(engine.attempts(run, "twice")) == 2
    assert len(engine.attempts(run, "once")) == len(engine.attempts(run, "skipped")) == 1
    assert engine.why(run, "late") == "it took longer than its timeout of 1 s"


async def test_a_project_gives_what_neither_a_task_nor_its_workflow_says(engine: Engine, tmp_path: Path) -> None:
    """To what is saved then: a version that is there keeps what it had."""
    engine.cluster.rows("INSERT INTO project (name) VALUES ('with defaults')")
    shoal = CommandLine.at(engine.cluster.environment["SHOAL_DATABASE_URL"])
    file = tmp_path / "flow.yaml"
    file.write_text(
        "name: of a project\nproject: with defaults\ndefaults: {retry_times: 1}\ntasks:\n"
        "  - {name: a, type: SHELL, params: {script: exit 7}}\n"
        "  - {name: b, type: SHELL, params: {script: exit 7}, skip_exit_codes: []}\n"
    )
    assert (await shoal("workflow", "apply", str(file))).code == 0
    code = int(engine.cluster.one("SELECT code FROM workflow_definition WHERE name = 'of a project'"))
    given = await shoal("project", "defaults", "retry_times=2", "skip_exit_codes=[7]", "--project", "with defaults")
    assert given.code == 0, given.err
    before = await engine.run(code)
    assert len(engine.attempts(before, "a")) == len(engine.attempts(before, "b")) == 2
    assert (await shoal("workflow", "apply", str(file))).code == 0
    after = await engine.run(code)
    assert engine.tasks(after) == {"a": "SKIPPED", "b": "FAILURE"}
    assert len(engine.attempts(after, "a")) == 1
    assert len(engine.attempts(after, "b")) == 2, "its workflow says more than the project"
