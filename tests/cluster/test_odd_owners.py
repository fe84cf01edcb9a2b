"""Rows as a restore, an import or a person with psql leaves them: what can be failed over is."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

STATES = ("RUNNING_EXECUTION", "READY_PAUSE", "READY_STOP", "FAILOVER")


@pytest.fixture
def odd(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster whose masters look often for what was left."""
    often = ("SWEEP_EVERY", "WATCH_EVERY", "STUCK_AFTER")
    cluster.environment |= {f"SHOAL_MASTER__{name}": "0.5" for name in often}
    cluster.define(1, "two", tasks=[{"name": "a", "type": "FAKE"}, {"name": "b", "type": "FAKE", "after": ["a"]}])
    yield cluster


def imported(cluster: Cluster, state: str, owner: int) -> int:
    """A run that no command made and no master has begun."""
    query = """INSERT INTO workflow_instance (command_id, workflow_code, workflow_version, state, master_id,
                                              failure_strategy, priority, worker_group)
               SELECT 1000000 + count(*), 1, 1, %s, %s, 'CONTINUE', 'MEDIUM', 'default' FROM workflow_instance
               RETURNING id"""
    return int(cluster.one(query, state, owner))


async def test_runs_in_every_state_of_every_owner_that_is_not_there_end(odd: Cluster) -> None:
    master, worker = await odd.master(), await odd.worker()
    fenced, left = [
        odd.one(
            "INSERT INTO node (incarnation, kind, address, state, process_boot, process_id, process_started) "
            "VALUES (gen_random_uuid(), 'MASTER', 'gone:1', %s, 'b', 1, 1) RETURNING id", state,
        )
        for state in ("FENCED", "LEFT")
    ]  # fmt: skip
    made = {
        (state, owner): imported(odd, state, owner)
        for state in STATES
        for owner in (fenced, left, 0, -1, 10**6, 2**63 - 1, worker.epoch, master.epoch)
    }
    await eventually(lambda: odd.unfinished() == 0, within_s=20)
    ends = {"RUNNING_EXECUTION": "SUCCESS", "READY_PAUSE": "PAUSE", "READY_STOP": "STOP", "FAILOVER": "SUCCESS"}
    found = dict(odd.rows("SELECT id, state FROM workflow_instance"))
    assert {key: found[id_] for key, id_ in made.items()} == {key: ends[key[0]] for key in made}
    assert odd.rows("SELECT reason FROM error_command") == []


async def test_a_run_that_cannot_be_failed_over_holds_up_no_other_and_no_task(odd: Cluster) -> None:
    await odd.worker()
    master = await odd.master()
    bad = imported(odd, "SERIAL_WAIT", 0)
    odd.rows(f"""
        CREATE FUNCTION refuse_it() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.state = 'FAILOVER' AND NEW.id = {bad} THEN
                RAISE EXCEPTION 'never' USING ERRCODE = 'restrict_violation';
            END IF;
            RETURN NEW;
        END $$
    """)
    odd.rows("CREATE TRIGGER refuses BEFORE UPDATE ON workflow_instance FOR EACH ROW EXECUTE FUNCTION refuse_it()")
    odd.rows("UPDATE workflow_instance SET state = 'RUNNING_EXECUTION' WHERE id = %s", bad)
    await eventually(lambda: master.events("failover_quarantined"), within_s=10)
    good = [imported(odd, state, 10**6) for state in STATES]
    lost = odd.one(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, worker_id, started_at) "
        "VALUES (%s, 1, 'a', 'FAKE', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', 10 ^ 6, now()) RETURNING id",
        good[0],
    )
    await eventually(
        lambda: odd.rows("SELECT id FROM workflow_instance WHERE ended_at IS NULL") == [(bad,)], within_s=15
    )
    assert odd.one("SELECT state FROM task_instance WHERE id = %s", lost) == "NEED_FAULT_TOLERANCE"
    (told, *_) = master.events("failover_quarantined")
    assert (told["id"], "23001" in told["error"]) == (bad, True)
    odd.rows("DROP TRIGGER refuses ON workflow_instance")
    await eventually(lambda: odd.unfinished() == 0, within_s=40)


async def test_a_master_leaves_in_order_though_one_of_its_runs_cannot_be_failed_over(odd: Cluster) -> None:
    first = await odd.master()
    odd.start(1)
    await eventually(lambda: odd.rows("SELECT id FROM task_instance WHERE state = 'QUEUED'"), within_s=10)
    odd.rows("ALTER TABLE workflow_instance ADD CONSTRAINT never CHECK (state <> 'FAILOVER') NOT VALID")
    first.signal(signal.SIGTERM)
    assert await first.ended() == 0
    assert odd.one("SELECT state FROM node WHERE id = %s", first.epoch) == "LEFT"
    odd.rows("ALTER TABLE workflow_instance DROP CONSTRAINT never")
    await odd.worker()
    await odd.master()
    await odd.all_ends(within_s=20)
