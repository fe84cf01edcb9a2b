"""Tables, workers and a master that dies, reduced to what a runnable can notice.

It keeps the rows, lets attempts end, hands events over late, twice and in any order, and throws the runnable away as a
failover does. Every effect is checked as it is written: the rules stand in `_queue`, `_kill` and `_finish`.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from master.events import Adopted, Effect, Event, Finish, KillTasks, QueueTask, Started, TaskFinished, Wait
from master.plan import Plan
from master.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy, OnWorkerLoss, Priority
from model.ids import TaskCode, WorkflowCode, WorkflowInstanceId
from model.instances import TaskAttempt, WorkflowInstance
from model.states import TaskState as T
from model.states import WaitReason, WorkflowState
from model.workflow import WorkflowSpec

LOSSES_MAX = 3


def a_plan(
    after: dict[str, list[str]], fails_on_loss: set[str] | None = None, fields: dict[str, dict[str, Any]] | None = None
) -> Plan:
    """Task -> the tasks that it waits for; `fields` are further ones of some tasks."""
    tasks = [
        {"name": name, "type": "FAKE", "after": befores}
        | ({"on_worker_loss": OnWorkerLoss.FAIL} if name in (fails_on_loss or ()) else {})
        | (fields or {}).get(name, {})
        for name, befores in after.items()
    ]
    return Plan.of(WorkflowCode(1), 1, WorkflowSpec.parse({"tasks": tasks}))


def a_runnable(plan: Plan, strategy: FailureStrategy = FailureStrategy.CONTINUE) -> Runnable:
    id_, code = WorkflowInstanceId(1), plan.workflow_code
    return Runnable(WorkflowInstance(id_, code, plan.version, strategy, Priority.MEDIUM, "default", "{}"), plan)


@st.composite
def plans(draw: DrawFn, size_max: int = 60) -> Plan:
    """Any directed acyclic graph, its tasks written down in any order."""
    names = [f"t{number}" for number in range(draw(st.integers(1, size_max)))]
    random = draw(st.randoms(use_true_random=False))
    width = random.choice([1, 2, 4])
    after = {
        name: random.sample(names[:place], random.randint(0, min(place, width))) for place, name in enumerate(names)
    }
    random.shuffle(names)
    lives = {
        name: {"retry_times": random.choice([0, 0, 1, 3]), "retry_interval": random.choice([0, 1.5]), "delay_time": 2}
        for name in names
        if random.random() < 0.4
    }
    return a_plan({name: after[name] for name in names}, {name for name in names if random.random() < 0.3}, lives)


class World:
    """One workflow instance from its start to its end."""

    def __init__(self, plan: Plan, strategy: FailureStrategy, random: Random, failing: float) -> None:
        self.plan, self.strategy, self._random, self._failing = plan, strategy, random, failing
        self.rows: dict[TaskCode, list[T]] = {}
        self.end: Finish | None = None
        self.kill_asked = False
        self.lives: list[list[tuple[Event, list[Effect]]]] = []
        self._pending: list[TaskFinished] = []
        self._heard: list[TaskFinished] = []
        self._before = {
            code: {each for each, after in plan.graph.successors.items() if code in after} for code in plan.tasks
        }
        self._runnable = self._new_runnable()
        self._write(self._tell(Started()))

    def step(self) -> None:
        """Something happens."""
        self._random.choices(
            [self._work, self._deliver, self._repeat, self._fail_over, self._roll_back], [8, 8, 2, 1, 1]
        )[0]()

    def settle(self) -> None:
        """No more faults: what remains comes to its end, or it never would."""
        while self.end is None:
            assert self._pending or self._in_flight(), "nothing runs, nothing is to be told, and it has not ended"
            self._work()
            self._deliver()

    def _work(self) -> None:
        if not (running := self._in_flight()):
            return
        code = self._random.choice(running)
        states = self.rows[code]
        if states[-1] is T.DELAY_EXECUTION:
            states[-1] = T.QUEUED
            return
        if states[-1] is T.QUEUED:
            states[-1] = T.RUNNING_EXECUTION
            return
        ends = [T.SUCCESS]
        if self._random.random() < self._failing:
            ends = (
                [T.FAILURE, T.KILL] if len(states) > LOSSES_MAX else [T.FAILURE, T.KILL, *[T.NEED_FAULT_TOLERANCE] * 4]
            )
        states[-1] = T.KILL if self.kill_asked and self._random.random() < 0.8 else self._random.choice(ends)
        self._pending.append(TaskFinished(code, len(states), states[-1]))

    def _deliver(self) -> None:
        if self._pending and self.end is None:
            event = self._pending.pop(self._random.randrange(len(self._pending)))
            self._heard.append(event)
            self._write(self._tell(event))

    def _repeat(self) -> None:
        if self._heard:
            assert self._tell(self._random.choice(self._heard)) == [], "an event told twice was heard twice"

    def _fail_over(self) -> None:
        if self.end is not None:
            return
        self._heard += self._pending
        if self._random.random() < 0.5:  # the new owner drops them: the rows say it already
            self._pending.clear()
        latest = [
            TaskAttempt(code, len(states), states[-1], self._retries(states)) for code, states in self.rows.items()
        ]
        self._random.shuffle(latest)
        failed = any(self._is_for_good(attempt) for attempt in latest)
        self._runnable = self._new_runnable()
        effects = self._tell(Adopted(tuple(latest)))
        if failed and self.strategy is FailureStrategy.END:
            assert KillTasks() in effects
            assert not [effect for effect in effects if isinstance(effect, QueueTask)], "queued though one has failed"
        self._write(effects)

    def _roll_back(self) -> None:
        """The transaction fails: what was to be written is not, and the runnable is made again from the rows."""
        if self._pending and self.end is None:
            self._tell(self._random.choice(self._pending))
            self._fail_over()

    def _new_runnable(self) -> Runnable:
        self.lives.append([])
        return a_runnable(self.plan, self.strategy)

    def _tell(self, event: Event) -> list[Effect]:
        effects = self._runnable.handle(event)
        self.lives[-1].append((event, effects))
        return effects

    def _write(self, effects: list[Effect]) -> None:
        for effect in effects:
            assert self.end is None, "something comes after the end"
            match effect:
                case QueueTask():
                    self._queue(effect)
                case KillTasks():
                    self._kill()
                case Finish():
                    self._finish(effect)

    def _queue(self, effect: QueueTask) -> None:
        states = self.rows.setdefault(effect.code, [])
        assert not self.kill_asked, "queued after the first failure"
        assert all(self.rows.get(before, [None])[-1] is T.SUCCESS for before in self._before[effect.code])
        assert effect.attempt == len(states) + 1, "attempts count from 1 without gaps, each once"
        if states:
            assert states[-1] is not T.KILL
            assert not self._is_over(effect.code, states)
        assert effect.retries == states.count(T.FAILURE)
        task = self.plan.tasks[effect.code]
        wait = (WaitReason.DELAY, task.delay_time) if not states else None
        if states and states[-1] is T.FAILURE:
            wait = (WaitReason.RETRY, task.retry_interval)
        assert effect.wait == (Wait(*wait) if wait and wait[1] else None)
        states.append(T.DELAY_EXECUTION if effect.wait else T.QUEUED)

    def _kill(self) -> None:
        assert self.strategy is FailureStrategy.END
        self.kill_asked = True
        for code, states in self.rows.items():
            if states[-1] in (T.QUEUED, T.DELAY_EXECUTION):  # ends in the same transaction, and is told at once
                states[-1] = T.KILL
                self._pending.append(TaskFinished(code, len(states), T.KILL))

    def _finish(self, effect: Finish) -> None:
        assert not self._in_flight(), "it ended with tasks that run"
        last = {code: self.rows.get(code, [None])[-1] for code in self.plan.tasks}
        succeeded = all(state is T.SUCCESS for state in last.values())
        assert (effect.state is WorkflowState.SUCCESS) == succeeded == (effect.reason == "")
        if self.strategy is FailureStrategy.END:
            assert self.kill_asked != succeeded
        elif not succeeded:
            for code in self.plan.tasks:
                ready = all(last[before] is T.SUCCESS for before in self._before[code])
                assert (last[code] is None) != ready, "an independent branch was left out"
        self.end = effect

    def _is_for_good(self, attempt: TaskAttempt) -> bool:
        return self._is_over(attempt.code, self.rows[attempt.code])

    def _is_over(self, code: TaskCode, states: list[T]) -> bool:
        """Whether the last of these attempts failed for good."""
        task = self.plan.tasks[code]
        match states[-1]:
            case T.NEED_FAULT_TOLERANCE:
                return task.on_worker_loss is OnWorkerLoss.FAIL
            case T.FAILURE:
                return states.count(T.FAILURE) > task.retry_times
            case state:
                return state is T.KILL

    @staticmethod
    def _retries(states: list[T]) -> int:
        """What the row of the last attempt holds: the failures before it."""
        return states[:-1].count(T.FAILURE)

    def _in_flight(self) -> list[TaskCode]:
        return [code for code, states in self.rows.items() if not states[-1].is_final]
