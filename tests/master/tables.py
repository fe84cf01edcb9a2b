"""The writes of a runnable, each checked against `reference.py`.

The rules are in `_begin`, `_again`, `_kill` and `_finish`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from random import Random

from master.drive.events import Effect, Enter, Event, Finish, HoldTasks, KillTasks, ResumeChild, StartChild
from model.choices import FailureStrategy
from model.definitions.plan import Plan
from model.errors import Refused
from model.ids import TaskCode
from model.logic import conditions, switch
from model.logic.conditions import ConditionsParams
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams, tuples
from model.logic.sub_process import SubProcessParams
from model.logic.switch import SwitchParams
from model.parameters.parameters import replace_references
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import WORKFLOW_TRANSITIONS, WaitReason
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.master.family import Family
from tests.master.reference import Given, Reference, Row, Standing

BASE = {"g": "global", "s": "startup", "k": "1"}
STARTUP = frozenset({"s"})


class Tables:
    """The rows of one instance and of what stands under it, and the laws of what is written to them."""

    def __init__(
        self, plan: Plan, strategy: FailureStrategy, random: Random, scope: frozenset[TaskCode] | None
    ) -> None:
        self.plan, self.strategy, self.random = plan, strategy, random
        self.rows: dict[TaskCode, list[Row]] = {}
        self.family = Family(plan, self.rows, random)
        self.state = W.RUNNING_EXECUTION
        self.requested: W | None = None
        self.scope = scope
        self.end: Finish | None = None
        self.ending = False
        """Whether a failure has ended it, by the strategy END."""
        self.halts: W | None = None
        """What must be done to its tasks before the transaction ends."""
        self.given = Given(plan, BASE, STARTUP)
        self._clock = 0

    def latest(self) -> list[TaskAttempt]:
        """The latest attempts in the order of `dao.tasks.task_instances`: by their ends, running ones last."""
        attempts = [
            TaskAttempt(code, len(rows), row.state, row.retries, row.valid, row.outputs, row.branch, row.values)
            for code, rows in sorted(
                self.rows.items(), key=lambda item: (item[1][-1].ended or self._clock + 1, item[0])
            )
            for row in rows[-1:]
        ]
        return attempts

    # ------------------------------------------------------------------------------------------ effects

    def write(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            assert self.end is None, "something comes after the end"
            match effect:
                case Enter(state):
                    assert state in WORKFLOW_TRANSITIONS[self.state]
                    assert self.requested in (state, W.READY_STOP), "halted though nobody asked"
                    self.state = state
                case TaskAttempt():
                    self._new_attempt(effect)
                case AttemptEnd(code, _, state, outputs):
                    self.family.check_end(effect, self.halted())
                    if state is T.SUCCESS:
                        self.given.heard(code, outputs)
                    self.end_row(code, state, outputs)
                case StartChild():
                    assert not self.halted(), "a child is started though nothing new may"
                    self.family.start(effect)
                case ResumeChild():
                    assert not self.halted()
                    self.family.resume(effect)
                case HoldTasks():
                    assert self.state is W.READY_PAUSE and not self.ending
                    self.halts = W.READY_PAUSE
                case KillTasks():
                    self._kill()
                case Finish():
                    self._finish(effect)

    def halted(self) -> W | None:
        """The state in which the run rests, if nothing new may start."""
        if self.ending:
            return W.READY_STOP
        return None if self.state is W.RUNNING_EXECUTION else self.state

    def reference(self) -> Reference:
        stopping = self.ending or self.state is W.READY_STOP
        return Reference(self.plan, self.scope, self.rows, stopping=stopping)

    def _new_attempt(self, effect: TaskAttempt) -> None:
        rows, reference = self.rows.setdefault(effect.code, []), self.reference()
        last, row = reference.latest(effect.code), Row(T.QUEUED, effect.retries)
        assert effect.attempt == len(rows) + 1, "attempts count from 1 without gaps, each once"
        if last is not None and last.state is not T.PAUSE:
            self._again(effect, last, reference)
        else:
            self._begin(effect, row, reference)
        row.state, row.outputs, row.branch = effect.state, effect.outputs, effect.branch
        if is_queued(effect):
            assert self.plan.tasks[effect.code].logic is None
            assert json.loads(effect.values) == self.given.values(effect.code)
        else:
            row.values = effect.values
        if row.state.is_final:
            self._clock += 1
            row.ended = self._clock
        rows.append(row)

    def _again(self, effect: TaskAttempt, last: Row, reference: Reference) -> None:
        """A loss or a failure is made good; while it is paused, later."""
        assert last.state.is_final and reference.runs_again(effect.code, last), "a task runs twice without cause"
        failed = last.state is T.FAILURE
        assert effect.retries == last.retries + failed
        if is_queued(effect):
            assert not self.halted(), "queued though nothing new may start"
            interval = self.plan.tasks[effect.code].retry_interval if failed else 0
            assert wait_of(effect) == ((WaitReason.RETRY, interval) if interval else None)
        else:
            assert self.state is W.READY_PAUSE and effect.state is T.PAUSE

    def _begin(self, effect: TaskAttempt, row: Row, reference: Reference) -> None:
        code, task = effect.code, self.plan.tasks[effect.code]
        assert not self.halted(), "begun though nothing new may start"
        assert reference.is_in_scope(code), "begun though it was left out"
        assert reference.may_begin(code) is Standing.BEGINS, "begun before its predecessors, or passed over"
        if is_queued(effect):
            assert wait_of(effect) == ((WaitReason.DELAY, task.delay_time) if task.delay_time else None)
            before = self.rows[code][-1] if self.rows[code] else None
            keeps = before is not None and (before.valid or before.state in (T.PAUSE, T.KILL))
            assert effect.retries == (before.retries if before and keeps else 0)
            return
        values = self.given.values(code)
        try:
            match task.logic:
                case DependentParams():
                    assert (effect.state, json.loads(effect.values)) == (T.RUNNING_EXECUTION, values)
                case SubProcessParams(params=params):
                    own = {param.name: values[param.name] for param in task.inputs}
                    given = {
                        name: replace_references(text, values, lambda _, value: value) for name, text in params.items()
                    }
                    row.params = ({**own, **given},)
                    assert (effect.state, json.loads(effect.values)) == (T.RUNNING_EXECUTION, values)
                case DynamicParams() as params:
                    row.params = tuple(tuples(params, values))
                    assert (effect.state, json.loads(effect.values)) == (T.RUNNING_EXECUTION, values)
                case SwitchParams() as params:
                    self._check_branch(effect, switch.choose(params, values))
                case ConditionsParams() as params:
                    ended = {name: reference.has_succeeded(self.plan.codes[name]) for name in params.named()}
                    self._check_branch(effect, conditions.choose(params, ended))
                case None:
                    raise AssertionError("a task of a worker is recorded, not queued")
        except Refused as error:
            assert (effect.state, effect.reason) == (T.FAILURE, str(error))

    def _check_branch(self, effect: TaskAttempt, names: Sequence[str]) -> None:
        assert effect.state is T.SUCCESS
        assert effect.branch == frozenset(self.plan.codes[name] for name in names)

    def _kill(self) -> None:
        if self.state is W.RUNNING_EXECUTION:
            assert self.strategy is FailureStrategy.END
            assert self.reference().must_end()
            self.ending = True
        assert self.ending or self.state is W.READY_STOP, "killed though it was only paused"
        self.halts = W.READY_STOP

    def halt_rows(self, state: W) -> list[Event]:
        """Halt: what waits ends in this transaction, and is reported at once; what runs is asked to end."""
        told: list[Event] = []
        for code, row in self.live():
            if row.state in (T.DELAY_EXECUTION, T.QUEUED) or isinstance(self.plan.tasks[code].logic, DependentParams):
                self.end_row(code, T.PAUSE if state is W.READY_PAUSE else T.KILL)
                told.append(AttemptEnd(code, len(self.rows[code]), row.state))
            elif state is W.READY_STOP:
                row.kill_asked = True
        self.random.shuffle(told)
        return told

    def _finish(self, effect: Finish) -> None:
        assert not self.live(), "it ended with tasks that run"
        reference = self.reference()
        assert Standing.AGAIN not in reference.standing.values()
        if self.ending and self.state is W.RUNNING_EXECUTION:
            assert effect.state is W.FAILURE
        else:
            assert effect.state is reference.verdict(self.state)
        assert effect.state in WORKFLOW_TRANSITIONS[self.state]
        assert (effect.state is W.SUCCESS) == (effect.reason == "")
        values = self.given.at_the_end()
        given = {name: values[name] for name in self.plan.spec.outputs if name in values}
        assert effect.outputs == (json.dumps(given) if given and effect.state is W.SUCCESS else None)
        self.end, self.state, self.requested, self.ending = effect, effect.state, None, False

    # ------------------------------------------------------------------------------------------ what is so

    def check_nothing_is_left_out(self) -> None:
        """With every event delivered, check that what may begin has begun, and what must be held or killed is."""
        reference, halted = self.reference(), self.halted()
        standings = set(reference.standing.values())
        assert Standing.AGAIN not in standings, "a loss or a failure is not made good"
        if not halted:
            assert not reference.left(), "an independent branch is left out"
            assert self.strategy is FailureStrategy.CONTINUE or not reference.must_end()
        for code, row in self.live():
            logic = self.plan.tasks[code].logic
            if isinstance(logic, SubProcessParams | DynamicParams):
                if not halted:
                    self.family.check_nothing_is_left_out(code, len(self.rows[code]))
                else:
                    assert not self.family.is_resting(code, len(self.rows[code]))
            elif halted:
                assert row.state is T.RUNNING_EXECUTION, "something waits though it is halted"
                assert not isinstance(logic, DependentParams)
                assert row.kill_asked or halted is W.READY_PAUSE, "something runs on though it is stopped"

    def live(self) -> list[tuple[TaskCode, Row]]:
        return [(code, rows[-1]) for code, rows in self.rows.items() if not rows[-1].state.is_final]

    def busy(self) -> list[TaskCode]:
        """The tasks that progress by themselves, or on a worker."""
        return [
            code
            for code, _ in self.live()
            if not isinstance(self.plan.tasks[code].logic, SubProcessParams | DynamicParams)
        ]

    def end_row(self, code: TaskCode, state: T, outputs: str | None = None) -> None:
        row = self.rows[code][-1]
        assert not row.state.is_final
        self._clock += 1
        row.state, row.outputs, row.ended = state, outputs, self._clock


def is_queued(attempt: TaskAttempt) -> bool:
    """Whether it is for a worker, now or later."""
    return attempt.state in (T.QUEUED, T.DELAY_EXECUTION)


def wait_of(attempt: TaskAttempt) -> tuple[WaitReason | None, float] | None:
    """The reason and minutes of its wait; None = it does not wait."""
    return (attempt.wait_reason, attempt.due_in_minutes) if attempt.state is T.DELAY_EXECUTION else None
