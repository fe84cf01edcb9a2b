"""The table of `model/runs/command_moves.py` against the database: each listed move is taken, and only legal ones.

What a command may do is judged by the master that holds the row; the triggers stand behind it, and refuse what no
command and no owner may ever do.
"""

from __future__ import annotations

from itertools import product

import pytest

from dao.cluster.nodes import Me
from dao.postgres.errors import BadData
from dao.postgres.sql import Sql
from dao.runs import control, failover, workflow_instances
from dao.runs.control import Revival
from model.ids import WorkflowInstanceId
from model.runs.command_moves import COMMAND_MOVES, CommandType
from model.runs.states import WORKFLOW_TRANSITIONS, WorkflowState
from tests.dao.scene import Scene

C, W = CommandType, WorkflowState
LISTED = [(type_, old, new) for type_, moves in COMMAND_MOVES.items() for old, new in moves.items()]
_HALTS = {W.READY_PAUSE, W.READY_STOP}


async def standing(scene: Scene, state: WorkflowState, owner: Me) -> WorkflowInstanceId:
    """A run that stands in this state, past the triggers."""
    id_ = await scene.instance(owner)
    ended = "clock_timestamp()" if state.is_final else "NULL"
    async with scene.writing() as connection:
        await connection.execute(Sql("SET LOCAL session_replication_role = replica"))
        await connection.execute(
            Sql(f"UPDATE workflow_instance SET state = '{state}', ended_at = {ended} WHERE id = {id_}")
        )
    return id_


async def state_of(scene: Scene, id_: WorkflowInstanceId) -> WorkflowState:
    [state] = await scene.sql("SELECT state FROM workflow_instance WHERE id = :id", id=id_)
    return WorkflowState(state)


async def move(scene: Scene, type_: CommandType, id_: WorkflowInstanceId, new: WorkflowState, master: Me) -> None:
    """As a master does it that has taken the command; its owner, or who takes it over, follows what it is asked."""
    async with scene.writing() as connection:
        if type_ is C.RECOVER_TOLERANCE_FAULT_PROCESS:
            await failover.claim_failover(connection, [id_], master.epoch)
        elif new.is_final:
            await control.end_waiting(connection, {id_: (new, "it was asked")})
        elif new in _HALTS:
            await control.ask_halt(connection, {id_: new})
            assert (await control.lock(connection, [id_]))[id_].state is new
        else:
            await control.revive(connection, [Revival(id_)], master.epoch)


@pytest.mark.parametrize(("type_", "old", "new"), LISTED)
async def test_a_listed_move_is_taken(scene: Scene, type_: CommandType, old: WorkflowState, new: WorkflowState) -> None:
    owner, master = await scene.master(), await scene.master()
    id_ = await standing(scene, old, owner)
    if old is W.FAILOVER or type_ is C.RECOVER_TOLERANCE_FAULT_PROCESS:
        await scene.fence(owner)
    await move(scene, type_, id_, new, master)
    if new in _HALTS and old is W.FAILOVER:
        await move(scene, C.RECOVER_TOLERANCE_FAULT_PROCESS, id_, new, master)
    elif new in _HALTS and type_ is not C.RECOVER_TOLERANCE_FAULT_PROCESS:
        async with scene.writing() as connection:
            await workflow_instances.enter(connection, {id_: new}, owner.epoch)
    assert await state_of(scene, id_) is new


async def test_the_triggers_refuse_exactly_what_no_table_lists(scene: Scene) -> None:
    """For every state, and every state to which any command leads."""
    master = await scene.master()
    targets = {new for moves in COMMAND_MOVES.values() for new in moves.values()}
    assert targets == {W.PAUSE, W.STOP, W.READY_PAUSE, W.READY_STOP, W.RUNNING_EXECUTION}
    for old, new in product(W, sorted(targets)):
        id_ = await standing(scene, old, master)
        ended = "clock_timestamp()" if new.is_final else "NULL"
        try:
            await scene.sql(
                f"UPDATE workflow_instance SET state = :new, ended_at = {ended} WHERE id = :id", new=new, id=id_
            )
            moved = True
        except BadData as error:
            assert f"workflow_instance {id_} cannot go from {old} to {new}" in str(error)
            moved = False
        assert moved == (new is old or new in WORKFLOW_TRANSITIONS[old]), (old, new)
        listed = any(moves.get(old) is new for moves in COMMAND_MOVES.values())
        assert moved or not listed, (old, new)


@pytest.mark.parametrize("old", [state for state in W if state not in COMMAND_MOVES[C.PAUSE]])
async def test_what_does_not_wait_is_not_ended_by_a_command(scene: Scene, old: WorkflowState) -> None:
    """Should a master judge wrongly: the statement itself asks for the states that wait."""
    id_ = await standing(scene, old, await scene.master())
    async with scene.writing() as connection:
        await control.end_waiting(connection, {id_: (W.STOP, "it was asked")})
    assert await state_of(scene, id_) is old


@pytest.mark.parametrize(
    "old",
    [
        state
        for state in W
        if W.RUNNING_EXECUTION not in WORKFLOW_TRANSITIONS[state] and state is not W.RUNNING_EXECUTION
    ],
)
async def test_what_is_being_halted_cannot_be_revived(scene: Scene, old: WorkflowState) -> None:
    master = await scene.master()
    id_ = await standing(scene, old, master)
    with pytest.raises(BadData, match=f"cannot go from {old} to RUNNING_EXECUTION"):
        await move(scene, C.REPEAT_RUNNING, id_, W.RUNNING_EXECUTION, master)
    assert await state_of(scene, id_) is old
