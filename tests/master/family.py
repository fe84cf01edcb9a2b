"""The children of one instance: their rows, the commands on their way to them, and what its owner has heard of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from master.drive.events import ResumeChild, StartChild
from model.definitions.plan import Plan
from model.ids import TaskCode
from model.logic.sub_process import SubProcessParams
from model.runs.instances import AttemptEnd, ChildState
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W
from tests.master.reference import Row, Rows

Place = tuple[TaskCode, int, int]
"""Task, attempt, index."""


@dataclass
class ChildRow:
    """`halt` is what was asked of it. One that goes on `by_hand` does so unknown to the instance above it."""

    state: W = W.RUNNING_EXECUTION
    outputs: str | None = None
    halt: W | None = None
    by_hand: bool = False


class Family:
    def __init__(self, plan: Plan, rows: Rows, random: Random) -> None:
        self._plan, self._rows, self._random = plan, rows, random
        self.rows: dict[Place, ChildRow] = {}
        self._asked: set[Place] = set()
        self._refused: dict[Place, bool] = {}
        self._known: dict[Place, ChildState | None] = {}

    def new_life(self, children: tuple[ChildState, ...]) -> None:
        """Another owner, which knows nothing but rows."""
        self._known = {}
        for child in children:
            place = (child.code, child.attempt, child.index)
            self._known[place] = ChildState(*place, child.state, child.outputs) if child.state.is_final else None

    def restored(self) -> tuple[ChildState, ...]:
        found = [ChildState(*place, row.state, row.outputs) for place, row in self.rows.items()]
        self._random.shuffle(found)
        return tuple(found)

    # ------------------------------------------------------------------------------------------ effects

    def start(self, effect: StartChild) -> None:
        place, row = (effect.code, effect.attempt, effect.index), self._row(effect.code, effect.attempt)
        assert effect.index < len(row.params)
        assert effect.params == row.params[effect.index]
        known = self._of(effect.code, effect.attempt)
        assert place not in known, "a child is started twice"
        assert not any(end and end.state not in (W.SUCCESS, W.PAUSE) for end in known.values()), "one has failed"
        unended = [place for place, end in known.items() if end is None or end.state is W.PAUSE]
        assert len(unended) < self._width(effect.code), "more run side by side than may"
        self._known[place] = None
        if place not in self.rows:
            self._asked.add(place)

    def resume(self, effect: ResumeChild) -> None:
        self._row(effect.code, effect.attempt)
        assert effect.before == effect.attempt - 1, "only the children of the attempt before go on"
        place = (effect.code, effect.attempt, effect.index)
        assert place not in self.rows, "two children would stand in one place"
        child = self.rows.pop((effect.code, effect.before, effect.index))
        self.rows[place] = child
        if child.state is not W.SUCCESS:
            child.state, child.halt, child.outputs, child.by_hand = W.RUNNING_EXECUTION, None, None, False
        self._known[place] = ChildState(*place, child.state, child.outputs) if child.state is W.SUCCESS else None

    def check_end(self, effect: AttemptEnd, halted: W | None) -> None:
        """A task that stands for others ends as they did, and not before; `halted` is as what it may rest."""
        row = self._row(effect.code, effect.attempt)
        known = self._of(effect.code, effect.attempt)
        for place in known:
            child = self.rows.get(place)
            assert child is None or child.state.is_final or child.by_hand, "it ended though a child runs"
        states = {end.state for end in known.values() if end}
        if self._is_over(effect.code, effect.attempt):
            expected = T.FAILURE if W.FAILURE in states else T.KILL if W.STOP in states else T.SUCCESS
        else:
            assert halted is not None, "it ended though it is not over"
            assert None not in known.values()
            expected = T.PAUSE if halted is W.READY_PAUSE else T.KILL
        assert effect.state is expected
        if expected is T.SUCCESS:
            outputs = [end.outputs for _, end in sorted(known.items()) if end]
            if isinstance(self._plan.tasks[effect.code].logic, SubProcessParams):
                assert effect.outputs == outputs[0]
            else:
                listed = json.loads(json.loads(effect.outputs or "")["dynamic.out"])
                assert listed == [json.loads(each or "{}") for each in outputs]
                assert len(listed) == len(row.params)

    def halt(self, state: W) -> None:
        for child in self.rows.values():
            if not child.state.is_final and child.halt is not W.STOP:
                child.halt = state

    # ------------------------------------------------------------------------------------------ what happens

    def heard(self, event: ChildState) -> None:
        """An end stays one, whatever is told later; a pause does not."""
        place = (event.code, event.attempt, event.index)
        before = self._known.get(place)
        if before is None or before.state is W.PAUSE:
            self._known[place] = event

    def of(self, code: TaskCode, attempt: int) -> list[ChildRow]:
        return [row for place, row in self.rows.items() if place[:2] == (code, attempt)]

    def is_so(self, event: ChildState) -> bool:
        """Whether a new owner still reads this: no row reports a child that never was, or a pause of a resumed
        child."""
        child = self.rows.get((event.code, event.attempt, event.index))
        return child is not None and not child.by_hand

    def busy(self) -> list[Place]:
        paused = [place for place, row in self.rows.items() if row.state is W.PAUSE and self._stands(place)]
        running = [place for place, row in self.rows.items() if not row.state.is_final]
        return [*sorted(self._asked), *running, *paused]

    def work(self, place: Place, above: W, failing: float) -> ChildState | None:
        """A command to it is handled, or it ends; what its owner is told."""
        if place in self._asked:
            self._asked.remove(place)
            return self._make(place, above)
        child, chance = self.rows[place], self._random.random()
        if child.state is W.PAUSE:  # somebody resumes it
            child.state, child.halt, child.by_hand = W.RUNNING_EXECUTION, None, True
            return None
        child.state = W.SUCCESS
        if chance < 0.1:
            child.state = W.PAUSE
        elif chance < 0.1 + failing:
            child.state = self._random.choice([W.FAILURE, W.STOP])
        elif child.halt and chance < 0.9:
            child.state = child.halt
        child.outputs = json.dumps({"x": f"{place}"}) if child.state is W.SUCCESS and chance < 0.7 else None
        return ChildState(*place, child.state, child.outputs)

    def _make(self, place: Place, above: W) -> ChildState | None:
        """Make a child as `master/claim/start_commands.py` does; one that is not made is reported all the same."""
        if place in self.rows:
            return None
        if above is W.READY_PAUSE:
            return ChildState(*place, W.PAUSE)
        if above is W.READY_STOP:
            return ChildState(*place, W.STOP)
        if above.is_final or not self._stands(place) or self._is_refused(place):
            return ChildState(*place, W.FAILURE)
        self.rows[place] = ChildRow()
        return None

    def _is_refused(self, place: Place) -> bool:
        """Whether it is refused: the same each time."""
        return self._refused.setdefault(place, self._random.random() < 0.05)

    # ------------------------------------------------------------------------------------------ what is so

    def check_nothing_is_left_out(self, code: TaskCode, attempt: int) -> None:
        """Check that as many run in parallel as may."""
        known = self._of(code, attempt)
        assert not self._is_over(code, attempt), "all its children have ended, and it has not"
        failed = any(end and end.state not in (W.SUCCESS, W.PAUSE) for end in known.values())
        unended = [place for place, end in known.items() if end is None or end.state is W.PAUSE]
        rows = self._row(code, attempt)
        assert failed or len(known) == len(rows.params) or len(unended) == self._width(code)

    def is_resting(self, code: TaskCode, attempt: int) -> bool:
        return None not in self._of(code, attempt).values()

    def _is_over(self, code: TaskCode, attempt: int) -> bool:
        known = self._of(code, attempt)
        ends = [end for end in known.values() if end and end.state is not W.PAUSE]
        failed = any(end.state is not W.SUCCESS for end in ends)
        return len(ends) == len(known) and (failed or len(ends) == len(self._row(code, attempt).params))

    def _of(self, code: TaskCode, attempt: int) -> dict[Place, ChildState | None]:
        return {place: end for place, end in self._known.items() if place[:2] == (code, attempt)}

    def _width(self, code: TaskCode) -> int:
        return getattr(self._plan.tasks[code].logic, "parallelism", 1)

    def _stands(self, place: Place) -> bool:
        code, attempt, _ = place
        rows = self._rows.get(code, [])
        return len(rows) == attempt and rows[-1].state is T.RUNNING_EXECUTION

    def _row(self, code: TaskCode, attempt: int) -> Row:
        rows = self._rows[code]
        assert len(rows) == attempt, "a child of an attempt that is not the latest"
        assert rows[-1].state is T.RUNNING_EXECUTION
        return rows[-1]
