"""The progress of a run's cleanup: its teardown tasks, then its on_exit tasks. Pure.

It begins when everything else of the run is over. A teardown or on_exit task starts when the cleanup tasks before it
are over, in any state, and an `on_exit` task only after all teardown tasks. One that is `after` other tasks runs only
if one of these has begun: since the run was created it had at least a queued attempt. Tasks outside the scope of the
run and disabled ones do not count; if none counts, it runs. A task that does not run is passed over.

Source: docs/guides/workflows.md, "Cleaning up".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from model.definitions.plan import Plan
from model.ids import TaskCode
from model.runs.states import TaskState, WorkflowState

T, W = TaskState, WorkflowState


def closing_tasks(
    plan: Plan, scope: Collection[TaskCode] | None, has_begun: Callable[[TaskCode], bool]
) -> frozenset[TaskCode]:
    """The cleanup tasks of a run that was limited to `scope`; None = unlimited."""

    def counts(code: TaskCode) -> bool:
        return code not in plan.closing and not plan.tasks[code].is_forbidden and (scope is None or code in scope)

    def runs(code: TaskCode) -> bool:
        if plan.tasks[code].is_forbidden or not (scope is None or code in scope):
            return False
        counting = [before for before in plan.graph.predecessors[code] if counts(before)]
        return not counting or any(map(has_begun, counting))

    return frozenset(code for code in plan.closing if runs(code))


class Closing:
    """The progress of one run's cleanup. `runs` are the tasks that run; the run then ends as `state`, for `reason`."""

    __slots__ = ("_later", "_left", "_plan", "_runs", "_teardowns", "failed", "reason", "state")

    def __init__(self, plan: Plan, runs: frozenset[TaskCode], state: WorkflowState, reason: str) -> None:
        self.state = state
        self.reason = reason
        self.failed: dict[TaskCode, TaskState] = {}
        """The tasks that failed to clean up."""
        self._plan = plan
        self._runs = runs
        before = plan.graph.predecessors
        self._left = {code: sum(each in plan.closing for each in before[code]) for code in plan.closing}
        self._teardowns = sum(not is_on_exit for is_on_exit in plan.closing.values())
        self._later: list[TaskCode] = []
        """on_exit tasks that only wait for all teardown tasks."""

    def begin(self) -> list[TaskCode]:
        """The tasks that may begin at once."""
        return self._beginning([code for code, left in self._left.items() if not left])

    def over(self, code: TaskCode) -> list[TaskCode]:
        """A task is over; returns what may begin now."""
        return self._beginning(self._after(code))

    def verdict(self, state: WorkflowState, *, is_complete: bool) -> tuple[WorkflowState, str]:
        """The final state of a run that is in this state and has nothing in flight, and the reason as a sentence.

        It `is_complete` if nothing would begin on resumption.
        """
        if state is W.READY_STOP and (not is_complete or T.KILL in self.failed.values()):
            return W.STOP, self._with_reason("it was stopped while it cleaned up")
        if state is W.READY_PAUSE and not is_complete:
            return W.PAUSE, "it was paused while it cleaned up"
        return self.state, self._with_reason(self._why_failed())

    def _with_reason(self, more: str) -> str:
        return "; ".join(each for each in (self.reason, more) if each)

    def _why_failed(self) -> str:
        if not self.failed:
            return ""
        first, *others = self.failed
        more = f" and {len(others)} more" if others else ""
        return f'cleaning up failed: task "{self._plan.tasks[first].name}"{more}'

    def _after(self, code: TaskCode) -> list[TaskCode]:
        ready = []
        for each in self._plan.graph.successors[code]:
            self._left[each] -= 1
            if not self._left[each]:
                ready.append(each)
        if not self._plan.closing[code]:
            self._teardowns -= 1
            if not self._teardowns:
                ready += self._later
        return ready

    def _beginning(self, ready: Sequence[TaskCode]) -> list[TaskCode]:
        """Select the tasks that run; the others are over at once."""
        beginning, pending = [], list(reversed(ready))
        while pending:
            code = pending.pop()
            if self._plan.closing[code] and self._teardowns:
                self._later.append(code)
            elif code in self._runs:
                beginning.append(code)
            else:
                pending += reversed(self._after(code))
        return beginning
