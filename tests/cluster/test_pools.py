"""Resource pools on real workers that die and sleep.

That no two have one resource is seen by the tasks themselves, which lock a file for each resource that they hold.

`pytest -s -m soak tests/cluster/test_pools.py` prints the figures of 400 tasks of a second on a pool of 40.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import psycopg
import pytest

from dao.pools import saved_pools
from dao.postgres.database import Database
from model.pools.spec import PoolSpec
from tests.cluster.cluster import PATIENT, Cluster, Node
from tests.eventually import eventually
from tests.servers.postgres import PostgresServer

CODE = 1001
LEFT = "SELECT count(*) FROM task_instance WHERE ended_at IS NULL"
ENDED = "SELECT count(*) FROM task_instance WHERE state = 'SUCCESS'"


def make_pool(cluster: Cluster, name: str, count: int) -> None:
    cluster.rows(
        "WITH made AS (INSERT INTO resource_pool (name) VALUES (%s) RETURNING code, name) "
        "INSERT INTO pool_resource (pool_code, name, place, data) "
        "SELECT code, name || '-' || n, n, jsonb_build_object('port', 3000 + n) FROM made, generate_series(1, %s) AS n",
        name,
        count,
    )


def locking(cluster: Cluster, pools: Iterable[str], waits: str) -> str:
    """A script that locks a file for each resource that it holds, for as long as any process of it lives."""
    lines = [f"cd {cluster.folder}"]
    for pool in pools:
        lines += [
            f'rest="$SHOAL_RESOURCE_{pool.upper()}"',
            'while [[ $rest =~ \\"name\\":\\ \\"([a-z0-9-]+)\\"(.*) ]]; do',
            '  name="${BASH_REMATCH[1]}" rest="${BASH_REMATCH[2]}"',
            '  exec {lock}>>"lock-$name"',
            '  flock -n $lock || echo "$SHOAL_TASK_KEY $name" >> two-holders',
            '  echo "begin $name $SHOAL_TASK_KEY $SHOAL_ATTEMPT $EPOCHREALTIME" >> held',
            "done",
        ]
    lines += [waits, 'echo "end - $SHOAL_TASK_KEY $SHOAL_ATTEMPT $EPOCHREALTIME" >> held']
    return "\n".join(lines)


def define(cluster: Cluster, *kinds: tuple[int, Mapping[str, int]], lasts_s: float) -> None:
    """A workflow with this many parallel tasks of each kind of needs."""
    tasks: list[dict[str, Any]] = []
    for number, (count, needs) in enumerate(kinds):
        script = locking(cluster, needs, f"sleep {lasts_s}")
        tasks += [
            {"name": f"t{number}-{n}", "type": "SHELL", "params": {"script": script}, "resources": dict(needs)}
            for n in range(count)
        ]
    cluster.define(CODE, "w", tasks=tasks)


def check_holders(cluster: Cluster, kinds: Mapping[str, int]) -> None:
    """Check that no holder saw another, each attempt saw as many resources as it needs, and all are free again."""
    assert not (cluster.folder / "two-holders").exists(), (cluster.folder / "two-holders").read_text()
    held = re.findall(r"begin (\S+) (\S+) (\S+) ", (cluster.folder / "held").read_text())
    assert {name.rpartition("-")[0] for name, _, _ in held} == set(kinds)
    assert cluster.rows("SELECT name FROM pool_resource WHERE task_instance_id IS NOT NULL") == []
    assert cluster.rows("SELECT * FROM pool_line") == []


@asynccontextmanager
async def sampling(cluster: Cluster) -> AsyncIterator[list[tuple[float, int]]]:
    """The number of held resources over time (seconds of the database's clock), sampled some 20 times a second.

    A resource is held from the claim on, also by an attempt that its worker has not begun.
    """
    held = "SELECT extract(epoch FROM clock_timestamp())::float8, count(task_instance_id) FROM pool_resource"
    samples: list[tuple[float, int]] = []

    async def look() -> None:
        async with await psycopg.AsyncConnection.connect(cluster.psql_url, autocommit=True) as connection:
            while True:
                samples.extend(await (await connection.execute(held)).fetchall())
                await asyncio.sleep(0.05)

    looking = asyncio.create_task(look())
    try:
        yield samples
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def busy_share(cluster: Cluster, size: int, samples: list[tuple[float, int]]) -> tuple[float, float]:
    """The share of the pool that was held, and that in which tasks really ran, until the last `size` tasks."""
    begun: dict[tuple[str, str], float] = {}
    ran: list[tuple[float, float]] = []
    for line in (cluster.folder / "held").read_text().splitlines():
        what, _, key, attempt, at = line.split()
        if what == "begin":
            begun[key, attempt] = float(at)
        else:
            ran.append((begun[key, attempt], float(at)))
    first = "SELECT extract(epoch FROM min(started_at))::float8 FROM task_instance"
    last = (
        "SELECT extract(epoch FROM ended_at)::float8 FROM task_instance WHERE state = 'SUCCESS' "
        f"ORDER BY ended_at DESC OFFSET {size} LIMIT 1"
    )
    since, until = cluster.one(first), cluster.one(last)
    held = [count for at, count in samples if since <= at <= until]
    ran_s = sum(max(0.0, min(end, until) - begin) for begin, end in ran)
    return sum(held) / len(held) / size, ran_s / (size * (until - since))


async def stress(
    workers: list[Node], cluster: Cluster, chance: random.Random, *, times: int, capacity: int = 32
) -> None:
    """Kill a worker and start another with this capacity, or have one sleep past its fence, in turns."""
    for number in range(times):
        await asyncio.sleep(chance.uniform(0.3, 1.2))
        victim = workers.pop(0)
        if number % 2 == 0:
            victim.kill()
        else:
            with victim.stopped():
                fenced = "SELECT count(*) FROM node WHERE id = %s AND state = 'FENCED'"
                await eventually(partial(cluster.one, fenced, victim.epoch), until=1, within_s=30)
        new = {"SHOAL_WORKER__CAPACITY": str(capacity)}
        workers.append(await cluster.worker(**new) if number % 2 == 0 else victim)


async def test_a_pool_is_shared_by_workers_that_die_and_sleep(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 6)
    define(cluster, (60, {"proxies": 1}), (6, {"proxies": 3}), lasts_s=0.3)
    await cluster.master()
    workers = [await cluster.worker() for _ in range(2)]
    cluster.start(CODE)
    await eventually(lambda: cluster.one(ENDED) >= 5, within_s=30)
    await stress(workers, cluster, random.Random(7), times=2)
    await cluster.all_ends(within_s=120)
    assert cluster.one(ENDED) == 66
    check_holders(cluster, {"proxies": 6})


async def test_pools_that_change_all_the_while_give_nothing_twice(cluster: Cluster) -> None:
    """Resources are removed, added again and changed while they are held, checked and given back."""
    cluster.environment |= PATIENT
    define(cluster, (40, {"left": 2}), (40, {"right": 1}), (20, {"right": 1, "left": 1}), lasts_s=0.05)
    sizes = (5, 2, 4, 1)
    database = Database(cluster.environment["SHOAL_DATABASE_URL"], application_name="shoal-test")

    async def change(turn: int) -> None:
        checks: list[Any] = [None, {"script": "true", "every": "5s"}, {"script": "sleep 0.05", "every": "0s"}]
        contents = {
            name: {"resources": {f"{name}-{n}": {"n": turn // 3} for n in range(sizes[(turn + at) % 4] + 1)}}
            for at, name in enumerate(("left", "right"))
        }
        if (check := checks[turn // 4 % 3]) is not None:
            contents["right"]["check"] = check
        async with database.writing() as connection:
            held = await saved_pools.hold(connection, list(contents))
            specs = {name: PoolSpec.parse(content) for name, content in contents.items()}
            await saved_pools.put(connection, held, specs, "a test")

    await change(0)
    await cluster.master()
    for _ in range(2):
        await cluster.worker()
    cluster.start(CODE)
    turn = 0
    while cluster.one(ENDED) < 90:
        turn += 1
        await change(turn)
        await asyncio.sleep(0.02)
    await change(4)  # with all that they may have
    await cluster.all_ends(within_s=60)
    await database.close()
    assert cluster.one(ENDED) == 100
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    check_holders(cluster, {"left": 6, "right": 3})


async def test_several_pools_in_any_order_never_wait_for_each_other(cluster: Cluster) -> None:
    cluster.environment |= PATIENT
    make_pool(cluster, "zebra", 2)
    make_pool(cluster, "apple", 2)
    make_pool(cluster, "mango", 3)
    both, all_ = {"zebra": 2, "apple": 1}, {"apple": 1, "zebra": 1, "mango": 3}
    define(cluster, (8, both), (8, all_), (8, {"apple": 2}), (8, {"mango": 1}), lasts_s=0.05)
    await cluster.master()
    for _ in range(2):
        await cluster.worker()
    cluster.start(CODE)
    await cluster.all_ends(within_s=120)
    assert cluster.one(ENDED) == 32
    check_holders(cluster, {"zebra": 2, "apple": 2, "mango": 3})


async def test_tasks_that_need_nothing_run_beside_a_pool_that_somebody_has_locked(cluster: Cluster) -> None:
    cluster.environment |= PATIENT
    make_pool(cluster, "proxies", 1)
    plain = {"name": "plain", "type": "SHELL", "params": {"script": ":"}}
    needy = {"name": "needy", "type": "SHELL", "params": {"script": ":"}, "resources": {"proxies": 1}}
    cluster.define(CODE, "w", tasks=[needy, plain])
    await cluster.master()
    await cluster.worker()
    with psycopg.connect(cluster.psql_url) as somebody:
        somebody.execute("SELECT FROM resource_pool FOR UPDATE")
        cluster.start(CODE)
        await eventually(lambda: cluster.one(ENDED) == 1)
        assert cluster.rows("SELECT task_name FROM task_instance WHERE state = 'SUCCESS'") == [("plain",)]
    await cluster.all_ends()


async def test_a_lease_lapses_with_its_worker_and_not_before(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 1)
    define(cluster, (2, {"proxies": 1}), lasts_s=2)
    await cluster.master()
    sleeper = await cluster.worker()
    cluster.start(CODE)
    await eventually(lambda: cluster.one("SELECT count(*) FROM pool_resource WHERE worker_id = %s", sleeper.epoch) == 1)
    await cluster.worker()
    with sleeper.stopped():
        holder = "SELECT n.state FROM pool_resource r JOIN node n ON n.id = r.worker_id WHERE n.id = %s"
        await eventually(lambda: cluster.rows(holder, sleeper.epoch) == [], within_s=30)
        assert cluster.one("SELECT state FROM node WHERE id = %s", sleeper.epoch) == "FENCED"
    await cluster.all_ends()
    check_holders(cluster, {"proxies": 1})


async def test_a_restart_of_the_database_leaves_resources_with_those_who_have_them(
    cluster: Cluster, postgres_server: PostgresServer
) -> None:
    """Each attempt waits for a file. So what is held before, while and after the server is away does not depend on
    time."""
    cluster.environment |= PATIENT
    make_pool(cluster, "proxies", 2)
    goes = cluster.folder / "goes"
    script = locking(cluster, ["proxies"], f"until [ -e {goes} ]; do sleep 0.05; done")
    task = {"type": "SHELL", "params": {"script": script}, "resources": {"proxies": 1}}
    cluster.define(CODE, "w", tasks=[{"name": f"t{n}", **task} for n in range(4)])
    await cluster.master()
    for _ in range(2):
        await cluster.worker()
    cluster.start(CODE)
    begun = cluster.folder / "held"
    await eventually(lambda: begun.exists() and begun.read_text().count("begin") == 2, within_s=20)
    holders = "SELECT name, task_instance_id, worker_id FROM pool_resource WHERE task_instance_id > 0 ORDER BY name"
    beaten = "SELECT count(*) FROM node_beat WHERE beaten_at > pg_postmaster_start_time()"
    before = cluster.rows(holders)
    assert len(before) == 2
    for how in ("fast", "immediate"):
        postgres_server.restart(how)
        await eventually(partial(cluster.one, beaten), until=3, within_s=30)
        assert cluster.rows(holders) == before
    assert begun.read_text().count("begin") == 2
    postgres_server.stop("immediate")
    goes.touch()
    await eventually(lambda: begun.read_text().count("end") == 2)
    postgres_server.start()
    await cluster.all_ends()
    assert begun.read_text().count("begin") == 4
    assert cluster.one("SELECT max(attempt) FROM task_instance") == 1
    check_holders(cluster, {"proxies": 2})


async def test_each_type_finds_what_it_holds(cluster: Cluster) -> None:
    make_pool(cluster, "my-pool.1", 1)
    make_pool(cluster, "number", 2)
    odd = {"say": 'it\'s "$(so)" \\ ü\n', "n": [1.5, None]}
    cluster.rows("UPDATE pool_resource SET data = %s WHERE name = 'my-pool.1-1'", json.dumps(odd))
    names = ("SHOAL_RESOURCE_MY_POOL_1", "SHOAL_RESOURCE_NUMBER")
    shell = "\n".join(f'printf %s "${name}" > {cluster.folder}/shell-{name}' for name in names)
    python = "import os\n" + "\n".join(
        f"open({str(cluster.folder)!r} + '/python-{name}', 'w').write(os.environ['{name}'])" for name in names
    )
    needs = {"my-pool.1": 1, "number": 2}
    with serving() as (port, asked):
        kinds = {
            "SHELL": {"script": shell},
            "PYTHON": {"script": python},
            "HTTP": {"url": f"http://127.0.0.1:{port}/"},
        }
        tasks = [
            {"name": type_, "type": type_, "params": params, "resources": needs} for type_, params in kinds.items()
        ]
        cluster.define(CODE, "w", tasks=tasks)
        await cluster.master()
        await cluster.worker()
        cluster.start(CODE)
        await cluster.all_ends()
    assert cluster.rows("SELECT task_name, reason FROM task_instance WHERE state <> 'SUCCESS'") == []
    assert asked == ["/"]
    for kind in ("shell", "python"):
        first, second = (json.loads((cluster.folder / f"{kind}-{name}").read_text()) for name in names)
        assert first == [{"name": "my-pool.1-1", "data": odd}]
        assert second == [{"name": f"number-{n}", "data": {"port": 3000 + n}} for n in (1, 2)]


async def test_what_no_variable_takes_fails_its_task_with_a_sentence(cluster: Cluster) -> None:
    make_pool(cluster, "many", 6_000)
    cluster.define(
        CODE, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": ":"}, "resources": {"many": 6_000}}]
    )
    await cluster.master()
    await cluster.worker()
    cluster.start(CODE)
    await cluster.all_ends()
    [(state, reason)] = cluster.rows("SELECT state, reason FROM task_instance")
    assert state == "FAILURE"
    assert re.fullmatch(
        r"what it holds is [0-9,]+ bytes in SHOAL_RESOURCE_MANY, and a variable takes 131,071; .*", reason
    )
    assert cluster.one("SELECT count(*) FROM pool_resource WHERE task_instance_id IS NOT NULL") == 0


@pytest.mark.soak
@pytest.mark.parametrize("is_calm", [True, False], ids=["calm", "with kills and stops"])
async def test_400_tasks_of_a_second_keep_a_pool_of_40_busy(cluster: Cluster, is_calm: bool) -> None:
    make_pool(cluster, "proxies", 40)
    define(cluster, (400, {"proxies": 1}), lasts_s=1)
    await cluster.master()
    workers = [await cluster.worker(SHOAL_WORKER__CAPACITY="40") for _ in range(2)]
    async with sampling(cluster) as samples:
        cluster.start(CODE)
        if not is_calm:
            await eventually(lambda: cluster.one(ENDED) >= 20, within_s=30)
            await stress(workers, cluster, random.Random(11), times=4, capacity=40)
        await cluster.all_ends(within_s=300)
    assert cluster.one(ENDED) == 400
    check_holders(cluster, {"proxies": 40})
    held, ran = busy_share(cluster, 40, samples)
    print(f"\nheld {held:.1%}, tasks ran {ran:.1%} of the pool until the last 40")  # noqa: T201


async def test_resources_are_checked_and_what_fails_is_set_aside_until_it_passes(cluster: Cluster) -> None:
    """By a script that sees the resource, and by a URL with its values."""
    make_pool(cluster, "proxies", 3)
    is_good = f"[[ $SHOAL_RESOURCE =~ -([0-9]) && ! -e {cluster.folder}/bad-${{BASH_REMATCH[1]}} ]]"
    script = f"{is_good} || {{ echo no luck; exit 3; }}"
    check = json.dumps({"script": script, "every_s": 1, "timeout_s": 5})
    cluster.rows("UPDATE resource_pool SET validity_check = %s", check)
    (cluster.folder / "bad-2").touch()
    await cluster.master()
    await cluster.worker()
    why = "SELECT set_aside_why FROM pool_resource WHERE name = 'proxies-2'"
    await eventually(lambda: cluster.one(why), until="its check failed: exit code 3: no luck", within_s=20)
    define(cluster, (6, {"proxies": 1}), lasts_s=0.1)
    cluster.start(CODE)
    await cluster.all_ends()
    assert "proxies-2" not in (cluster.folder / "held").read_text()
    (cluster.folder / "bad-2").unlink()
    await eventually(lambda: cluster.one(why), until=None, within_s=30)
    check_holders(cluster, {"proxies": 3})


async def test_why_a_check_failed_has_no_password(cluster: Cluster) -> None:
    make_pool(cluster, "proxies", 1)
    script = 'echo "no luck with 10.0.0.1 and swordfish"; exit 1'
    check = json.dumps({"script": script, "every_s": 60})
    cluster.rows("UPDATE pool_resource SET data = %s", json.dumps({"host": "10.0.0.1", "password": "swordfish"}))
    cluster.rows("UPDATE resource_pool SET validity_check = %s", check)
    await cluster.worker()
    why = "SELECT set_aside_why FROM pool_resource"
    said = "its check failed: exit code 1: no luck with 10.0.0.1 and ******"
    await eventually(lambda: cluster.one(why), until=said, within_s=20)


async def test_a_url_is_asked_with_the_values_of_the_resource(cluster: Cluster) -> None:
    make_pool(cluster, "sites", 2)
    with serving() as (port, asked):
        url = f"http://127.0.0.1:{port}/${{path}}?name=${{name}}"
        cluster.rows("UPDATE resource_pool SET validity_check = %s", json.dumps({"url": url, "every_s": 60}))
        cluster.rows("UPDATE pool_resource SET data = '{\"path\": \"fine & good\"}' WHERE name = 'sites-1'")
        cluster.rows("UPDATE pool_resource SET data = '{\"path\": \"broken\"}' WHERE name = 'sites-2'")
        await cluster.worker()
        await eventually(lambda: cluster.one("SELECT count(*) FROM pool_resource WHERE checked_at IS NULL"), until=0)
    assert sorted(asked) == ["/broken?name=sites-2", "/fine%20%26%20good?name=sites-1"]
    [(name, why)] = cluster.rows("SELECT name, set_aside_why FROM pool_resource WHERE set_aside_at IS NOT NULL")
    assert name == "sites-2"
    assert "500" in why


@contextmanager
def serving() -> Iterator[tuple[int, list[str]]]:
    """A server that answers 500 to what begins with /broken; its port, and what it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(500 if self.path.startswith("/broken") else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
