"""The state machine that drives one workflow instance. Pure.

It has no clock, no database and no await: the same events give the same effects, so it can be replayed and simulated.
The driver (`driver.py`) feeds it events and writes its effects. A repeated event has no effect: events are delivered
again after a failover, and rows may already hold what a later event reports.

`ready_tasks.py` decides which task may begin, `task_starter.py` how, `parameters.py` which parameters it sees;
`children.py` handles children.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from master.drive.attempts import Attempts
from master.drive.children import Children
from master.drive.events import Effect, Enter, Event, Finish, HoldTasks, KillTasks, Restored, Started, TookTooLong
from master.drive.outcome import Ends
from master.drive.parameters import Parameters
from master.drive.retries import is_repeated, repeated, used_before
from master.drive.task_starter import TaskStarter
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.logic.dynamic import DynamicParams
from model.logic.sub_process import SubProcessParams
from model.runs.instances import AttemptEnd, ChildState, HaltRequest, TaskAttempt, WorkflowInstance
from model.runs.ready_tasks import Progress
from model.runs.states import WORKFLOW_TRANSITIONS, TaskState, WaitReason, WorkflowState

T, W = TaskState, WorkflowState
_FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)
_SUCCEEDED = (T.SUCCESS, T.FORCED_SUCCESS)


class WorkflowRunnable:
    """One workflow instance in its owner's memory."""

    __slots__ = (
        "_attempts",
        "_begun",
        "_children",
        "_ending",
        "_ends",
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
        self._parameters = Parameters(instance, plan)
        self._ends = Ends(plan, self._progress)
        self._ready: list[TaskCode] = []
        self._begun: set[TaskCode] = set()
        self._attempts = Attempts()
        self._starter = TaskStarter(
            plan, self._attempts, self._parameters, self._progress, self._ends, dry_run=instance.dry_run
        )
        self._children: dict[TaskCode, Children] = {}
        self._ending = False
        self._overtime: str | None = None

    def tell_latest(self, *, is_latest: bool) -> None:
        """Whether this run is the latest of its schedule, for the tasks that begin from now on."""
        self._parameters.is_latest = is_latest

    def handle(self, event: Event) -> list[Effect]:
        """Advance by one event; the effects are to be written together, in order. Raises `Refused` for a row that
        cannot be read."""
        if self.state.is_final:
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
                if code not in self._children or not self._attempts.is_last(code, attempt):
                    return []
                self._children[code].finished(index, state, outputs)
                effects = self._check_children(code)
            case HaltRequest(state):
                if state not in WORKFLOW_TRANSITIONS[self.state]:
                    return []
                self.state = state
                effects = [Enter(state), *self._halt()]
            case TookTooLong(reason):
                if self._overtime is not None or self.state is W.READY_STOP:
                    return []
                self._ending, self._overtime = True, reason
                effects = [KillTasks(reason), *self._check_all_children()]
            case _:
                assert_never(event)
        return [*effects, *self._begin_ready(resumed), *self._finish_if_over()]

    def under_way(self) -> list[tuple[TaskCode, int]]:
        """The attempts whose ends have not been reported."""
        return self._attempts.under_way()

    @property
    def only_waits(self) -> bool:
        """Whether nothing of it is queued or runs on a worker: all that is in flight are children, DEPENDENT tasks, and
        delayed attempts."""
        return self._attempts.all_rest

    def came_due(self, code: TaskCode, attempt: int) -> None:
        """The delay of an attempt has passed: from now on a worker may run it."""
        if self._attempts.is_last(code, attempt) and self.plan.tasks[code].logic is None:
            self._attempts.wake(code)

    @property
    def _is_halted(self) -> bool:
        """Whether nothing new may start."""
        return self._ending or self.state is not W.RUNNING_EXECUTION

    def _halt(self) -> list[Effect]:
        """Hold or kill the tasks. Repeated after a failover: the previous owner may have died halfway."""
        # A later pause does not spare what a failure is to kill.
        holds = self.state is W.READY_PAUSE and not self._ending
        halt = HoldTasks() if holds else KillTasks("its workflow was stopped")
        return [halt, *self._check_all_children()]

    def _restore(self, attempts: Iterable[TaskAttempt], children: Iterable[ChildState]) -> list[Effect]:
        """Restore from rows. What is queued or runs on a living worker continues; only what is missing is queued."""
        effects: list[Effect] = []
        known = [attempt for attempt in attempts if attempt.code in self.plan.tasks]
        for attempt in known:
            was_held = attempt.state in (T.PAUSE, T.KILL)
            retries = attempt.retries if attempt.valid or was_held else 0
            if was_held:
                retries = used_before(self.plan.tasks[attempt.code], retries, attempt.ran_s)
            self._attempts.restore(attempt.code, attempt.attempt, retries)
        valid = [attempt for attempt in known if self._still_counts(attempt)]
        self._begun |= {attempt.code for attempt in valid}
        self._ready += self._progress.begin(self._begun)
        for attempt in sorted(valid, key=self._order):
            if not attempt.state.is_final:
                logic = self.plan.tasks[attempt.code].logic
                self._attempts.put_in_flight(attempt.code, rests=bool(attempt.due_in_minutes) or logic is not None)
                if isinstance(logic, SubProcessParams | DynamicParams):
                    self._children[attempt.code] = Children.restored(self.plan, attempt, children)
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
        if self.state is not W.RUNNING_EXECUTION:
            return [*effects, *self._halt()]
        return [*effects, *self._check_all_children()]

    def _still_counts(self, attempt: TaskAttempt) -> bool:
        """Whether this attempt still counts. One that was held back begins again as soon as its workflow runs, if what
        ended before it still asks for it."""
        return attempt.valid and attempt.state is not T.PAUSE

    def _order(self, attempt: TaskAttempt) -> int:
        """Sort key: the failure before what it killed, and a final failure before what makes others run, since with END
        nothing may start after a failure, whatever the order of rows. Last what sees the outputs of others: tasks with
        children, and tasks that run again."""
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
        """Record that an attempt has ended; one of a stream ran for so many seconds. None follows one that is
        suspect."""
        self._attempts.end(code)
        self._children.pop(code, None)
        if self._is_stopped_between(code, state):
            state = T.KILL
        match state:
            case T.SUCCESS | T.SKIPPED if self._runs_again(code, state):
                return self._again(code, state, ran_s)
            case T.SUCCESS | T.FORCED_SUCCESS:
                self._give(code, outputs)
                self._ready += self._progress.succeeded(code, branch)
                return []
            case T.SKIPPED:
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

    def _give(self, code: TaskCode, outputs: str | None) -> None:
        self._parameters.contexts.gave(code, self._parameters.given_by(self.plan.tasks[code], outputs))

    def _runs_again(self, code: TaskCode, state: TaskState) -> bool:
        """Whether another attempt follows one with this end (`repeats.py`)."""
        task, used = self.plan.tasks[code], self._attempts.retries[code]
        may = is_repeated(task, state, used, dry_run=self.instance.dry_run)
        return may and not self._ending and self.state is not W.READY_STOP

    def _is_stopped_between(self, code: TaskCode, state: TaskState) -> bool:
        """Whether a stream ended by itself just before it was to be killed: it would go on, so it counts as killed."""
        task = self.plan.tasks[code]
        may = task.stream is not None and is_repeated(task, state, 0, dry_run=self.instance.dry_run)
        return may and not self._ending and self.state is W.READY_STOP

    def _again(self, code: TaskCode, state: TaskState, ran_s: float) -> list[Effect]:
        attempt = (self.instance.id, code, self._attempts.next(code))
        used, minutes = repeated(self.plan.tasks[code], state, self._attempts.retries[code], ran_s, attempt)
        self._attempts.retries[code] = used
        if self.state is W.READY_PAUSE:
            self._ends.paused.add(code)
            return [TaskAttempt(code, self._attempts.skip(code), T.PAUSE, used)]
        return [self._starter.queue(code, WaitReason.RETRY, minutes)]

    def _fail(self, code: TaskCode, state: TaskState) -> list[Effect]:
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
        """The task that runs other workflows ends when they have ended, or when they are paused and it is halted."""
        children = self._children[code]
        if not self._is_halted and not children.is_over:
            return list(children.start_more())
        is_paused = self.state is W.READY_PAUSE and not self._ending
        end = children.end(as_paused=is_paused, dry_run=self.instance.dry_run)
        return [] if end is None else [end, *self._record(code, end.state, end.outputs)]

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
        if self._overtime is not None and self.state is not W.READY_STOP:
            state, reason = W.FAILURE, self._overtime
        else:
            state, reason = self._ends.verdict(self.state, is_complete=is_complete)
        assert state in WORKFLOW_TRANSITIONS[self.state], f"{self.state} cannot become {state}"
        self.state = state
        if state is not W.SUCCESS:
            return [Finish(state, reason)]
        return [Finish(state, reason, self._parameters.at_the_end(), self._progress.is_whole(self._ends.failed))]
