"""Schedules that are added twice, changed, or listed in the file of a workflow; without any master."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from service.secrets.key_settings import add_key
from tests.shoal.command_line import CommandLine

WORKFLOW = """
name: daily
time_zone: Europe/Berlin
params: {day: "1", key: {type: SECRET}}
tasks: [{name: a, type: FAKE}]
"""
LISTED = """schedules:
  - {cron: "0 5 * * *", params: {day: "2"}}
  - cron: "@weekly"
    zone: UTC
    start: 2026-12-01
    end_time: 2099-12-31T12:00:00
    state: OFFLINE
    misfire: SKIP
    grace: 5
    failure_strategy: END
"""


@pytest.fixture
def shoal(database_url: str, tmp_path: Path) -> CommandLine:
    add_key(tmp_path / "keys")
    return CommandLine.at(database_url, SHOAL_SECRETS__KEY_FILE=str(tmp_path / "keys"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "w.yaml"
    path.write_text(WORKFLOW)
    return path


async def test_a_schedule_has_the_time_zone_of_its_workflow_unless_it_names_one(
    shoal: CommandLine, sql: Any, file: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain.yaml").write_text("name: plain\ntasks: [{name: a, type: FAKE}]\n")
    _, of_workflow, own, plain = await shoal.each(
        f"workflow apply {file} {tmp_path}/plain.yaml",
        "schedule add daily '0 5 * * *' --start 2026-12-01",
        "schedule add daily '0 5 * * *' --zone Asia/Tokyo",
        "schedule add plain '0 5 * * *'",
    )
    assert "At 05:00 every day, in Europe/Berlin (the workflow's time zone)." in of_workflow.out
    assert "At 05:00 every day, in Asia/Tokyo." in own.out
    assert "in UTC (the workflow's time zone)." in plain.out
    assert sql("SELECT time_zone, start_time FROM schedule ORDER BY id")[0] == (
        "Europe/Berlin",
        datetime(2026, 11, 30, 23, tzinfo=UTC),
    )


async def test_an_equal_schedule_is_refused_however_it_is_written_unless_one_insists(
    shoal: CommandLine, sql: Any, file: Path
) -> None:
    first = "schedule add daily '0 5 * * *' --end 2099-12-31 -p day=1 -p key=hunter22"
    await shoal.each(f"workflow apply {file}", first)
    equal = await shoal.each(
        first,
        "schedule add daily '0 0 5 ? * *' --zone Europe/Berlin --end 2099-12-31 -p key=hunter22 -p day=1",
        f"{first} --priority HIGH --off",
    )
    for answer in equal:
        assert (answer.code, 'schedule 1 of workflow "daily" is the same' in answer.sentence) == (2, True)
        assert "shoal schedule edit 1" in answer.sentence
        assert "--again" in answer.sentence
    others = await shoal.each(
        "schedule add daily '1 5 * * *' --end 2099-12-31 -p day=1 -p key=hunter22",
        "schedule add daily '0 5 * * *' --end 2099-12-30 -p day=1 -p key=hunter22",
        "schedule add daily '0 5 * * *' --end 2099-12-31 -p day=2 -p key=hunter22",
        "schedule add daily '0 5 * * *' --end 2099-12-31 -p day=1 -p key=hunter23",
        "schedule add daily '0 5 * * *' --end 2099-12-31 -p day=1 -p key=hunter22 --zone UTC",
        f"{first} --again",
    )
    assert [answer.code for answer in others] == [0] * 6, [answer.err for answer in others]
    assert sql("SELECT count(*) FROM schedule") == [(7,)]


async def test_of_two_that_add_the_same_schedule_at_once_one_is_refused(shoal: CommandLine, file: Path) -> None:
    await shoal("workflow", "apply", str(file))
    answers = await asyncio.gather(*(shoal("schedule", "add", "daily", "0 5 * * *") for _ in range(3)))
    assert sorted(answer.code for answer in answers) == [0, 2, 2]


async def test_what_is_not_named_in_an_edit_stays_and_changed_times_are_computed_again(
    shoal: CommandLine, sql: Any, file: Path
) -> None:
    await shoal.each(
        f"workflow apply {file}", "schedule add daily '0 5 * * *' --end 2099-12-31 -p day=1 --misfire skip --grace 7"
    )
    sql("UPDATE schedule SET next_fire_at = '2026-12-01' RETURNING id")
    (params,) = await shoal.each("schedule edit 1 --param day=2 --priority high")
    assert params.code == 0, params.err
    assert sql("SELECT next_fire_at = '2026-12-01', params, priority, misfire, misfire_grace_s FROM schedule") == [
        (True, '{"day": "2"}', "HIGH", "SKIP", 7)
    ]
    times, off, on, unset = await shoal.each(
        "schedule edit 1 --cron '0 30 6 * * ?' --zone Asia/Kathmandu --start 2090-01-01 --end none",
        "schedule edit 1 --off --json",
        "schedule edit 1 --on",
        "schedule edit 1 --unset day",
    )
    assert 'Schedule 1 starts workflow "daily": At 06:30 every day, in Asia/Kathmandu.' in times.out
    assert "First at 2090-01-01T00:45:00.000Z; then: shoal schedule next daily" in times.out
    assert off.json["state"] == "OFFLINE"
    assert "First at 2090-01-01T00:45:00.000Z" in on.out
    assert unset.code == 0
    since = "counts_from > updated_at - interval '1 min'"
    assert sql(f"SELECT next_fire_at, end_time, params, state, {since} FROM schedule") == [
        (None, None, "{}", "ONLINE", True)
    ]


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        ("schedule edit 1", 2, "say what to change, such as --cron"),
        ("schedule edit 9 --off", 5, "there is no schedule 9"),
        ("schedule edit 1 --cron x", 2, 'cron "x" must have 5 fields'),
        ("schedule edit 1 --zone Mars", 2, 'there is no time zone "Mars"'),
        ("schedule edit 1 --end 2020-01-01", 2, 'no fire time of "0 5 * * *" is left before its end'),
        ("schedule edit 1 --start soon", 2, '--start "soon" is not a date or time'),
        ("schedule edit 1 --param dey=1", 2, 'workflow "daily" has no parameter "dey"; did you mean'),
        ("schedule edit 1 --unset nix", 5, 'schedule 1 has no parameter "nix"; it has none'),
        ("schedule edit 1 --cron '0 6 * * *'", 2, 'schedule 2 of workflow "daily" is the same'),
    ],
)
async def test_a_wrong_edit_is_a_sentence_and_changes_nothing(
    shoal: CommandLine, sql: Any, file: Path, call: str, code: int, sentence: str
) -> None:
    *_, answer = await shoal.each(
        f"workflow apply {file}", "schedule add daily '0 5 * * *'", "schedule add daily '0 6 * * *'", call
    )
    assert (answer.code, answer.sentence.startswith(sentence)) == (code, True), answer.sentence
    assert sql("SELECT crontab, time_zone, start_time, end_time, state FROM schedule WHERE id = 1") == [
        ("0 5 * * *", "Europe/Berlin", None, None, "ONLINE")
    ]


async def test_an_edit_repairs_a_row_that_nobody_can_read(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal.each(f"workflow apply {file}", "schedule add daily '0 5 * * *'")
    sql("UPDATE schedule SET crontab = 'x', start_time = 'infinity', problem = 'it is broken' RETURNING id")
    refused, repaired = await shoal.each("schedule edit 1 --start none", "schedule edit 1 --start none --cron @daily")
    assert (refused.code, repaired.code) == (2, 0), repaired.err
    assert sql("SELECT crontab, problem FROM schedule") == [("@daily", None)]


async def test_one_that_is_over_can_still_be_turned_off_and_changed(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal.each(
        f"workflow apply {file}", "schedule add daily '0 5 * * *'", "schedule add daily '0 5 * * *' --again"
    )
    sql("UPDATE schedule SET end_time = '2020-01-01'")
    high, off, on = await shoal.each("schedule edit 1 --priority high", "schedule edit 1 --off", "schedule edit 1 --on")
    assert 'It does not fire: no fire time of "0 5 * * *" is left before its end' in high.out
    assert off.code == 0, off.err
    assert (on.code, on.sentence.startswith("no fire time of")) == (2, True)


async def test_the_file_of_a_workflow_lists_its_schedules(shoal: CommandLine, sql: Any, file: Path) -> None:
    await shoal.each(f"workflow apply {file}", "schedule add daily '0 9 * * *'")
    file.write_text(WORKFLOW + LISTED)
    made, same = await shoal.each(f"workflow apply {file}", f"workflow apply {file}")
    assert "unchanged, version 1." in made.out, "schedules are no part of a version"
    assert "  Schedule 2 is added: At 05:00 every day, in Europe/Berlin." in made.out
    assert "  Schedule 3 is added: " in made.out
    assert "Schedule" not in same.out
    columns = "id, crontab, time_zone, state, misfire, misfire_grace_s, failure_strategy, params, from_file"
    rows = f"SELECT {columns} FROM schedule ORDER BY id"
    assert sql(rows) == [
        (1, "0 9 * * *", "Europe/Berlin", "ONLINE", "FIRE_ONCE", 60, None, "{}", False),
        (2, "0 5 * * *", "Europe/Berlin", "ONLINE", "FIRE_ONCE", 60, None, '{"day": "2"}', True),
        (3, "@weekly", "UTC", "OFFLINE", "SKIP", 5, "END", "{}", True),
    ]
    assert sql("SELECT start_time, end_time FROM schedule WHERE id = 3") == [
        (datetime(2026, 12, 1, tzinfo=UTC), datetime(2099, 12, 31, 12, tzinfo=UTC))
    ]
    file.write_text(WORKFLOW + 'schedules:\n  - {cron: "0 6 * * *"}\n')
    (changed,) = await shoal.each(f"workflow apply {file}")
    assert "  Schedule 2 is changed: At 06:00 every day, in Europe/Berlin." in changed.out
    assert "  Schedule 3 is removed: the file no longer lists it." in changed.out
    file.write_text(WORKFLOW)
    (removed,) = await shoal.each(f"workflow apply {file} --json")
    assert removed.json[0]["schedules"] == [{"id": "2", "what": "removed"}]
    assert sql("SELECT id, from_file FROM schedule") == [(1, False)], "what a person added stays"


async def test_a_schedule_that_the_file_lists_too_becomes_the_files_and_verbs_say_so(
    shoal: CommandLine, sql: Any, file: Path
) -> None:
    await shoal.each(f"workflow apply {file}", "schedule add daily '0 5 * * *'")
    file.write_text(WORKFLOW + 'schedules:\n  - {cron: "0 0 5 * * ?"}\n')
    listed, off, edited, restored = await shoal.each(
        f"workflow apply {file}",
        "schedule off 1",
        "schedule edit 1 --cron '0 7 * * *'",
        f"workflow apply {file}",
    )
    assert "  Schedule 1 was added by hand and is the file's from now on: At 05:00 every day" in listed.out
    for answer in (off, edited):
        assert "The file of its workflow lists it: change it there too" in answer.out
    assert "  Schedule 1 is changed: At 05:00 every day, in Europe/Berlin." in restored.out
    assert sql("SELECT id, crontab, state FROM schedule") == [(1, "0 0 5 * * ?", "ONLINE")]


async def test_a_secret_of_a_listed_schedule_is_sealed_and_stays_the_same(
    shoal: CommandLine, sql: Any, file: Path
) -> None:
    file.write_text(WORKFLOW + 'schedules:\n  - {cron: "@daily", params: {key: hunter22}}\n')
    made, again = await shoal.each(f"workflow apply {file}", f"workflow apply {file}")
    assert (made.code, again.code) == (0, 0), made.err
    assert "Schedule" not in again.out
    ((params,),) = sql("SELECT params FROM schedule")
    assert "hunter22" not in params
    assert "sealed:v2:" in params


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ('[{cron: "x"}]', 'w.yaml:6: schedule 1: cron "x" must have 5 fields'),
        ("[{corn: x}]", 'schedule 1: there is no field "corn"; did you mean "cron"?'),
        ("[{zone: UTC}]", 'schedule 1: the field "cron" is missing'),
        ("[{cron: '@daily', zone: Mars}]", 'schedule 1: there is no time zone "Mars"'),
        ("[{cron: '@daily', start: soon}]", 'schedule 1: start_time "soon" is not a date or time'),
        ("[{cron: '@daily', grace: -1}]", "schedule 1: misfire_grace_s must be from 0 to"),
        ("[{cron: '@daily', state: MAYBE}]", "schedule 1: field \"state\": input should be 'ONLINE' or 'OFFLINE'"),
        ("[{cron: '@daily'}, {cron: '0 0 * * *'}]", "schedule 2 is the same as schedule 1; remove one of them"),
        ("5", 'field "schedules": must be a list'),
        ("[x]", "schedule 1 must be a mapping with a `cron:`"),
    ],
)
async def test_a_wrong_schedule_in_a_file_is_told_with_its_line(file: Path, listed: str, fault: str) -> None:
    file.write_text(f"{WORKFLOW}schedules: {listed}\n")
    (checked,) = await CommandLine.at().each(f"workflow check {file}")
    assert checked.code == 2
    assert fault in checked.sentence


async def test_an_expired_schedule_that_is_off_refuses_no_file(shoal: CommandLine, sql: Any, file: Path) -> None:
    file.write_text(f"{WORKFLOW}schedules: [{{cron: '@daily', end: 2020-01-01, state: OFFLINE}}]\n")
    for _ in range(2):
        (applied,) = await shoal.each(f"workflow apply {file}")
        assert applied.code == 0, applied.err
    assert sql("SELECT state FROM schedule") == [("OFFLINE",)]


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ("{cron: '@daily', params: {dey: 1}}", 'the schedules of "daily": workflow "daily" has no parameter "dey"'),
        ("{cron: '@daily', end: 2020-01-01}", 'the schedules of "daily": no fire time of "@daily" is left'),
    ],
)
async def test_a_listed_schedule_that_cannot_start_anything_saves_nothing(
    shoal: CommandLine, sql: Any, file: Path, listed: str, fault: str
) -> None:
    file.write_text(f"{WORKFLOW}schedules: [{listed}]\n")
    (applied,) = await shoal.each(f"workflow apply {file}")
    assert (applied.code, fault in applied.sentence) == (2, True), applied.sentence
    assert sql("SELECT count(*) FROM workflow_definition") == [(0,)]


async def test_a_file_turns_no_schedule_on_that_is_over(shoal: CommandLine, sql: Any, file: Path) -> None:
    """One that is ONLINE when its time is over may stay so: the file is applied again for another reason."""
    over = 'schedules: [{cron: "0 5 * * *", end: 2020-01-01, state: OFFLINE}]\n'
    file.write_text(WORKFLOW + over)
    (applied,) = await shoal.each(f"workflow apply {file}")
    assert applied.code == 0, applied.err
    file.write_text(WORKFLOW + over.replace("OFFLINE", "ONLINE"))
    (refused,) = await shoal.each(f"workflow apply {file}")
    assert (refused.code, "2020-01-01" in refused.err) == (2, True), refused.err
    assert sql("SELECT state FROM schedule")[0][0] == "OFFLINE"
    sql("UPDATE schedule SET state = 'ONLINE'")
    (same,) = await shoal.each(f"workflow apply {file}")
    assert same.code == 0, same.err
