"""The state machine that drives one run. Pure.

It has no clock, no database and no await: the same events give the same effects, so it can be replayed and simulated.
The driver (`driver.py`) feeds it events and writes its effects. A repeated event has no effect: events are delivered
again after a failover, and rows may already hold what a later event reports.

`ready_tasks.py` decides which task may begin, `task_starter.py` how, `parameters.py` which parameters it sees;
`children.py` handles children, `elements.py` elements. When everything is over, `model/runs/closing.py` decides what
cleans up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from master.drive.attempts import Attempts
from master.drive.children import Children
from master.drive.elements import Elements
from master.drive.events import (
    Close,
    Closes,
    Effect,
    Enter,
    Event,
    Finish,
    HoldTasks,
    KillTasks,
    Restored,
    Started,
    TookTooLong,
)
from master.drive.outcome import Ends
from master.drive.parameters import Parameters
from master.drive.retries import is_repeated, repeated, used_before
from master.drive.task_starter import TaskStarter
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams
from model.runs.closing import Closing, closing_tasks
from model.runs.elements import index_of, is_element, task_of
from model.runs.instances import AttemptEnd, ChildState, HaltRequest, TaskAttempt, WorkflowInstance
from model.runs.ready_tasks import Progress
from model.runs.states import WORKFLOW_TRANSITIONS, TaskState, WaitReason, WorkflowState, is_legal

T, W = TaskState, WorkflowState
_FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)
_SUCCEEDED = (T.SUCCESS, T.FORCED_SUCCESS)


class WorkflowRunnable:
    """One run in its owner's memory."""

    __slots__ = (
        "_attempts",
        "_begun",
        "_children",
        "_closes",
        "_closing",
        "_ending",
        "_ends",
        "_outputs",
        "_overtime",
        "_parameters",
        "_progress",
        "_ready",
        "_starter",
        "instance",
        "plan",
        "state",
    )

    def __init__(self, instance: WorkflowInstance, plan: Plan) -> None:
        self.instance = instance
        self.plan = plan
        self.state = instance.state
        self._progress = Progress(plan, instance.scope)
        self._ends = Ends(plan, self._progress)
        self._parameters = Parameters(instance, plan, self._ends.said_of)
        self._ready: list[TaskCode] = []
        self._begun: set[TaskCode] = set()
        self._attempts = Attempts()
        self._starter = TaskStarter(
            plan, self._attempts, self._parameters, self._progress, self._ends, dry_run=instance.dry_run
        )
        self._children: dict[TaskCode, Children | Elements] = {}
        self._ending = False
        self._overtime: str | None = None
        self._closes = False
        """Whether its cleanup is about to begin, which is not written yet."""
        self._closing: Closing | None = None
        """Set during the cleanup, and when it is about to begin."""
        self._outputs: str | None = None
        """Its outputs for its parent, computed before the cleanup."""

    def tell_latest(self, *, is_latest: bool) -> None:
        """Record whether this run is the latest of its schedule, for the tasks that begin from now on."""
        self._parameters.is_latest = is_latest

    def handle(self, event: Event) -> list[Effect]:
        """Advance by one event; write the effects together, in order. Raises `Refused` for an unreadable row."""
        if self.state.is_final or (self._closes and not isinstance(event, Closes)):
            return []
        resumed: Mapping[TaskCode, Sequence[ChildState]] = {}
        match event:
            case Started():
                self._ready += self._progress.begin()
                effects: list[Effect] = []
            case Restored(attempts, children, resumes):
                effects = self._restore(attempts, children)
                resumed = {
                    code: [
                        child
                        for child in children
                        if child.code == code and self._attempts.is_last(code, child.attempt)
                    ]
                    for code in resumes
                }
            case AttemptEnd(code, attempt, state, outputs, _, ran_s, is_suspect):
                if not self._attempts.is_under_way(code, attempt):
                    return []
                effects = self._record(code, state, outputs, ran_s=ran_s, is_suspect=is_suspect)
            case ChildState(code, attempt, index, state, outputs):
                children_of = self._children.get(code)
                if not isinstance(children_of, Children) or not self._attempts.is_last(code, attempt):
                    return []
                children_of.finished(index, state, outputs)
                effects = self._check_children(code)
            case HaltRequest(state):
                if state not in WORKFLOW_TRANSITIONS[self.state]:
                    return []
                self.state = state
                effects = [Enter(state), *self._halt()]
            case TookTooLong(reason):
                if self._overtime is not None or self.state is W.READY_STOP or self.cleans_up:
                    return []
                self._ending, self._overtime = True, reason
                effects = [KillTasks(reason), *self._check_all_children()]
            case Closes():
                assert self._closing is not None, "it does not clean up"
                self.state = W.RUNNING_EXECUTION
                self._begin_to_close(self._closing)
                effects = []
            case _:
                assert_never(event)
        return [*effects, *self._begin_ready(resumed), *self._finish_if_over()]

    @property
    def cleans_up(self) -> bool:
        """Whether only its teardown and on_exit tasks are left."""
        return self._closing is not None

    def under_way(self) -> list[tuple[TaskCode, int]]:
        """The attempts whose ends have not been reported."""
        return self._attempts.under_way()

    @property
    def only_waits(self) -> bool:
        """Whether nothing of it is queued or runs on a worker: everything in flight is children, DEPENDENT and WAIT
        tasks, and delayed attempts."""
        return self._attempts.all_rest

    def ends_elements(self, code: TaskCode) -> bool:
        """Whether the end of this attempt may end the last element of a task."""
        elements = self._children.get(task_of(code))
        return isinstance(elements, Elements) and elements.may_be_last

    def came_due(self, code: TaskCode, attempt: int) -> None:
        """Record that the delay of an attempt has passed: from now on a worker may run it."""
        task = self.plan.task(code)
        if self._attempts.is_last(code, attempt) and task.logic is None and not task.waits:
            self._attempts.wake(code)

    @property
    def _is_halted(self) -> bool:
        return self._ending or self.state is not W.RUNNING_EXECUTION

    def _halt(self) -> list[Effect]:
        """Hold or kill the tasks. Repeated after a failover: the previous owner may have died halfway."""
        # A later pause does not spare the tasks that a failure kills.
        holds = self.state is W.READY_PAUSE and not self._ending
        halt = HoldTasks() if holds else KillTasks("its workflow was stopped")
        return [halt, *self._check_all_children()]

    def _restore(self, attempts: Iterable[TaskAttempt], children: Iterable[ChildState]) -> list[Effect]:
        """Restore from rows. What is queued or runs on a living worker continues; only what is missing is queued."""
        effects: list[Effect] = []
        known = [attempt for attempt in attempts if task_of(attempt.code) in self.plan.tasks]
        for attempt in known:
            was_held = attempt.state in (T.PAUSE, T.KILL)
            retries = attempt.retries if attempt.valid or was_held else 0
            if was_held:
                retries = used_before(self.plan.task(attempt.code), retries, attempt.ran_s)
            self._attempts.restore(attempt.code, attempt.attempt, retries)
        valid = self._starter.without_elements(attempt for attempt in known if self._still_counts(attempt))
        self._begun |= {attempt.code for attempt in valid if attempt.code not in self.plan.closing}
        self._ready += self._progress.begin(self._begun)
        self._ending = self.instance.ending_as is not None  # none of its other tasks begins again
        closing = [attempt for attempt in valid if attempt.code in self.plan.closing]
        for attempt in sorted(valid, key=self._order):
            if attempt.code in self.plan.closing:
                continue
            if not attempt.state.is_final:
                task = self.plan.tasks[attempt.code]
                logic, rests = task.logic, task.waits or task.each is not None or bool(attempt.due_in_minutes)
                self._attempts.put_in_flight(attempt.code, rests=rests or logic is not None)
                if task.each is not None:
                    effects += self._restore_elements(attempt)
                elif isinstance(logic, SubProcessParams | DynamicParams):
                    self._children[attempt.code] = self._starter.restored_children(attempt, children)
            elif self._progress.is_in_scope(attempt.code):
                effects += self._record(
                    attempt.code, attempt.state, attempt.outputs, attempt.branch, ran_s=attempt.ran_s
                )
            elif attempt.state in _SUCCEEDED:
                self._give(attempt.code, attempt.outputs)
                self._ends.kept.add(attempt.code)
                self._progress.kept(attempt.code, attempt.branch)
            elif attempt.state in _FAILED:
                self._ends.failed[attempt.code] = attempt.state
            elif attempt.state is T.SKIPPED:
                self._progress.kept_skipped(attempt.code)
        if self.instance.ending_as is not None:
            effects += self._restore_closing(closing, self.instance.ending_as)
        if self.state is not W.RUNNING_EXECUTION:
            return [*effects, *self._halt()]
        return [*effects, *self._check_all_children()]

    def _restore_elements(self, attempt: TaskAttempt) -> list[Effect]:
        self._children[attempt.code], rows = self._starter.restored_elements(attempt)
        ended = [row for row in rows if row.state.is_final]
        return [effect for row in ended for effect in self._record(row.code, row.state, row.outputs)]

    def _restore_closing(self, attempts: Iterable[TaskAttempt], ending_as: WorkflowState) -> list[Effect]:
        """Restore the cleanup of a run. The rows of the other tasks lead to the same cleanup tasks."""
        effects: list[Effect] = []
        own = closing_tasks(self.plan, self.instance.scope, self._attempts.has_begun)
        self._closing = Closing(self.plan, own, ending_as, self.instance.ending_reason)
        self._begin_to_close(self._closing)
        for attempt in attempts:
            if attempt.code not in own:
                continue
            self._begun.add(attempt.code)
            if not attempt.state.is_final:
                self._attempts.put_in_flight(attempt.code, rests=bool(attempt.due_in_minutes))
            else:
                effects += self._record(attempt.code, attempt.state, attempt.outputs)
        return effects

    def _begin_to_close(self, closing: Closing) -> None:
        """Begin only cleanup tasks from now on, however the others ended."""
        self._outputs = self._parameters.at_the_end() if closing.state is W.SUCCESS else None
        failed = [self.plan.tasks[code].name for code in self._ends.failed]
        self._parameters.close(closing.state, failed)
        self._ends.failed_to_close = closing.failed
        self._closes, self._ending, self._overtime = False, False, None
        self._ends.paused.clear()
        self._ready = closing.begin()

    def _still_counts(self, attempt: TaskAttempt) -> bool:
        """Whether this attempt still counts. One that was held back begins again once its workflow runs, if the ends
        before it still ask for it."""
        return attempt.valid and attempt.state is not T.PAUSE

    def _order(self, attempt: TaskAttempt) -> int:
        """Sort key: the failure before what it killed, and a final failure before ends that make others run, since with
        END nothing may start after a failure, whatever the order of rows. Last, tasks that see the outputs of others:
        tasks with children, and tasks that run again."""
        if not attempt.state.is_final:
            return 4
        if self._runs_again(attempt.code, attempt.state):
            return 5
        return _FAILED.index(attempt.state) if attempt.state in _FAILED else 3

    def _record(
        self,
        code: TaskCode,
        state: TaskState,
        outputs: str | None = None,
        branch: frozenset[TaskCode] | None = None,
        *,
        ran_s: float = 0,
        is_suspect: bool = False,
    ) -> list[Effect]:
        """Record that an attempt has ended; one of a stream ran for `ran_s`. No attempt follows one that is suspect."""
        self._attempts.end(code)
        if is_element(code):
            return self._record_element(code, state, outputs, is_suspect=is_suspect)
        self._children.pop(code, None)
        if self._is_stopped_between(code, state):
            state = T.KILL
        match state:
            case T.SUCCESS | T.SKIPPED if self._runs_again(code, state):
                return self._again(code, state, ran_s)
            case T.SUCCESS | T.FORCED_SUCCESS:
                self._give(code, outputs)
                if self._closing is not None and code in self.plan.closing:
                    self._ready += self._closing.over(code)
                else:
                    self._ready += self._progress.succeeded(code, branch)
                return []
            case T.SKIPPED:
                if self._closing is not None and code in self.plan.closing:
                    self._ready += self._closing.over(code)
                else:
                    self._ready += self._progress.skipped_itself(code)
                return []
            case T.PAUSE if not self._is_halted:  # handed over or given back by its worker
                self._attempts.retries[code] = used_before(self.plan.tasks[code], self._attempts.retries[code], ran_s)
                return [self._starter.queue(code)]
            case T.PAUSE:
                self._ends.paused.add(code)
                return []
            case T.FAILURE | T.KILL | T.NEED_FAULT_TOLERANCE:
                runs_again = self._runs_again(code, state) and not is_suspect
                return self._again(code, state, ran_s) if runs_again else self._fail(code, state)
            case _:
                raise AssertionError(f"an attempt cannot end in {state}")

    def _record_element(
        self, code: TaskCode, state: TaskState, outputs: str | None, *, is_suspect: bool
    ) -> list[Effect]:
        """Record that an attempt of an element has ended, and perhaps its task with it."""
        elements = self._children.get(task_of(code))
        if not isinstance(elements, Elements):
            return []
        if state is T.PAUSE and not self._is_halted:
            return [self._starter.queue(code)]
        runs_again = state in _FAILED and self._runs_again(code, state) and not is_suspect
        effects = self._again(code, state, 0) if runs_again else []
        if state is T.PAUSE or (runs_again and not self._attempts.is_in_flight(code)):
            elements.paused(index_of(code))
        elif not runs_again:
            elements.ended(index_of(code), state, outputs)
        return [*effects, *self._check_children(task_of(code))]

    def _give(self, code: TaskCode, outputs: str | None) -> None:
        self._parameters.contexts.gave(code, self._parameters.given_by(self.plan.tasks[code], outputs))

    def _runs_again(self, code: TaskCode, state: TaskState) -> bool:
        """Whether another attempt follows this end (`retries.py`)."""
        task, used = self.plan.task(code), self._attempts.retries[code]
        may = code not in self.plan.mapped and is_repeated(task, state, used, dry_run=self.instance.dry_run)
        return may and not self._ending and self.state is not W.READY_STOP

    def _is_stopped_between(self, code: TaskCode, state: TaskState) -> bool:
        """Whether a stream ended by itself just before its kill: it would restart, so it counts as killed."""
        task = self.plan.tasks[code]
        may = task.stream is not None and is_repeated(task, state, 0, dry_run=self.instance.dry_run)
        return may and not self._ending and self.state is W.READY_STOP

    def _again(self, code: TaskCode, state: TaskState, ran_s: float) -> list[Effect]:
        attempt = (self.instance.id, code, self._attempts.next(code))
        used, minutes = repeated(self.plan.task(code), state, self._attempts.retries[code], ran_s, attempt)
        self._attempts.retries[code] = used
        if self.state is W.READY_PAUSE:
            if not is_element(code):
                self._ends.paused.add(code)
            return [TaskAttempt(code, self._attempts.skip(code), T.PAUSE, used)]
        return [self._starter.queue(code, WaitReason.RETRY, minutes)]

    def _fail(self, code: TaskCode, state: TaskState) -> list[Effect]:
        if self._closing is not None and code in self.plan.closing:
            self._closing.failed[code] = state
            self._ready += self._closing.over(code)
            return []
        self._ends.failed[code] = state
        self._ready += self._progress.failed(code)
        is_handled = any(self._progress.is_in_scope(handler) for handler in self.plan.handlers.get(code, ()))
        if is_handled or self._is_halted or self.instance.failure_strategy is FailureStrategy.CONTINUE:
            return []
        self._ending = True
        return [KillTasks(), *self._check_all_children()]

    def _check_all_children(self) -> list[Effect]:
        effects: list[Effect] = []
        for code in list(self._children):
            if code in self._children:  # the end of one child may have ended others
                effects += self._check_children(code)
        return effects

    def _check_children(self, code: TaskCode) -> list[Effect]:
        """End a task with children or elements if these have ended, or are paused and it is halted."""
        children, begun = self._children[code], list[Effect]()
        if not self._is_halted and not children.is_over:
            begun += children.start_more()
            if not children.is_over:
                return begun
        is_paused = self.state is W.READY_PAUSE and not self._ending
        end = children.end(as_paused=is_paused, dry_run=self.instance.dry_run)
        return begun if end is None else [*begun, end, *self._record(code, end.state, end.outputs)]

    def _begin_ready(self, resumed: Mapping[TaskCode, Sequence[ChildState]]) -> list[Effect]:
        """Begin what may begin; a task that is decided at once may make others ready."""
        effects: list[Effect] = []
        while self._ready and not self._is_halted:
            ready, self._ready = self._ready, []
            for code in ready:
                if code not in self._begun and not self._is_halted:
                    self._begun.add(code)
                    effects += self._begin(code, resumed.get(code, ()))
        return effects

    def _begin(self, code: TaskCode, resumed: Sequence[ChildState]) -> list[Effect]:
        attempt, children, asked = self._starter.begin(code, resumed)
        effects = [attempt, *asked]
        if children is not None:
            self._children[code] = children
            effects += self._check_children(code) if children.is_over else []
        elif attempt.state is T.FAILURE:  # another attempt would fail too
            self._attempts.end(code)
            effects += self._fail(code, T.FAILURE)
        elif attempt.state is T.SUCCESS:
            effects += self._record(code, T.SUCCESS, branch=attempt.branch)
        return effects

    def _finish_if_over(self) -> list[Effect]:
        if self._attempts.any_under_way:
            return []
        is_complete = not self._ends.paused and self._begun.issuperset(self._ready)
        if self._closing is not None:
            return self._finish_closing(self._closing, is_complete=is_complete)
        if self._overtime is not None and self.state is not W.READY_STOP:
            state, reason = W.FAILURE, self._overtime
        else:
            state, reason = self._ends.verdict(self.state, is_complete=is_complete)
        assert state in WORKFLOW_TRANSITIONS[self.state], f"{self.state} cannot become {state}"
        if self.plan.closing and state is not W.PAUSE:
            own = closing_tasks(self.plan, self.instance.scope, self._attempts.has_begun)
            if own:
                self._closes, self._closing = True, Closing(self.plan, own, state, reason)
                return [Close(state, reason)]
        self.state = state
        if state is not W.SUCCESS:
            return [Finish(state, reason)]
        return [Finish(state, reason, self._parameters.at_the_end(), self._progress.is_whole(self._ends.failed))]

    def _finish_closing(self, closing: Closing, *, is_complete: bool) -> list[Effect]:
        """Finish the run once its cleanup is over or halted."""
        state, reason = closing.verdict(self.state, is_complete=is_complete)
        assert is_legal(self.state, state, closing.state, None), f"{self.state} cannot become {state}"
        self.state = state
        if state is not W.SUCCESS:
            return [Finish(state, reason)]
        return [Finish(state, reason, self._outputs, self._progress.is_whole(self._ends.failed))]
