"""Tables, workers, children, people and a master that dies, reduced to what a runnable can notice.

It lets attempts and children end, pauses, stops and revives the run, delivers events late, twice and in any order, and
throws the runnable away as a failover does. Every effect is checked as it is written, in `tables.py`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from master.claim.revival import revival
from master.drive.events import Effect, Event, Restored, Started
from master.drive.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy, TaskDependType
from model.definitions.plan import Plan
from model.ids import CommandId, TaskCode
from model.runs.command_moves import COMMAND_MOVES, REVIVING, CommandType
from model.runs.commands import Move
from model.runs.instances import AttemptEnd, ChildState, HaltRequest, TaskAttempt, WorkflowInstance
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.master.plans import an_instance
from tests.master.reference import FAILED, SUCCEEDED, Given
from tests.master.tables import BASE, STARTUP, Tables

LOSSES_MAX = 3
STEPS_MAX = 50_000


class World(Tables):
    """One workflow instance from its start to its end, and on if somebody revives it."""

    def __init__(
        self, plan: Plan, strategy: FailureStrategy, random: Random, failing: float, *, disturbed: bool = True
    ) -> None:
        self._failing = failing
        self._unrest = random.choice([0.3, 1, 4])
        self._first_scope = _any_scope(plan, random) if disturbed else None
        super().__init__(plan, strategy, random, self._first_scope)
        self.revivals = 0
        self.lives: list[tuple[WorkflowInstance, list[tuple[Event, list[Effect]]]]] = []
        self._instance = replace(
            an_instance(plan, strategy, json.dumps(BASE)), startup_names=json.dumps(sorted(STARTUP))
        )
        self._pending: list[Event] = []
        self._heard: list[Event] = []
        self._new_life()
        self._transact(Started())

    # ------------------------------------------------------------------------------------------ what happens

    def step(self) -> None:
        happens = {
            self._work: 16,
            self._deliver: 14,
            self._deliver_many: 2,
            self._repeat: 3,
            self._claim_failover: 0.7 * self._unrest,
            self._read_again: 0.7 * self._unrest,
            self._roll_back: 0.7 * self._unrest,
            self._ask_pause: 0.3 * self._unrest,
            self._ask_stop: 0.2 * self._unrest,
            self.revive: 1,
        }
        self.random.choices(list(happens), list(happens.values()))[0]()

    def settle(self) -> None:
        """No more faults: what remains comes to its end, or it never would."""
        for _ in range(STEPS_MAX):
            if self.end is not None:
                return
            assert self._pending or self.busy() or self.family.busy(), "nothing is to happen, and it has not ended"
            self._work()
            self._deliver()
        raise AssertionError("it does not end")

    def _work(self) -> None:
        rows, children = self.busy(), self.family.busy()
        if not rows and not children:
            return
        place = self.random.randrange(len(rows) + len(children))
        if place < len(rows):
            self._work_on(rows[place])
        elif event := self.family.work(children[place - len(rows)], self.requested or self.state, self._failing):
            self._pending.append(event)

    def _work_on(self, code: TaskCode) -> None:
        row = self.rows[code][-1]
        if row.state is T.DELAY_EXECUTION:
            row.state = T.QUEUED
        elif row.state is T.QUEUED:
            row.state = T.RUNNING_EXECUTION
        else:
            is_program = self.plan.tasks[code].logic is None
            ends = [T.SUCCESS, T.SUCCESS, T.SKIPPED] if is_program and self._failing else [T.SUCCESS]
            if self.random.random() < self._failing:
                ends = [T.FAILURE]
                if is_program:
                    ends += [T.KILL] + [T.NEED_FAULT_TOLERANCE] * (4 if len(self.rows[code]) <= LOSSES_MAX else 0)
            state = T.KILL if row.kill_asked and self.random.random() < 0.8 else self.random.choice(ends)
            self.end_row(code, state, self._any_outputs(code) if state is T.SUCCESS else None)
            self._pending.append(AttemptEnd(code, len(self.rows[code]), state, row.outputs))

    def _deliver(self) -> None:
        if self._pending:
            self._transact(self._take())

    def _deliver_many(self) -> None:
        """One transaction."""
        self._transact(*(self._take() for _ in range(min(len(self._pending), self.random.randint(2, 5)))))

    def _take(self) -> Event:
        event = self._pending.pop(self.random.randrange(len(self._pending)))
        self._heard.append(event)
        return event

    def _repeat(self) -> None:
        heard = [event for event in self._heard if not isinstance(event, ChildState) or self.family.is_so(event)]
        if heard:
            assert self._tell(self.random.choice(heard)) == [], "an event told twice was heard twice"

    def _ask_pause(self) -> None:
        self._ask(CommandType.PAUSE)

    def _ask_stop(self) -> None:
        self._ask(CommandType.STOP)

    def _ask(self, type_: CommandType) -> None:
        after = COMMAND_MOVES[type_].get(self.requested or self.state)
        if after is not None:
            self.requested = after
            self._pending.append(HaltRequest(after))

    def _claim_failover(self) -> None:
        """The new owner reads rows; what was to be told is in them, so that it is forgotten."""
        if self.end is None:
            self._heard += self._pending
            self._pending.clear()
            self.state = self.requested or self.state
            self._restore()

    def _read_again(self) -> None:
        if self.end is None:
            self._restore()

    def _roll_back(self) -> None:
        """The transaction fails: what was to be written is not, and the runnable is made again from the rows."""
        if self._pending and self.end is None:
            self._tell(self.random.choice(self._pending))
            self._restore()

    def revive(self) -> None:
        """A command lets the instance leave its final state; now and then a person has called a failure a success."""
        if self.end is None or self.revivals == 4:
            return
        self.revivals += 1
        for rows in self.rows.values():
            if rows[-1].valid and rows[-1].state in FAILED and self.random.random() < 0.1:
                rows[-1].state = T.FORCED_SUCCESS
        type_ = self.random.choice([each for each in sorted(REVIVING) if self.state in COMMAND_MOVES[each]])
        some = self.random.sample([task.name for task in self.plan.tasks.values()], 1)
        depend_type = self.random.choice(list(TaskDependType))
        move = Move(CommandId(1), type_, self._instance.id, depend_type, tuple(some))
        latest = {attempt.code: attempt for attempt in self.latest()}
        going_on = revival(move, self.plan, latest.values(), self.scope)
        self._check_revival(move, going_on.again & latest.keys(), latest)
        for code in going_on.again & self.rows.keys():
            for row in self.rows[code]:
                row.valid = False
        if not going_on.keeps_executing:
            self.scope = self._first_scope if going_on.executing is None else going_on.executing
        self.state, self.requested, self.end, self.ending = W.RUNNING_EXECUTION, None, None, False
        self._pending.clear()
        self._heard.clear()
        self._restore(going_on.resumes)
        if type_ in (CommandType.RECOVER_SUSPENDED_PROCESS, CommandType.START_FAILURE_TASK_PROCESS):
            self._check_children_go_on(latest)

    def _check_revival(self, move: Move, again: frozenset[TaskCode], latest: Mapping[TaskCode, TaskAttempt]) -> None:
        """Check which tasks run again, by the table of command types."""
        graph, valid = self.plan.graph, {code: each.state for code, each in latest.items() if each.valid}
        expected = set(valid)
        match move.type:
            case CommandType.RECOVER_SUSPENDED_PROCESS:
                halted = (T.PAUSE, T.KILL, T.NEED_FAULT_TOLERANCE)
                expected = {
                    code for code, state in valid.items() if state in halted and (not self.scope or code in self.scope)
                }
            case CommandType.START_FAILURE_TASK_PROCESS:
                failed = [code for code, state in valid.items() if state in FAILED]
                expected &= {code for code in valid if any(code in graph.with_all_after([each]) for each in failed)}
            case CommandType.EXECUTE_TASK:
                expected &= graph.around(self.plan.find(move.start_tasks), move.depend_type)
        assert again & valid.keys() == expected

    def _check_children_go_on(self, latest: Mapping[TaskCode, TaskAttempt]) -> None:
        """The children of what was paused or has failed are not left behind for new ones."""
        for code, before in latest.items():
            is_resumed = before.valid and before.state in (T.PAUSE, *FAILED)
            if is_resumed and len(self.rows[code]) > before.attempt and self.reference().is_in_scope(code):
                assert not self.family.of(code, before.attempt), "a child is left behind"

    # ------------------------------------------------------------------------------------------ the owner

    def _new_life(self) -> None:
        self._instance = replace(self._instance, state=self.state, requested_state=self.requested, scope=self.scope)
        self._runnable = Runnable(self._instance, self.plan)
        self.given = Given(self.plan, BASE, STARTUP)
        self.lives.append((self._instance, []))

    def _restore(self, resumes: frozenset[TaskCode] = frozenset()) -> None:
        self._new_life()
        if self.state is not W.RUNNING_EXECUTION:
            self.ending = False  # what was to be killed was asked to end; the new owner knows a pause only
        told: list[Event] = [Restored(tuple(self.latest()), self.family.restored(), resumes)]
        if self.requested is not None:
            told.append(HaltRequest(self.requested))
        self._transact(*told)

    def _transact(self, *told: Event) -> None:
        """Do what `Writes` does in one transaction: effects in their order, then what is held or killed."""
        for event in told:
            self.write(self._tell(event))
        while self.halts is not None:
            state, self.halts = self.halts, None
            self.family.halt(W.PAUSE if state is W.READY_PAUSE else W.STOP)
            for event in self.halt_rows(state):
                self.write(self._tell(event))
        if not self._pending and self.end is None:
            self.check_nothing_is_left_out()

    def _tell(self, event: Event) -> list[Effect]:
        match event:
            case AttemptEnd(code, attempt, state, outputs) if state in SUCCEEDED and self._counts(code, attempt):
                self.given.heard(code, outputs)
            case ChildState():
                self.family.heard(event)
            case Restored(attempts, children):
                for each in attempts:
                    if each.valid and each.state in SUCCEEDED:
                        self.given.heard(each.code, each.outputs)
                self.family.new_life(children)
        effects = self._runnable.handle(event)
        self.lives[-1][1].append((event, effects))
        return effects

    def _counts(self, code: TaskCode, attempt: int) -> bool:
        return len(self.rows.get(code, ())) == attempt and self.rows[code][-1].valid

    def _any_outputs(self, code: TaskCode) -> str | None:
        if self.plan.tasks[code].logic is not None or self.random.random() < 0.5:
            return None
        names = self.random.sample(["g", "s", "k", "x", "y"], self.random.randint(1, 3))
        values = ["", "1", "2", f"{code}/{len(self.rows[code])}"]
        return json.dumps({name: self.random.choice(values) for name in names})


def _any_scope(plan: Plan, random: Random) -> frozenset[TaskCode] | None:
    if random.random() < 0.7:
        return None
    some = random.sample(sorted(plan.tasks), min(len(plan.tasks), random.randint(1, 3)))
    return plan.graph.around(some, random.choice(list(TaskDependType)))
