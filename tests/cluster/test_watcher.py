"""An event is lost on purpose, or a row changed: the watcher notices and repairs it. Real masters and workers.

A trigger of the test's own swallows the event in the transaction that would have written it: the attempt is over in its
row, and nobody is told.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually

QUICK = {"SHOAL_MASTER__WATCH_EVERY": "0.5", "SHOAL_MASTER__STUCK_AFTER": "0.5"}

SWALLOW = """
    CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF (SELECT count(*) FROM swallowed) < 1 AND {which} THEN
            INSERT INTO swallowed VALUES (NEW.workflow_instance_id || '/' || NEW.task_code || '/' || NEW.attempt);
            RETURN NULL;
        END IF;
        RETURN NEW;
    END $$
"""


@pytest.fixture
def watched(cluster: Cluster) -> Iterator[Cluster]:
    """A cluster whose masters look often."""
    cluster.environment |= QUICK
    yield cluster


def swallow(cluster: Cluster, which: str) -> None:
    """Lose the first event for which this condition holds."""
    cluster.rows("CREATE TABLE swallowed (what text)")
    cluster.rows(SWALLOW.format(which=which))
    cluster.rows("CREATE TRIGGER swallows BEFORE INSERT ON task_event FOR EACH ROW EXECUTE FUNCTION swallow()")


async def start_all(cluster: Cluster, masters: int = 2) -> list[Node]:
    await cluster.worker()
    started = [await cluster.master() for _ in range(masters)]
    await cluster.slots_become(masters)
    return started


def put_right(masters: list[Node]) -> list[tuple[int, str]]:
    """Run and fault of each time that a watcher put something right."""
    events = [event for master in masters for event in master.events("workflow_instance_stuck")]
    assert all("driven again" in event["so"] or "FAILURE" in event["so"] for event in events)
    return [(event["workflow_instance"], event["missing"]) for event in events]


def shell(cluster: Cluster, name: str, work: str = ":", after: tuple[str, ...] = ()) -> dict[str, object]:
    return {"name": name, "type": "SHELL", "after": list(after), "params": {"script": cluster.journal.script(work)}}


async def test_the_lost_end_of_a_task_is_found_in_its_row_and_the_run_goes_on(watched: Cluster) -> None:
    watched.define(1, "chain", tasks=[shell(watched, "a"), shell(watched, "b", after=("a",))])
    masters = await start_all(watched)
    swallow(watched, "NEW.task_code = 1")
    watched.start(1)
    await watched.all_ends()
    watched.check_exactly_once(1)
    assert watched.rows("SELECT what FROM swallowed") == [("1/1/1",)]
    assert sorted(watched.journal.runs().values()) == [1, 1]
    (fault,) = put_right(masters)
    assert fault == (1, "nothing of it is queued, runs or waits for a time, and no end is on its way to its master")


async def test_a_lost_end_is_found_though_another_task_of_the_run_goes_on(watched: Cluster) -> None:
    """By its rows alone such a run has a reason to wait; its master knows that it got no event of an end."""
    done = watched.folder / "done"
    tasks = [shell(watched, "long", f"until [ -e {done} ]; do sleep 0.1; done"), shell(watched, "a")]
    watched.define(1, "side by side", tasks=[*tasks, shell(watched, "b", f"touch {done}", after=("a",))])
    masters = await start_all(watched)
    swallow(watched, "NEW.task_code = 2")
    watched.start(1)
    await watched.all_ends()
    watched.check_exactly_once(1)
    assert sorted(watched.journal.runs().values()) == [1, 1, 1]
    assert put_right(masters) == [(1, "attempt 1 of its task 2 has ended, but its master does not know")]


async def test_a_lost_failure_is_retried_as_if_it_had_been_heard(watched: Cluster) -> None:
    watched.define(1, "flaky", tasks=[{"name": "a", "type": "FAKE", "retry_times": 1, "params": {"fail_attempts": 1}}])
    masters = await start_all(watched, masters=1)
    swallow(watched, "NEW.state = 'FAILURE'")
    watched.start(1)
    await watched.all_ends()
    assert watched.rows("SELECT attempt, state FROM task_instance ORDER BY 1") == [(1, "FAILURE"), (2, "SUCCESS")]
    assert len(put_right(masters)) == 1


async def test_the_lost_end_of_a_child_is_found_and_its_parent_goes_on(watched: Cluster) -> None:
    watched.define(2, "below", tasks=[shell(watched, "c")])
    sub = {"name": "sub", "type": "SUB_PROCESS", "params": {"workflow": "below"}}
    watched.define(1, "above", tasks=[sub, shell(watched, "after", after=("sub",))])
    masters = await start_all(watched)
    swallow(watched, "NEW.child_index IS NOT NULL")
    watched.start(1)
    await watched.all_ends()
    assert watched.rows("SELECT workflow_code, state FROM workflow_instance ORDER BY 1") == [
        (1, "SUCCESS"), (2, "SUCCESS")
    ]  # fmt: skip
    assert sorted(watched.journal.runs().values()) == [1, 1]
    assert put_right(masters) == [
        (1, "a task of it stands for other runs, and none of them runs, rests or is asked for")
    ]


async def test_a_lost_pause_is_obeyed_and_the_run_can_go_on(watched: Cluster) -> None:
    done = watched.folder / "done"
    long = shell(watched, "long", f"until [ -e {done} ]; do sleep 0.1; done")
    watched.define(1, "chain", tasks=[long, shell(watched, "b", after=("long",))])
    masters = await start_all(watched)
    swallow(watched, "NEW.task_code = 0")
    watched.start(1)
    await eventually(lambda: watched.journal.lines())
    watched.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('PAUSE', 1)")
    await eventually(lambda: watched.one("SELECT state FROM workflow_instance") == "READY_PAUSE", within_s=20)
    assert put_right(masters) == [(1, "a pause or stop was asked for, and its master was never notified")]
    done.touch()
    await eventually(lambda: watched.one("SELECT state FROM workflow_instance") == "PAUSE", within_s=20)
    watched.rows("INSERT INTO command (type, workflow_instance_id) VALUES ('RECOVER_SUSPENDED_PROCESS', 1)")
    await eventually(lambda: watched.one("SELECT state FROM workflow_instance") == "SUCCESS", within_s=20)
    assert sorted(watched.journal.runs().values()) == [1, 1]


async def test_a_wait_that_lost_its_time_is_made_due(watched: Cluster) -> None:
    watched.define(1, "later", tasks=[{**shell(watched, "a"), "delay_time": 0.001}])
    masters = await start_all(watched, masters=1)
    watched.rows(
        "CREATE FUNCTION forget_time() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.due_at := NULL; RETURN NEW; END $$"
    )
    watched.rows("CREATE TRIGGER forgets BEFORE INSERT ON task_instance FOR EACH ROW EXECUTE FUNCTION forget_time()")
    watched.start(1)
    await watched.all_ends()
    watched.check_exactly_once(1)
    assert put_right(masters) == [(1, "a task of it waits for a time, and has none")]


async def test_a_run_that_stays_stuck_ends_as_a_failure_after_three_tries(watched: Cluster) -> None:
    """An attempt runs on no worker: reading the rows does not move it."""
    watched.define(1, "never", tasks=[{"name": "a", "type": "FAKE", "worker_group": "nobody_s"}])
    (master,) = await start_all(watched, masters=1)
    watched.start(1)
    await eventually(lambda: watched.rows("SELECT id FROM task_instance"))
    watched.rows("UPDATE task_instance SET state = 'RUNNING_EXECUTION', started_at = clock_timestamp()")
    await eventually(lambda: watched.one("SELECT state FROM workflow_instance") == "FAILURE", within_s=30)
    assert "a task of it stands for other runs, and none of them runs" in watched.one(
        "SELECT reason FROM workflow_instance"
    )
    assert "3 times changed nothing" in watched.one("SELECT reason FROM workflow_instance")
    assert [event["tries"] for event in master.events("workflow_instance_stuck")] == [0, 1, 2, 3]
    assert [event["ever"] for event in master.events("workflow_instance_stuck")] == [1, 2, 3, 4]


async def test_a_row_that_changes_its_owner_by_hand_is_driven_by_the_new_one_alone(watched: Cluster) -> None:
    done = watched.folder / "done"
    long = shell(watched, "long", f"until [ -e {done} ]; do sleep 0.1; done")
    watched.define(1, "chain", tasks=[long, shell(watched, "b", after=("long",))])
    masters = await start_all(watched)
    watched.start(1)
    await eventually(lambda: watched.journal.lines())
    former = watched.one("SELECT master_id FROM workflow_instance")
    (new,) = {master.epoch for master in masters} - {former}
    watched.rows("UPDATE workflow_instance SET master_id = %s", new)
    running = "SELECT heartbeat::json->>'running' FROM node_beat WHERE node_id = %s"
    await eventually(lambda: (watched.one(running, former), watched.one(running, new)) == ("0", "1"), within_s=20)
    done.touch()
    await watched.all_ends()
    watched.check_exactly_once(1)
    assert sorted(what.split(",")[0] for _, what in put_right(masters)) == [
        "its row says that it is this master's", "this master has it in memory"
    ]  # fmt: skip


async def test_rows_that_change_their_owner_are_found_wherever_the_stretches_end(watched: Cluster) -> None:
    """More runs than one stretch has: what differs is found in each of them, and nothing else."""
    watched.define(1, "waits", tasks=[{"name": "later", "type": "FAKE", "delay_time": 60}])
    masters = await start_all(watched)
    watched.start(1, 2_600)
    delayed = "SELECT count(*) FROM task_instance WHERE state = 'DELAY_EXECUTION'"
    await eventually(lambda: watched.one(delayed) == 2_600, within_s=60)
    one, other = (master.epoch for master in masters)
    moved = "UPDATE workflow_instance SET master_id = %s WHERE master_id = %s AND id %% 130 = 0 RETURNING id"
    ids = {id_ for (id_,) in watched.rows(moved, other, one)}
    sides = "its row says that it is this master's", "this master has it in memory"
    both = sorted((id_, side) for id_ in ids for side in sides)
    await eventually(lambda: len(put_right(masters)) >= len(both), within_s=60)
    assert len(ids) >= 5
    assert sorted((id_, what.split(",")[0]) for id_, what in put_right(masters)) == both


async def test_a_busy_cluster_that_loses_nothing_is_left_alone(watched: Cluster) -> None:
    """Looks as often as can be, under load, with children, retries and delays: no false alarm."""
    watched.environment |= {"SHOAL_MASTER__WATCH_EVERY": "0.05", "SHOAL_MASTER__STUCK_AFTER": "0.001"}
    fake = {"type": "FAKE", "params": {"sleep_s": 0.05}}
    watched.define(2, "below", tasks=[{"name": "c", **fake}])
    watched.define(
        1,
        "above",
        tasks=[
            {"name": "a", **fake, "delay_time": 0.001},
            {"name": "b", "type": "FAKE", "retry_times": 1, "params": {"fail_attempts": 1}},
            {"name": "sub", "type": "SUB_PROCESS", "after": ["a"], "params": {"workflow": "below"}},
            {"name": "end", "type": "FAKE", "after": ["sub", "b"]},
        ],
    )
    masters = await start_all(watched)
    watched.start(1, 300)
    await watched.all_ends()
    assert watched.rows("SELECT state, count(*) FROM workflow_instance GROUP BY 1") == [("SUCCESS", 600)]
    assert put_right(masters) == []


async def test_a_worker_kills_what_is_no_longer_its_own_and_gives_back_what_it_does_not_run(watched: Cluster) -> None:
    """Rows that somebody changed by hand, or a bug: the worker compares what it runs with what they say."""
    watched.define(1, "wait", tasks=[shell(watched, "a", "sleep 600"), {"name": "b", "type": "FAKE", "after": ["a"]}])
    watched.define(2, "elsewhere", tasks=[{**shell(watched, "a"), "worker_group": "nobody_s"}])
    await watched.master()
    worker = await watched.worker()
    watched.start(1)
    watched.start(2)
    await eventually(lambda: len(watched.journal.lines()) == 1, within_s=20)
    await eventually(lambda: watched.one("SELECT count(*) FROM task_instance") == 2)
    lost = watched.one("SELECT id FROM task_instance WHERE state = 'QUEUED'")
    watched.rows(
        "UPDATE task_instance SET state = 'RUNNING_EXECUTION', started_at = now(), worker_id = %s, "
        "worker_group = 'default' WHERE id = %s",
        worker.epoch, lost,
    )  # fmt: skip
    runs = watched.one("SELECT id FROM task_instance WHERE id <> %s", lost)
    watched.rows("UPDATE task_instance SET state = 'SUCCESS', ended_at = now() WHERE id = %s", runs)
    await eventually(lambda: worker.events("task_runs_without_its_row"), within_s=30)
    await eventually(lambda: worker.events("task_does_not_run"), within_s=30)
    told = "SELECT state, reason FROM task_instance WHERE id = %s"
    await eventually(
        lambda: watched.rows(told, lost) == [("NEED_FAULT_TOLERANCE", "its worker was not running it")], within_s=10
    )
    again = "SELECT count(*) FROM task_instance WHERE attempt = 2 AND state = 'QUEUED'"
    await eventually(lambda: watched.one(again) == 1, within_s=20)
    running = "SELECT heartbeat::json->>'running' FROM node_beat WHERE node_id = %s"
    await eventually(lambda: watched.one(running, worker.epoch) == "0", within_s=20)
    assert [line[0] for line in watched.journal.lines()] == ["start"], "it was killed in its midst"
    # The watcher saw its end, of which no event told.
    state = "SELECT state FROM workflow_instance WHERE workflow_code = 1"
    await eventually(lambda: watched.one(state) == "SUCCESS", within_s=20)
