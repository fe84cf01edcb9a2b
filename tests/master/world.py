"""Tables, workers, children, people and a master that dies, reduced to what a runnable can notice.

It keeps the rows, lets attempts and children end, pauses, stops and revives the instance, hands events over late, twice
and in any order, and throws the runnable away as a failover does. Every effect is checked as it is written, against
`reference.py`: the rules stand in `_begin`, `_again`, `_halt` and `_finish`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from master import events
from master.events import Adopted, ChildFinished, Effect, Event, Finish, HaltAsked, QueueTask, RecordTask, Started
from master.events import TaskFinished, Wait
from master.plan import Plan
from master.revival import revival
from master.runnable import WorkflowRunnable as Runnable
from model.choices import FailureStrategy, TaskDependType
from model.command_moves import COMMAND_MOVES, REVIVING, CommandType
from model.commands import Move
from model.errors import Refused
from model.ids import CommandId, TaskCode
from model.instances import TaskAttempt, WorkflowInstance
from model.logic import conditions, switch
from model.logic.conditions import ConditionsParams
from model.logic.dependent import DependentParams
from model.logic.dynamic import DynamicParams, tuples
from model.logic.sub_process import SubProcessParams
from model.logic.switch import SwitchParams
from model.parameters import replace_references
from model.states import WORKFLOW_TRANSITIONS, WaitReason
from model.states import TaskState as T
from model.states import WorkflowState as W
from tests.master.family import Family
from tests.master.plans import an_instance
from tests.master.reference import FAILED, SUCCEEDED, Given, Reference, Row
from tests.master.reference import Standing as S

LOSSES_MAX = 3
STEPS_MAX = 50_000
BASE = {"g": "global", "s": "startup", "k": "1"}
STARTUP = frozenset({"s"})


class World:
    """One workflow instance from its start to its end, and on if somebody revives it."""

    def __init__(
        self, plan: Plan, strategy: FailureStrategy, random: Random, failing: float, *, disturbed: bool = True
    ) -> None:
        self.plan, self._strategy, self._random, self._failing = plan, strategy, random, failing
        self.rows: dict[TaskCode, list[Row]] = {}
        self.family = Family(plan, self.rows, random)
        self.state, self.requested, self.scope = W.RUNNING_EXECUTION, None, self._any_scope() if disturbed else None
        self._first_scope = self.scope
        self.end: Finish | None = None
        self.ending = False
        self.revivals = 0
        self.lives: list[tuple[WorkflowInstance, list[tuple[Event, list[Effect]]]]] = []
        self._instance = replace(
            an_instance(plan, strategy, json.dumps(BASE)), startup_names=json.dumps(sorted(STARTUP))
        )
        self._clock = 0
        self._unrest = random.choice([0.3, 1, 4])
        self._pending: list[Event] = []
        self._heard: list[Event] = []
        self._halts: W | None = None
        self._new_life()
        self._transact(Started())

    # ------------------------------------------------------------------------------------------ what happens

    def step(self) -> None:
        happens = {
            self._work: 16,
            self._deliver: 14,
            self._deliver_many: 2,
            self._repeat: 3,
            self._take_over: 0.7 * self._unrest,
            self._read_again: 0.7 * self._unrest,
            self._roll_back: 0.7 * self._unrest,
            self._ask_pause: 0.3 * self._unrest,
            self._ask_stop: 0.2 * self._unrest,
            self.revive: 1,
        }
        self._random.choices(list(happens), list(happens.values()))[0]()

    def settle(self) -> None:
        """No more faults: what remains comes to its end, or it never would."""
        for _ in range(STEPS_MAX):
            if self.end is not None:
                return
            assert self._pending or self._busy() or self.family.busy(), "nothing is to happen, and it has not ended"
            self._work()
            self._deliver()
        raise AssertionError("it does not end")

    def _work(self) -> None:
        rows, children = self._busy(), self.family.busy()
        if not rows and not children:
            return
        place = self._random.randrange(len(rows) + len(children))
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
            ends = [T.SUCCESS]
            if self._random.random() < self._failing:
                ends = [T.FAILURE]
                if self.plan.tasks[code].logic is None:
                    ends += [T.KILL] + [T.NEED_FAULT_TOLERANCE] * (4 if len(self.rows[code]) <= LOSSES_MAX else 0)
            state = T.KILL if row.kill_asked and self._random.random() < 0.8 else self._random.choice(ends)
            self._end_row(code, state, self._any_outputs(code) if state is T.SUCCESS else None)
            self._pending.append(TaskFinished(code, len(self.rows[code]), state, row.outputs))

    def _deliver(self) -> None:
        if self._pending:
            self._transact(self._take())

    def _deliver_many(self) -> None:
        """One transaction."""
        self._transact(*(self._take() for _ in range(min(len(self._pending), self._random.randint(2, 5)))))

    def _take(self) -> Event:
        event = self._pending.pop(self._random.randrange(len(self._pending)))
        self._heard.append(event)
        return event

    def _repeat(self) -> None:
        heard = [event for event in self._heard if not isinstance(event, ChildFinished) or self.family.is_so(event)]
        if heard:
            assert self._tell(self._random.choice(heard)) == [], "an event told twice was heard twice"

    def _ask_pause(self) -> None:
        self._ask(CommandType.PAUSE)

    def _ask_stop(self) -> None:
        self._ask(CommandType.STOP)

    def _ask(self, type_: CommandType) -> None:
        after = COMMAND_MOVES[type_].get(self.requested or self.state)
        if after is not None:
            self.requested = after
            self._pending.append(HaltAsked(after))

    def _take_over(self) -> None:
        """The new owner reads rows; what was to be told is in them, so that it is forgotten."""
        if self.end is None:
            self._heard += self._pending
            self._pending.clear()
            self.state = self.requested or self.state
            self._adopt()

    def _read_again(self) -> None:
        if self.end is None:
            self._adopt()

    def _roll_back(self) -> None:
        """The transaction fails: what was to be written is not, and the runnable is made again from the rows."""
        if self._pending and self.end is None:
            self._tell(self._random.choice(self._pending))
            self._adopt()

    def revive(self) -> None:
        """A command lets the instance leave its final state; now and then a person has called a failure a success."""
        if self.end is None or self.revivals == 4:
            return
        self.revivals += 1
        for rows in self.rows.values():
            if rows[-1].valid and rows[-1].state in FAILED and self._random.random() < 0.1:
                rows[-1].state = T.FORCED_SUCCESS
        type_ = self._random.choice([each for each in sorted(REVIVING) if self.state in COMMAND_MOVES[each]])
        some = self._random.sample([task.name for task in self.plan.tasks.values()], 1)
        depend_type = self._random.choice(list(TaskDependType))
        move = Move(CommandId(1), type_, self._instance.id, depend_type, tuple(some))
        latest = {attempt.code: attempt for attempt in self._latest()}
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
        self._adopt(going_on.resumes)
        if type_ in (CommandType.RECOVER_SUSPENDED_PROCESS, CommandType.START_FAILURE_TASK_PROCESS):
            self._check_children_go_on(latest)

    def _check_revival(
        self, move: Move, again: frozenset[TaskCode], latest: Mapping[TaskCode, TaskAttempt]
    ) -> None:
        """What runs again, by the table of command types."""
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
            if is_resumed and len(self.rows[code]) > before.attempt and self._reference().is_in_scope(code):
                assert not self.family.of(code, before.attempt), "a child is left behind"

    # ------------------------------------------------------------------------------------------ the owner

    def _new_life(self) -> None:
        self._instance = replace(
            self._instance, state=self.state, requested_state=self.requested, scope=self.scope
        )
        self._runnable = Runnable(self._instance, self.plan)
        self._given = Given(self.plan, BASE, STARTUP)
        self.lives.append((self._instance, []))

    def _adopt(self, resumes: frozenset[TaskCode] = frozenset()) -> None:
        self._new_life()
        if self.state is not W.RUNNING_EXECUTION:
            self.ending = False  # what was to be killed was asked to end; the new owner knows a pause only
        told: list[Event] = [Adopted(tuple(self._latest()), self.family.adopted(), resumes)]
        if self.requested is not None:
            told.append(HaltAsked(self.requested))
        self._transact(*told)

    def _latest(self) -> list[TaskAttempt]:
        """As `dao.task_instances` gives them: in the order in which they ended, what runs last."""
        attempts = [
            TaskAttempt(code, len(rows), row.state, row.retries, row.valid, row.outputs, row.branch, row.values)
            for code, rows in sorted(self.rows.items(), key=lambda item: (item[1][-1].ended or self._clock + 1, item[0]))
            for row in rows[-1:]
        ]
        return attempts

    def _transact(self, *told: Event) -> None:
        """What `Writes` does in one transaction: effects in their order, then what is held or killed."""
        for event in told:
            self._write(self._tell(event))
        while self._halts is not None:
            state, self._halts = self._halts, None
            self.family.halt(W.PAUSE if state is W.READY_PAUSE else W.STOP)
            for event in self._halt_rows(state):
                self._write(self._tell(event))
        if not self._pending and self.end is None:
            self._check_nothing_is_left_out()

    def _tell(self, event: Event) -> list[Effect]:
        match event:
            case TaskFinished(code, attempt, state, outputs) if state in SUCCEEDED and self._counts(code, attempt):
                self._given.heard(code, outputs)
            case ChildFinished():
                self.family.heard(event)
            case Adopted(attempts, children):
                for each in attempts:
                    if each.valid and each.state in SUCCEEDED:
                        self._given.heard(each.code, each.outputs)
                self.family.new_life(children)
        effects = self._runnable.handle(event)
        self.lives[-1][1].append((event, effects))
        return effects

    def _counts(self, code: TaskCode, attempt: int) -> bool:
        return len(self.rows.get(code, ())) == attempt and self.rows[code][-1].valid

    # ------------------------------------------------------------------------------------------ effects

    def _write(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            assert self.end is None, "something comes after the end"
            match effect:
                case events.Enter(state):
                    assert state in WORKFLOW_TRANSITIONS[self.state]
                    assert self.requested in (state, W.READY_STOP), "halted though nobody asked"
                    self.state = state
                case QueueTask() | RecordTask():
                    self._new_attempt(effect)
                case events.EndTask(code, attempt, state, _, outputs):
                    self.family.check_end(effect, self._halted())
                    if state is T.SUCCESS:
                        self._given.heard(code, outputs)
                    self._end_row(code, state, outputs)
                case events.StartChild():
                    assert not self._halted(), "a child is started though nothing new may"
                    self.family.start(effect)
                case events.ResumeChild():
                    assert not self._halted()
                    self.family.resume(effect)
                case events.HoldTasks():
                    assert self.state is W.READY_PAUSE and not self.ending
                    self._halts = W.READY_PAUSE
                case events.KillTasks():
                    self._kill()
                case Finish():
                    self._finish(effect)

    def _halted(self) -> W | None:
        """As what the instance rests, if nothing new may start."""
        if self.ending:
            return W.READY_STOP
        return None if self.state is W.RUNNING_EXECUTION else self.state

    def _reference(self) -> Reference:
        stopping = self.ending or self.state is W.READY_STOP
        return Reference(self.plan, self.scope, self.rows, stopping=stopping)

    def _new_attempt(self, effect: QueueTask | RecordTask) -> None:
        rows, reference = self.rows.setdefault(effect.code, []), self._reference()
        last, row = reference.latest(effect.code), Row(T.QUEUED, effect.retries)
        assert effect.attempt == len(rows) + 1, "attempts count from 1 without gaps, each once"
        if last is not None and last.state is not T.PAUSE:
            self._again(effect, last, reference)
        else:
            self._begin(effect, row, reference)
        if isinstance(effect, QueueTask):
            row.state = T.DELAY_EXECUTION if effect.wait else T.QUEUED
            assert self.plan.tasks[effect.code].logic is None
            assert json.loads(effect.values) == self._given.values(effect.code)
        else:
            row.state, row.outputs, row.branch = effect.state, effect.outputs, effect.branch
            row.values = effect.values
        if row.state.is_final:
            self._clock += 1
            row.ended = self._clock
        rows.append(row)

    def _again(self, effect: QueueTask | RecordTask, last: Row, reference: Reference) -> None:
        """A loss or a failure is made good; while it is paused, later."""
        assert last.state.is_final and reference.runs_again(effect.code, last), "a task runs twice without cause"
        failed = last.state is T.FAILURE
        assert effect.retries == last.retries + failed
        if isinstance(effect, QueueTask):
            assert not self._halted(), "queued though nothing new may start"
            interval = self.plan.tasks[effect.code].retry_interval if failed else 0
            assert effect.wait == (Wait(WaitReason.RETRY, interval) if interval else None)
        else:
            assert self.state is W.READY_PAUSE and effect.state is T.PAUSE

    def _begin(self, effect: QueueTask | RecordTask, row: Row, reference: Reference) -> None:
        code, task = effect.code, self.plan.tasks[effect.code]
        assert not self._halted(), "begun though nothing new may start"
        assert reference.is_in_scope(code), "begun though it was left out"
        assert reference.may_begin(code) is S.BEGINS, "begun before its predecessors, or though it is passed over"
        if isinstance(effect, QueueTask):
            assert effect.wait == (Wait(WaitReason.DELAY, task.delay_time) if task.delay_time else None)
            before = self.rows[code][-1] if self.rows[code] else None
            keeps = before is not None and (before.valid or before.state in (T.PAUSE, T.KILL))
            assert effect.retries == (before.retries if before and keeps else 0)
            return
        values = self._given.values(code)
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

    def _check_branch(self, effect: RecordTask, names: Sequence[str]) -> None:
        assert effect.state is T.SUCCESS
        assert effect.branch == {self.plan.codes[name] for name in names}

    def _kill(self) -> None:
        if self.state is W.RUNNING_EXECUTION:
            assert self._strategy is FailureStrategy.END
            assert self._reference().must_end()
            self.ending = True
        assert self.ending or self.state is W.READY_STOP, "killed though it was only paused"
        self._halts = W.READY_STOP

    def _halt_rows(self, state: W) -> list[Event]:
        """What waits ends in this transaction, and is told at once; what runs is asked to end, if it is to."""
        told: list[Event] = []
        for code, row in self._live():
            if row.state in (T.DELAY_EXECUTION, T.QUEUED) or isinstance(self.plan.tasks[code].logic, DependentParams):
                self._end_row(code, T.PAUSE if state is W.READY_PAUSE else T.KILL)
                told.append(TaskFinished(code, len(self.rows[code]), row.state))
            elif state is W.READY_STOP:
                row.kill_asked = True
        self._random.shuffle(told)
        return told

    def _finish(self, effect: Finish) -> None:
        assert not self._live(), "it ended with tasks that run"
        reference = self._reference()
        assert S.AGAIN not in reference.standing.values()
        if self.ending and self.state is W.RUNNING_EXECUTION:
            assert effect.state is W.FAILURE
        else:
            assert effect.state is reference.verdict(self.state)
        assert effect.state in WORKFLOW_TRANSITIONS[self.state]
        assert (effect.state is W.SUCCESS) == (effect.reason == "")
        values = self._given.at_the_end()
        given = {name: values[name] for name in self.plan.spec.outputs if name in values}
        assert effect.outputs == (json.dumps(given) if given and effect.state is W.SUCCESS else None)
        self.end, self.state, self.requested, self.ending = effect, effect.state, None, False

    # ------------------------------------------------------------------------------------------ what is so

    def _check_nothing_is_left_out(self) -> None:
        """The owner has heard all: what may begin has begun, and what is to be held or killed is."""
        reference, halted = self._reference(), self._halted()
        standings = set(reference.standing.values())
        assert S.AGAIN not in standings, "a loss or a failure is not made good"
        if not halted:
            assert not reference.left(), "an independent branch is left out"
            assert self._strategy is FailureStrategy.CONTINUE or not reference.must_end()
        for code, row in self._live():
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

    def _live(self) -> list[tuple[TaskCode, Row]]:
        return [(code, rows[-1]) for code, rows in self.rows.items() if not rows[-1].state.is_final]

    def _busy(self) -> list[TaskCode]:
        """What goes on by itself, or by a worker."""
        return [
            code
            for code, _ in self._live()
            if not isinstance(self.plan.tasks[code].logic, SubProcessParams | DynamicParams)
        ]

    def _end_row(self, code: TaskCode, state: T, outputs: str | None = None) -> None:
        row = self.rows[code][-1]
        assert not row.state.is_final
        self._clock += 1
        row.state, row.outputs, row.ended = state, outputs, self._clock

    def _any_outputs(self, code: TaskCode) -> str | None:
        if self.plan.tasks[code].logic is not None or self._random.random() < 0.5:
            return None
        names = self._random.sample(["g", "s", "k", "x", "y"], self._random.randint(1, 3))
        values = ["", "1", "2", f"{code}/{len(self.rows[code])}"]
        return json.dumps({name: self._random.choice(values) for name in names})

    def _any_scope(self) -> frozenset[TaskCode] | None:
        if self._random.random() < 0.7:
            return None
        some = self._random.sample(sorted(self.plan.tasks), min(len(self.plan.tasks), self._random.randint(1, 3)))
        return self.plan.graph.around(some, self._random.choice(list(TaskDependType)))
