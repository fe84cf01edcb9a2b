"""Typing errors in a start are refused before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine

WORKFLOWS = """
name: one
params: {day: "2026-01-31"}
tasks:
  - {name: load, type: SHELL, params: {script: "echo ${day} ${more} $SHOAL_PARAM_other"}}
---
name: above
tasks: [{name: call, type: SUB_PROCESS, params: {workflow: one}}]
"""


@pytest.fixture
def shoal(database_url: str, tmp_path: Path) -> CommandLine:
    (tmp_path / "w.yaml").write_text(WORKFLOWS)
    return CommandLine.at(database_url)


async def test_an_unknown_parameter_or_task_is_refused_with_the_near_one(shoal: CommandLine, tmp_path: Path) -> None:
    assert (await shoal("workflow", "apply", str(tmp_path / "w.yaml"))).code == 0
    for words, sentence in (
        (("run", "one", "-p", "dey=5"), 'workflow "one" has no parameter "dey"; did you mean "day"?'),
        (("run", "one", "-p", "zzz=5"), 'workflow "one" has no parameter "zzz"; it has day'),
        (("run", "one", "-p", "1a=x"), '"1a" cannot be the name of a parameter'),
        (("run", "one", "--task", "laod"), 'workflow "one" has no task "laod"; did you mean "load"?'),
        (("backfill", "one", "--date", "2026-01-01", "-p", "dey=5"), 'no parameter "dey"; did you mean "day"?'),
        (("schedule", "add", "one", "0 0 * * *", "-p", "dey=5"), 'no parameter "dey"; did you mean "day"?'),
        (("run", "one", "--timeout", "5m"), "--timeout limits --wait; give that too"),
        (
            ("run", "one", "--wait", "--timeout", "5x"),
            '--timeout "5x" is not a time span; write it as 30s, 5m or 1h30m',
        ),
    ):
        answer = await shoal(*words)
        assert answer.code == 2, words
        assert sentence in answer.sentence


async def test_what_a_script_or_a_child_may_use_is_accepted(shoal: CommandLine, tmp_path: Path) -> None:
    assert (await shoal("workflow", "apply", str(tmp_path / "w.yaml"))).code == 0
    for words in (
        ("run", "one", "-p", "day=x", "-p", "more=y", "-p", "other=z"),
        ("run", "one", "--task", "load"),
        ("run", "above", "-p", "whatever=1"),
    ):
        answer = await shoal(*words)
        assert answer.code == 0, answer.err


async def test_a_wait_that_takes_too_long_ends_and_says_that_the_run_goes_on(
    shoal: CommandLine, tmp_path: Path
) -> None:
    """No master is there."""
    assert (await shoal("workflow", "apply", str(tmp_path / "w.yaml"))).code == 0
    answer = await shoal("run", "one", "--wait", "--timeout", "500ms")
    assert answer.code == 1
    assert "not ended after 0.5 s; the run continues: shoal why command 1" in answer.err
