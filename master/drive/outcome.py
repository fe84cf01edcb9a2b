"""How the tasks of a run ended, and what that means for the run. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.ready_tasks import Progress
from model.runs.states import TaskState, WorkflowState

T, W = TaskState, WorkflowState
STOPPED = "it was stopped"
HOW = {
    T.FAILURE: "failed",
    T.KILL: "was killed",
    T.NEED_FAULT_TOLERANCE: "was lost with its worker, and may not run again",
}


class Ends:
    """The final states of tasks, in the order in which they were reported."""

    __slots__ = ("_plan", "_progress", "failed", "failed_to_close", "kept", "paused")

    def __init__(self, plan: Plan, progress: Progress) -> None:
        self._plan = plan
        self._progress = progress
        self.failed: dict[TaskCode, TaskState] = {}
        self.paused: set[TaskCode] = set()
        """Tasks that were held back; they begin when the run continues."""
        self.kept: set[TaskCode] = set()
        """Tasks that are out of scope and had succeeded before."""
        self.failed_to_close: Mapping[TaskCode, TaskState] = {}
        """The tasks that failed to clean up."""

    def said_of(self, code: TaskCode) -> str | None:
        """Why a task has no results, in words; None if it succeeded."""
        if code in self._plan.closing:
            return HOW[self.failed_to_close[code]] if code in self.failed_to_close else None
        if code in self.failed:
            return HOW[self.failed[code]]
        if code in self._progress.skipped or code in self._progress.by_itself:
            return "was skipped"
        if self._plan.tasks[code].is_forbidden:
            return "is disabled"
        if code in self._progress.never:
            return "never began"
        if code in self.kept or (code in self._progress.done and self._progress.is_in_scope(code)):
            return None
        return "has not ended" if self._progress.is_in_scope(code) else "did not succeed in this run"

    def verdict(self, state: WorkflowState, *, is_complete: bool) -> tuple[WorkflowState, str]:
        """The final state of a run that is in this state and has nothing in flight, and the reason as a sentence.

        It `is_complete` if nothing would begin on resumption. In a paused run failure wins over pause, and pause over
        success; in a stopped one kill wins over failure, and failure over success.
        """
        killed = any(end is not T.FAILURE for end in self.failed.values())
        counting = self._counting(halted=state is not W.RUNNING_EXECUTION)
        if state is W.READY_STOP and killed:
            return W.STOP, STOPPED
        if counting:
            return W.FAILURE, self._why_failed(counting)
        if state is W.RUNNING_EXECUTION:
            is_done = len(self._progress.done) == len(self._plan.work.depth)
            assert is_complete and (is_done or self.failed), "nothing is in flight, nothing failed, yet not all is done"
            return W.SUCCESS, ""
        if is_complete:
            return W.SUCCESS, ""
        return (W.PAUSE, "it was paused") if state is W.READY_PAUSE else (W.STOP, STOPPED)

    def _counting(self, *, halted: bool) -> dict[TaskCode, TaskState]:
        """The failures that no CONDITIONS handled, and that none may handle when a halted run continues."""
        return {code: end for code, end in self.failed.items() if not self._is_handled(code, halted)}

    def _is_handled(self, code: TaskCode, halted: bool) -> bool:
        handlers = self._plan.handlers.get(code, ())
        in_scope = [handler for handler in handlers if self._progress.is_in_scope(handler)]
        if not self._progress.is_in_scope(code) and not self.kept.isdisjoint(handlers):
            return True
        return any(handler in self._progress.done or (halted and handler not in self.failed) for handler in in_scope)

    def _why_failed(self, counting: dict[TaskCode, TaskState]) -> str:
        """Which task failed first, how many others failed, and how."""
        (code, first), *others = counting.items()
        what = HOW[first]
        killed = sum(1 for _, state in others if state is T.KILL)
        more = f", {len(others) - killed} more failed" if len(others) > killed else ""
        more += f", {killed} killed" if killed else ""
        return f'task "{self._plan.tasks[code].name}" {what}{more}'
