"""A running cluster that many scenarios share, each with workflows of its own; what it does is read from the tables."""

from __future__ import annotations

import json
from typing import Any

from tests.cluster.cluster import Cluster
from tests.eventually import eventually

WITHIN_S = 60.0
UNTIL_STOPPED = {"type": "FAKE", "params": {"sleep_s": 300}}
"""A task that runs until somebody kills it."""
BY_HAND = {"type": "FAKE", "worker_group": "by-hand"}
"""A task that no worker takes: the scenario does, with `claim` and `report`."""
SEEN = """
    CREATE TABLE seen (id bigint GENERATED ALWAYS AS IDENTITY, workflow_instance_id bigint, task_name text, state text);
    CREATE FUNCTION see_instance() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO seen (workflow_instance_id, state) VALUES (NEW.id, NEW.state); RETURN NULL; END';
    CREATE FUNCTION see_task() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO seen (workflow_instance_id, task_name, state)
         VALUES (NEW.workflow_instance_id, NEW.task_name, NEW.state); RETURN NULL; END';
    CREATE TRIGGER instance_is_seen AFTER INSERT OR UPDATE OF state ON workflow_instance
        FOR EACH ROW EXECUTE FUNCTION see_instance();
    CREATE TRIGGER task_is_seen AFTER INSERT OR UPDATE OF state ON task_instance
        FOR EACH ROW EXECUTE FUNCTION see_task();
"""
"""Writes down each state that a run or a task ever had: what only looks now and then misses the short ones."""


class Engine:
    """Two masters and a worker."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    async def start(self) -> None:
        """Start the processes."""
        for _ in range(2):
            await self.cluster.master()
        await self.cluster.worker()
        await self.cluster.slots_become(2)

    def define(self, *tasks: dict[str, Any], name: str | None = None, **fields: Any) -> int:
        """Save a workflow by plain SQL; its code. A task without a type is FAKE."""
        code = self.next_code()
        spec = {"tasks": [{"type": "FAKE", **task} for task in tasks], **fields}
        self.cluster.define(code, name or f"workflow {code}", **spec)
        return code

    def next_code(self) -> int:
        """A free workflow code, below those that saved workflows get."""
        query = """SELECT 1 + greatest(1000, (SELECT max(code) FROM workflow_definition WHERE code < 100000),
                                       (SELECT max(workflow_code) FROM workflow_version
                                        WHERE workflow_code < 100000))"""
        return int(self.cluster.one(query))

    def revise(self, workflow: int, *tasks: dict[str, Any], **fields: Any) -> int:
        """Save another version, the current one from now on; its number."""
        spec = json.dumps({"tasks": [{"type": "FAKE", **task} for task in tasks], **fields})
        query = """WITH head AS (UPDATE workflow_definition SET version = version + 1 WHERE code = %s
                                 RETURNING code, version)
                   INSERT INTO workflow_version (workflow_code, version, spec) SELECT code, version, %s FROM head
                   RETURNING version"""
        return int(self.cluster.one(query, workflow, spec))

    def ask(self, type_: str, workflow: int | None = None, run: int | None = None, **columns: Any) -> int:
        """Insert a command by plain SQL; its id."""
        values: dict[str, Any] = {"type": type_, "workflow_code": workflow, "workflow_instance_id": run, **columns}
        values = {name: _written(value) for name, value in values.items()}
        names = ", ".join(values)
        places = ", ".join(["%s"] * len(values))
        return int(self.cluster.one(f"INSERT INTO command ({names}) VALUES ({places}) RETURNING id", *values.values()))

    async def done(self, command: int) -> int | None:
        """The instance that a command made or moved, once it has been handled; it must not have been refused."""
        query = "SELECT outcome, workflow_instance_id FROM command_history WHERE command_id = %s"
        ((outcome, run),) = await eventually(lambda: self.cluster.rows(query, command), within_s=WITHIN_S)
        assert outcome == "DONE", self.refusal(command)
        return None if run is None else int(run)

    async def refused(self, command: int) -> str:
        """The sentence why a command was refused, once it has been."""
        query = "SELECT outcome FROM command_history WHERE command_id = %s"
        ((outcome,),) = await eventually(lambda: self.cluster.rows(query, command), within_s=WITHIN_S)
        assert outcome == "ERROR"
        return self.refusal(command)

    def refusal(self, command: int) -> str:
        """The sentence in the error table."""
        return str(self.cluster.one("SELECT reason FROM error_command WHERE command_id = %s", command))

    async def begin(self, workflow: int, type_: str = "START_PROCESS", **columns: Any) -> int:
        """Start a run and give its id, whatever its state."""
        run = await self.done(self.ask(type_, workflow, **columns))
        assert run is not None
        return run

    async def change(self, type_: str, run: int, **columns: Any) -> None:
        """Ask for a change of a run, which must be accepted."""
        await self.done(self.ask(type_, run=run, **columns))

    async def run(self, workflow: int, type_: str = "START_PROCESS", **columns: Any) -> int:
        """Start a run and wait for its end."""
        run = await self.begin(workflow, type_, **columns)
        await self.end(run)
        return run

    async def end(self, run: int) -> str:
        """The final state of a run, once it has one."""
        query = "SELECT state FROM workflow_instance WHERE id = %s AND ended_at IS NOT NULL"
        ((state,),) = await eventually(lambda: self.cluster.rows(query, run), within_s=WITHIN_S)
        return str(state)

    async def becomes(self, run: int, state: str) -> None:
        """Wait until a run is in that state."""
        await eventually(lambda: self.state(run), until=state, within_s=WITHIN_S)

    async def task_becomes(self, run: int, task: str, state: str) -> None:
        """Wait until the latest attempt of a task is in that state."""
        await eventually(lambda: self.tasks(run).get(task), until=state, within_s=WITHIN_S)

    async def claim(self, run: int, task: str) -> None:
        """Take a task `BY_HAND`, as a worker does that never checks whether to kill it."""
        query = """UPDATE task_instance SET state = 'RUNNING_EXECUTION', worker_id = %s, started_at = clock_timestamp()
                   WHERE workflow_instance_id = %s AND task_name = %s AND state = 'QUEUED' RETURNING id"""
        worker = self._worker_by_hand()
        await eventually(lambda: self.cluster.rows(query, worker, run, task), within_s=WITHIN_S)

    def _worker_by_hand(self) -> int:
        """A worker that has beaten once, and said that it may be silent for an hour; its epoch."""
        known = "SELECT id FROM node WHERE name = 'by hand' AND state = 'ALIVE'"
        if rows := self.cluster.rows(known):
            return int(rows[0][0])
        beat = {"epoch": 0, "kind": "WORKER", "address": "by hand", "status": "NORMAL", "running": 0, "capacity": 0}
        silence = {"beat_s": 1, "session_s": 1, "fence_s": 3600, "cut_s": 3600}
        query = """WITH enlisted AS (
                       INSERT INTO node (incarnation, kind, address, name, process_boot, process_id, process_started)
                       VALUES (gen_random_uuid(), 'WORKER', 'by hand', 'by hand', 'no boot', 1, 1) RETURNING id
                   )
                   INSERT INTO node_beat (node_id, beat_no, heartbeat)
                   SELECT id, 1, jsonb_set(%s::jsonb, '{epoch}', to_jsonb(id))::text FROM enlisted RETURNING node_id"""
        return int(self.cluster.one(query, json.dumps({**beat, "load": 0, "silence": silence})))

    def report(self, run: int, task: str, state: str, **outputs: str) -> None:
        """End a task that was claimed by hand."""
        query = """WITH ended AS (
                       UPDATE task_instance SET state = %s, ended_at = clock_timestamp(), outputs = %s
                       WHERE workflow_instance_id = %s AND task_name = %s AND state = 'RUNNING_EXECUTION'
                       RETURNING workflow_instance_id, task_code, attempt, state, outputs
                   ), told AS (
                       INSERT INTO task_event (workflow_instance_id, task_code, attempt, state, outputs)
                       SELECT * FROM ended
                   )
                   SELECT count(*), pg_notify('shoal_event', '') FROM ended"""
        assert self.cluster.one(query, state, json.dumps(outputs) if outputs else None, run, task) == 1

    def path(self, run: int, task: str | None = None) -> list[str]:
        """All states that a run, or a task of it, has had, each once as long as it did not change."""
        query = """SELECT state FROM seen WHERE workflow_instance_id = %s AND task_name IS NOT DISTINCT FROM %s
                   ORDER BY id"""
        states = [state for (state,) in self.cluster.rows(query, run, task)]
        return [state for place, state in enumerate(states) if place == 0 or states[place - 1] != state]

    def state(self, run: int) -> str:
        """The state of a run."""
        return str(self.cluster.one("SELECT state FROM workflow_instance WHERE id = %s", run))

    def reason(self, run: int) -> str | None:
        """Why it ended so."""
        return self.cluster.one("SELECT reason FROM workflow_instance WHERE id = %s", run)  # type: ignore[no-any-return]

    def tasks(self, run: int) -> dict[str, str]:
        """The state of the latest attempt of each task, by name."""
        query = "SELECT task_name, state FROM task_instance WHERE workflow_instance_id = %s ORDER BY attempt"
        return dict(self.cluster.rows(query, run))

    def why(self, run: int, task: str) -> str:
        """The reason of the latest attempt of a task."""
        query = """SELECT coalesce(reason, '') FROM task_instance WHERE workflow_instance_id = %s AND task_name = %s
                   ORDER BY attempt DESC LIMIT 1"""
        return str(self.cluster.one(query, run, task))

    def printed(self, run: int, task: str) -> dict[str, str]:
        """The values that the latest attempt of a task gave."""
        query = """SELECT coalesce(outputs, '{}') FROM task_instance WHERE workflow_instance_id = %s AND task_name = %s
                   ORDER BY attempt DESC LIMIT 1"""
        return dict(json.loads(self.cluster.one(query, run, task)))

    def attempts(self, run: int, task: str) -> list[tuple[str, str]]:
        """State and flag of each attempt of a task, in order."""
        query = """SELECT state, flag FROM task_instance WHERE workflow_instance_id = %s AND task_name = %s
                   ORDER BY attempt"""
        return list(self.cluster.rows(query, run, task))

    def values(self, run: int, task: str) -> dict[str, str]:
        """The values of `${name}` in the latest attempt of a task."""
        query = """SELECT parameter_values FROM task_instance WHERE workflow_instance_id = %s AND task_name = %s
                   ORDER BY attempt DESC LIMIT 1"""
        return dict(json.loads(self.cluster.one(query, run, task)))

    def children(self, run: int) -> list[int]:
        """The runs under this one, in order."""
        query = "SELECT id FROM workflow_instance WHERE parent_instance_id = %s ORDER BY child_index, id"
        return [id_ for (id_,) in self.cluster.rows(query, run)]


def _written(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict | list) else value
