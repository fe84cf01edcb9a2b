"""`shoal project defaults`: fields of tasks for files that are saved from then on, and for no version before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.shoal.command_line import CommandLine

FLOW = """\
name: load            # at night
project: sales
tasks:
  - {name: a, type: SHELL, params: {script: "true"}}
  - {name: b, type: SHELL, params: {script: "true"}, retry_times: 0}
"""
RETRIES = "SELECT version, jsonb_path_query_array(spec, '$.tasks[*].retry_times') FROM workflow_version ORDER BY 1"


async def test_defaults_are_shown_set_and_removed(database_url: str, sql: Any) -> None:
    shoal = CommandLine.at(database_url)
    sql("INSERT INTO project (name) VALUES ('sales')")
    none, set_, shown, json, removed, wrong, unknown, absent, odd = await shoal.each(
        "project defaults --project sales",
        "project defaults retry_times=2 timeout=1h 'skip_exit_codes=[98, 99]' --project sales",
        "project defaults --project sales",
        "project defaults --project sales --json",
        "project defaults --unset timeout cache=true --project sales",
        "project defaults retry_times=-1 --project sales",
        "project defaults retries=1 --project sales",
        "project defaults --unset timeout --project sales",
        "project defaults 'retry_times=[' --project sales",
    )
    assert 'Project "sales" has no defaults.' in none.out
    assert "Workflows get them when they are saved again: shoal workflow apply FILE" in set_.out
    assert [line.split(None, 1) for line in shown.out.splitlines()] == [
        *(["FIELD", "VALUE"], ["retry_times", "2"], ["timeout", "60"], ["skip_exit_codes", "[98, 99]"])
    ]
    assert json.json["defaults"] == {"retry_times": 2, "timeout": 60.0, "skip_exit_codes": [98, 99]}
    assert sql("SELECT defaults FROM project") == [({"retry_times": 2, "skip_exit_codes": [98, 99], "cache": True},)]
    assert removed.code == 0
    for each in (wrong, unknown, odd):
        assert each.code == 2, each.out
    assert "defaults.retry_times" in wrong.err
    assert "defaults.retries" in unknown.err
    assert (absent.code, 'project "sales" has no default "timeout"' in absent.err) == (5, True)
    assert 'the value of "retry_times" is not YAML' in odd.err
    changes = sql("SELECT after -> 'defaults' FROM audit ORDER BY id")
    assert [sorted(each) for (each,) in changes] == [
        ["retry_times", "skip_exit_codes", "timeout"],
        ["cache", "retry_times", "skip_exit_codes"],
    ]


async def test_a_file_gets_them_as_it_is_saved_and_a_version_keeps_its_own(
    database_url: str, sql: Any, tmp_path: Path
) -> None:
    shoal = CommandLine.at(database_url)
    file = tmp_path / "flow.yaml"
    file.write_text(FLOW)
    apply, export = f"workflow apply {file}", "workflow export load --project sales"
    for answer in await shoal.each("project defaults retry_times=2 --project sales", apply):
        assert answer.code == 0, answer.err
    assert sql(RETRIES) == [(1, [2])], "b gave it itself"
    *_, before, diff = await shoal.each(
        "project defaults retry_times=5 --project sales", export, f"workflow diff load {file} --project sales"
    )
    assert before.out == FLOW, "the text stays as it was written"
    assert sql(RETRIES) == [(1, [2])], "a change of the project makes no version"
    assert [line for line in diff.out.splitlines() if line[:1] in "+-" and line[1:2] not in "+-"] == [
        *("-    retry_times: 2", "+    retry_times: 5")
    ]
    again, same = await shoal.each(apply, apply)
    assert (again.code, same.code) == (0, 0)
    assert sql(RETRIES) == [(1, [2]), (2, [5])]
    *_, back = await shoal.each("project defaults --unset retry_times --project sales", export)
    assert back.out == FLOW
