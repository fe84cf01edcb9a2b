"""`shoal workflow apply` and `check`: workflows that name others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine

PARENT = """\
name: parent
tasks:
  - {name: start, type: FAKE}
  - name: below
    type: SUB_PROCESS
    after: [start]
    params: {workflow: child}
"""
CHILD = "name: child\ntasks: [{name: a, type: FAKE}]\n"
CIRCLE = "name: child\ntasks: [{name: up, type: SUB_PROCESS, params: {workflow: parent}}]\n"
MUTUAL = """\
name: one
tasks: [{name: a, type: DEPENDENT, params: {groups: [{items: [{workflow: two, cycle: last1Days}]}]}}]
---
name: two
tasks: [{name: b, type: DEPENDENT, params: {groups: [{items: [{workflow: one, cycle: today}]}]}}]
"""
ITSELF = """\
name: loop
tasks: [{name: again, type: DYNAMIC, params: {workflow: loop, lists: [{name: n, value: "1"}]}}]
"""


@pytest.fixture
def shoal(database_url: str) -> CommandLine:
    """The command line at a database without masters."""
    return CommandLine.at(database_url)


def _file(folder: Path, name: str, content: str) -> str:
    (folder / name).write_text(content)
    return str(folder / name)


async def test_a_workflow_that_names_one_that_is_not_there_is_refused_with_its_line(
    shoal: CommandLine, tmp_path: Path
) -> None:
    file = _file(tmp_path, "parent.yaml", PARENT)
    checked, refused, listed = await shoal.each(
        f"workflow check {file}", f"workflow apply {file}", "workflow list --json"
    )
    assert (checked.code, 'Workflow "parent" (2 tasks) is well written.' in checked.out) == (0, True)
    assert (refused.code, refused.sentence) == (
        2,
        f'{file}:4: task "below": there is no workflow "child" in project "default"; save that one first',
    )
    assert listed.json == [], "nothing was kept"


async def test_what_is_named_may_stand_anywhere_in_the_same_apply(shoal: CommandLine, tmp_path: Path) -> None:
    parent, child = _file(tmp_path, "a.yaml", PARENT), _file(tmp_path, "b.yaml", CHILD)
    mutual = _file(tmp_path, "c.yaml", MUTUAL)
    both, alone, each_other = await shoal.each(
        f"workflow apply {parent} {child}", f"workflow apply {parent}", f"workflow apply {mutual}"
    )
    assert both.code == 0, both.err
    assert "unchanged, version 1." in alone.out
    assert each_other.code == 0, "to depend on each other's other days is no circle"


async def test_workflows_that_run_each_other_in_a_circle_are_refused(shoal: CommandLine, tmp_path: Path) -> None:
    parent, child = _file(tmp_path, "a.yaml", PARENT), _file(tmp_path, "b.yaml", CHILD)
    circle, itself = _file(tmp_path, "c.yaml", CIRCLE), _file(tmp_path, "d.yaml", ITSELF)
    at_once, apart, later, alone = await shoal.each(
        f"workflow apply {parent} {circle}",
        f"workflow apply {parent} {child}",
        f"workflow apply {circle}",
        f"workflow apply {itself}",
    )
    assert (at_once.code, apart.code, later.code, alone.code) == (2, 0, 2, 2)
    assert f'{parent}:4: task "below": workflow "child" runs "parent" in turn' in at_once.sentence
    assert f'{circle}:2: task "up": workflow "parent" runs "child" in turn' in at_once.sentence
    assert "a workflow must not contain itself" in later.sentence
    assert 'task "again": workflow "loop" contains itself; remove this task' in alone.sentence
