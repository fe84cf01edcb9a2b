"""The running thing that drives one workflow instance: a pure state machine.

No clock, no database, no await: the same events give the same effects, so it can be replayed and simulated. The shell
around it (`driver.py`) feeds it and writes its effects. What it is told twice it hears once: events are delivered
again after a failover, and rows that were read may already hold what an event says later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from master.plan import Plan
from model.choices import FailureStrategy, OnWorkerLoss
from model.ids import TaskCode
from model.instances import TaskAttempt, WorkflowInstance
from model.states import WORKFLOW_TRANSITIONS, TaskState, WaitReason, WorkflowState

T = TaskState
_FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)


@dataclass(frozen=True, slots=True)
class Started:
    """The instance was just made; none of its tasks has begun."""


@dataclass(frozen=True, slots=True)
class Adopted:
    """The instance was taken over, or read again: `attempts` is the latest attempt of each task that has begun."""

    attempts: tuple[TaskAttempt, ...]


@dataclass(frozen=True, slots=True)
class TaskFinished:
    """An attempt came to its end."""

    code: TaskCode
    attempt: int
    state: TaskState


Event = Started | Adopted | TaskFinished


@dataclass(frozen=True, slots=True)
class Wait:
    """Minutes, by the database's time, that an attempt spends before it is queued."""

    reason: WaitReason
    minutes: float


@dataclass(frozen=True, slots=True)
class QueueTask:
    """Put this attempt into the workers' queue, after a wait if there is one; it stands for so many retries."""

    code: TaskCode
    attempt: int
    retries: int = 0
    wait: Wait | None = None


@dataclass(frozen=True, slots=True)
class KillTasks:
    """Stop whatever of this instance is queued or running."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The instance is over; `reason` is a sentence, empty for a success."""

    state: WorkflowState
    reason: str


Effect = QueueTask | KillTasks | Finish


class WorkflowRunnable:
    """One workflow instance in its owner's memory."""

    __slots__ = (
        "_attempts",
        "_ending",
        "_failed",
        "_in_flight",
        "_retries",
        "_succeeded",
        "_waiting_for",
        "instance",
        "plan",
        "state",
    )

    def __init__(self, instance: WorkflowInstance, plan: Plan) -> None:
        self.instance = instance
        self.plan = plan
        self.state = WorkflowState.RUNNING_EXECUTION
        self._waiting_for = dict(plan.graph.predecessor_count)
        self._attempts: dict[TaskCode, int] = {}
        self._retries: dict[TaskCode, int] = {}
        self._in_flight: set[TaskCode] = set()
        self._succeeded = 0
        self._failed: dict[TaskCode, TaskState] = {}
        self._ending = False

    def handle(self, event: Event) -> list[Effect]:
        """Advance by one event; the effects are to be written together, in order."""
        if self.state.is_final:
            return []
        match event:
            case Started():
                return [*self._queue(self.plan.graph.roots), *self._finish_if_over()]
            case Adopted(attempts):
                return self._adopt(attempts)
            case TaskFinished(code, attempt, state):
                if code not in self._in_flight or attempt != self._attempts[code]:
                    return []
                return [*self._record(code, state), *self._finish_if_over()]
            case _:
                assert_never(event)

    def _adopt(self, attempts: Iterable[TaskAttempt]) -> list[Effect]:
        """What is queued or runs on a living worker goes on; only what is missing is queued."""
        effects: list[Effect] = []
        known = [attempt for attempt in attempts if attempt.code in self.plan.tasks]
        for attempt in known:
            self._attempts[attempt.code] = attempt.attempt
            self._retries[attempt.code] = attempt.retries
            self._in_flight.add(attempt.code)
        for attempt in sorted(known, key=self._failures_first):
            if attempt.state.is_final:
                effects += self._record(attempt.code, attempt.state)
        if not self._ending:
            effects += self._queue(code for code, count in self._waiting_for.items() if count == 0)
        return [*effects, *self._finish_if_over()]

    def _failures_first(self, attempt: TaskAttempt) -> int:
        """The failure before what it killed, and what failed for good before what makes others run: with END nothing
        may start after a failure, whichever the rows tell first."""
        if self._runs_again(attempt.code, attempt.state):
            return 3
        return _FAILED.index(attempt.state) if attempt.state in _FAILED else 4

    def _record(self, code: TaskCode, state: TaskState) -> list[Effect]:
        self._in_flight.discard(code)
        match state:
            case T.SUCCESS:
                self._succeeded += 1
                ready = []
                for after in self.plan.graph.successors[code]:
                    self._waiting_for[after] -= 1
                    if self._waiting_for[after] == 0:
                        ready.append(after)
                return [] if self._ending else self._queue(ready)
            case T.NEED_FAULT_TOLERANCE if self._runs_again(code, state):
                return self._queue_attempt(code, self._retries[code], None)
            case T.FAILURE if self._runs_again(code, state):
                interval = self.plan.tasks[code].retry_interval
                wait = Wait(WaitReason.RETRY, interval) if interval else None
                return self._queue_attempt(code, self._retries[code] + 1, wait)
            case T.FAILURE | T.KILL | T.NEED_FAULT_TOLERANCE:
                return self._fail(code, state)
            case _:
                raise AssertionError(f"an attempt cannot end in {state}")

    def _runs_again(self, code: TaskCode, state: TaskState) -> bool:
        """Whether another attempt follows one that ended so: after a loss, or after a failure with retries left."""
        task = self.plan.tasks[code]
        match state:
            case T.NEED_FAULT_TOLERANCE:
                may = task.on_worker_loss is OnWorkerLoss.RETRY
            case T.FAILURE:
                may = self._retries[code] < task.retry_times
            case _:
                may = False
        return may and not self._ending

    def _fail(self, code: TaskCode, state: TaskState) -> list[Effect]:
        self._failed[code] = state
        if self.instance.failure_strategy is FailureStrategy.CONTINUE or self._ending:
            return []
        self._ending = True
        return [KillTasks()]

    def _queue(self, codes: Iterable[TaskCode]) -> list[Effect]:
        effects: list[Effect] = []
        for code in codes:
            if code not in self._attempts:
                delay = self.plan.tasks[code].delay_time
                effects += self._queue_attempt(code, 0, Wait(WaitReason.DELAY, delay) if delay else None)
        return effects

    def _queue_attempt(self, code: TaskCode, retries: int, wait: Wait | None) -> list[Effect]:
        self._attempts[code] = self._attempts.get(code, 0) + 1
        self._retries[code] = retries
        self._in_flight.add(code)
        return [QueueTask(code, self._attempts[code], retries, wait)]

    def _finish_if_over(self) -> list[Effect]:
        if self._in_flight:
            return []
        if not self._failed:
            assert self._succeeded == len(self.plan.tasks), "nothing is in flight, nothing failed, yet not all is done"
            return [self._move(WorkflowState.SUCCESS, "")]
        return [self._move(WorkflowState.FAILURE, self._why_failed())]

    def _why_failed(self) -> str:
        """What failed first, and how many others in which way."""
        (code, first), *others = self._failed.items()
        lost = "was lost with its worker, and may not run again"
        what = {T.FAILURE: "failed", T.KILL: "was killed", T.NEED_FAULT_TOLERANCE: lost}[first]
        killed = sum(1 for _, state in others if state is T.KILL)
        more = f", {len(others) - killed} more failed" if len(others) > killed else ""
        more += f", {killed} killed" if killed else ""
        return f'task "{self.plan.tasks[code].name}" {what}{more}'

    def _move(self, state: WorkflowState, reason: str) -> Finish:
        assert state in WORKFLOW_TRANSITIONS[self.state], f"{self.state} cannot become {state}"
        self.state = state
        return Finish(state, reason)
