"""`--warning-type` and `--alert-group` of each verb that starts runs arrive at what it writes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.shoal.command_line import CommandLine

ROWS = """
    INSERT INTO workflow_definition (code, name) VALUES (1, 'daily');
    INSERT INTO workflow_version (workflow_code, version, spec)
    VALUES (1, 1, '{"tasks": [{"name": "a", "type": "FAKE"}]}')
"""
WANTED = "--warning-type failure --alert-group data"


@pytest.mark.parametrize(
    ("verb", "table"),
    [
        ("run daily", "command"),
        ("run daily --task a", "command"),
        ("backfill daily --date 2026-01-01", "command"),
        ("schedule add daily 0/5+*+*+*+*", "schedule"),
    ],
)
async def test_who_hears_of_a_run_is_said_with_its_start(database_url: str, sql: Any, verb: str, table: str) -> None:
    sql(ROWS)
    shoal = CommandLine.at(database_url)
    words = [word.replace("+", " ") for word in f"{verb} {WANTED}".split()]
    answer = await shoal(*words)
    assert answer.code == 0, answer.err
    assert sql(f"SELECT warning_type, alert_group FROM {table}") == [("FAILURE", "data")]
    if table == "schedule":
        await shoal("schedule", "edit", "1", "--warning-type", "all")
        assert sql("SELECT warning_type, alert_group FROM schedule") == [("ALL", "data")]


async def test_an_unknown_warning_type_is_refused(database_url: str, sql: Any) -> None:
    sql(ROWS)
    answer = await CommandLine.at(database_url)("run", "daily", "--warning-type", "some")
    assert answer.code == 2
    assert "'some' is not one of" in answer.err
