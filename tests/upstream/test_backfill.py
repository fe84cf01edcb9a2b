"""A parallel backfill has as many chains as it was asked for, and each date is in one of them."""

from __future__ import annotations

from tests.eventually import eventually
from tests.scenarios.engine import BY_HAND, Engine

DAYS = [f"2026-01-{day:02}" for day in range(1, 11)]
UNENDED = "SELECT id FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NULL ORDER BY id"
DATES = """SELECT (schedule_time AT TIME ZONE 'UTC')::date::text, state FROM workflow_instance
           WHERE workflow_code = %s ORDER BY 1"""


async def test_17831_ten_dates_in_three_chains_never_run_more_nor_fewer_than_three_at_once(engine: Engine) -> None:
    """Upstream: ten dates with a parallelism of three were cut into pieces of three, which made four chains.
    Here: three chains, of four, three and three dates; as long as each has dates left, three run side by side.
    """
    code = engine.define({"name": "a", **BY_HAND}, time_zone="UTC")
    backfill = {"from": DAYS[0], "to": DAYS[-1], "mode": "PARALLEL", "parallelism": 3}
    await engine.begin(code, "COMPLEMENT_DATA", params={"backfill": backfill})
    for left in range(len(DAYS), 0, -1):
        await eventually(lambda: len(engine.cluster.rows(UNENDED, code)), until=min(3, left), within_s=20)
        ((run,), *_) = engine.cluster.rows(UNENDED, code)
        await engine.claim(run, "a")
        engine.report(run, "a", "SUCCESS")
        assert await engine.end(run) == "SUCCESS"
    assert engine.cluster.rows(UNENDED, code) == []
    assert engine.cluster.one("SELECT count(*) FROM command WHERE workflow_code = %s", code) == 0
    assert engine.cluster.rows(DATES, code) == [(day, "SUCCESS") for day in DAYS]
