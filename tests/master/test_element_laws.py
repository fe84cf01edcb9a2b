"""The laws of a task with elements, whatever happens to its run: halts, losses, failovers, late and repeated events."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from master.claim.revival import revival
from master.drive.events import Effect, Enter, Event, Finish, HoldTasks, KillTasks, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy
from model.ids import CommandId, TaskCode, WorkflowInstanceId
from model.runs.command_moves import CommandType as C
from model.runs.commands import Move
from model.runs.instances import AttemptEnd, HaltRequest, TaskAttempt
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.master.plans import a_plan, an_instance
from tests.master.test_runnable_laws import TIMES

WHOLE, AFTER = TaskCode(1), TaskCode(2)
WELL = (T.SUCCESS, T.SKIPPED)
ENDS = (T.SUCCESS, T.SUCCESS, T.SKIPPED, T.FAILURE, T.FAILURE, T.NEED_FAULT_TOLERANCE, T.KILL)
GOES_ON = {
    W.FAILURE: (C.START_FAILURE_TASK_PROCESS, C.REPEAT_RUNNING),
    W.PAUSE: (C.RECOVER_SUSPENDED_PROCESS,),
    W.STOP: (C.RECOVER_SUSPENDED_PROCESS, C.REPEAT_RUNNING),
}


@dataclass
class Row:
    """The last attempt of a task or an element."""

    attempt: TaskAttempt
    is_to_end: bool = False


class World:
    """The rows of one run of a task `a` with elements and a task `b` after it."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.elements = [f"e{number}" for number in range(random.choice((0, 1, 3, 7)))]
        self.parallel, self.retries = random.choice((1, 2, 9)), random.choice((0, 1, 2))
        self.stops = random.random() < 0.3
        each = {"over": self.elements, "parallel": self.parallel, "on_failure": "stop" if self.stops else "continue"}
        fields = {"a": {"each": each, "retry_times": self.retries}}
        self.plan = a_plan({"a": [], "b": ["a"]}, fields=fields)
        self.strategy = random.choice(list(FailureStrategy))
        self.rows: dict[TaskCode, Row] = {}
        self.pending: list[Event] = []
        self.heard: list[Event] = []
        self.state, self.end = W.RUNNING_EXECUTION, False
        self.runnable = self.made()
        self.tell(Started())

    def made(self) -> Runnable:
        return Runnable(replace(an_instance(self.plan, self.strategy), state=self.state), self.plan)

    def tell(self, event: Event) -> None:
        self.write(self.runnable.handle(event))

    def write(self, effects: list[Effect]) -> None:
        for effect in effects:
            assert not self.end, "something comes after the end"
            match effect:
                case TaskAttempt():
                    self.begin(effect)
                case AttemptEnd(code, attempt, state, outputs):
                    assert (code, attempt) == (WHOLE, self.rows[WHOLE].attempt.attempt)
                    self.end_row(code, state, outputs)
                    self.check_end()
                case Enter(state) | Finish(state):
                    self.state, self.end = state, isinstance(effect, Finish)
                    assert not self.end or not self.live(), "it ended with what runs"
                case HoldTasks() | KillTasks():
                    self.halt(T.PAUSE if isinstance(effect, HoldTasks) else T.KILL)

    def begin(self, new: TaskAttempt) -> None:
        before = self.rows.get(new.code)
        assert new.attempt == (before.attempt.attempt + 1 if before else 1), "attempts count from 1 without gaps"
        assert before is None or before.attempt.state.is_final, "two attempts at once"
        if new.code < 0:
            is_well = before is not None and before.attempt.valid and before.attempt.state in WELL
            assert not is_well, "an element that succeeded runs again"
            if not new.state.is_final:
                assert json.loads(new.values)["each"] == self.elements[-new.code % 16_384]
        elif new.code == WHOLE:
            assert before is None or not before.attempt.valid or before.attempt.state is T.PAUSE, "it is run again"
        self.rows[new.code] = Row(new)
        under_way = [code for code in self.live() if code < 0]
        assert len(under_way) <= self.parallel, "more are under way than may be"

    def check_end(self) -> None:
        """The task ends as its elements did."""
        counting = [row.attempt.state for code, row in self.rows.items() if code < 0 and row.attempt.valid]
        assert not [code for code in self.live() if code < 0], "it ends before its elements"
        whole = self.rows[WHOLE].attempt
        well = sum(state in WELL for state in counting)
        if whole.state in WELL:
            assert well == len(self.elements)
        elif whole.state is T.FAILURE:
            assert well < len(self.elements) and (self.stops or len(counting) == len(self.elements))
        else:
            assert self.state is not W.RUNNING_EXECUTION or T.KILL in counting or self.strategy is FailureStrategy.END

    def halt(self, state: T) -> None:
        for code in self.live():
            if self.rows[code].attempt.state is T.RUNNING_EXECUTION:
                self.rows[code].is_to_end = state is T.KILL
            else:
                self.end_row(code, state)
                self.pending.insert(0, AttemptEnd(code, self.rows[code].attempt.attempt, state))
        while self.pending and isinstance(self.pending[0], AttemptEnd) and self.pending[0].state is state:
            self.tell(self.pending.pop(0))  # in the same transaction

    def live(self) -> list[TaskCode]:
        return [code for code, row in self.rows.items() if not row.attempt.state.is_final]

    def end_row(self, code: TaskCode, state: T, outputs: str | None = None) -> None:
        self.rows[code].attempt = self.rows[code].attempt._replace(state=state, outputs=outputs)

    # ------------------------------------------------------------------------------------------ what happens

    def work(self) -> None:
        live = [code for code in self.live() if code != WHOLE]
        if not live:
            return
        code = self.random.choice(live)
        row = self.rows[code]
        if row.attempt.state is not T.RUNNING_EXECUTION:
            row.attempt = row.attempt._replace(state=T.RUNNING_EXECUTION)
            return
        lost_before = row.attempt.attempt > 8
        state = T.KILL if row.is_to_end else self.random.choice(ENDS[:3] if lost_before else ENDS)
        self.end_row(code, state, '{"n": "1"}' if state is T.SUCCESS else None)
        self.pending.append(AttemptEnd(code, row.attempt.attempt, state, row.attempt.outputs))

    def deliver(self) -> None:
        if self.pending and not self.end:
            event = self.pending.pop(self.random.randrange(len(self.pending)))
            self.heard.append(event)
            self.tell(event)

    def repeat(self) -> None:
        if self.heard and not self.end:
            assert self.runnable.handle(self.random.choice(self.heard)) == [], "an event told twice was heard twice"

    def fail_over(self, resumes: frozenset[TaskCode] = frozenset()) -> None:
        if self.end:
            return
        self.heard += [event for event in self.pending if isinstance(event, AttemptEnd)]
        self.pending = [event for event in self.pending if isinstance(event, HaltRequest)]
        self.runnable = self.made()
        rows = tuple(row.attempt for row in self.rows.values())
        self.tell(Restored(tuple(self.random.sample(rows, len(rows))), (), resumes))

    def ask(self) -> None:
        if not self.end and self.state is W.RUNNING_EXECUTION and not self.pending:
            self.pending.append(HaltRequest(self.random.choice((W.READY_PAUSE, W.READY_STOP))))

    def go_on(self) -> None:
        if not self.end or self.state is W.SUCCESS:
            return
        type_ = self.random.choice(GOES_ON[self.state])
        on = revival(
            Move(CommandId(1), type_, WorkflowInstanceId(1)), self.plan, [r.attempt for r in self.rows.values()]
        )
        well = [code for code in on.again if code < 0 and self.rows[code].attempt.state in WELL]
        assert type_ is C.REPEAT_RUNNING or not well, "what succeeded is to run again"
        for code in on.again & self.rows.keys():
            self.rows[code].attempt = self.rows[code].attempt._replace(valid=False)
        self.state, self.end = W.RUNNING_EXECUTION, False
        self.pending.clear()
        self.heard.clear()
        self.fail_over(on.resumes)

    def settle(self) -> None:
        for _ in range(2_000):
            if self.end:
                return
            assert self.pending or [code for code in self.live() if code != WHOLE], "it is stuck"
            self.work()
            self.deliver()
        raise AssertionError("it does not end")


@settings(max_examples=300 * TIMES)
@given(st.integers(0, 2**32))
def test_whatever_happens_each_element_ends_and_its_task_with_them(seed: int) -> None:
    world = World(Random(seed))
    happens = {world.work: 8, world.deliver: 6, world.repeat: 2, world.fail_over: 1, world.ask: 0.4, world.go_on: 1}
    for _ in range(world.random.randrange(60)):
        world.random.choices([*happens], [*happens.values()])[0]()
    world.settle()
    for _ in range(6):
        world.go_on()
        world.settle()
