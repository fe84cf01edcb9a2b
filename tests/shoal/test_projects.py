"""`shoal project`: parameters that all workflows of a project have."""

from __future__ import annotations

import psycopg
from sqlalchemy import make_url

from tests.shoal.command_line import CommandLine


async def test_parameters_are_set_listed_and_taken_away(database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    empty, made, more, listed, less, missing, wrong = await shoal.each(
        "project params --project sales",
        "project set region=eu 'day=$[yyyyMMdd-1]' --project sales",
        "project set region=us --project sales --json",
        "project params --project sales",
        "project unset region --project sales --json",
        "project unset region --project sales",
        "project set region",
    )
    assert (empty.code, 'there is no project "sales"' in empty.sentence) == (5, True)
    assert "$[yyyyMMdd-1]" in made.out
    assert more.json == {"project": "sales", "params": {"region": "us", "day": "$[yyyyMMdd-1]"}}
    assert "us" in listed.out
    assert less.json["params"] == {"day": "$[yyyyMMdd-1]"}
    assert (missing.code, missing.sentence) == (5, 'project "sales" has no parameter "region"; it has day')
    assert (wrong.code, wrong.sentence) == (2, 'the parameter "region" has no value; write it as name=value')


async def test_parameters_that_nobody_can_read_are_not_written_over(database_url: str) -> None:
    shoal = CommandLine.at(database_url)
    plain = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute("INSERT INTO project (name, params) VALUES ('odd', '[1]')")
        shown, changed = await shoal.each("project params --project odd", "project set a=1 --project odd")
        assert (shown.code, changed.code) == (2, 2)
        assert 'the parameters of project "odd" must be a JSON object' in changed.sentence
        assert connection.execute("SELECT params FROM project").fetchall() == [("[1]",)]
