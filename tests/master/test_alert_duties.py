"""Alerts that duties write without a rule: of refused commands and late tasks, and of what is wrong and lasts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from dao.cluster import nodes
from model.cluster.duties import DutyName
from model.cluster.nodes import Heartbeat, NodeKind
from tests.dao.scene import Scene
from tests.master.alert_scene import add_rule, alerts, begin, do, sales


@pytest_asyncio.fixture
async def scene(database_url: str) -> AsyncIterator[Scene]:
    """Two workflows of the project sales, and one elsewhere."""
    async with sales(database_url) as made:
        yield made


# ---------------------------------------------------------------------------------------------- other alerts


async def test_refused_commands_become_one_alert_for_each_workflow_and_group(scene: Scene) -> None:
    refused = (
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id, warning_type, alert_group) VALUES "
    )
    await scene.sql(
        f"{refused} (1, 1, 'it is OFFLINE', 1, NULL, 'data'), (2, 1, 'no', 1, 'SUCCESS', 'data'), "
        "(3, 1, 'no', 1, 'FAILURE', 'data'), (4, 99, 'there is none', 1, 'all', repeat('x', 1000))"
    )
    await do(scene)
    await do(scene)
    assert await scene.sql("SELECT kind, alert_group, project, subject FROM alert ORDER BY id") == [
        (
            *("ERROR_COMMANDS", "default", "sales"),
            '2 commands of workflow "load" were refused; the first, command 1: it is OFFLINE',
        ),
        ("ERROR_COMMANDS", "data", "sales", 'command 3 of workflow "load" was refused: no'),
        ("ERROR_COMMANDS", "default", None, "command 4 was refused: there is none"),
    ]


async def test_a_refused_command_that_says_nothing_is_reported_as_its_definition_says(scene: Scene) -> None:
    await scene.sql(
        """INSERT INTO workflow_version (workflow_code, version, spec) SELECT code, version,
           '{"tasks": [], "warning_type": "FAILURE", "alert_group": "data"}' FROM workflow_definition WHERE code = 1
           ON CONFLICT (workflow_code, version) DO UPDATE SET spec = excluded.spec"""
    )
    await scene.sql(
        "INSERT INTO error_command (command_id, workflow_code, reason, master_id, warning_type, alert_group) VALUES "
        "(1, 1, 'no', 1, NULL, NULL), (2, 1, 'no', 1, 'NONE', NULL), (3, 1, 'no', 1, NULL, 'ops')"
    )
    await do(scene)
    assert await scene.sql("SELECT alert_group, facts ->> 'first_command' FROM alert ORDER BY id") == [
        ("data", "1"),
        ("default", "2"),
        ("ops", "3"),
    ]


async def test_a_task_that_still_runs_is_warned_of_once(scene: Scene) -> None:
    run = await begin(scene, alert_group="ops")
    attempt = """INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group,
                     workflow_priority, task_priority, worker_id, started_at, timeout_s, timeout_strategy)
                 SELECT :run, n, 't' || n, 'SHELL', 'RUNNING_EXECUTION', 'default', 'MEDIUM', 'MEDIUM', 1,
                        now() - interval '1 min', CASE n WHEN 4 THEN 1e300 ELSE 30 END,
                        (ARRAY['WARN', 'WARNFAILED', 'FAILED', 'WARN'])[n] FROM generate_series(1, 4) AS n"""
    await scene.sql(attempt, run=run)
    for _ in range(2):
        await do(scene)
        assert await scene.sql("SELECT kind, alert_group, facts ->> 'task' FROM alert ORDER BY id") == [
            ("TASK_TIMEOUT", "ops", "t1"),
            ("TASK_TIMEOUT", "ops", "t2"),
        ]
    await scene.sql("UPDATE task_instance SET state = 'SUCCESS', ended_at = now()")
    assert len(await alerts(scene)) == 2


async def test_old_alerts_are_deleted_with_their_deliveries(scene: Scene) -> None:
    await scene.sql(
        "INSERT INTO alert (kind, severity, subject, created_at) "
        "VALUES ('TEST', 'INFO', 'old', now() - interval '91 d'), ('TEST', 'INFO', 'new', now())"
    )
    await scene.sql("INSERT INTO alert_channel (name, kind, url, key_id) VALUES ('c', 'mailto', 'x', 'k')")
    await scene.sql("INSERT INTO alert_delivery (alert_id, channel_id) SELECT a.id, c.id FROM alert a, alert_channel c")
    assert (await do(scene, DutyName.ALERT_HISTORY)).result == "deleted 1 old alerts"
    assert await scene.sql("SELECT a.subject FROM alert_delivery d JOIN alert a ON a.id = d.alert_id") == ["new"]


# ---------------------------------------------------------------------------------------------- what lasts


async def _conditions(scene: Scene) -> list[Any]:
    await do(scene, DutyName.WORKER_GROUPS)
    return await scene.sql("SELECT kind, subject FROM alert ORDER BY id")


async def test_a_group_without_workers_is_reported_when_that_lasts_and_when_it_is_over(scene: Scene) -> None:
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, 2, master=master, worker_group="gpu")
    assert await _conditions(scene) == []
    await scene.sql("UPDATE alert_condition SET since = since - interval '31 s'")
    first = [("GROUP_WITHOUT_WORKERS", 'worker group "gpu" has no worker, and 2 tasks wait for it')]
    assert await _conditions(scene) == first
    assert await _conditions(scene) == first
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    over = ("RECOVERED", 'worker group "gpu" has a worker again, or nothing waits for it')
    assert await _conditions(scene) == [*first, over]
    assert await _conditions(scene) == [*first, over]
    await scene.queue(await scene.instance(master), 1, master=master, worker_group="gpu")
    await _conditions(scene)
    await scene.sql("UPDATE alert_condition SET since = since - interval '31 s'")
    assert len(await _conditions(scene)) == 3, "it happens again"


async def test_a_group_without_workers_for_a_moment_is_not_reported(scene: Scene) -> None:
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, master=master, worker_group="gpu")
    await _conditions(scene)
    await scene.sql("UPDATE task_instance SET state = 'KILL', ended_at = now()")
    assert await _conditions(scene) == []
    assert await scene.sql("SELECT count(*) FROM alert_condition") == [0]


async def _served(scene: Scene) -> None:
    worker = await scene.worker()
    beat = Heartbeat(epoch=worker.epoch, kind=NodeKind.WORKER, address=worker.address, groups=("default",))
    async with scene.database.reading() as connection:
        await nodes.beat(connection, worker, 0, unanswered=0, heartbeat=beat)


async def test_a_queue_of_which_nothing_begins_is_reported(scene: Scene) -> None:
    await _served(scene)
    master = await scene.master()
    await scene.queue(await scene.instance(master), 1, 2, master=master)
    assert await _conditions(scene) == []
    await scene.sql("UPDATE task_instance SET queued_at = now() - interval '11 min'")
    running = (
        "UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = 1, started_at = now() - interval '{}' "
        "WHERE task_code = 1"
    )
    await scene.sql(running.format("5 min"))
    assert await _conditions(scene) == []
    await scene.sql(running.format("11 min"))
    stands = 'the queue of worker group "default" stands: 1 task waits, and none has begun for 10 min'
    assert await _conditions(scene) == [("QUEUE_STANDS", stands)]
    await scene.sql(running.format("1 s"))
    assert (await _conditions(scene))[1:] == [("RECOVERED", 'the queue of worker group "default" moves again')]


async def _waits_for(scene: Scene, needs: str) -> None:
    """Let a task wait for 11 minutes."""
    run = await begin(scene)
    await scene.sql(
        "INSERT INTO task_instance (workflow_instance_id, task_code, task_name, task_type, state, worker_group, "
        "workflow_priority, task_priority, is_plain, resources, queued_at) VALUES (:run, 1, 't', 'FAKE', 'QUEUED', "
        "'default', 'MEDIUM', 'MEDIUM', false, CAST(:needs AS jsonb), now() - interval '11 min')",
        run=run,
        needs=needs,
    )


async def _pool(scene: Scene, *names: str) -> None:
    await scene.sql("INSERT INTO resource_pool (name) VALUES ('proxies')")
    await scene.sql(
        "INSERT INTO pool_resource (pool_code, name) SELECT code, unnest(CAST(:names AS text[])) FROM resource_pool",
        names=list(names),
    )


TAKEN = "UPDATE pool_resource SET task_instance_id = 7, worker_id = 1, taken_at = now() - interval '{}'"


async def test_a_pool_that_gives_nothing_is_reported(scene: Scene) -> None:
    await _served(scene)
    await _pool(scene, "p1")
    await _waits_for(scene, '{"proxies": 1}')
    await scene.sql(TAKEN.format("11 min"))
    stands = 'the resource pool "proxies" stands: 1 task waits, and none has got a resource for 10 min'
    assert await _conditions(scene) == [("POOL_STANDS", stands)]
    await scene.sql(TAKEN.format("1 s"))
    assert (await _conditions(scene))[1:] == [("RECOVERED", 'the resource pool "proxies" moves again')]


async def test_what_waits_though_all_its_pools_have_enough_is_a_queue_that_stands(scene: Scene) -> None:
    """No worker has a place for it; other tasks of its group that need nothing wait or do not."""
    await _served(scene)
    await _pool(scene, "p1")
    await _waits_for(scene, '{"proxies": 1}')
    stands = 'the queue of worker group "default" stands: 1 task waits, and none has begun for 10 min'
    assert await _conditions(scene) == [("QUEUE_STANDS", stands)]


async def test_a_pool_that_has_what_is_needed_does_not_stand_for_one_that_is_not_there(scene: Scene) -> None:
    await _served(scene)
    await _pool(scene, "p1")
    await _waits_for(scene, '{"gone": 1, "proxies": 1}')
    stands = 'the resource pool "gone" stands: 1 task waits, and none has got a resource for 10 min'
    assert await _conditions(scene) == [("POOL_STANDS", stands)]


async def test_a_pool_of_which_resources_were_given_back_lately_does_not_stand(scene: Scene) -> None:
    """The waiting task needs more than there are, and others get one for a moment each."""
    await _served(scene)
    await _pool(scene, "p1", "p2")
    await _waits_for(scene, '{"proxies": 3}')
    await scene.sql("UPDATE pool_resource SET free_since = now() - interval '5 min' WHERE name = 'p1'")
    assert await _conditions(scene) == []
    await scene.sql("UPDATE pool_resource SET free_since = now() - interval '11 min'")
    assert [kind for kind, _ in await _conditions(scene)] == ["POOL_STANDS"]


async def test_behind_one_that_waits_for_another_pool_a_pool_that_has_too_few_is_reported(scene: Scene) -> None:
    await _served(scene)
    await _pool(scene, "p1", "p2")
    await _waits_for(scene, '{"gone": 1, "proxies": 1}')
    await _waits_for(scene, '{"proxies": 2}')
    await scene.sql(f"{TAKEN.format('11 min')} WHERE name = 'p1'")
    stands = 'the resource pool "proxies" stands: 2 tasks wait, and none has got a resource for 10 min'
    assert ("POOL_STANDS", stands) in await _conditions(scene)


@pytest.mark.parametrize(("checked", "stands"), [("9 min", False), ("11 min", True)])
async def test_a_pool_whose_resources_nobody_checks_stands(scene: Scene, checked: str, *, stands: bool) -> None:
    await _served(scene)
    await _pool(scene, "p1")
    await scene.sql('UPDATE resource_pool SET validity_check = \'{"script": "true", "every_s": 60}\'')
    await scene.sql(f"UPDATE pool_resource SET checked_at = now() - interval '{checked}'")
    await _waits_for(scene, '{"proxies": 1}')
    assert [kind for kind, _ in await _conditions(scene)] == ["POOL_STANDS"] * stands


# ---------------------------------------------------------------------------------------------- lost nodes, odd rows


async def test_a_lost_node_is_reported_once_and_one_that_left_is_not(scene: Scene) -> None:
    lost, left = await scene.master(), await scene.worker()
    await scene.fence(lost)
    await scene.sql("UPDATE node SET state = 'LEFT', ended_at = now(), ended_why = 'x' WHERE id = :id", id=left.epoch)
    for _ in range(2):
        await do(scene)
        assert await scene.sql("SELECT kind, facts ->> 'epoch' FROM alert") == [("FAILOVER", str(lost.epoch))]


async def test_rows_that_somebody_wrote_by_hand_stop_no_rule(scene: Scene) -> None:
    late = await add_rule(scene, "late: load not ended by 06:00 -> group data")
    await scene.sql("UPDATE alert_rule SET updated_at = 'infinity'")
    await scene.sql("INSERT INTO alert_rule_state VALUES (:id, 1, 0, '-infinity')", id=late)
    await add_rule(scene, "any run of load fails -> group data")
    await scene.sql(
        "INSERT INTO run_end (workflow_instance_id, workflow_code, state, running_since, ended_at, is_child) VALUES "
        "(7, 1, 'NONSENSE', NULL, 'infinity', false), (8, 999, 'FAILURE', 'infinity', now(), false), "
        "(9, 1, 'FAILURE', '-infinity', '20000-01-01', false)"
    )
    await begin(scene, running_since=None)
    await scene.sql("UPDATE workflow_instance SET running_since = '-infinity', started_at = 'infinity'")
    await add_rule(scene, "any run of this project takes longer than 1 second -> group data")
    await do(scene)
    assert await alerts(scene) == [("RULE", "data", 9)]
