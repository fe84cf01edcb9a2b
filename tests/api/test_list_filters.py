"""Lists of runs and attempts by their filters, counted and trimmed, over the API and by the command line."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from tests.api.serving import BASE, serving, token_of

RUNS, ATTEMPTS = f"{BASE}/workflow-instances", f"{BASE}/task-instances"
# Run 1 failed, of a schedule, with a child, 2; run 3 runs, by hand, on the master mary, with a start parameter.
ROWS = """
    INSERT INTO workflow_definition (code, project, name) VALUES (1, 'a', 'daily load'), (2, 'b', 'other');
    INSERT INTO workflow_version (workflow_code, version, spec)
    VALUES (2, 1, '{"tasks": [{"name": "x", "type": "FAKE"}, {"name": "y", "type": "FAKE"}]}');
    INSERT INTO node (incarnation, kind, address, state, process_boot, process_id, process_started, name)
    VALUES (gen_random_uuid(), 'MASTER', 'm:1', 'LEFT', 'b', 1, 1, 'mary'),
           (gen_random_uuid(), 'WORKER', 'w:1', 'LEFT', 'b', 2, 2, 'will');
    INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, failure_strategy,
                                   priority, worker_group, params, startup_names, command_type, reason, started_at,
                                   ended_at, parent_instance_id, parent_task_code, parent_attempt, child_index)
    VALUES (1, 1, 1, 'FAILURE', 1, 'END', 'MEDIUM', 'default', '{"dt": "2026-01-01"}', '[]', 'SCHEDULER',
            'task "Load" failed', '2026-01-01Z', now(), NULL, NULL, NULL, NULL),
           (2, 1, 1, 'SUCCESS', 1, 'END', 'MEDIUM', 'default', '{}', '[]', 'START_PROCESS', NULL, '2026-01-02Z', now(),
            1, 1, 1, 0),
           (3, 2, 1, 'RUNNING_EXECUTION', 1, 'END', 'MEDIUM', 'default', '{"dt": "2026-01-01"}', '["dt"]',
            'START_PROCESS', NULL, '2026-01-03Z', NULL, NULL, NULL, NULL, NULL);
    INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                               workflow_priority, task_priority, worker_id, reason, started_at, ended_at)
    VALUES (1, 1, 'Load', 'FAKE', 'FAILURE', 'default', 'MEDIUM', 'MEDIUM', 2, 'exit code 1', '2026-01-01Z', now()),
           (3, 1, 'x', 'FAKE', 'SUCCESS', 'default', 'MEDIUM', 'MEDIUM', 2, NULL, '2026-01-03Z', now());
    UPDATE workflow_instance SET serial_key = 'LH1' WHERE id = 3
"""


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    with psycopg.connect(make_url(database_url).set(drivername="postgresql").render_as_string(False)) as connection:
        connection.execute(ROWS)
    async with (
        serving(database_url) as running,
        running.client(await token_of(running.backend, "ada", is_admin=True)) as made,
    ):
        yield made


async def ids(client: httpx.AsyncClient, address: str) -> list[str]:
    answer = await client.get(address)
    assert answer.status_code == 200, answer.text
    return [each["id"] for each in answer.json()["items"]]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("trigger=SCHEDULE", ["1"]),
        ("trigger=HAND&trigger=BACKFILL", ["3"]),
        ("trigger=PARENT", ["2"]),
        ("master=mary", ["3"]),
        ("master=1", ["3"]),
        ("master=will", []),
        ("master=mary&state=FAILURE", []),
        ("serial_key=LH1", ["3"]),
        ("serial_key=LH2&workflow=other", []),
        ("worker=will", ["3", "1"]),
        ("worker=w:1&state=FAILURE", ["1"]),
        ("worker=2&workflow=other", ["3"]),
        ("parameter=dt=2026-01-01", ["3"]),
        ("parameter=dt=2026", []),
        ("q=load", ["2", "1"]),
        ("q=OTHER", ["3"]),
        ("q=failed", ["1"]),
        ("q=2", ["2"]),
        ("started_before=2026-01-03T00:00:00Z&children=true", ["2", "1"]),
        ("started_before=2026-01-03T00:00:00Z&started_after=2026-01-01T12:00:00Z&children=true", ["2"]),
        ("state=FAILURE&state=RUNNING_EXECUTION", ["3", "1"]),
    ],
)
async def test_a_filter_finds_its_runs(client: httpx.AsyncClient, query: str, found: list[str]) -> None:
    assert await ids(client, f"{RUNS}?{query}") == found
    counted = (await client.get(f"{RUNS}?{query}&count=exact&limit=1")).json()
    assert (counted["count"], counted["count_capped"]) == (len(found), False)
    assert (await client.get(f"{RUNS}:count?{query}")).json()["number"] == len(found)
    bulk = {"action": "RERUN", "filter": _filter(query)}
    answer = (await client.post(f"{RUNS}:bulk", json=bulk)).json()
    assert answer["runs"] + answer["skipped_count"] == len(found), answer
    bars = (await client.get(f"{RUNS}:histogram?started_after=2026-01-01T00:00:00Z&{query}")).json()
    assert bars["total"] == len(found) or "started" in query


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("trigger=SCHEDULE", ["1"]),
        ("master=mary", ["2"]),
        ("parameter=dt=2026-01-01", ["2"]),
        ("q=LOAD", ["1"]),
        ("q=exit code", ["1"]),
        ("q=2", ["2"]),
        ("q=2&state=FAILURE", []),
        ("started_before=2026-01-03T00:00:00Z", ["1"]),
        ("state=FAILURE&state=SUCCESS&worker=will", ["2", "1"]),
    ],
)
async def test_a_filter_finds_its_attempts(client: httpx.AsyncClient, query: str, found: list[str]) -> None:
    assert await ids(client, f"{ATTEMPTS}?{query}") == found
    counted = (await client.get(f"{ATTEMPTS}?{query}&count=exact")).json()
    assert (counted["count"], counted["count_capped"]) == (len(found), False)
    assert (await client.get(f"{ATTEMPTS}?{query}&count=estimate")).json()["count"] == len(found)


async def test_a_list_answers_the_fields_that_are_named(client: httpx.AsyncClient) -> None:
    for query in ("fields=id&fields=state", "fields=id,state"):
        page = (await client.get(f"{RUNS}?{query}&limit=1")).json()
        assert page["items"] == [{"id": "3", "state": "RUNNING_EXECUTION"}]
        assert page["has_more"] and page["next_cursor"]
    attempts = (await client.get(f"{ATTEMPTS}?fields=name,run_id")).json()
    assert attempts["items"] == [{"name": "x", "run_id": "3"}, {"name": "Load", "run_id": "1"}]


async def test_a_field_that_there_is_not_is_refused_with_those_there_are(client: httpx.AsyncClient) -> None:
    answer = await client.get(f"{RUNS}?fields=id,stat")
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"].endswith("/fields/1"), error
    assert 'there is no field "stat"; there are: id, ' in answer.text.replace("\\", "")


async def test_progress_is_in_a_list_when_it_is_asked_for(client: httpx.AsyncClient) -> None:
    plain = (await client.get(RUNS)).json()["items"][0]
    assert "tasks_done" not in plain
    whole = (await client.get(f"{RUNS}?progress=true")).json()["items"][0]
    assert (whole["tasks_done"], whole["tasks_total"]) == (1, 2)
    named = (await client.get(f"{RUNS}?fields=id,tasks_done")).json()["items"]
    assert named == [{"id": "3", "tasks_done": 1}, {"id": "1", "tasks_done": 0}]


@pytest.mark.parametrize("query", ["parameter=dt", "parameter==x", "q=", "trigger=CRON", "count=about", "fields="])
async def test_what_a_filter_cannot_be_is_refused(client: httpx.AsyncClient, query: str) -> None:
    assert (await client.get(f"{RUNS}?{query}")).status_code == 422


def _filter(query: str) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for each in query.split("&"):
        name, _, value = each.partition("=")
        if name in ("trigger", "state", "parameter"):
            given[name] = [*given.get(name, []), value]
        else:
            given[name] = value == "true" if name == "children" else value
    return given


async def test_a_run_shows_its_line_and_what_is_before_it(client: httpx.AsyncClient, database_url: str) -> None:
    """Two wait behind run 3, the newer of them with the smaller id; and a start of the workflow is not handled yet."""
    with psycopg.connect(make_url(database_url).set(drivername="postgresql").render_as_string(False)) as connection:
        connection.execute("""
            INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id, priority,
                                           failure_strategy, worker_group, execution_type, serial_key)
            SELECT command, 2, 1, 'SERIAL_WAIT', 0, 'MEDIUM', 'END', 'default', 'SERIAL_WAIT', key
            FROM (VALUES (30, 'LH1'), (20, 'LH1'), (10, 'LH2')) AS new (command, key)
        """)
        connection.execute("INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', 2)")
    newer = (await client.get(f"{RUNS}/4/line")).json()
    assert newer == {
        "serial_key": "LH1",
        "max_active": 1,
        "place": 2,
        "before": [{"id": "3", "state": "RUNNING_EXECUTION"}, {"id": "5", "state": "SERIAL_WAIT"}],
        "older_command_id": "1",
    }
    older = (await client.get(f"{RUNS}/5/line")).json()
    assert (older["place"], [each["id"] for each in older["before"]]) == (1, ["3"])
    live = (await client.get(f"{RUNS}/3/line")).json()
    assert (live.get("place"), live["before"], (await client.get(f"{RUNS}/3")).json()["serial_key"]) == (
        None,
        [],
        "LH1",
    )
    assert (await client.get(f"{RUNS}/99/line")).status_code == 404
