"""`shoal master duties`: what was done, by whom and with which result; what failed; what is not done yet."""

from __future__ import annotations

from typing import Any

from tests.shoal.command_line import CommandLine


async def test_duties_before_the_first_master(database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    table, fields = await shoal.each("master duties", "master duties --json")
    assert table.out.startswith("There are no duties yet.")
    assert fields.json == []


async def test_duties_that_were_done_are_under_way_failed_or_not_done_yet(database_url: str, sql: Any) -> None:
    sql("INSERT INTO duty (name, every_s, due_at) VALUES ('done', 60, clock_timestamp() + interval '50 s')")
    sql(
        "INSERT INTO duty_done SELECT 'done', now() - n * interval '1 min', 7, 'm' || n, now() - interval '2 s', "
        "now(), 3, true, n <> 1, 'found ' || n FROM generate_series(1, 3) AS n"
    )
    sql(
        "INSERT INTO duty (name, every_s, failures, error, error_at, holder, began_at) "
        "VALUES ('failed', 3600, 2, 'it broke', now(), 9, now()), ('new', 60, 0, NULL, NULL, NULL, NULL)"
    )
    shoal = CommandLine.at(database_url)
    table, fields = await shoal.each("master duties", "master duties --json")
    assert table.code == 0, table.err
    lines = table.out.splitlines()
    assert "m1" in lines[1]
    assert "found 1" in lines[1]
    assert "2.0 s" in lines[1]
    assert "failed, and is tried again: it broke" in lines[2]
    assert "9 is at it" in lines[2]
    assert "not done yet" in lines[3]
    done, failed, new = fields.json
    assert done["last"] == {**done["last"], "master": "m1", "late": True, "is_fine": False, "steps": 3, "took_s": 2.0}
    assert (failed["error"], failed["master"]) == ("it broke", "9")
    assert "last" not in new or new["last"] is None


async def test_a_duty_that_has_nothing_to_do_is_not_said_to_be_due(database_url: str, sql: Any) -> None:
    """`alert_rules` is done only while there is something to do; its time may be long over meanwhile."""
    sql("INSERT INTO duty (name, every_s, due_at) VALUES ('alert_rules', 15, now() - interval '1 h')")
    shoal = CommandLine.at(database_url)
    table, fields = await shoal.each("master duties", "master duties --json")
    row = table.out.splitlines()[1]
    assert ("15 s" in row, "when needed" in row, row.endswith("there was nothing to do yet")) == (True, True, True), row
    assert fields.json[0]["is_idle"] is True
    sql("INSERT INTO alert_rule (project, name, text) VALUES ('default', 'fails', 'any run fails -> group default')")
    (fields,) = await shoal.each("master duties --json")
    assert fields.json[0]["is_idle"] is False
