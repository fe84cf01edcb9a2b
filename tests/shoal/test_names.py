"""Names in messages: each proposed command line means what it says, and names that could not be typed are not saved."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from dao.definitions import definitions
from dao.postgres.database import Database
from model.choices import ReleaseState
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.runs.states import WorkflowState
from service.explain.explanation import why_delayed, why_queued
from service.explain.run_explanation import RunFacts, why_run
from service.explain.subjects import GroupFacts, TaskFacts
from service.workflows.typed_names import typed
from tests.shoal.command_line import Answer, CommandLine

ODD = "it's $(date) a*"
WORKFLOWS = f"""
name: "{ODD}"
project: "a b"
tasks: [{{name: "x y", type: FAKE}}]
---
name: shelved
release_state: OFFLINE
tasks: [{{name: a, type: FAKE}}]
"""


@pytest.fixture
def shoal(database_url: str) -> CommandLine:
    return CommandLine.at(database_url)


def proposed(answer: Answer, verb: str) -> list[str]:
    """The words of the first command line of `verb` in an answer, as a shell reads them."""
    found = re.search(rf"shoal {verb}[^\n`]*", answer.out + answer.err)
    assert found is not None, answer.out + answer.err
    return shlex.split(found[0].split("   ")[0])


async def test_hints_name_the_workflow_with_its_project_as_a_shell_reads_it(shoal: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "a b.yaml").write_text(WORKFLOWS)
    whole = ["shoal", "run", ODD, "--project", "a b", "--wait"]
    checked = await shoal("workflow", "check", str(tmp_path / "a b.yaml"))
    assert proposed(checked, "workflow apply") == ["shoal", "workflow", "apply", str(tmp_path / "a b.yaml")]
    assert proposed(await shoal("workflow", "apply", str(tmp_path / "a b.yaml")), "run") == whole
    assert proposed(await shoal("workflow", "list"), "run") == whole
    assert proposed(await shoal("workflow", "show", ODD, "--project", "a b"), "run") == whole
    assert proposed(await shoal("workflow", "show", "shelved"), "workflow online")[3] == "shelved"
    assert proposed(await shoal("run", "shelved"), "workflow online")[3] == "shelved"
    assert proposed(await shoal("run", ODD, "--project", "a b"), "show") == ["shoal", "show", ODD]
    missing = await shoal("schedule", "next", ODD, "--project", "a b")
    assert proposed(missing, "schedule add")[3:6] == [ODD, "--project", "a b"]
    added = await shoal("schedule", "add", ODD, "0 5 * * *", "--project", "a b")
    next_fires = ["shoal", "schedule", "next", ODD, "--project", "a b"]
    assert proposed(added, "schedule next") == next_fires
    assert proposed(await shoal("schedule", "list"), "schedule next") == next_fires


async def test_rows_with_names_from_before_go_on_and_hints_name_their_code(
    shoal: CommandLine, database_url: str
) -> None:
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        for code, name in ((2001, "12"), (2002, "@last"), (2003, "a/b")):
            connection.execute("INSERT INTO workflow_definition (code, name) VALUES (%s, %s)", [code, name])
            spec = json.dumps({"tasks": [{"name": "x/y", "type": "FAKE"}]})
            connection.execute(
                "INSERT INTO workflow_version (workflow_code, version, spec) VALUES (%s, 1, %s)", [code, spec]
            )
    shown, started, off, odd = await shoal.each(
        "workflow show 12", "run @last", "workflow offline a/b", "workflow show ²"
    )
    assert proposed(shown, "run") == ["shoal", "run", "2001", "--wait"]
    assert started.code == 0, started.err
    assert off.out.startswith('Workflow "a/b" is OFFLINE')
    assert (odd.code, odd.sentence.startswith('there is no workflow "²"')) == (5, True)


@pytest.mark.parametrize(("name", "task"), [("12", "a"), ("@last", "a"), ("../../etc", "a"), ("a", "a/b"), ("a", "-x")])
async def test_each_way_of_saving_refuses_such_a_name(name: str, task: str, database_url: str, tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(f'name: "{name}"\ntasks:\n  - {{name: "{task}", type: FAKE}}\n')
    checked, applied = await CommandLine.at(database_url).each(
        f"workflow check {tmp_path}/w.yaml", f"workflow apply {tmp_path}/w.yaml"
    )
    assert (checked.code, applied.code) == (2, 2)
    assert checked.sentence.startswith(f"{tmp_path}/w.yaml:{1 if task == 'a' else 3}: ")
    database = Database(database_url, application_name="shoal-test")
    try:
        with pytest.raises(InvalidWorkflow, match="name"):
            async with database.writing() as connection:
                spec = WorkflowSpec.parse({"tasks": [{"name": task, "type": "FAKE"}]})
                await definitions.save(connection, "default", name, ReleaseState.ONLINE, spec)
    finally:
        await database.close()


def test_explanations_quote_the_names_of_tasks_and_groups() -> None:
    delayed = why_delayed(TaskFacts(3, "it's", due_in_s=1.0))
    queued = why_queued(TaskFacts(3, "a b", group=GroupFacts("default", 1, 0, 4, 1)))
    alone = why_queued(TaskFacts(3, "a", group=GroupFacts("größe", 0, 0, 0, 1)))
    assert shlex.split(delayed.do.partition(": ")[2]) == ["shoal", "why", "3/it's"]
    assert shlex.split(queued.do.partition(": ")[2]) == ["shoal", "why", "3/a b"]
    assert shlex.split(alone.do.partition(": ")[2]) == ["shoal", "worker", "--group", "größe"]


def test_a_run_that_succeeded_says_how_to_start_its_workflow_again_unless_that_is_deleted() -> None:
    of_project = RunFacts(3, "a b", WorkflowState.SUCCESS, (), 1.0, project="sales")
    deleted = RunFacts(3, "code 7", WorkflowState.SUCCESS, (), 1.0, project=None)
    assert why_run(of_project).do == "Run it again: shoal run 'a b' --project sales"
    assert why_run(deleted).do == "See its tasks: shoal show 3"


def test_a_workflow_is_named_as_it_can_be_typed() -> None:
    assert typed("hello") == "hello"
    assert typed("a b", "c d", 7) == "'a b' --project 'c d'"
    assert typed("-x", "sales", 7) == "7"
