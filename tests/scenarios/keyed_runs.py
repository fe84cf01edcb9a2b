"""Runs of a workflow with a line for each key: how tests ask for them, and commands that are not handled for long."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from tests.scenarios.engine import BY_HAND, Engine

BACKFILL = '{"k": "b", "backfill": {"dates": ["2026-01-01"]}}'
OPEN = """
    SELECT (SELECT count(*) FROM command WHERE workflow_code = %s)
           + (SELECT count(*) FROM workflow_instance WHERE workflow_code = %s AND ended_at IS NULL)
"""


def keyed(engine: Engine, *tasks: dict[str, Any], key: str = "${k}", **fields: Any) -> int:
    """A workflow with a line for each value of `k`."""
    fields = {"execution_type": "SERIAL_WAIT", "serial_key": key, **fields}
    return engine.define(*(tasks or ({"name": "a", **BY_HAND},)), **fields)


async def alone(engine: Engine) -> None:
    """A cluster of one master, which never checks by itself whether a line was not called."""
    await engine.cluster.master(SHOAL_MASTER__SWEEP_EVERY="1h")
    await engine.cluster.worker()
    await engine.cluster.slots_become(1)


def ask(engine: Engine, code: int, key: str, **columns: Any) -> int:
    return engine.ask("START_PROCESS", code, params={"k": key}, **columns)


async def begin(engine: Engine, code: int, key: str, **columns: Any) -> int:
    run = await engine.done(ask(engine, code, key, **columns))
    assert run is not None
    return run


async def finish(engine: Engine, run: int, state: str = "SUCCESS") -> None:
    await engine.claim(run, "a")
    engine.report(run, "a", state)
    await engine.end(run)


def of_key(engine: Engine, run: int) -> str:
    return str(engine.cluster.one("SELECT serial_key FROM workflow_instance WHERE id = %s", run))


def ask_held(engine: Engine, code: int, params: str, kind: str = "START_PROCESS") -> int:
    """A command that is suspect, and tried by a node that lives and never will."""
    inserted = """INSERT INTO command (type, workflow_code, params, deaths, tried_by)
                  VALUES (%s, %s, %s, 1, %s) RETURNING id"""
    return int(engine.cluster.one(inserted, kind, code, params, engine._worker_by_hand()))


def let_go(engine: Engine, command: int) -> None:
    engine.cluster.rows("UPDATE command SET deaths = 0, tried_by = NULL WHERE id = %s", command)


def end_by_hand(session: psycopg.Connection, run: int) -> None:
    """End a run as its owner does, but without the call of its line."""
    for table, key in (("task_instance", "workflow_instance_id"), ("workflow_instance", "id")):
        end = sql.SQL("UPDATE {} SET state = 'SUCCESS', ended_at = now() WHERE {} = %s")
        session.execute(end.format(sql.Identifier(table), sql.Identifier(key)), (run,))
