"""One row that cannot be handled, refused or locked holds up nothing else: commands, runs, ids that come again."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually

QUICK = 1
LONG = 2
GO_ON_WITHIN_S = 8.0
"""While something is in the way: a lock is waited for 2 s at a time."""


async def started(cluster: Cluster) -> Node:
    """One master, one worker, a workflow that is over at once and one that is not."""
    cluster.define(QUICK, "quick", tasks=[{"name": "a", "type": "FAKE"}])
    script = f"until [ -e {cluster.folder}/go ]; do sleep 0.1; done"
    tasks = [
        {"name": "a", "type": "SHELL", "params": {"script": script}},
        {"name": "b", "type": "FAKE", "after": ["a"]},
    ]
    cluster.define(LONG, "long", tasks=tasks)
    await cluster.worker()
    return await cluster.master()


async def good_ones_run(cluster: Cluster, count: int = 30) -> None:
    """Commands inserted now end well, and soon."""
    before = cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'")
    cluster.start(QUICK, count)
    ended = "SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'"
    await eventually(lambda: cluster.one(ended) >= before + count, within_s=GO_ON_WITHIN_S)


async def long_runs(cluster: Cluster, count: int) -> list[int]:
    """Runs whose first task runs."""
    cluster.start(LONG, count)
    running = "SELECT workflow_instance_id FROM task_instance WHERE state = 'RUNNING_EXECUTION' ORDER BY 1"
    await eventually(lambda: len(cluster.rows(running)) == count, within_s=10)
    return [run for (run,) in cluster.rows(running)]


@contextmanager
def stranger_holding(cluster: Cluster, statement: str, *values: object) -> Iterator[None]:
    """Somebody's open transaction, forgotten in psql."""
    with psycopg.connect(cluster.psql_url) as stranger:
        stranger.execute(statement, values)
        yield
        stranger.rollback()


def halt(cluster: Cluster, type_: str, run: int) -> int:
    query = "INSERT INTO command (type, workflow_instance_id) VALUES (%s, %s) RETURNING id"
    return int(cluster.one(query, type_, run))


def restart_ids(cluster: Cluster) -> None:
    cluster.rows("TRUNCATE command RESTART IDENTITY")


def new_ids(cluster: Cluster) -> None:
    cluster.rows(
        "SELECT setval(pg_get_serial_sequence('command', 'id'), (SELECT max(command_id) FROM command_history))"
    )


async def test_a_command_whose_id_was_given_before_is_refused_and_the_others_run(cluster: Cluster) -> None:
    await started(cluster)
    cluster.start(QUICK, 30)
    await cluster.all_ends()
    restart_ids(cluster)
    cluster.start(QUICK, 25)
    new_ids(cluster)
    await good_ones_run(cluster)
    await cluster.all_ends(within_s=20)
    errors = cluster.rows("SELECT command_id, reason FROM error_command ORDER BY 1")
    assert [id_ for id_, _ in errors] == list(range(1, 26))
    assert "handled before" in errors[0][1]
    assert cluster.one("SELECT count(*) FROM workflow_instance") == 60, "nothing was handled twice"
    assert cluster.one("SELECT count(*) FROM command_history") == 60


async def test_a_command_that_cannot_even_be_refused_waits_and_the_others_run(cluster: Cluster) -> None:
    """Its id occurs in the history and among the errors: its record has no place."""
    master = await started(cluster)
    cluster.rows("INSERT INTO command (type) VALUES ('NONSENSE')")
    await cluster.all_ends()
    restart_ids(cluster)
    cluster.start(QUICK, 1)
    new_ids(cluster)
    await eventually(lambda: master.events("command_waits"), within_s=GO_ON_WITHIN_S)
    await good_ones_run(cluster)
    assert cluster.rows("SELECT id FROM command") == [(1,)]
    told = len(master.events("command_waits"))
    await good_ones_run(cluster)
    assert len(master.events("command_waits")) <= told + 4, "again and again without a pause"
    cluster.rows("UPDATE command SET id = DEFAULT")
    await cluster.all_ends(within_s=10)
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 61
    assert cluster.one("SELECT count(*) FROM error_command") == 1


async def test_rows_without_anything_in_them_are_refused_and_the_others_run(cluster: Cluster) -> None:
    """A table whose constraints are gone, say after a restore without them."""
    master = await started(cluster)
    for column in ("type", "created_at", "created_by", "dry_run"):
        cluster.rows(f"ALTER TABLE command ALTER {column} DROP NOT NULL")
    cluster.rows("ALTER TABLE command DROP CONSTRAINT command_id_check")
    cluster.rows("INSERT INTO command (type, created_at, created_by, dry_run) VALUES (NULL, NULL, NULL, NULL)")
    cluster.rows("INSERT INTO command (type) VALUES (NULL)")
    for id_ in (-5, 0, 2**63 - 1):
        cluster.rows("INSERT INTO command (id, type) OVERRIDING SYSTEM VALUE VALUES (%s, NULL)", id_)
    query = "INSERT INTO command (id, type, workflow_code) OVERRIDING SYSTEM VALUE VALUES (-7, 'START_PROCESS', %s)"
    cluster.rows(query, QUICK)
    await good_ones_run(cluster)
    await cluster.all_ends(within_s=15)
    errors = cluster.rows("SELECT command_id, reason FROM error_command ORDER BY 1")
    assert [id_ for id_, _ in errors] == [-5, 0, 1, 2, 2**63 - 1]
    assert all("there is no command type" in reason for _, reason in errors)
    assert not master.events("life_crashed")


async def test_rows_without_an_id_are_left_where_they_are_and_the_others_run(cluster: Cluster) -> None:
    master = await started(cluster)
    cluster.rows("ALTER TABLE command DROP CONSTRAINT command_pkey")
    cluster.rows("ALTER TABLE command ALTER id DROP IDENTITY")
    cluster.rows("ALTER TABLE command ALTER id DROP NOT NULL")
    cluster.rows("CREATE SEQUENCE ids START 100")
    cluster.rows("ALTER TABLE command ALTER id SET DEFAULT nextval('ids')")
    cluster.rows("INSERT INTO command (id, type, created_at) VALUES (NULL, 'STOP', now() - interval '1 h')")
    await good_ones_run(cluster)
    await good_ones_run(cluster)
    assert cluster.rows("SELECT type FROM command") == [("STOP",)]
    assert not master.events("life_crashed")


@pytest.mark.parametrize("masters", [1, 2])
async def test_a_run_whose_row_a_stranger_holds_is_stopped_later_and_the_others_at_once(
    cluster: Cluster, masters: int
) -> None:
    """With two masters, either takes the other's commands by age, and meets the lock as well."""
    nodes = [await started(cluster), *[await cluster.master() for _ in range(masters - 1)]]
    await cluster.slots_become(masters)
    held, other = await long_runs(cluster, 2)
    with stranger_holding(cluster, "UPDATE workflow_instance SET priority = priority WHERE id = %s", held):
        halt(cluster, "STOP", held)
        await good_ones_run(cluster)
        halt(cluster, "STOP", other)
        await good_ones_run(cluster)
        stopped = "SELECT id FROM workflow_instance WHERE state = 'STOP'"
        await eventually(lambda: cluster.rows(stopped) == [(other,)], within_s=GO_ON_WITHIN_S)
        (told, *_) = [event for node in nodes for event in node.events("command_waits")]
        assert told["workflow_instance"] == str(held)
        assert "55P03" in told["error"]
    await cluster.all_ends(within_s=20)
    assert cluster.rows(f"{stopped} ORDER BY id") == [(held,), (other,)]
    assert cluster.rows("SELECT reason FROM error_command") == []
    assert cluster.one("SELECT count(*) FROM command_history WHERE type = 'STOP' AND outcome = 'DONE'") == 2


async def test_a_run_that_somebody_set_to_failover_goes_on_and_no_other_waits_for_it(cluster: Cluster) -> None:
    master = await started(cluster)
    odd, other = await long_runs(cluster, 2)
    cluster.rows("UPDATE workflow_instance SET state = 'FAILOVER' WHERE id = %s", odd)
    await good_ones_run(cluster)
    (cluster.folder / "go").touch()
    await good_ones_run(cluster)
    await cluster.all_ends(within_s=10)
    ends = cluster.rows("SELECT id, state FROM workflow_instance WHERE id IN (%s, %s) ORDER BY 1", odd, other)
    assert ends == [(odd, "SUCCESS"), (other, "SUCCESS")]
    assert not master.events("restores_missing_runs"), "one odd row is no reason to read all again"
    assert [event["count"] for event in master.events("workflows_quarantined")] == [1]


async def test_the_end_of_a_task_of_a_run_whose_row_a_stranger_holds_waits_alone(cluster: Cluster) -> None:
    master = await started(cluster)
    held, other = await long_runs(cluster, 2)
    with stranger_holding(cluster, "UPDATE workflow_instance SET priority = priority WHERE id = %s", held):
        (cluster.folder / "go").touch()
        state = "SELECT state FROM workflow_instance WHERE id = %s"
        await eventually(lambda: cluster.one(state, other) == "SUCCESS", within_s=GO_ON_WITHIN_S)
        await eventually(lambda: master.events("workflow_waits"), within_s=GO_ON_WITHIN_S)
        await good_ones_run(cluster)
        assert master.events("workflow_waits")[0]["workflow_instance"] == held
    await cluster.all_ends(within_s=20)
    assert cluster.rows("SELECT DISTINCT state, attempt FROM task_instance") == [("SUCCESS", 1)]


async def test_a_run_that_cannot_even_be_given_up_waits_and_the_others_go_on(cluster: Cluster) -> None:
    master = await started(cluster)
    held, other = await long_runs(cluster, 2)
    cluster.rows(f"""
        CREATE FUNCTION refuse_it() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.id = {held} THEN RAISE EXCEPTION 'never' USING ERRCODE = 'restrict_violation'; END IF;
            RETURN NEW;
        END $$
    """)
    cluster.rows("CREATE TRIGGER refuses BEFORE UPDATE ON workflow_instance FOR EACH ROW EXECUTE FUNCTION refuse_it()")
    (cluster.folder / "go").touch()
    await eventually(lambda: master.events("workflow_waits"), within_s=GO_ON_WITHIN_S)
    await good_ones_run(cluster)
    assert cluster.rows("SELECT id FROM workflow_instance WHERE ended_at IS NULL") == [(held,)]
    cluster.rows("DROP TRIGGER refuses ON workflow_instance")
    await cluster.all_ends(within_s=20)
    assert cluster.rows("SELECT id, state FROM workflow_instance WHERE id IN (%s, %s) ORDER BY 1", held, other) == [
        (held, "SUCCESS"),
        (other, "SUCCESS"),
    ]
    assert cluster.rows("SELECT DISTINCT state, attempt FROM task_instance") == [("SUCCESS", 1)]


async def test_an_event_that_nobody_can_read_costs_no_master_its_life_and_no_run_its_end(cluster: Cluster) -> None:
    master = await started(cluster)
    run, _ = await long_runs(cluster, 2)
    query = "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) VALUES (%s, %s, 1, 'DONE')"
    for code in (0, 1, 77):
        cluster.rows(query, run, code)
    await good_ones_run(cluster)
    (cluster.folder / "go").touch()
    await cluster.all_ends(within_s=20)
    assert not master.events("life_crashed")
    assert cluster.rows("SELECT count(*) FROM task_event") == [(0,)]
    assert cluster.rows("SELECT DISTINCT state, attempt FROM task_instance") == [("SUCCESS", 1)]


async def test_a_child_whose_place_cannot_be_is_refused_and_the_others_run(cluster: Cluster) -> None:
    await started(cluster)
    (run,) = await long_runs(cluster, 1)
    query = "INSERT INTO command (type, workflow_code, parent) VALUES ('START_PROCESS', %s, %s)"
    for place in ("1/99999/0", "9300000000000000000/1/0", "1/1/3000000000"):
        cluster.rows(query, QUICK, f"{run}/{place}")
    await good_ones_run(cluster)
    await eventually(lambda: cluster.one("SELECT count(*) FROM command"), until=0, within_s=GO_ON_WITHIN_S)
    assert cluster.one("SELECT count(*) FROM error_command WHERE reason LIKE %s", "parent %") == 3
    (cluster.folder / "go").touch()
    await cluster.all_ends(within_s=20)


async def test_a_run_whose_row_cannot_be_read_waits_and_the_others_go_on(cluster: Cluster) -> None:
    """Its master dies; each that takes it over meets the same row."""
    first = await started(cluster)
    broken, other = await long_runs(cluster, 2)
    cluster.rows("ALTER TABLE workflow_instance DROP CONSTRAINT workflow_instance_failure_strategy_check")
    cluster.rows("UPDATE workflow_instance SET failure_strategy = 'PERHAPS' WHERE id = %s", broken)
    first.signal(signal.SIGKILL)
    second = await cluster.master()
    await good_ones_run(cluster)
    state = "SELECT state FROM workflow_instance WHERE id = %s"
    (cluster.folder / "go").touch()
    await eventually(lambda: cluster.one(state, other) == "SUCCESS", within_s=15)
    await good_ones_run(cluster)
    assert not second.events("life_crashed")
    assert cluster.rows("SELECT type FROM command") == [("RECOVER_TOLERANCE_FAULT_PROCESS",)]
    assert second.events("command_waits")[-1]["workflow_instance"] == str(broken)
    cluster.rows("UPDATE workflow_instance SET failure_strategy = 'CONTINUE' WHERE id = %s", broken)
    await cluster.all_ends(within_s=40)
    assert cluster.one("SELECT count(*) FROM error_command") == 0
    assert cluster.rows("SELECT DISTINCT state, attempt FROM task_instance") == [("SUCCESS", 1)]


async def test_a_run_with_a_list_that_cannot_be_read_is_named_and_the_others_go_on(cluster: Cluster) -> None:
    """Its master dies, and the next one reads the rows. Nobody has to report what somebody wrote there."""
    cluster.define(3, "above", tasks=[{"name": "a", "type": "SUB_PROCESS", "params": {"workflow": LONG}}])
    first = await started(cluster)
    scope, branch, _ = await long_runs(cluster, 3)
    cluster.start(3)
    above = "SELECT workflow_instance_id FROM task_instance WHERE task_type = 'SUB_PROCESS'"
    await eventually(lambda: cluster.rows(above), within_s=10)
    ended_badly = cluster.rows(above)
    first.kill()
    cluster.rows("UPDATE workflow_instance SET scope = '\"' WHERE id = %s", scope)
    cluster.rows("UPDATE task_instance SET branch = '3' WHERE workflow_instance_id = %s", branch)
    cluster.rows("UPDATE task_instance SET parameter_values = '[' WHERE task_type = 'SUB_PROCESS'")
    second = await cluster.master()
    (cluster.folder / "go").touch()
    await eventually(lambda: cluster.unfinished() == 4, within_s=20)
    assert {each["error"] for each in second.events("command_waits")} == {
        f"the scope of workflow instance {scope}, as the database has it, is not a JSON list of task codes",
        f"the branch of task 1 of workflow instance {branch}, as the database has it, is not a JSON list of task codes",
    }
    cluster.rows("UPDATE workflow_instance SET scope = NULL WHERE id = %s", scope)
    cluster.rows("UPDATE task_instance SET branch = NULL WHERE workflow_instance_id = %s", branch)
    await cluster.all_ends(within_s=40)
    assert cluster.rows("SELECT id FROM workflow_instance WHERE state = 'FAILURE'") == ended_badly
    assert not second.events("unforeseen")


async def test_runs_that_a_stranger_locks_all_together_go_on_when_they_are_free(cluster: Cluster) -> None:
    await started(cluster)
    runs = await long_runs(cluster, 30)
    with stranger_holding(cluster, "LOCK TABLE workflow_instance IN EXCLUSIVE MODE"):
        for run in runs[:15]:
            halt(cluster, "STOP", run)
        cluster.start(QUICK, 100)
        frees_at_s = time.monotonic() + 10
        await eventually(lambda: time.monotonic() > frees_at_s, within_s=12)
    stopped = "SELECT count(*) FROM workflow_instance WHERE state = 'STOP'"
    await eventually(lambda: cluster.one(stopped), until=15, within_s=15)
    (cluster.folder / "go").touch()
    await cluster.all_ends(within_s=10)
    assert cluster.rows("SELECT reason FROM error_command") == []
    assert cluster.one("SELECT count(*) FROM command_history WHERE outcome = 'DONE'") == 145
    assert cluster.one("SELECT count(*) FROM workflow_instance WHERE state = 'SUCCESS'") == 115
    assert cluster.rows("SELECT DISTINCT attempt FROM task_instance") == [(1,)]
