"""A workflow's name that several projects have: every verb says so, and takes --project."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.shoal.command_line import CommandLine

Sql = Callable[[str], list[Any]]
AMBIGUOUS = 'several projects have a workflow "load": sales, stock; say which one is meant: --project'


@pytest.fixture
def shoal(database_url: str, sql: Sql) -> CommandLine:
    """Run 1 is that of sales, 2 that of stock, 3 that of a workflow whose name is in one project only."""
    for code, project, name in ((1, "sales", "load"), (2, "stock", "load"), (3, "stock", "only")):
        sql(f"INSERT INTO workflow_definition (code, project, name) VALUES ({code}, '{project}', '{name}')")
        sql(f"INSERT INTO workflow_version (workflow_code, version, spec) VALUES ({code}, 1, '{{\"tasks\": []}}')")
        sql(
            "INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, ended_at, "
            f"failure_strategy, priority, worker_group) VALUES ({code}, {code}, 1, 'FAILURE', 1, now(), 'CONTINUE', "
            "'MEDIUM', 'default')"
        )
        sql(
            "INSERT INTO task_instance (workflow_instance_id, task_code, attempt, task_name, task_type, state, "
            "worker_group, workflow_priority, task_priority, ended_at) "
            f"VALUES ({code}, 1, 1, 'a', 'FAKE', 'FAILURE', 'default', 'MEDIUM', 'MEDIUM', now())"
        )
    return CommandLine.at(database_url)


@pytest.mark.parametrize(
    "verb",
    [
        *("show load", "why load", "why load/a", "log load/a", "pause load", "stop load", "resume load"),
        *("rerun load", "task mark load/a --success"),
    ],
)
async def test_no_verb_guesses_which_project_is_meant(shoal: CommandLine, verb: str) -> None:
    refused, missing = await shoal.each(verb, f"{verb} --project lager")
    assert (refused.code, refused.err.strip()) == (2, f"shoal: {AMBIGUOUS}")
    assert missing.code == 5
    assert 'no run of a workflow "load" in project "lager"' in missing.err


async def test_the_project_picks_the_run(shoal: CommandLine) -> None:
    shown = await shoal.each("show load --project sales", "show load --project stock", "show only", "show 1")
    assert [answer.out.splitlines()[0].split("   ")[0] for answer in shown] == [
        "load  v1  run 1",
        "load  v1  run 2",
        "only  v1  run 3",
        "load  v1  run 1",
    ]
    mark = await shoal("task", "mark", "load/a", "--success", "--project", "stock")
    assert mark.code == 0, mark.err


async def test_a_list_of_runs_names_the_projects_when_they_differ(shoal: CommandLine) -> None:
    both, one = await shoal.each("runs --workflow load", "runs --workflow load --project stock")
    assert both.out.splitlines()[0].split()[:3] == ["RUN", "PROJECT", "WORKFLOW"]
    assert [line.split()[:3] for line in both.out.splitlines()[1:3]] == [["2", "stock", "load"], ["1", "sales", "load"]]
    assert "PROJECT" not in one.out
    assert [line.split()[0] for line in one.out.splitlines()[1:2]] == ["2"]


@pytest.mark.parametrize(
    "verb",
    [
        *("run load", "workflow show load", "workflow versions load", "workflow offline load", "schedule next load"),
        *("schedule add load '@daily'", "backfill load --date 2026-01-01"),
    ],
)
async def test_a_name_that_the_default_project_lacks_leads_to_those_that_have_it(shoal: CommandLine, verb: str) -> None:
    (refused,) = await shoal.each(verb)
    assert refused.code == 5
    assert 'there is no workflow "load" in project "default"; it is in sales, stock: name that with --project' in (
        refused.err
    )
