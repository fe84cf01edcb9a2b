"""One program, two stores: the simulation's model of the statements of `dao/` against those statements themselves.

SHOAL_BRIDGE_PROGRAMS=1000 python -m pytest tests/bridge/test_same_program.py                       # longer
SHOAL_BRIDGE_FIRST=163 SHOAL_BRIDGE_PROGRAMS=1 python -m pytest tests/bridge/test_same_program.py   # one of them
"""

from __future__ import annotations

import json
import os
from collections import Counter

import pytest

from dao.postgres import newer_schema
from dao.postgres.database import Database
from dao.postgres.sql import Sql
from model.cluster.nodes import NodeKind
from model.definitions.triggers import TriggerSpec
from tests.bridge import command_batches, masters, people, pools, streams, workers
from tests.bridge.program import CODES, TRIGGERS, Actions, Program
from tests.bridge.rows import TABLES
from tests.bridge.two_stores import Differs, TwoStores, empty_model
from tests.simulation.tables import Transaction, Values
from tests.simulation.wiring import models

PROGRAMS = int(os.environ.get("SHOAL_BRIDGE_PROGRAMS", "10"))
FIRST = int(os.environ.get("SHOAL_BRIDGE_FIRST", "0"))
STEPS = 200
ACTIONS = (*people.ACTIONS, *masters.ACTIONS, *command_batches.ACTIONS, *workers.ACTIONS)
THEMES = ((), streams.ACTIONS, (), pools.ACTIONS)
"""The themes of programs in turn: otherwise too little happens to a single stream to have consequences."""
NOT_COMPARED = {
    "dao.definitions.definitions.heads",
    "dao.definitions.definitions.to_start",
    "dao.definitions.definitions.contents",
    "dao.definitions.definitions.whereabouts",
    "dao.runs.dependencies.codes",
    "dao.commands.commands.handled_before",
    "dao.definitions.references.needed_by_dependents",
    "dao.postgres.database.wait_briefly",
    "dao.runs.serial_line.deadlocked",
    *(f"dao.duties.duties.{name}" for name in ("read_next", "add", "take", "record", "failed")),
    *(
        f"dao.retention.{name}"
        for name in (
            "old_runs.find",
            "old_runs.left_over",
            "old_runs.delete",
            "old_commands.delete",
            "old_audit.delete",
        )
    ),
}
"""These read what never changes, which a simulation draws for itself; one makes a sentence for people, and one only
sets how long a lock is waited for. No workflow of a simulation contains itself, so none is deadlocked; those of
programs are (tests/dao/test_serial_line.py). Duties and retention have their own periods in a simulation:
tests/dao/test_duties.py and tests/master/test_retention.py."""
_EMPTY = ", ".join((*TABLES, "workflow_definition", "workflow_version", "resource_pool", "slot_change", "drain"))
_RERUNS_MAX = 60


async def begin(database: Database) -> TwoStores:
    """Both stores empty but for the definitions, whose rows serial workflows lock, and for resource pools."""
    async with database.writing() as connection:
        await connection.execute(Sql(f"TRUNCATE {_EMPTY} RESTART IDENTITY CASCADE"))
        named = "INSERT INTO workflow_definition (code, name) SELECT code, 'w' || code FROM unnest(:codes) AS w (code)"
        await connection.execute(Sql(named), {"codes": list(CODES)})
        specs = [json.dumps({"tasks": [], "triggers": triggers}) for triggers in TRIGGERS.values()]
        versions = """INSERT INTO workflow_version (workflow_code, version, spec)
                      SELECT code, 1, spec::jsonb FROM unnest(:codes, CAST(:specs AS text[])) AS v (code, spec)"""
        await connection.execute(Sql(versions), {"codes": list(TRIGGERS), "specs": specs})
        later = Sql("DELETE FROM schema_version WHERE version > :known")
        await connection.execute(later, {"known": newer_schema.known_version()})
        await pools.make(connection)
    server = empty_model()
    server.triggers = {code: [TriggerSpec(**each) for each in triggers] for code, triggers in TRIGGERS.items()}
    made = Transaction(server)
    for code in CODES:
        made.insert(server.definitions, code, Values(max_active=1))
    pools.make_in_model(made)
    made.install()
    return TwoStores(database, server)


def _actions(seed: int) -> Actions:
    return (*ACTIONS, *THEMES[seed % len(THEMES)])


async def _run(database: Database, seed: int, left_out: frozenset[int] = frozenset()) -> TwoStores:
    """Raises `Differs`."""
    stores = await begin(database)
    program = Program(stores, seed)
    for kind in (NodeKind.MASTER, NodeKind.MASTER, NodeKind.WORKER):
        async with stores.transaction():
            await people.begin_a_life(program, kind)
    for number in range(STEPS):
        if number not in left_out:
            await program.step(number, _actions(seed))
            if program.chance(0.05):
                await program.let_hours_pass()
            if program.chance(0.03):
                await program.let_somebody_drain()
    return stores


async def _shrunk(database: Database, seed: int, found: Differs) -> Differs:
    """Shrink a program to the steps that make the same call differ."""
    left_out: frozenset[int] = frozenset()
    reruns, size = 0, STEPS // 4
    while size and reruns < _RERUNS_MAX:
        for first in range(0, STEPS, size):
            without = left_out | set(range(first, first + size))
            if without == left_out or reruns == _RERUNS_MAX:
                continue
            reruns += 1
            try:
                await _run(database, seed, without)
            except Differs as smaller:
                if smaller.call == found.call:
                    found, left_out = smaller, without
        size //= 3
    return found


@pytest.mark.timeout(3600)
async def test_the_model_does_what_the_database_does(database: Database) -> None:
    """Goal: a seed of the simulation is worth something. Method: same calls, same order; answers and all rows equal."""
    called: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + PROGRAMS):
        try:
            called += (await _run(database, seed)).called
        except Differs as found:
            raise AssertionError(f"program {seed}: {await _shrunk(database, seed, found)}") from None
    never = models().keys() - called.keys() - NOT_COMPARED
    assert PROGRAMS < 24 or not never, f"no program calls these, so nothing is known of their models: {sorted(never)}"
