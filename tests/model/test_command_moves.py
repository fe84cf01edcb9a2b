"""What each command does to a run in each state: the listed move, or the listed sentence; none left out."""

from __future__ import annotations

from itertools import product

from model.runs.command_moves import COMMAND_MOVES, REVIVING, STARTING, CommandType, why_not
from model.runs.states import WORKFLOW_TRANSITIONS, WorkflowState
from tests.every import every

C, W = CommandType, WorkflowState

ENDED = "it has ended, and nothing of it runs"
PAUSING, STOPPING = "it is being paused already", "it is being stopped already"
NOT_ENDED = "it must be SUCCESS or FAILURE or PAUSE or STOP"
HALTED, FAILED = "it must be PAUSE or STOP", "it must be FAILURE"
USE_RECOVER = "use RECOVER_SUSPENDED_PROCESS for one that was paused or stopped"
USE_FAILURE = "use START_FAILURE_TASK_PROCESS for one that failed"
NOBODYS = "it must be RUNNING_EXECUTION or READY_PAUSE or READY_STOP"

STATES = (
    *(W.SERIAL_WAIT, W.RUNNING_EXECUTION, W.READY_PAUSE, W.READY_STOP),
    *(W.FAILOVER, W.SUCCESS, W.FAILURE, W.PAUSE, W.STOP),
)
RUNS = W.RUNNING_EXECUTION
# Written out, and not computed from the table: state by state in the order of STATES.
WANTED: dict[CommandType, tuple[WorkflowState | str, ...]] = {
    C.PAUSE: (
        *(W.PAUSE, W.READY_PAUSE, PAUSING, STOPPING),
        *(W.READY_PAUSE, ENDED, ENDED, ENDED, ENDED),
    ),
    C.STOP: (
        *(W.STOP, W.READY_STOP, W.READY_STOP, STOPPING),
        *(W.READY_STOP, ENDED, ENDED, ENDED, ENDED),
    ),
    C.RECOVER_TOLERANCE_FAULT_PROCESS: (
        *(NOBODYS, RUNS, W.READY_PAUSE, W.READY_STOP),
        *(RUNS, NOBODYS, NOBODYS, NOBODYS, NOBODYS),
    ),
    C.RECOVER_SUSPENDED_PROCESS: (
        *(HALTED, HALTED, HALTED, HALTED),
        *(HALTED, HALTED, USE_FAILURE, RUNS, RUNS),
    ),
    C.START_FAILURE_TASK_PROCESS: (
        *(FAILED, FAILED, FAILED, FAILED),
        *(FAILED, FAILED, RUNS, USE_RECOVER, USE_RECOVER),
    ),
    C.REPEAT_RUNNING: (
        *(NOT_ENDED, NOT_ENDED, NOT_ENDED, NOT_ENDED),
        *(NOT_ENDED, RUNS, RUNS, RUNS, RUNS),
    ),
    C.EXECUTE_TASK: (
        *(NOT_ENDED, NOT_ENDED, NOT_ENDED, NOT_ENDED),
        *(NOT_ENDED, RUNS, RUNS, RUNS, RUNS),
    ),
    C.RECOVER_SERIAL_WAIT: tuple(RUNS if state is W.SERIAL_WAIT else "it must be SERIAL_WAIT" for state in STATES),
}
CASES = [(type_, state, wanted) for type_, row in WANTED.items() for state, wanted in zip(STATES, row, strict=True)]


def test_no_command_and_no_state_is_left_out() -> None:
    assert set(STATES) == set(W)
    assert len(STATES) == len(W)
    assert set(WANTED) == set(COMMAND_MOVES)
    assert set(COMMAND_MOVES) | STARTING == set(C)
    assert not set(COMMAND_MOVES) & STARTING


@every(("type_", "state", "wanted"), CASES)
def test_a_command_makes_the_listed_move_or_is_refused_with_the_listed_sentence(
    type_: CommandType, state: WorkflowState, wanted: WorkflowState | str
) -> None:
    move = COMMAND_MOVES[type_].get(state)
    if isinstance(wanted, WorkflowState):
        assert move is wanted
        assert move is state or move in WORKFLOW_TRANSITIONS[state], "the database would refuse it"
    else:
        assert move is None
        sentence = why_not(type_, 42, state)
        assert sentence.startswith(f"workflow instance 42 is {state}, so {type_} cannot ")
        assert sentence.endswith(f"; {wanted}")
        assert len(sentence.splitlines()) == 1


def test_a_move_that_changes_nothing_is_only_that_of_a_new_owner() -> None:
    same = {type_ for type_, moves in COMMAND_MOVES.items() for old, new in moves.items() if old is new}
    assert same == {C.RECOVER_TOLERANCE_FAULT_PROCESS}


def test_a_final_state_is_left_by_the_reviving_commands_and_no_others() -> None:
    leaving = {type_ for type_, state in product(COMMAND_MOVES, W) if state.is_final and state in COMMAND_MOVES[type_]}
    assert leaving == REVIVING
    assert all(new is RUNS for type_ in REVIVING for new in COMMAND_MOVES[type_].values())
