"""The verbs about schedules, against a database without any master: what they save, show and refuse."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

from service.words import ahead
from tests.shoal.command_line import CommandLine

EXAMPLE = Path(__file__).parents[2] / "examples" / "hello.yaml"
DAILY = shlex.quote("0 0 5 * * ?")


@pytest.fixture
def shoal(database_url: str) -> CommandLine:
    return CommandLine.at(database_url)


@pytest.fixture
def sql(database_url: str) -> Iterator[Any]:
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        yield connection.execute


async def test_a_schedule_is_added_listed_turned_off_and_on_and_removed(shoal: CommandLine, sql: Any) -> None:
    _, none, added, listed, off, on, fields, removed, gone = await shoal.each(
        f"workflow apply {EXAMPLE}",
        "schedule list",
        f"schedule add hello {DAILY} --zone Europe/Berlin --param name=1 --misfire skip --grace 5 --priority high",
        "schedule list",
        "schedule off 1",
        "schedule on 1",
        "schedule list --json",
        "schedule delete 1",
        "schedule on 1",
    )
    assert "There is no schedule." in none.out
    assert 'Schedule 1 starts workflow "hello": At 05:00 every day, in Europe/Berlin.' in added.out
    assert "hello" in listed.out
    assert "0 0 5 * * ?" in listed.out
    assert "● ONLINE" in listed.out
    assert "Schedule 1 is OFFLINE." in off.out
    assert "Schedule 1 is ONLINE." in on.out
    (row,) = fields.json
    assert (row["id"], row["workflow"], row["crontab"], row["time_zone"]) == (
        "1",
        "hello",
        "0 0 5 * * ?",
        "Europe/Berlin",
    )
    assert (row["misfire"], row["misfire_grace_s"], row["state"]) == ("SKIP", 5.0, "ONLINE")
    assert "Schedule 1 is deleted." in removed.out
    assert (gone.code, gone.sentence) == (5, "there is no schedule 1; `shoal schedule list` lists those there are")


async def test_what_is_saved_is_what_was_said(shoal: CommandLine, sql: Any) -> None:
    _, added = await shoal.each(
        f"workflow apply {EXAMPLE}",
        f"schedule add hello {DAILY} --zone Europe/Berlin --start 2026-12-01 --end 2099-12-31 -p name=x=y --off --json",
    )
    assert (added.json["id"], added.json["workflow"]) == ("1", "hello")
    (row,) = sql("SELECT state, start_time, end_time, params, misfire, misfire_grace_s FROM schedule").fetchall()
    assert row[0] == "OFFLINE"
    assert row[1] == datetime(2026, 11, 30, 23, tzinfo=UTC)
    assert row[2] == datetime(2099, 12, 31, 22, 59, 59, 999_999, tzinfo=UTC)
    assert json.loads(row[3]) == {"name": "x=y"}
    assert row[4:] == ("FIRE_ONCE", 60)


async def test_the_next_fire_times_are_told_in_the_zone_and_in_utc(shoal: CommandLine, sql: Any) -> None:
    _, none, _, told, fields = await shoal.each(
        f"workflow apply {EXAMPLE}",
        "schedule next hello",
        f"schedule add hello {DAILY} --zone Asia/Kathmandu",
        "schedule next hello -n 2",
        "schedule next hello --json",
    )
    assert (none.code, none.sentence) == (
        5,
        'workflow "hello" has no schedule; add one: shoal schedule add hello "0 0 5 * * ?"',
    )
    assert told.out.count("05:00:00 +0545") == 2
    assert told.out.count("T23:15:00.000Z") == 2
    assert len(fields.json) == 10
    assert fields.json[0]["schedule_id"] == "1"
    sql("UPDATE schedule SET state = 'OFFLINE'")
    sql("INSERT INTO schedule (workflow_code, crontab) SELECT code, 'every day' FROM workflow_definition")
    (told,) = await shoal.each("schedule next hello")
    assert "OFFLINE, so it does not fire: 1; turn it on: shoal schedule on 1" in told.out
    assert 'schedule 2: cron "every day" must have 5 fields' in told.out


async def test_a_cron_text_is_tried_before_it_is_saved_and_without_a_database() -> None:
    told, fields = await CommandLine.at().each(
        f"schedule next --cron {DAILY} --zone Europe/Berlin -n 3", f"schedule next --cron {DAILY} --json"
    )
    assert "At 05:00 every day, in Europe/Berlin." in told.out
    assert len([line for line in told.out.splitlines() if " 05:00:00 CE" in line]) == 3
    assert [each["time_zone"] for each in fields.json] == ["UTC"] * 10


@pytest.mark.parametrize(
    ("call", "code", "sentence"),
    [
        ("schedule next", 5, "no schedule is ONLINE; `shoal schedule list` lists those there are"),
        ("schedule next hello --cron x", 2, "say a workflow, or --cron"),
        ("schedule next nix", 5, 'there is no workflow "nix"'),
        ("schedule next --cron 'every day'", 2, 'cron "every day" must have 5 fields'),
        ("schedule next --cron '0 0 5 * * ? 2020'", 2, 'cron "0 0 5 * * ? 2020" never fires again; change it'),
        (
            f"schedule next --cron {DAILY} --zone Mars",
            2,
            'there is no time zone "Mars"; use a name such as Europe/Berlin or UTC',
        ),
        ("schedule add hello 'every day'", 2, 'cron "every day" must have 5 fields'),
        (f"schedule add nix {DAILY}", 5, 'there is no workflow "nix"'),
        (f"schedule add hello {DAILY} --zone Mars", 2, 'there is no time zone "Mars"'),
        (f"schedule add hello {DAILY} --start soon", 2, '--start "soon" is not a date or time; write 2026-01-31 or'),
        (f"schedule add hello {DAILY} --end 2020-01-01", 2, 'no fire time of "0 0 5 * * ?" is left before its end'),
        (f"schedule add hello {DAILY} --param day", 2, '--param "day" has no value; write it as name=value'),
        (f"schedule add hello {DAILY} --grace 1e300", 2, "misfire_grace_s must be from 0 to 31622400, not 1e+300"),
        ("schedule off 7", 5, "there is no schedule 7; `shoal schedule list` lists those there are"),
        ("schedule delete 7", 5, "there is no schedule 7"),
    ],
)
async def test_what_is_wrong_is_told_in_a_sentence(shoal: CommandLine, call: str, code: int, sentence: str) -> None:
    _, answer = await shoal.each(f"workflow apply {EXAMPLE}", call)
    assert answer.sentence.startswith(sentence)
    assert answer.code == code


async def test_rows_that_were_written_by_hand_are_listed_as_they_are(shoal: CommandLine, sql: Any) -> None:
    sql("""
        INSERT INTO schedule (workflow_code, crontab, next_fire_at, last_fire_at, problem)
        VALUES (7, E'* *\\n* * *', 'infinity', '20000-01-01', E'it is\\nbroken'),
               (7, '0 5 * * *', clock_timestamp() + interval '90 min', clock_timestamp() - interval '90 min', null)
    """)
    listed, fields, exact = await shoal.each("schedule list", "schedule list --json", "schedule list --utc")
    assert "code 7" in listed.out
    assert "infinity" in listed.out
    assert "it is broken" in listed.out
    assert "in 1 h" in listed.out
    assert "1 h ago" in listed.out
    assert fields.json[0]["next_fire_at"] == "infinity"
    assert "20000-01-01 00:00:00+00" in exact.out


def test_the_time_ahead_is_said_coarsely() -> None:
    assert [ahead(seconds) for seconds in (-5, 0.4, 1, 59, 61, 7200)] == [
        "now", "now", "in 1 s", "in 59 s", "in 1 min", "in 2 h",
    ]  # fmt: skip
