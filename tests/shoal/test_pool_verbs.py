"""`shoal pool list` and `shoal pool ...`: what people see and do, and what they are told when it cannot be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dao.runs.run_readings import PLACES_MAX
from tests.shoal.command_line import CommandLine
from tests.shoal.pool_scene import PoolScene

PROXIES = """\
kind: pool
name: proxies
description: the proxies of the shop
resources:
  p1: {host: 10.0.0.1, password: swordfish}
  p2: {host: 10.0.0.2, password: swordfish}
  p 3/x: {host: 10.0.0.3, password: swordfish}
check: {url: "http://${host}:3128/", timeout: 5s, every: 90s}
"""
LICENCES = "kind: pool\nname: licences\ncount: 2\n"
LOAD = "name: load\ntasks: [{name: get, type: FAKE, resources: {proxies: 1, licences: 1}}]\n"


@pytest.fixture
async def shoal(database_url: str, tmp_path: Path) -> CommandLine:
    """A command line on a database with both pools and the workflow."""
    (tmp_path / "all.yaml").write_text(f"{PROXIES}---\n{LICENCES}---\n{LOAD}")
    (tmp_path / "proxies.yaml").write_text(PROXIES)
    shoal = CommandLine.at(database_url)
    saved = await shoal("workflow", "apply", str(tmp_path / "all.yaml"))
    assert saved.code == 0, saved.err
    assert saved.out.splitlines()[:3] == [
        'Pool "proxies" (3 resources): saved as version 1.',
        'Pool "licences" (2 resources): saved as version 1.',
        'Workflow "load" (1 task, code 100001): saved as version 1.',
    ]
    return shoal


async def test_pools_before_there_is_one(database_url: str) -> None:
    table, fields, missing = await CommandLine.at(database_url).each("pool list", "pool list --json", "pool show nix")
    assert table.out.startswith("There is no resource pool yet.")
    assert fields.json == []
    assert (missing.code, missing.err) == (5, 'shoal: there is no resource pool "nix"; there is none yet\n')


async def test_who_holds_what_and_who_waits(shoal: CommandLine, sql: Any) -> None:
    scene = PoolScene(sql)
    run = scene.run("load")
    holds = scene.waits(run, "holds", '{"proxies": 1, "licences": 1}')
    scene.gets(holds, "p1", "1")
    scene.waits(run, "later", '{"proxies": 2}')
    scene.waits(run, "urgent", '{"proxies": 1, "licences": 2}', "HIGH")
    aside = await shoal("pool", "set-aside", "proxies", "p2", "--reason", "blocked by the shop")
    assert aside.out.splitlines()[0] == '"p2" of pool "proxies" is set aside: nobody gets it until it is taken back.'

    table, fields = await shoal.each("pool list", "pool list --json")
    assert [line.split()[:8] for line in table.out.splitlines()[1:3]] == [
        ["licences", "count", "1", "1", "0", "0", "2", "1"],
        ["proxies", "named", "1", "1", "1", "0", "3", "2"],
    ]
    assert fields.json[1] == {
        **fields.json[1],
        **{"name": "proxies", "free": 1, "taken": 1, "set_aside": 1, "total": 3, "waiting": 2, "is_checked": True},
    }

    shown, fields = await shoal.each("pool show proxies", "pool show proxies --json")
    assert shown.code == 0, shown.err
    assert "3 resources: 1 free, 1 taken, 1 set aside. 2 tasks wait." in shown.out
    assert "Checked by a URL, every 1 min 30 s, within 5 s." in shown.out
    lines = [line.split() for line in shown.out.splitlines()]
    assert ["p1", "●", "TAKEN", f"{run}/holds", "w1"] in [line[:5] for line in lines]
    assert any(line[:3] == ["p2", "⊘", "SET_ASIDE"] and line[-4:] == ["blocked", "by", "the", "shop"] for line in lines)
    assert any(line[:5] == ["p", "3/x", "○", "FREE", "-"] for line in lines)
    waiting = [line for line in lines if line[:1] in (["1"], ["2"])]
    assert [line[:3] for line in waiting] == [["1", f"{run}/urgent", "1"], ["2", f"{run}/later", "2"]]
    assert waiting[0][-4:] == ["ago", "2", "of", "licences"]
    taken = fields.json["resources"][0]
    assert (taken["state"], taken["task"]["name"], taken["worker"]) == ("TAKEN", "holds", "w1")
    assert taken["busy_before"] > taken["taken_at"]
    assert [each["task"]["name"] for each in fields.json["line"]] == ["urgent", "later"]

    back, again = await shoal.each("pool take-back proxies p2", "pool take-back proxies p2")
    assert back.out == '"p2" of pool "proxies" is given again from now on.\n'
    assert again.code == 2
    assert again.err.startswith('shoal: resource "p2" of pool "proxies" is not set aside')


async def test_any_of_many_that_wait_is_explained(shoal: CommandLine, sql: Any) -> None:
    """Only some of a run's many queued tasks are read: the requested one must be among them."""
    scene = PoolScene(sql)
    beat = {"epoch": scene.worker, "kind": "WORKER", "address": "10.0.0.2:1", "groups": ["default"], "capacity": 8}
    sql(f"UPDATE node_beat SET heartbeat = '{json.dumps(beat)}' WHERE node_id = {scene.worker}")
    run = scene.run("load")
    scene.gets(scene.waits(run, "holds", '{"licences": 2}'), "1", "2")
    for number in range(PLACES_MAX + 5):
        scene.waits(run, f"task{number}", '{"licences": 1}')
    first, last = await shoal.each(f"why {run}/task0", f"why {run}/task{PLACES_MAX + 4}")
    assert "task0 waits for pool licences: 2 of 2 taken; it is next in line" in first.out
    assert f"waits for pool licences: 2 of 2 taken; it is {PLACES_MAX + 5}th in line" in last.out


async def test_setting_aside_what_is_held_does_not_touch_its_holder(shoal: CommandLine, sql: Any) -> None:
    scene = PoolScene(sql)
    holds = scene.waits(scene.run("load"), "holds", '{"proxies": 1}')
    scene.gets(holds, "p1")
    first, second = await shoal.each("pool set-aside proxies p1", "pool set-aside proxies p1 --reason other")
    assert first.out.splitlines()[0].endswith("A task holds it, and goes on.")
    assert 'of pool "proxies" is set aside already, by ' in second.out
    assert "no reason was given" in second.out
    scene.ends(holds)
    (shown,) = await shoal.each("pool show proxies --json")
    assert [each["state"] for each in shown.json["resources"]] == ["SET_ASIDE", "FREE", "FREE"]


async def test_odd_names_are_named_as_they_are(shoal: CommandLine) -> None:
    aside, back = await shoal.each("pool set-aside proxies 'p 3/x'", "pool take-back proxies 'p 3/x'")
    assert (aside.code, back.code) == (0, 0), aside.err + back.err


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        ("pool show proxie", 5, 'there is no resource pool "proxie"; did you mean "proxies"?'),
        ("pool show ../x", 5, 'there is no resource pool "../x"; known: licences, proxies'),
        ("pool set-aside nix p1", 5, 'there is no resource pool "nix"'),
        ("pool set-aside proxies 'p 3'", 5, 'pool "proxies" has no resource "p 3"; did you mean "p 3/x"?'),
        ("pool take-back licences 3", 5, 'pool "licences" has no resource "3"; known: 1, 2'),
        ("pool take-back proxies p1", 2, "is not set aside; any task may get it"),
        ("pool delete nix", 5, 'there is no resource pool "nix"'),
        ("pool apply {folder}/all.yaml", 2, 'has the workflow "load", and only pools are saved here'),
        ("pool apply {folder}/nix.yaml", 5, "there is no file"),
        ("pool apply {folder}/proxies.yaml --version 7", 2, "version 7 was read, version 1 is there now, saved by"),
    ],
)
async def test_bad_input_is_told_in_a_sentence(
    shoal: CommandLine, tmp_path: Path, call: str, code: int, sentence: str
) -> None:
    (answer,) = await shoal.each(call.format(folder=tmp_path))
    assert answer.code == code, answer.out
    assert answer.err.count("\n") == 1
    assert sentence in answer.err
    assert answer.out == ""


async def test_a_changed_pool_keeps_its_holders_and_loses_the_rest(
    shoal: CommandLine, sql: Any, tmp_path: Path
) -> None:
    scene = PoolScene(sql)
    holds = scene.waits(scene.run("load"), "holds", '{"proxies": 1, "licences": 1}')
    scene.gets(holds, "p1", "2")
    changed = tmp_path / "changed.yaml"
    changed.write_text("kind: pool\nname: proxies\nresources: [p2, p4]\n---\nkind: pool\nname: licences\ncount: 1\n")
    rehearsed, saved, again = await shoal.each(
        f"pool apply {changed} --dry-run", f"pool apply {changed}", f"pool apply {changed}"
    )
    assert rehearsed.out.splitlines() == [
        'Pool "proxies" (2 resources): would be saved as version 2, 1 added and 2 removed; 1 of the removed are held, '
        "and go when they are given back.",
        'Pool "licences" (1 resource): would be saved as version 2, 1 removed; 1 of the removed are held, and go when '
        "they are given back.",
    ]
    assert saved.out.splitlines()[0].startswith('Pool "proxies" (2 resources): saved as version 2, 1 added')
    assert again.out.splitlines()[0] == 'Pool "proxies" (2 resources): unchanged, version 2.'
    (shown,) = await shoal.each("pool show proxies --json")
    assert {each["name"]: each["state"] for each in shown.json["resources"]} == {
        "p1": "REMOVED",
        "p2": "FREE",
        "p4": "FREE",
    }
    assert (shown.json["total"], shown.json["taken"], shown.json["removed"]) == (2, 0, 1)
    scene.ends(holds)
    shown, counted = await shoal.each("pool show proxies --json", "pool show licences --json")
    assert [each["name"] for each in shown.json["resources"]] == ["p2", "p4"]
    assert [each["name"] for each in counted.json["resources"]] == ["1"]


async def test_a_pool_is_deleted_only_when_nobody_holds_or_waits(shoal: CommandLine, sql: Any) -> None:
    scene = PoolScene(sql)
    run = scene.run("load")
    holds = scene.waits(run, "holds", '{"proxies": 1}')
    scene.gets(holds, "p1")
    held, forced = await shoal.each("pool delete proxies", "pool delete proxies --force")
    assert held.code == forced.code == 2
    assert held.err == (
        'shoal: tasks hold 1 of pool "proxies"; wait until they have ended, or stop them, and delete it then\n'
    )
    scene.ends(holds)
    scene.waits(run, "waits", '{"proxies": 1}')
    waiting, forced, gone = await shoal.each(
        "pool delete proxies", "pool delete proxies --force", "pool show proxies --json"
    )
    assert (waiting.code, "1 task waits for pool" in waiting.err) == (2, True)
    assert (forced.code, forced.out.splitlines()[0]) == (0, 'Pool "proxies" is deleted.')
    assert gone.code == 5
    assert sql("SELECT pool_name FROM pool_line") == [("proxies",)], "who waits keeps its place"


async def test_an_exported_pool_is_applied_as_the_same(shoal: CommandLine, tmp_path: Path) -> None:
    (exported,) = await shoal.each("pool export proxies")
    (tmp_path / "exported.yaml").write_text(exported.out)
    (applied,) = await shoal.each(f"pool apply {tmp_path / 'exported.yaml'} --json")
    assert applied.json == [{**applied.json[0], "is_new_version": False, "version": 1, "total": 3}]


async def test_workflows_are_warned_about_pools(shoal: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "doubtful.yaml"
    file.write_text(
        "name: doubtful\ntasks:\n"
        "  - {name: a, type: FAKE, resources: {proxie: 1}}\n"
        "  - {name: b, type: FAKE, resources: {licences: 3}}\n"
        "  - {name: c, type: FAKE, resources: {nix: 3}}\n"
    )
    applied, shown = await shoal.each(f"workflow apply {file}", "workflow show doubtful")
    assert applied.code == 0
    assert 'task "a": there is no resource pool "proxie"; did you mean "proxies"?' in applied.err
    assert 'task "c": there is no resource pool "nix"; it waits until there is one' in applied.err
    assert 'task "b": it needs 3 of pool "licences", which has 2; it waits until there are more' in applied.err
    assert "3 of licences" in shown.out


async def test_check_reads_pools_without_a_server(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(f"{PROXIES}---\n{LOAD}")
    (tmp_path / "bad.yaml").write_text(f"{LOAD}---\n{PROXIES}---\n{LICENCES.replace('2', '0')}")
    (tmp_path / "twice.yaml").write_text(f"{LOAD}---\n{PROXIES}---\n{PROXIES}")
    good, bad, twice = await CommandLine.at().each(
        f"workflow check {tmp_path / 'all.yaml'}",
        f"workflow check {tmp_path / 'bad.yaml'}",
        f"workflow check {tmp_path / 'twice.yaml'}",
    )
    assert 'Pool "proxies" (3 resources) is well written.' in good.out
    assert bad.code == 2
    assert f'{tmp_path / "bad.yaml"}:15: field "count": must be 1 to 10000' in bad.err
    assert 'the pool "proxies" stands there twice; remove one of them' in twice.err


async def test_no_password_of_a_pool_is_in_the_audit(shoal: CommandLine, sql: Any) -> None:
    rows = sql("SELECT object_kind, object_name, before::text, after::text FROM audit ORDER BY id")
    assert ("resource-pool", "licences") in [row[:2] for row in rows]
    assert "swordfish" not in str(rows)
