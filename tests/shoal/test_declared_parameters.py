"""Declared parameters on the command line: shown, checked, and asked for on a terminal."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tests.shoal.command_line import CommandLine

WORKFLOW = """\
name: load
params:
  day:
    type: DATE
    required: true
    description: The day to load
  size:
    type: INTEGER
    value: '10'
    min: '1'
    max: '100'
  plain: text
tasks:
  - name: a
    description: It loads what is there
    type: SHELL
    params:
      script: echo ${day} ${size} ${plain}
"""


@pytest.fixture
async def shoal(database_url: str, tmp_path: Path) -> CommandLine:
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    shoal = CommandLine.at(database_url)
    assert (await shoal("workflow", "apply", str(tmp_path / "w.yaml"))).code == 0
    return shoal


async def test_a_workflow_shows_what_its_parameters_may_be(shoal: CommandLine) -> None:
    shown = (await shoal("workflow", "show", "load")).out
    assert "  day  (DATE, a date such as 2026-01-31, required) The day to load\n" in shown
    assert "  size = 10  (INTEGER, a whole number such as 42, from 1 to 100)\n" in shown
    assert "  plain = text\n" in shown
    assert "  a:\n    It loads what is there\n    script: echo ${day} ${size} ${plain}\n" in shown


async def test_a_file_made_of_a_version_declares_the_same(shoal: CommandLine, tmp_path: Path, sql: Any) -> None:
    sql("UPDATE workflow_version SET source_text = NULL")
    exported = (await shoal("workflow", "export", "load")).out
    assert "declared" not in exported
    assert "day:\n    type: DATE\n    required: true\n    description: The day to load\n" in exported
    (tmp_path / "again.yaml").write_text(exported)
    assert "unchanged, version 1" in (await shoal("workflow", "apply", str(tmp_path / "again.yaml"))).out


async def test_what_starts_later_must_give_what_is_required(shoal: CommandLine, tmp_path: Path, sql: Any) -> None:
    lacks = 'the required parameter "day" (a date such as 2026-01-31) has no value'
    for words in (
        ("run", "load"),
        ("backfill", "load", "--date", "2026-01-01"),
        ("schedule", "add", "load", "0 0 * * *"),
    ):
        answer = await shoal(*words)
        assert (answer.code, lacks in answer.sentence) == (2, True), words
    assert (await shoal("schedule", "add", "load", "0 0 * * *", "-p", "day=$[yyyy-MM-dd]")).code == 0
    ((id_,),) = sql("SELECT id FROM schedule")
    assert lacks in (await shoal("schedule", "edit", str(id_), "--unset", "day")).sentence
    assert '"size" is INTEGER' in (await shoal("schedule", "edit", str(id_), "-p", "size=x")).sentence
    (tmp_path / "w.yaml").write_text(f"{WORKFLOW}schedules:\n  - cron: 0 1 * * *\n")
    assert lacks in (await shoal("workflow", "apply", str(tmp_path / "w.yaml"))).sentence


async def test_a_version_that_requires_more_than_a_schedule_gives_is_saved_with_a_warning(
    shoal: CommandLine, tmp_path: Path
) -> None:
    assert (await shoal("schedule", "add", "load", "0 0 * * *", "-p", "day=2026-01-31")).code == 0
    (tmp_path / "w.yaml").write_text(WORKFLOW.replace("  plain: text\n", "  plain: {type: LONG, required: true}\n"))
    saved = await shoal("workflow", "apply", str(tmp_path / "w.yaml"))
    assert (saved.code, "saved as version 2" in saved.out) == (0, True)
    assert 'starts will be refused: the required parameter "plain" (a whole number such as 42) has no' in saved.err


async def test_a_required_parameter_is_asked_for_on_a_terminal(shoal: CommandLine, sql: Any) -> None:
    typing, terminal = os.openpty()
    try:
        verb = await shoal.start("run", "load", "-p", "size=7", stdin=terminal)
        os.write(typing, b"yesterday\n2026-01-31\n")
        out, err = await asyncio.wait_for(verb.communicate(), 60)
        refused = await shoal.start("run", "load", "-p", "size=x", stdin=terminal)
        _, of_refused = await asyncio.wait_for(refused.communicate(), 60)
    finally:
        os.close(typing)
        os.close(terminal)
    said = err.decode()
    assert verb.returncode == 0, said
    assert said.count("The day to load") == 1
    assert said.count("day (a date such as 2026-01-31):") == 2
    assert 'must be a date such as 2026-01-31; it is "yesterday"' in said
    assert 'Workflow "load" is requested' in out.decode()
    assert sql("SELECT params FROM command") == [('{"size": "7", "day": "2026-01-31"}',)]
    assert (refused.returncode, "(a date such as 2026-01-31):" in of_refused.decode()) == (2, False)
