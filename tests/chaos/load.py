"""A seeded stream of commands of all kinds, inserted by plain SQL as anybody may, from a thread of its own.

What the database acknowledged is remembered: those commands are the promise that the checker holds Shoal to.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.chaos.workflows import BACKFILLED, EDITED, SCHEDULED, Kind
from tests.cluster.cluster import Cluster

MOVES = (
    "PAUSE", "PAUSE", "STOP", "STOP", "RECOVER_SUSPENDED_PROCESS", "RECOVER_SUSPENDED_PROCESS",
    "START_FAILURE_TASK_PROCESS", "START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING", "EXECUTE_TASK",
)  # fmt: skip
REVIVALS = ("EXECUTE_TASK", "EXECUTE_TASK", "START_FAILURE_TASK_PROCESS", "REPEAT_RUNNING", "RECOVER_SUSPENDED_PROCESS")
REVIVED_AT_ONCE = 8
"""Runs of a serial workflow that are asked to go on in one transaction: two for each slot of four."""
PRIORITIES = ("HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST", None)
DAYS = 3
SCHEDULE_EVERY_S = 2
SCHEDULES = 3


def ask(cluster: Cluster, type_: str, workflow: int | None = None, run: int | None = None, **columns: Any) -> int:
    """Insert a command; its id once the database has acknowledged it."""
    values: dict[str, Any] = {"type": type_, "workflow_code": workflow, "workflow_instance_id": run, **columns}
    texts = [json.dumps(value) if isinstance(value, dict) else value for value in values.values()]
    places = ", ".join(["%s"] * len(values))
    query = f"INSERT INTO command ({', '.join(values)}) VALUES ({places}) RETURNING id"
    return int(cluster.one(query, *texts))


ADD_SCHEDULE = f"""
    INSERT INTO schedule (workflow_code, crontab, misfire)
    VALUES ({SCHEDULED}, '*/{SCHEDULE_EVERY_S} * * * * ?', 'FIRE_ALL')
"""
"""Make one that fires every `SCHEDULE_EVERY_S` seconds from now on."""


@dataclass
class Promises:
    """What was acknowledged: ids of commands; which of them are broken on purpose; how many dates a backfill has."""

    acknowledged: dict[int, str] = field(default_factory=dict)
    broken: set[int] = field(default_factory=set)
    backfills: dict[int, int] = field(default_factory=dict)
    edited: set[int] = field(default_factory=set)
    """Starts of the workflow whose rows people edit: nothing is expected of those runs."""
    unkept: set[tuple[str, int]] = field(default_factory=set)
    """Attempts whose keeper was killed by a fault, as (`instance.task code`, attempt): their ends are unknown, so they
    fail."""
    cramped: set[int] = field(default_factory=set)
    """The epochs of workers whose disks were full: a task fails with that reason when its log cannot be written."""
    keyed: dict[str, set[int]] = field(default_factory=dict)
    """Idempotency key -> the commands in answers of the API."""
    doubtful: int = 0
    """Inserts whose connection was lost: they may or may not be commands."""

    def by_kind(self) -> Counter[str]:
        """How many commands of each type."""
        return Counter(self.acknowledged.values())


class Load:
    """The stream. `start` and `stop` it once.

    Args:
        cluster: a connection of its own.
        kinds: the workflows.
        seed: of the order and kinds of what is asked for.
        rate: commands a second; backfills, sub-workflows and schedules add more.
    """

    def __init__(self, cluster: Cluster, kinds: list[Kind], seed: int, rate: float) -> None:
        self.promises = Promises()
        self.failed: BaseException | None = None
        self._cluster = cluster
        self._kinds = [kind for kind in kinds if kind.weight]
        self._movable = [kind.code for kind in kinds if kind.movable]
        self._alone = [kind.code for kind in kinds if kind.alone]
        self._tasks = {kind.code: [task["name"] for task in kind.spec["tasks"]] for kind in kinds}
        self._chance = random.Random(f"load {seed}")
        self._rate = rate
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def start(self) -> None:
        """Make the schedules and begin."""
        for _ in range(SCHEDULES):
            self._cluster.rows(ADD_SCHEDULE)
        self._thread.start()

    def stop(self) -> None:
        """No more commands, and no more fires. Raises what the thread raised."""
        self._stop.set()
        self._thread.join()
        if self.failed is not None:
            raise self.failed
        self._cluster.rows("UPDATE schedule SET state = 'OFFLINE'")

    def _run(self) -> None:
        try:
            due_s = time.monotonic()
            while not self._stop.is_set():
                self._one()
                due_s = max(due_s + self._chance.expovariate(self._rate), time.monotonic() - 1)
                self._stop.wait(max(0.0, due_s - time.monotonic()))
        except BaseException as error:  # noqa: BLE001 - it is raised by `stop`
            self.failed = error

    def _one(self) -> None:
        dice = self._chance.random()
        try:
            if dice < 0.02:
                self._broken()
            elif dice < 0.05:
                self._backfill()
            elif dice < 0.09:
                self._part()
            elif dice < 0.12:
                self._revive_a_line()
            elif dice < 0.33:
                self._move()
            else:
                self._start()
        except psycopg.OperationalError:
            self.promises.doubtful += 1
            self._stop.wait(0.2)

    def _acknowledge(self, type_: str, workflow: int | None = None, run: int | None = None, **columns: Any) -> int:
        id_ = ask(self._cluster, type_, workflow, run, **columns)
        self.promises.acknowledged[id_] = type_
        return id_

    def _start(self) -> None:
        kind = self._chance.choices(self._kinds, weights=[each.weight for each in self._kinds])[0]
        priority = self._chance.choice(PRIORITIES)
        params = {"n": str(self._chance.randrange(10))}
        id_ = self._acknowledge("START_PROCESS", kind.code, priority=priority, params=params)
        if kind.code == EDITED:
            self.promises.edited.add(id_)

    def _part(self) -> None:
        code = self._chance.choice(self._movable)
        depend = self._chance.choice(("TASK_ONLY", "TASK_PRE", "TASK_POST"))
        task = self._chance.choice(self._tasks[code])
        self._acknowledge("START_CURRENT_TASK_PROCESS", code, start_tasks=json.dumps([task]), task_depend_type=depend)

    def _move(self) -> None:
        """A change of a recent run; as often as not one that does not fit its state, which must be refused."""
        query = """SELECT id, workflow_code FROM workflow_instance
                   WHERE workflow_code = ANY(%s) AND parent_instance_id IS NULL ORDER BY id DESC LIMIT 12"""
        runs = self._cluster.rows(query, self._movable)
        type_, place = self._chance.choice(MOVES), self._chance.randrange(12)
        if not runs:
            return
        run, code = runs[place % len(runs)]
        columns = {"start_tasks": json.dumps([self._tasks[code][0]])} if type_ == "EXECUTE_TASK" else {}
        self._acknowledge(type_, None, run, **columns)

    def _revive_a_line(self) -> None:
        """Many ended runs of one serial workflow are to go on at once: one of them may, and the others are refused."""
        code, type_ = self._chance.choice(self._alone), self._chance.choice(REVIVALS)
        tasks = json.dumps([self._tasks[code][0]]) if type_ == "EXECUTE_TASK" else None
        query = """INSERT INTO command (type, workflow_instance_id, start_tasks)
                   SELECT %s, id, %s FROM (SELECT id FROM workflow_instance WHERE workflow_code = %s
                                           AND ended_at IS NOT NULL ORDER BY id DESC LIMIT %s) AS ended
                   RETURNING id"""
        ids = self._cluster.rows(query, type_, tasks, code, REVIVED_AT_ONCE)
        self.promises.acknowledged |= {id_: type_ for (id_,) in ids}

    def _backfill(self) -> None:
        mode = self._chance.choice(({"mode": "SERIAL"}, {"mode": "PARALLEL", "parallelism": 2}))
        backfill = {"from": "2026-01-01", "to": f"2026-01-0{DAYS}", **mode}
        id_ = self._acknowledge("COMPLEMENT_DATA", BACKFILLED, params={"backfill": backfill})
        self.promises.backfills[id_] = DAYS

    def _broken(self) -> None:
        broken: list[tuple[str, dict[str, Any]]] = [
            ("START_PROCES", {"workflow": BACKFILLED}),
            ("START_PROCESS", {"workflow": 999_999}),
            ("START_PROCESS", {"workflow": BACKFILLED, "params": "{broken"}),
            ("STOP", {"run": 999_999_999}),
        ]
        type_, columns = self._chance.choice(broken)
        self.promises.broken.add(self._acknowledge(type_, **columns))
