"""A cluster under load with some victim runs: only single columns of their rows are edited.

Bystanders are runs and schedules of their own, started all the time. One that waits or runs for longer than
`GO_ON_WITHIN_S`, by the database's clock, was stopped by an edit that did not concern it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

import psycopg

from tests.cluster.cluster import Cluster
from tests.edits.catalog import Column, columns, draw

VICTIMS = "BETWEEN 100 AND 199"
QUICK, SCHEDULED = 901, 902
BYSTANDERS = "BETWEEN 900 AND 999"
LONG, QUEUED, DELAYED, PARENT, SERIAL, FAILING, DYNAMIC, DEPENDENT, STRICT = range(101, 110)
GO_ON_WITHIN_S = 10.0

_VICTIM_RUNS = f"(SELECT id FROM workflow_instance WHERE workflow_code {VICTIMS})"
_UNFINISHED = f"(SELECT id FROM workflow_instance WHERE workflow_code {VICTIMS} AND ended_at IS NULL)"
ROWS = {
    "workflow_instance": f"id IN {_UNFINISHED}",
    "task_instance": f"workflow_instance_id IN {_UNFINISHED} AND ended_at IS NULL",
    "command_history": f"workflow_instance_id IN {_VICTIM_RUNS}",
    "error_command": f"workflow_code {VICTIMS}",
    "schedule": f"workflow_code {VICTIMS}",
    "workflow_definition": f"code {VICTIMS}",
    "workflow_version": f"workflow_code {VICTIMS}",
    "project": "name = 'victim'",
    "environment": "name = 'victim'",
    "data_source": "name = 'victim'",
    "task_cache": "true",
    "node": "state IN ('ALIVE', 'LEAVING')",
    "node_beat": "node_id IN (SELECT id FROM node WHERE state IN ('ALIVE', 'LEAVING'))",
}
"""Which rows of a table may be edited. A command or event is edited in the transaction that inserts it."""
INSERTED = {
    "command": [
        "INSERT INTO command (type, workflow_code) VALUES ('START_PROCESS', {code}) RETURNING id",
        "INSERT INTO command (type, workflow_instance_id) VALUES ('STOP', {run}) RETURNING id",
        "INSERT INTO command (type, workflow_instance_id) VALUES ('REPEAT_RUNNING', {run}) RETURNING id",
        "INSERT INTO command (type, workflow_code, params) VALUES ('COMPLEMENT_DATA', {code}, "
        '\'{{"backfill": {{"from": "2026-01-01", "to": "2026-01-03"}}}}\') RETURNING id',
        "INSERT INTO command (type, workflow_code) VALUES ('RECOVER_SERIAL_WAIT', {code}) RETURNING id",
    ],
    "task_event": [
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state) "
        "VALUES ({run}, 1, 1, 'SUCCESS') RETURNING id",
        "INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, child_index) "
        "VALUES ({run}, 1, 1, 'SUCCESS', 0) RETURNING id",
    ],
}
NODES = ("node", "node_beat")
_WEIGHTS = {"workflow_instance": 10, "task_instance": 10, "command": 6, "task_event": 3, "schedule": 4}

_STALLED = f"""
    SELECT 'command ' || id, extract(epoch FROM clock_timestamp() - created_at)::float8 FROM command
    WHERE workflow_code {BYSTANDERS} AND created_by = 'bystander'
      AND created_at < clock_timestamp() - %s * interval '1 s'
    UNION ALL
    SELECT format('run %%s (%%s of master %%s)', id, state, master_id),
           extract(epoch FROM clock_timestamp() - started_at)::float8
    FROM workflow_instance
    WHERE workflow_code {BYSTANDERS} AND ended_at IS NULL AND started_at < clock_timestamp() - %s * interval '1 s'
    UNION ALL
    SELECT 'schedule ' || id || ' has a problem: ' || problem, 0 FROM schedule
    WHERE workflow_code {BYSTANDERS} AND problem IS NOT NULL
    UNION ALL
    SELECT 'schedule ' || id || ' is late', 0 FROM schedule
    WHERE workflow_code {BYSTANDERS} AND next_fire_at < clock_timestamp() - %s * interval '1 s'
"""


@dataclass
class Edit:
    """An edit that was made, or refused by the database (`refused` says why)."""

    at_s: float
    what: str
    before: str
    refused: str = ""


@dataclass
class Stage:
    """Edits of a seed on a cluster."""

    cluster: Cluster
    seed: int
    within_s: float = GO_ON_WITHIN_S
    edits: list[Edit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(f"edits {self.seed}")
        self._columns: list[Column] = []
        self._began_s = 0.0

    def define(self) -> None:
        """The workflows of victims and bystanders."""
        define = self.cluster.define
        short, long = {"type": "FAKE", "params": {"sleep_s": 0.2}}, {"type": "FAKE", "params": {"sleep_s": 2}}
        chain = [{"name": "a", **long}, {"name": "b", **short, "after": ["a"]}, {"name": "c", **long, "after": ["b"]}]
        define(LONG, "long", tasks=chain, params={"p": "1"})
        define(QUEUED, "queued", tasks=[{"name": "a", **short, "worker_group": "nobody_s"}])
        define(DELAYED, "delayed", tasks=[{"name": "a", **short, "delay_time": 0.05}, {"name": "b", **short}])
        define(PARENT, "parent", tasks=[{"name": "a", "type": "SUB_PROCESS", "params": {"workflow": LONG}}])
        define(SERIAL, "serial", tasks=chain, execution_type="SERIAL_WAIT")
        failing = {"name": "a", "type": "FAKE", "params": {"fail_attempts": 2}, "retry_times": 3}
        define(FAILING, "failing", tasks=[{**failing, "retry_interval": 0.02}])
        each = {"workflow": LONG, "lists": [{"name": "n", "value": "1,2,3"}], "parallelism": 2}
        define(DYNAMIC, "dynamic", tasks=[{"name": "a", "type": "DYNAMIC", "params": each}])
        wanted = {"depends_on": [{"workflow": "long", "cycle": "day", "date": "today"}]}
        define(DEPENDENT, "dependent", tasks=[{"name": "a", "type": "DEPENDENT", "params": wanted}])
        define(STRICT, "strict", tasks=[{"name": "a", **long, "on_worker_loss": "fail"}])
        quick = [{"name": "a", **short}, {"name": "b", **short, "after": ["a"]}]
        define(QUICK, "quick", tasks=quick)
        define(SCHEDULED, "scheduled", tasks=quick)
        schedule = "INSERT INTO schedule (workflow_code, crontab) VALUES (%s, '*/2 * * * * ?')"
        for code in (LONG, FAILING, SCHEDULED):
            self.cluster.rows(schedule, code)
        self.cluster.rows("INSERT INTO project (name) VALUES ('victim')")
        self.cluster.rows("INSERT INTO environment (name, script, key_id) VALUES ('victim', '', 'k')")
        self.cluster.rows("INSERT INTO data_source (name, url, shown_url, key_id) VALUES ('victim', '', '', 'k')")
        self._columns = columns(self.cluster.rows)

    async def run(self, count: int, pause_s: float, tables: list[str] | None = None) -> None:
        """Make `count` edits, with a pause after each. Raises AssertionError when a bystander was stopped."""
        loop = asyncio.get_running_loop()
        self._began_s = loop.time()
        known = [*ROWS, *INSERTED]
        drawn = tables or [table for table in known for _ in range(_WEIGHTS.get(table, 1))]
        for number in range(count):
            if number % 3 == 0:
                self._start_some()
            table_now = [table for table in drawn if table not in NODES] or drawn
            is_node_s_turn = number % 40 == 39 and any(table in NODES for table in drawn)
            column, value = draw(self._random, self._columns, list(NODES) if is_node_s_turn else table_now)
            self._edit(column, value)
            await asyncio.sleep(pause_s)
            self.check()
            if is_node_s_turn:
                await self._settles()
        ends_s = loop.time() + self.within_s
        while loop.time() < ends_s:
            self._start_some()
            await asyncio.sleep(0.5)
            self.check()

    def check(self) -> None:
        """Check that every bystander continues. Raises AssertionError with the last edits."""
        stalled = self.cluster.rows(_STALLED, *[self.within_s] * 3)
        if stalled:
            told = "\n".join(f"{what}: {age_s:.1f} s" for what, age_s in stalled[:5])
            raise AssertionError(
                f"bystanders are stopped:\n{told}\nafter these edits:\n{self.told(2.5 * self.within_s)}"
            )

    def told(self, last_s: float) -> str:
        """The edits of the last seconds that the database took."""
        now_s = asyncio.get_running_loop().time() - self._began_s
        recent = [each for each in self.edits if not each.refused and each.at_s > now_s - last_s]
        return "\n".join(f"{each.at_s:7.1f} s  {each.what}   of {each.before[:300]}" for each in recent)

    def _start_some(self) -> None:
        insert = "INSERT INTO command (type, workflow_code, created_by) VALUES ('START_PROCESS', %s, %s)"
        self.cluster.rows(insert, QUICK, "bystander")
        self.cluster.rows(insert, self._random.randint(LONG, STRICT), "victim")

    def _edit(self, column: Column, value: str) -> None:
        what = f"{column.table}.{column.name} = {value}"
        edit = Edit(asyncio.get_running_loop().time() - self._began_s, what, "nothing", "")
        self.edits.append(edit)
        try:
            with psycopg.connect(self.cluster.psql_url, application_name="a person with psql") as connection:
                connection.execute("SET lock_timeout = '2s'")
                edit.before = self._write(connection, column, value)
        except psycopg.Error as error:
            edit.refused = str(error).splitlines()[0]

    def _write(self, connection: psycopg.Connection[Any], column: Column, value: str) -> str:
        set_it = f'UPDATE {column.table} t SET "{column.name}" = {value}'
        if column.table in INSERTED:
            run = f"coalesce((SELECT id FROM {_UNFINISHED} AS u ORDER BY random() LIMIT 1), 1)"
            statement = self._random.choice(INSERTED[column.table])
            code = self._random.randint(LONG, STRICT)
            where = f"id = {connection.execute(statement.format(code=code, run=run)).fetchone()[0]}"  # type: ignore[index]
        else:
            where = f"ctid = (SELECT ctid FROM {column.table} WHERE {ROWS[column.table]} ORDER BY random() LIMIT 1)"
        old = connection.execute(f"SELECT to_json(t)::text FROM {column.table} t WHERE {where} FOR UPDATE").fetchone()
        if old is None:
            return "nothing"
        which = f"id = {json.loads(old[0])['id']}" if "id" in json.loads(old[0]) else where
        connection.execute(f"{set_it} WHERE {which}")
        return str(old[0])

    async def _settles(self) -> None:
        """Wait until as many nodes live as there are processes: a person who edits one node has not edited two."""
        for _ in range(int(10 * 2 * self.within_s)):
            living = self.cluster.one("SELECT count(*) FROM node WHERE state = 'ALIVE'")
            if living == len(self.cluster.nodes) and len(self.cluster.slots()) == self._masters:
                return
            await asyncio.sleep(0.1)
            self.check()
        states = self.cluster.rows("SELECT id, kind, state, ended_why FROM node ORDER BY id")
        raise AssertionError(f"the nodes do not come back: {states}\nafter these edits:\n{self.told(30)}")

    @property
    def _masters(self) -> int:
        return sum(1 for node in self.cluster.nodes if node.log.name.startswith("master"))
