"""`shoal project keep`: for how long ended runs of a project are kept."""

from __future__ import annotations

from typing import Any

from tests.shoal.command_line import CommandLine


async def test_a_project_is_given_its_time_and_loses_it(database_url: str, sql: Any) -> None:
    sql("INSERT INTO project (name) VALUES ('sales')")
    shoal = CommandLine.at(database_url)
    days, one, ever, none, fields, odd, much, mistyped = await shoal.each(
        "project keep 30 --project sales",
        "project keep 1 --project sales",
        "project keep 0 --project sales",
        "project keep default --project sales",
        "project keep 7 --project sales --json",
        "project keep soon --project sales",
        "project keep 99999 --project sales",
        "project keep 30 --project slaes",
    )
    assert days.out.startswith('Ended runs of project "sales" are kept 30 days.')
    assert one.out.startswith('Ended runs of project "sales" are kept 1 day.')
    assert ever.out.startswith('Ended runs of project "sales" are kept forever.')
    assert none.out.startswith('Ended runs of project "sales" are kept as long as the masters\' settings say.')
    assert fields.json == {"project": "sales", "kept_days": 7}
    assert sql("SELECT kept_days FROM project WHERE name = 'sales'") == [(7,)]
    for wrong in (odd, much):
        assert wrong.code == 2, wrong.out
    assert "is not a number of days" in odd.err
    assert much.err == "shoal: kept_days: must be a whole number of days from 0 to 36500, or default\n"
    assert (mistyped.code, 'there is no project "slaes"' in mistyped.err) == (5, True)
    assert sql("SELECT name FROM project WHERE name = 'slaes'") == []
    changes = sql("SELECT before -> 'kept_days', after -> 'kept_days' FROM audit ORDER BY id")
    assert changes == [("default", 30), (30, 1), (1, 0), (0, "default"), ("default", 7)]
