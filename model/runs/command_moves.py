"""How each command changes the state of a run: one table for the code, the database and the docs.

A pair that is not in the table is refused with the sentence of `why_not`, and the run is unchanged. Commands that
create a run change no existing one. RECOVER_TOLERANCE_FAULT_PROCESS changes a run whose owner is gone, so it checks the
owner as well as the state. The command types are those of Apache DolphinScheduler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from model.runs.states import WorkflowState

W = WorkflowState


class CommandType(StrEnum):
    """The type of a command."""

    START_PROCESS = "START_PROCESS"
    START_CURRENT_TASK_PROCESS = "START_CURRENT_TASK_PROCESS"
    SCHEDULER = "SCHEDULER"
    COMPLEMENT_DATA = "COMPLEMENT_DATA"
    RECOVER_TOLERANCE_FAULT_PROCESS = "RECOVER_TOLERANCE_FAULT_PROCESS"
    RECOVER_SUSPENDED_PROCESS = "RECOVER_SUSPENDED_PROCESS"
    START_FAILURE_TASK_PROCESS = "START_FAILURE_TASK_PROCESS"
    REPEAT_RUNNING = "REPEAT_RUNNING"
    EXECUTE_TASK = "EXECUTE_TASK"
    PAUSE = "PAUSE"
    STOP = "STOP"
    RECOVER_SERIAL_WAIT = "RECOVER_SERIAL_WAIT"


C = CommandType

STARTING = frozenset({C.START_PROCESS, C.START_CURRENT_TASK_PROCESS, C.SCHEDULER, C.COMPLEMENT_DATA})
"""Commands that create a run from a definition."""

REVIVING = frozenset({C.RECOVER_SUSPENDED_PROCESS, C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK})
"""Commands that move a run out of a final state."""

RERUNNING = frozenset({C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING, C.EXECUTE_TASK})
"""Commands that may let a run continue with another version of its workflow."""

URGENT = frozenset({C.RECOVER_TOLERANCE_FAULT_PROCESS, C.PAUSE, C.STOP})
"""A master takes these even without room: a halt may free some, and a failed-over run had room before."""
HALTING = frozenset({C.PAUSE, C.STOP})
"""Commands that request the end of a run."""

COMMAND_MOVES: Mapping[CommandType, Mapping[WorkflowState, WorkflowState]] = {
    # A driven instance is moved by its owner, which reads the request from the row; in FAILOVER by its next owner.
    C.PAUSE: {
        W.SERIAL_WAIT: W.PAUSE,
        W.RUNNING_EXECUTION: W.READY_PAUSE,
        W.FAILOVER: W.READY_PAUSE,
    },
    C.STOP: {
        W.SERIAL_WAIT: W.STOP,
        W.RUNNING_EXECUTION: W.READY_STOP,
        W.READY_PAUSE: W.READY_STOP,
        W.FAILOVER: W.READY_STOP,
    },
    C.RECOVER_TOLERANCE_FAULT_PROCESS: {
        W.FAILOVER: W.RUNNING_EXECUTION,
        W.RUNNING_EXECUTION: W.RUNNING_EXECUTION,
        W.READY_PAUSE: W.READY_PAUSE,
        W.READY_STOP: W.READY_STOP,
    },
    C.RECOVER_SUSPENDED_PROCESS: {W.PAUSE: W.RUNNING_EXECUTION, W.STOP: W.RUNNING_EXECUTION},
    C.START_FAILURE_TASK_PROCESS: {W.FAILURE: W.RUNNING_EXECUTION},
    C.REPEAT_RUNNING: dict.fromkeys((W.SUCCESS, W.FAILURE, W.PAUSE, W.STOP), W.RUNNING_EXECUTION),
    C.EXECUTE_TASK: dict.fromkeys((W.SUCCESS, W.FAILURE, W.PAUSE, W.STOP), W.RUNNING_EXECUTION),
    C.RECOVER_SERIAL_WAIT: {W.SERIAL_WAIT: W.RUNNING_EXECUTION},
}
"""Command type -> current state -> resulting state."""

_ASKS = {
    C.PAUSE: "pause it",
    C.STOP: "stop it",
    C.RECOVER_TOLERANCE_FAULT_PROCESS: "take it over",
    C.RECOVER_SUSPENDED_PROCESS: "resume it",
    C.START_FAILURE_TASK_PROCESS: "run its failed tasks again",
    C.REPEAT_RUNNING: "repeat it",
    C.EXECUTE_TASK: "execute tasks of it again",
    C.RECOVER_SERIAL_WAIT: "let it go on after its turn",
}


def why_not(type_: CommandType, id_: int, state: WorkflowState) -> str:
    """The sentence that explains why this command is not allowed for an instance in that state."""
    fitting = [before for before in COMMAND_MOVES[type_] if before is not W.FAILOVER]
    return f"workflow instance {id_} is {state}, so {type_} cannot {_ASKS[type_]}; {_cure(type_, state, fitting)}"


def _cure(type_: CommandType, state: WorkflowState, fitting: Sequence[WorkflowState]) -> str:
    match type_, state:
        case C.PAUSE | C.STOP, W.SUCCESS | W.FAILURE | W.PAUSE | W.STOP:
            return "it has ended, and nothing of it runs"
        case C.PAUSE, W.READY_PAUSE:
            return "it is being paused already"
        case C.PAUSE | C.STOP, W.READY_STOP:
            return "it is being stopped already"
        case C.RECOVER_SUSPENDED_PROCESS, W.FAILURE:
            return "use START_FAILURE_TASK_PROCESS for one that failed"
        case C.START_FAILURE_TASK_PROCESS, W.PAUSE | W.STOP:
            return "use RECOVER_SUSPENDED_PROCESS for one that was paused or stopped"
    return f"it must be {' or '.join(fitting)}"
