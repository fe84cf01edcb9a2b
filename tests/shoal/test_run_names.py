"""`@last`, `@failed` and a workflow's name stand for a run wherever a verb takes one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.shoal.command_line import CommandLine

# Run 1 of daily failed, run 2 of other too; run 3 is a child of run 1; run 4 of daily is paused.
ROWS = """
    INSERT INTO workflow_definition (code, name) VALUES (1, 'daily'), (2, 'other');
    INSERT INTO workflow_version (workflow_code, version, spec)
    SELECT code, 1, '{"tasks": [{"name": "a", "type": "FAKE"}]}' FROM workflow_definition;
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, ended_at, parent_instance_id, parent_task_code,
                                   parent_attempt, child_index)
    SELECT n, code, 1, state, 0, 'END', 'MEDIUM', 'default', now(), parent, parent, parent, parent
    FROM (VALUES (1, 1, 'FAILURE', NULL), (2, 2, 'FAILURE', NULL), (3, 2, 'FAILURE', 1), (4, 1, 'PAUSE', NULL))
         AS made (n, code, state, parent);
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, ended_at)
    SELECT id, 1, 'a', 'FAKE', 'FAILURE', 'default', 'MEDIUM', 'MEDIUM', now() FROM workflow_instance
"""
RUN_OF = {"@last": 4, "@failed": 2, "daily": 4, "2": 2}


@pytest.mark.parametrize("named", RUN_OF)
async def test_a_verb_takes_each_name_of_a_run(database_url: str, sql: Any, named: str) -> None:
    sql(ROWS)
    shoal, run = CommandLine.at(database_url), RUN_OF[named]
    shown, why, events, task_why = await shoal.each(
        f"show {named} --json", f"why {named} --json", f"show {named} --events --json", f"why {named}/a --json"
    )
    assert shown.json["id"] == str(run), shown.err
    assert (why.code, events.code, task_why.code) == (0, 0, 0), why.err + events.err + task_why.err
    # At once: no master answers, and each waits for one for some seconds.
    answers = await asyncio.gather(*(shoal(verb, named) for verb in ("pause", "stop", "resume", "rerun")))
    asked = [each for (each,) in sql("SELECT workflow_instance_id FROM command")]
    refused = [answer.err for answer in answers if f"workflow instance {run} is " in answer.err]
    assert asked
    assert (set(asked), len(asked) + len(refused)) == ({run}, 4), [answer.err for answer in answers]
    task = await shoal("show", named, "--json")
    assert [each["name"] for each in task.json["tasks"]] == ["a"]


async def test_the_lists_take_the_filters_of_the_api(database_url: str, sql: Any) -> None:
    sql(ROWS)
    shoal = CommandLine.at(database_url)
    for filters, found in (
        ("--trigger parent", ["3"]),
        ("--q DAIL", ["4", "1"]),
        ("--q 3", ["3"]),
        ("--state failure --state pause", ["4", "2", "1"]),
        ("--started-before 2026-01-01T00:00:00Z", []),
        ("--master nobody", []),
        ("--worker nobody", []),
        ("--parameter dt=1", []),
    ):
        answer = await shoal(*f"runs {filters} --json".split())
        assert [each["id"] for each in answer.json] == found, (filters, answer.err)
    attempts, refused = await shoal.each("task list --q 3 --json", "runs --parameter dt")
    assert [each["id"] for each in attempts.json] == ["3"]
    assert (refused.code, "parameter" in refused.err) == (2, True), refused.err
