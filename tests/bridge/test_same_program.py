"""One program, two stores: the simulation's model of the statements of `dao/` against those statements themselves.

    SHOAL_BRIDGE_PROGRAMS=1000 python -m pytest tests/bridge/test_same_program.py     # longer
    SHOAL_BRIDGE_FIRST=163 SHOAL_BRIDGE_PROGRAMS=1 python -m pytest ...               # one of them
"""

from __future__ import annotations

import os

import pytest
from sqlalchemy import text

from dao.database import Database
from model.nodes import NodeKind
from tests.bridge import command_batches, masters, people, workers
from tests.bridge.program import CODES, Program
from tests.bridge.rows import SEQUENCES
from tests.bridge.two_stores import Differs, GivenUp, TwoStores, empty_model
from tests.simulation.tables import Transaction, Values

PROGRAMS = int(os.environ.get("SHOAL_BRIDGE_PROGRAMS", "40"))
FIRST = int(os.environ.get("SHOAL_BRIDGE_FIRST", "0"))
STEPS = 70
ACTIONS = (*people.ACTIONS, *masters.ACTIONS, *command_batches.ACTIONS, *workers.ACTIONS)
_EMPTY = ", ".join((*SEQUENCES, "node_beat", "command_history", "error_command", "workflow_definition"))


async def _begin(database: Database) -> TwoStores:
    """Both stores empty but for the definitions, whose rows serial workflows lock."""
    async with database.writing() as connection:
        await connection.execute(text(f"TRUNCATE {_EMPTY} RESTART IDENTITY"))
        await connection.execute(
            text("INSERT INTO workflow_definition (code, name) SELECT code, 'w' || code FROM unnest(:codes) AS w (code)"),
            {"codes": list(CODES)},
        )
    server = empty_model()
    made = Transaction(server)
    for code in CODES:
        made.insert(server.definitions, code, Values())
    made.install()
    return TwoStores(database, server)


async def _run(database: Database, seed: int, left_out: frozenset[int] = frozenset()) -> TwoStores:
    stores = await _begin(database)
    program = Program(stores, seed)
    for kind in (NodeKind.MASTER, NodeKind.MASTER, NodeKind.WORKER):
        async with stores.transaction():
            await people.begin_a_life(program, kind)
    for number in range(STEPS):
        if number in left_out:
            continue
        await program.step(number, ACTIONS)
        if program.chance(0.05):
            await stores.hours_pass(program.random.choice((1, 3)))
    return stores


@pytest.mark.parametrize("seed", range(FIRST, FIRST + PROGRAMS))
async def test_the_model_does_what_the_database_does(database: Database, seed: int) -> None:
    await _run(database, seed)
