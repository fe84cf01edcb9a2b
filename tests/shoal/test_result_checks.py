"""References to values of tasks that a save refuses or warns of, each with its line and the nearest name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shoal.command_line import CommandLine

OUTS = "{rows: {direct: OUT, type: INTEGER}, files: {direct: OUT}}"
WORKFLOW = """name: w
params: {day: 1%s}
tasks:
- {name: load, type: FAKE, after: [route], local_params: %s}
- {name: us.east, type: FAKE}
- {name: fan, type: DYNAMIC, params: {workflow: child, lists: [{name: n, value: '1,2'}]}}
- {name: route, type: SWITCH, params: {cases: [{when: 'true', then: load}]}}
- {name: later, type: FAKE, after: [use]}
- name: use
  type: FAKE
  after: [load, us.east, fan]
  params:
    write: |
      a text
      %s
"""
LINE = 13
"""The line of the reference in the text."""


async def checked(folder: Path, text: str, params: str = "", outs: str = "{}") -> str:
    (folder / "w.yaml").write_text(WORKFLOW % (params, outs, text))
    answer = await CommandLine.at()("workflow", "check", str(folder / "w.yaml"))
    return f"{answer.code} {answer.err}"


@pytest.mark.parametrize(
    "text",
    [
        "${load.rows} ${load.files[0].name} ${tasks['us.east'].rows} ${tasks['load'].rows}",
        "${fan.dynamic.out[0].a} ${fan.dynamic.out.fan} ${dynamic.out} ${dynamic.out.fan}",
        "$${later.rows} $${tasks['nobody'].rows}",
        "${day.deep} ${day[0]} ${tasks[0].name}",
    ],
)
async def test_what_a_task_before_may_give_is_accepted(tmp_path: Path, text: str) -> None:
    assert await checked(tmp_path, text) == "0 "
    assert await checked(tmp_path, text, outs=OUTS) == "0 "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${tasks['laod'].rows}", """${tasks['laod'].rows}: there is no such task; did you mean "load"?"""),
        (
            "${later.rows}",
            '${later.rows}: task "later" is not before it; add "later" to its "after", or write $${later',
        ),
        ("${tasks['later'].rows}", 'task "later" is not before it'),
        ("${use.rows}", "a task does not have its own values when it starts; remove it"),
        ("${tasks['load']}", "it names a task and none of its values; write ${load.rows} for the value rows"),
        ("${route.rows}", "a SWITCH task gives no values; remove it"),
        ("${load.row}", 'task "load" has no such OUT parameter; did you mean ${load.rows}?'),
        ("${load.other[0]}", 'task "load" has no such OUT parameter; it passes on rows, files'),
        ("${fan.rows}", 'task "fan" has no such OUT parameter; it passes on dynamic.out, dynamic.out.fan'),
    ],
)
async def test_what_no_run_could_replace_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    found = await checked(tmp_path, text, outs=OUTS)
    assert found.startswith("2 ")
    assert f'task "use", {text}: ' in found and said in found
    assert f"w.yaml:{LINE}" in found or f"line {LINE}" in found, found


async def test_a_name_with_two_meanings_is_refused_with_the_way_to_say_either(tmp_path: Path) -> None:
    params = ", load: '{\"rows\": 1}'"
    found = await checked(tmp_path, "${load.rows}", params)
    assert found.startswith("2 ")
    assert (
        'it may be the value "rows" of the task "load" or a part of the parameter "load"; '
        'write ${tasks["load"].rows} for that of the task' in found
    )
    assert await checked(tmp_path, "${tasks['load'].rows}", params) == "0 "
    assert await checked(tmp_path, "${load.rows}", ", load.rows: 5") == "0 ", "a parameter of the whole name, as before"


async def test_what_is_nearly_a_task_is_warned_of(tmp_path: Path) -> None:
    found = await checked(tmp_path, "${laod.rows} ${us.east.rows} ${other.rows}")
    assert found.startswith("0 shoal: warning: ")
    assert "${laod.rows} is no parameter and no value of a task; did you mean ${load.rows}?" in found
    assert '${us.east.rows} is no parameter and no value of a task; did you mean ${tasks["us.east"].rows}?' in found
    assert "other" not in found


async def test_a_parameter_of_the_workflow_has_no_results_yet(tmp_path: Path) -> None:
    found = await checked(tmp_path, "x", ", early: '${load.rows}'")
    assert 'parameter "early": ${load.rows} has no value yet when a run begins' in found
    assert 'of a task after "load"' in found
