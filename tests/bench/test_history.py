"""The history that the bench makes is like one that runs have made, and leaves the schema as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench import long_history
from bench.__main__ import HISTORY_MIN, main
from bench.cluster import Cluster
from bench.server import BenchServer

SCHEMA = """
    SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT conname || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT relname || reloptions::text FROM pg_class WHERE reloptions IS NOT NULL
"""
EVERY_S = 90 * 86_400 / (HISTORY_MIN / long_history.TASKS)


@pytest.fixture(scope="module")
def filled() -> Iterator[Cluster]:
    with BenchServer() as server, Cluster(server, "empty", 0, 0) as empty, Cluster(server, "full", 0, 0) as full:
        attempts = long_history.fill(server, full, HISTORY_MIN, EVERY_S)
        assert attempts == full.one("SELECT count(*) FROM task_instance")
        assert sorted(full.rows(SCHEMA)) == sorted(empty.rows(SCHEMA))
        yield full


def test_every_run_has_its_command_and_attempts(filled: Cluster) -> None:
    assert filled.one("SELECT count(*) FROM workflow_instance") == HISTORY_MIN // long_history.TASKS
    without = """SELECT count(*) FROM workflow_instance i WHERE ended_at IS NULL
                 OR NOT EXISTS (SELECT FROM command_history h WHERE h.command_id = i.command_id
                                AND h.workflow_instance_id = i.id)
                 OR (SELECT count(*) FROM task_instance t WHERE t.workflow_instance_id = i.id AND flag = 'YES') <> 10"""
    assert filled.one(without) == 0
    assert (
        filled.one(
            "SELECT count(*) FROM workflow_instance i WHERE state = 'FAILURE' AND NOT EXISTS (SELECT FROM "
            "task_instance t WHERE t.workflow_instance_id = i.id AND state = 'FAILURE' AND flag = 'YES')"
        )
        == 0
    )


def test_ids_rise_with_time_over_ninety_days(filled: Cluster) -> None:
    out_of_step = """SELECT count(*) FROM (SELECT started_at, lag(started_at) OVER (ORDER BY id) AS before
                                           FROM workflow_instance) AS i WHERE started_at < before"""
    assert filled.one(out_of_step) == 0
    days = filled.one(
        "SELECT extract(epoch FROM max(started_at) - min(started_at))::float8 / 86400 FROM workflow_instance"
    )
    assert 89 < days < 90


def test_what_comes_after_it_has_new_ids(filled: Cluster) -> None:
    filled.define(1, [])
    first, _ = filled.start(1)
    assert first > filled.one("SELECT max(command_id) FROM command_history")


@pytest.mark.parametrize("given", ["many", "-1", "0", "9999"])
def test_a_history_without_a_number_of_attempts_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", "--history", given])
    with pytest.raises(SystemExit):
        main()
    assert "the number of attempts must be at least 10000" in capsys.readouterr().err
