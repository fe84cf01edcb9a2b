"""The rules of a run, computed slowly from its rows: what each task may do and sees, and its end.

It uses nothing of the runnable's own bookkeeping.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto

from model.choices import Direct, OnWorkerLoss, StartWhen
from model.definitions.plan import Plan
from model.definitions.workflow import TaskSpec
from model.ids import TaskCode
from model.logic.conditions import ConditionsParams
from model.runs.states import TaskState as T
from model.runs.states import WorkflowState as W

SUCCEEDED = (T.SUCCESS, T.FORCED_SUCCESS)
FAILED = (T.FAILURE, T.KILL, T.NEED_FAULT_TOLERANCE)


@dataclass
class Row:
    """An attempt. `ended` says when: a number that grows. `children` is how many it will have at most."""

    state: T
    retries: int = 0
    valid: bool = True
    outputs: str | None = None
    branch: frozenset[TaskCode] | None = None
    ended: int | None = None
    kill_asked: bool = False
    values: str = "{}"
    params: tuple[Mapping[str, str], ...] = ()


Rows = Mapping[TaskCode, list[Row]]


class Standing(Enum):
    OUT = auto()  # of scope
    WAITS = auto()
    BEGINS = auto()
    RUNS = auto()
    DONE = auto()
    PASSED = auto()  # forbidden
    SKIPPED = auto()
    FAILED = auto()  # for good
    NEVER = auto()  # begins, since tasks before it failed
    AGAIN = auto()  # failed or lost, and another attempt follows
    PAUSED = auto()


S = Standing


class Reference:
    """The rules of a plan, limited to `scope`; `stopping`: nothing runs again."""

    def __init__(self, plan: Plan, scope: frozenset[TaskCode] | None, rows: Rows, *, stopping: bool = False) -> None:
        self.plan, self.scope, self.rows = plan, scope, rows
        self._stopping = stopping
        self.standing: dict[TaskCode, Standing] = {}
        for code in sorted(plan.tasks, key=lambda code: plan.graph.depth[code]):
            self.standing[code] = self._of(code)

    def latest(self, code: TaskCode) -> Row | None:
        """The attempt that counts."""
        rows = self.rows.get(code)
        return rows[-1] if rows and rows[-1].valid else None

    def runs_again(self, code: TaskCode, row: Row) -> bool:
        task = self.plan.tasks[code]
        if self._stopping:
            return False
        if row.state is T.NEED_FAULT_TOLERANCE:
            return task.on_worker_loss is OnWorkerLoss.RETRY
        return row.state is T.FAILURE and row.retries < task.retry_times

    def may_begin(self, code: TaskCode) -> Standing:
        """Whether a task may begin, by its predecessors alone."""
        edges = [self._edge(before, code) for before in self.plan.graph.predecessors[code]]
        rule = self.plan.rules.get(code, StartWhen.ALL_SUCCESS)
        standing = _by_rule(rule, [edge for edge in edges if edge is not S.OUT])
        return S.PASSED if standing is S.BEGINS and self.plan.tasks[code].is_forbidden else standing

    def evaluates(self, code: TaskCode) -> bool:
        """Whether it begins however the tasks before it end."""
        task = self.plan.tasks[code]
        return isinstance(task.logic, ConditionsParams) and not task.is_forbidden

    def handlers(self, code: TaskCode) -> list[TaskCode]:
        """The tasks directly after a task that ask how it ended."""
        name = self.plan.tasks[code].name
        return [
            after
            for after in self.plan.graph.successors[code]
            if self.evaluates(after)
            and isinstance(logic := self.plan.tasks[after].logic, ConditionsParams)
            and name in logic.named()
        ]

    def _of(self, code: TaskCode) -> Standing:
        row = self.latest(code)
        if not self.is_in_scope(code):
            return S.OUT
        if row is None:
            return self.may_begin(code)
        if not row.state.is_final:
            return S.RUNS
        if row.state in SUCCEEDED:
            return S.DONE
        if row.state is T.SKIPPED:
            return S.SKIPPED
        if row.state is T.PAUSE:
            return S.PAUSED if (standing := self.may_begin(code)) is S.BEGINS else standing
        return S.AGAIN if self.runs_again(code, row) else S.FAILED

    def _edge(self, before: TaskCode, after: TaskCode) -> Standing:
        """The state of an edge: DONE, SKIPPED, FAILED, WAITS, or OUT if the task before does not count."""
        match self.standing[before]:
            case S.OUT if after in self.plan.rules:
                return S.OUT
            case S.OUT | S.PASSED:
                return S.DONE
            case S.DONE:
                row = self.latest(before)
                assert row is not None
                is_live = row.branch is None or after in row.branch or after not in self.plan.tasks[before].branches
                return S.DONE if is_live else S.SKIPPED
            case S.SKIPPED:
                return S.SKIPPED
            case S.FAILED | S.NEVER:
                return S.DONE if self.evaluates(after) else S.FAILED
        return S.WAITS

    def is_in_scope(self, code: TaskCode) -> bool:
        return self.scope is None or code in self.scope

    def has_succeeded(self, code: TaskCode) -> bool:
        """Whether it succeeded for CONDITIONS; a task left out counts by its row if it has one, else as a success."""
        row = self.latest(code)
        if self.standing[code] is S.OUT:
            return row is None or row.state not in FAILED
        return self.standing[code] in (S.DONE, S.PASSED)

    def left(self) -> list[TaskCode]:
        """The tasks that would begin if nothing were halted."""
        return [
            code
            for code, standing in self.standing.items()
            if standing in (S.BEGINS, S.PAUSED) and self.may_begin(code) is S.BEGINS
        ]

    # ------------------------------------------------------------------------------------------ the end

    def verdict(self, state: W) -> W:
        """The end of a run in that state with nothing in flight."""
        failed = [
            code
            for code in self.plan.tasks
            if self.standing[code] is S.FAILED
            or (self.standing[code] is S.OUT and (row := self.latest(code)) and row.state in FAILED)
        ]
        if state is W.READY_STOP and any(self.rows[code][-1].state is not T.FAILURE for code in failed):
            return W.STOP
        if not all(self._is_handled(code, state) for code in failed):
            return W.FAILURE
        if not self.left():
            return W.SUCCESS
        assert state is not W.RUNNING_EXECUTION, "it ends though something is left to do"
        return W.PAUSE if state is W.READY_PAUSE else W.STOP

    def _is_handled(self, code: TaskCode, state: W) -> bool:
        for handler in self.handlers(code):
            row = self.latest(handler)
            if (
                row is not None
                and row.state is T.SUCCESS
                and (self.standing[handler] is not S.OUT or self._is_out(code))
            ):
                return True
            is_open = self.standing[handler] not in (S.OUT, S.FAILED)
            if is_open and state is not W.RUNNING_EXECUTION:
                return True
        return False

    def _is_out(self, code: TaskCode) -> bool:
        return self.standing[code] is S.OUT

    def must_end(self) -> bool:
        """Whether END ends it: something in scope failed for good, and nothing in scope asks for that."""
        return any(
            standing is S.FAILED and not any(self.is_in_scope(handler) for handler in self.handlers(code))
            for code, standing in self.standing.items()
        )


def _by_rule(rule: StartWhen, edges: list[Standing]) -> Standing:
    """Apply a start rule to the tasks before one."""
    ends, still = set(edges) - {S.WAITS}, S.WAITS in edges
    if not edges or rule is StartWhen.ALWAYS:
        return S.BEGINS
    wanted = {StartWhen.ONE_SUCCESS: S.DONE, StartWhen.ONE_FAILED: S.FAILED}.get(rule)
    if wanted in ends:
        return S.BEGINS
    if rule in (StartWhen.ALL_SUCCESS, StartWhen.NONE_FAILED) and S.FAILED in ends:
        return S.NEVER
    if rule is StartWhen.ALL_FAILED and ends - {S.FAILED}:
        return S.SKIPPED
    if still:
        return S.WAITS
    if rule is StartWhen.ONE_SUCCESS and S.FAILED in ends:
        return S.NEVER
    is_skipped = wanted is not None or (rule is StartWhen.ALL_SUCCESS and ends == {S.SKIPPED})
    return S.SKIPPED if is_skipped else S.BEGINS


class Given:
    """The outputs of tasks in the order in which the owner learned of them."""

    def __init__(self, plan: Plan, base: Mapping[str, str], startup: frozenset[str]) -> None:
        self._plan, self._base, self._startup = plan, base, startup
        self._given: dict[TaskCode, Mapping[str, str]] = {}

    def heard(self, code: TaskCode, outputs: str | None) -> None:
        given: dict[str, str] = json.loads(outputs) if outputs else {}
        spec = next(task for task in self._plan.spec.tasks if task.code == code)
        outs = {param.name: param.value for param in spec.local_params if param.direct is Direct.OUT}
        if outs:
            given = {name: given.get(name, default) for name, default in outs.items() if name in given or default}
        if given:
            self._given[code] = given

    def values(self, code: TaskCode) -> dict[str, str]:
        """Startup, then local, then context, then what the instance began with."""
        spec = next(task for task in self._plan.spec.tasks if task.code == code)
        own = {param.name: param.value for param in spec.local_params if param.direct is Direct.IN and param.value}
        values = {**self._base, **self._context(self._plan.graph.predecessors[code]), **own}
        return {**self._named(spec), **values, **{name: self._base[name] for name in self._startup}}

    def _named(self, spec: TaskSpec) -> dict[str, str]:
        """The values that its text names: from the tasks before it, or the defaults of missing ones."""
        before = self._plan.graph.with_all_before([TaskCode(spec.code or 0)]) - {spec.code}
        values = {}
        for other in (each for each in self._plan.spec.tasks if each.code in before):
            if f"${{{other.name}.x}}" in str(spec.params.get("write")):
                (default,) = (param.value for param in other.local_params if param.name == "x")
                given = self._given.get(TaskCode(other.code or 0), {})
                values[f"{other.name}.x"] = given.get("x", default)
        return values

    def at_the_end(self) -> dict[str, str]:
        leaves = [code for code, after in self._plan.graph.successors.items() if not after]
        return {**self._base, **self._context(leaves)}

    def _context(self, befores: Iterable[TaskCode]) -> dict[str, str]:
        """The value of the nearest giver; of unrelated ones, the non-empty value, then the first received."""
        context = {}
        lineage = self._plan.graph.with_all_before(befores)
        for name in {name for given in self._given.values() for name in given}:
            givers = [code for code, given in self._given.items() if name in given and code in lineage]
            overridden = {before for code in givers for before in self._plan.graph.with_all_before([code]) - {code}}
            nearest = [code for code in givers if code not in overridden]
            if nearest:
                context[name] = min((self._given[code][name] for code in nearest), key=lambda value: not value)
        return context
