"""Strict order by key on four masters that die, sleep and lose their database, with the tasks' own journal as judge.

`pytest -s -m soak tests/cluster/test_order_by_key.py` prints the figures of 5,000 commands.
"""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial

import psycopg
import pytest

from tests.cluster.cluster import Cluster, Node
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

CODE, KEYS = 1001, 50
INSERT = """
    INSERT INTO command (type, workflow_code, params, priority)
    SELECT 'START_PROCESS', %s, json_build_object('flight', 'LH' || n)::text, p
    FROM unnest(%s::integer[], %s::text[]) AS asked (n, p)
"""
ENDED = "SELECT count(*) FROM workflow_instance WHERE ended_at IS NOT NULL"


def define(cluster: Cluster, work: str = ":") -> None:
    cluster.define(
        CODE,
        "cleaning",
        execution_type="SERIAL_WAIT",
        serial_key="${flight}",
        params={"flight": ""},
        tasks=[{"name": "a", "type": "SHELL", "params": {"script": cluster.journal.script(work)}}],
    )


async def four_masters(cluster: Cluster) -> list[Node]:
    await cluster.worker()
    masters = [await cluster.master() for _ in range(4)]
    await cluster.slots_become(4)
    return masters


async def ask(cluster: Cluster, chance: random.Random, count: int) -> None:
    """Commands of random keys and priorities, each inserted by a transaction that begins after the one before."""
    for _ in range(0, count, 10):
        keys = [chance.randrange(KEYS) for _ in range(10)]
        priorities = [chance.choice((None, "HIGHEST", "LOW", "LOWEST")) for _ in keys]

        def insert(keys: list[int] = keys, priorities: list[str | None] = priorities) -> bool:
            try:
                cluster.rows(INSERT, CODE, keys, priorities)
            except psycopg.OperationalError:
                return False  # the server was restarted, and the next connection is a new one
            return True

        await eventually(insert, within_s=30)


def ended(cluster: Cluster, count: int) -> bool:
    return bool(cluster.one(ENDED) >= count)


def check_order(cluster: Cluster) -> int:
    """Check that each key had one run at a time, in the order of the commands, by the tasks' journal. Returns how many
    began."""
    query = "SELECT id, serial_key, command_id FROM workflow_instance WHERE workflow_code = %s"
    runs = {run: (key, command) for run, key, command in cluster.rows(query, CODE)}
    under_way: dict[str, int] = {}
    last: dict[str, int] = {}
    begun: set[int] = set()
    for what, task, _ in cluster.journal.lines():
        run = int(task.partition(".")[0])
        key, command = runs[run]
        if what == "end":
            under_way.pop(key, None)
            continue
        assert under_way.get(key, run) == run, f"run {run} of {key} began while run {under_way[key]} was under way"
        if run not in begun:
            assert command > last.get(key, 0), f"the run of command {command} of {key} began after that of {last[key]}"
            last[key] = command
        begun.add(run)
        under_way[key] = run
    return len(begun)


async def test_each_key_is_in_order_though_masters_are_killed_and_sleep(cluster: Cluster) -> None:
    define(cluster)
    chance = random.Random(7)
    masters = await four_masters(cluster)
    await ask(cluster, chance, 200)
    await eventually(lambda: cluster.one(ENDED) > 10, within_s=60)
    masters[0].kill()
    await ask(cluster, chance, 100)
    await eventually(lambda: cluster.one(ENDED) > 50, within_s=60)
    with masters[1].stopped():  # longer than its session: it is fenced, and wakes with what it believed before
        await eventually(lambda: len(cluster.slots()) == 2, within_s=30)
        await ask(cluster, chance, 100)
    await cluster.all_ends(within_s=120)
    cluster.check_exactly_once(400)
    assert check_order(cluster) == 400


async def test_two_sessions_each_find_their_own_order(cluster: Cluster) -> None:
    """Two that insert at once; of each key one of them, so what it commits before it inserts the next goes first."""
    define(cluster)
    await four_masters(cluster)

    def insert(session: psycopg.Connection[tuple[object, ...]], first_key: int) -> None:
        for number in range(60):
            session.execute(INSERT, (CODE, [first_key + number % 5], [("HIGHEST", "LOWEST")[number % 2]]))

    with (
        psycopg.connect(cluster.psql_url, autocommit=True) as one,
        psycopg.connect(cluster.psql_url, autocommit=True) as other,
    ):
        await asyncio.gather(asyncio.to_thread(insert, one, 0), asyncio.to_thread(insert, other, 5))
    await cluster.all_ends(within_s=60)
    cluster.check_exactly_once(120)
    assert check_order(cluster) == 120


@pytest.mark.soak
@pytest.mark.timeout(1800)
async def test_5000_commands_of_50_keys_in_order_through_kills_stops_and_a_restart(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    define(cluster)
    chance = random.Random(1)
    masters = await four_masters(cluster)
    began_s = time.monotonic()
    await ask(cluster, chance, 1_500)
    asleep: Node | None = None
    for number in range(7):
        match number % 3:
            case 0:
                masters.pop(0).kill()
                masters.append(await cluster.master())
            case 1:
                asleep = masters[0]
                with asleep.stopped():
                    await ask(cluster, chance, 200)
                    await eventually(lambda: len(cluster.slots()) < 4, within_s=30)
            case _:
                postgres_server.restart("immediate" if number > 3 else "fast")
        await ask(cluster, chance, 300 if number % 3 == 1 else 500)
        over = 400 * (number + 1)  # so that each fault hits lines that move
        await eventually(partial(ended, cluster, over), within_s=300)
    asked = cluster.one("SELECT count(*) FROM command_history WHERE type = 'START_PROCESS'") + cluster.one(
        "SELECT count(*) FROM command WHERE type = 'START_PROCESS'"
    )
    await cluster.all_ends(within_s=1200)
    took_s = time.monotonic() - began_s
    query = "SELECT count(*) FROM command_history WHERE type = %s"
    calls = cluster.one(query, "RECOVER_SERIAL_WAIT")
    cluster.check_exactly_once(asked)
    assert asked == 5_000
    assert check_order(cluster) == asked
    failed_over = cluster.one(query, "RECOVER_TOLERANCE_FAULT_PROCESS")
    fenced = cluster.one("SELECT count(*) FROM node WHERE state = 'FENCED'")
    commands = f"{asked} commands of {KEYS} keys in {took_s:.0f} s, {calls} calls of lines"
    print(f"\n{commands}, {fenced} fenced masters, {failed_over} failovers")  # noqa: T201
