"""DEPENDENT: wait for other workflows, all tasks of them, or one task, in the spans of a date cycle or at one time.

Two levels of AND and OR over three values. An item waits for each span of its cycle, or for the one time that it asks
for; the latest instance of the span decides. The task waits only while something may still change the answer: an OR
with one SUCCESS is SUCCESS, an AND with one FAILURE is FAILURE.

It waits for a running instance without a limit (the task's own timeout limits that). A failed or absent instance is
FAILURE at once, or after `wait_minutes`, as `on_failure` and `on_absence` define: a failed one may be repeated, an
absent one may start. By default, as in DolphinScheduler, a failed one is FAILURE and an absent one is waited for,
without limit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, model_validator

from model.fields import Minutes, Name
from model.logic.date_cycles import DateCycle, Interval, intervals
from model.logic.date_offsets import LAST, read_offset, span_of
from model.logic.fields import LogicParams, Part, Relation, Workflow
from model.time.durations import said_duration

GROUPS_MAX = 50
ITEMS_MAX = 100
ALL_TASKS = ("*", "ALL")


class Rule(StrEnum):
    """How a failed or an absent instance is handled."""

    FAIL = "FAIL"
    """FAILURE at once."""
    WAIT = "WAIT"
    """FAILURE only when `wait_minutes` have passed; 0 = never."""


class State(StrEnum):
    """The state of the latest instance of a span, or of its task. Stopped, killed or permanently paused is failed."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"


class DependentItem(Part):
    """A dependency: the whole workflow without `task`, each of its tasks with `*` or ALL, else the named task.

    `workflow` is a name or a code; `project` defaults to its own. Either `cycle` or `at` selects the dates. With
    `pass_outputs` the outputs of what it found become those of the DEPENDENT task.
    """

    workflow: Workflow
    project: Name | None = None
    task: Name | None = None
    cycle: DateCycle | None = None
    at: Annotated[str, AfterValidator(read_offset)] | None = None
    pass_outputs: bool = False

    @model_validator(mode="after")
    def _one_date(self) -> Self:
        if (self.cycle is None) == (self.at is None):
            raise ValueError('needs either a "cycle" such as today, or "at" such as -23h')
        if self.pass_outputs and self.all_tasks:
            raise ValueError('cannot pass the outputs of all tasks; name one task, or leave "task" out')
        return self

    @property
    def all_tasks(self) -> bool:
        """Whether the item depends on every task of the workflow."""
        return self.task in ALL_TASKS

    def __str__(self) -> str:
        whose = f' of project "{self.project}"' if self.project else ""
        workflow = f'"{self.workflow}"' if isinstance(self.workflow, str) else f"with code {self.workflow}"
        task = "all tasks of " if self.all_tasks else f'task "{self.task}" of ' if self.task else ""
        if self.at == LAST:
            return f"{task}the last run of workflow {workflow}{whose}"
        return f"{task}workflow {workflow}{whose} ({self.cycle or self.at})"

    def spans(self, schedule_time: datetime, zone: ZoneInfo) -> list[Interval]:
        """The spans in which to search, for a run with this schedule time. Raises `Refused`."""
        if self.cycle is not None:
            return intervals(self.cycle, schedule_time, zone)
        return [span_of(self.at or "", schedule_time, zone)]


class DependentGroup(Part):
    """SUCCESS if all of its items are, or with OR any of them."""

    relation: Relation = Relation.AND
    items: tuple[DependentItem, ...] = Field(min_length=1, max_length=ITEMS_MAX)


class DependentParams(LogicParams):
    """Groups of items; rules for failure and absence. `wait_minutes` count from the task's start; 0 = no limit."""

    relation: Relation = Relation.AND
    groups: tuple[DependentGroup, ...] = Field(min_length=1, max_length=GROUPS_MAX)
    on_failure: Rule = Rule.FAIL
    on_absence: Rule = Rule.WAIT
    wait_minutes: Minutes = 0

    def items(self) -> tuple[DependentItem, ...]:
        """All dependencies, each once."""
        return tuple(dict.fromkeys(item for group in self.groups for item in group.items))


class Outcome(StrEnum):
    """What a DEPENDENT task is to do."""

    WAIT = "WAIT"
    SUCCESS = "SUCCESS"
    FAILURE = "FAILURE"


@dataclass(frozen=True)
class Verdict:
    """An outcome, its reason as a sentence, and the minutes until time alone changes it (None: only an event can).

    `outputs` is the JSON object that a success passes on.
    """

    outcome: Outcome
    sentence: str
    again_in_minutes: float | None = None
    outputs: str | None = None


Facts = Mapping[DependentItem, Sequence[State | None]]
"""Item -> for each of its spans the state of the latest instance there, or None without one."""


@dataclass(frozen=True)
class Asked:
    """The time that an item with `at` asks for, and the run found, else the one before it; in words."""

    time: str
    found: str


def evaluate(
    params: DependentParams,
    facts: Facts,
    waited_minutes: float,
    elsewhere: Collection[DependentItem] = (),
    asked: Mapping[DependentItem, Asked] = MappingProxyType({}),
) -> Verdict:
    """Decide whether to continue waiting.

    Args:
        params: validated when they were saved.
        facts: an entry for each of `params.items()`.
        waited_minutes: since the task's start, measured by the database's clock.
        elsewhere: items of other projects. A reader of the sentence may have no role there: of these it tells only that
            they are not met.
        asked: for the reasons of items with `at`.
    Raises:
        KeyError: an item has no entry, a bug in the caller.
    Source: docs/reference/tasks/dependent.md.
    """
    over = 0 < params.wait_minutes <= waited_minutes
    standing = {item: _standing(params, item, facts[item], over, asked.get(item)) for item in params.items()}
    for item in elsewhere:
        standing[item] = replace(standing[item], sentence=unmet(item))
    outcome = _join(
        params.relation,
        [_join(group.relation, [standing[item].outcome for item in group.items]) for group in params.groups],
    )
    if outcome is Outcome.SUCCESS:
        return Verdict(outcome, "what it depends on has succeeded")
    reasons = [each for each in standing.values() if each.outcome is outcome]
    sentence = reasons[0].sentence + (f", and {len(reasons) - 1} more" if len(reasons) > 1 else "")
    if outcome is Outcome.FAILURE:
        return Verdict(outcome, f"{sentence}; repeat what is missing, then this task")
    limited = params.wait_minutes > 0 and any(each.again_in_minutes for each in reasons)
    return Verdict(outcome, sentence, params.wait_minutes - waited_minutes if limited else None)


def unmet(item: DependentItem) -> str:
    """The reason to show for an item of another project."""
    return f"{item} is not met"


def _standing(
    params: DependentParams, item: DependentItem, states: Sequence[State | None], over: bool, asked: Asked | None
) -> Verdict:
    """The verdict on one item: each span must succeed. `again_in_minutes` is not 0 if `wait_minutes` limit the wait."""
    each = [_of_span(params, item, state, over, asked) for state in states]
    outcome = _join(Relation.AND, [span.outcome for span in each])
    first = next((span for span in each if span.outcome is outcome), Verdict(outcome, ""))
    limited = any(span.again_in_minutes for span in each if span.outcome is outcome)
    return Verdict(outcome, first.sentence, params.wait_minutes if limited else None)


def _of_span(
    params: DependentParams, item: DependentItem, state: State | None, over: bool, asked: Asked | None
) -> Verdict:
    named, found = (f"{item}", "") if asked is None else (f"{item} for {asked.time}", f" ({asked.found})")
    if state is State.SUCCESS:
        return Verdict(Outcome.SUCCESS, f"{named} has succeeded")
    if state is State.RUNNING:
        return Verdict(Outcome.WAIT, f"{named} is running{found}")
    rule, said = (params.on_absence, "is not there") if state is None else (params.on_failure, "has failed")
    if rule is Rule.FAIL:
        return Verdict(Outcome.FAILURE, f"{named} {said}{found}")
    if over:
        return Verdict(
            Outcome.FAILURE, f"{named} {said}, after {said_duration(params.wait_minutes * 60)} of waiting{found}"
        )
    yet = " yet" if state is None else ""
    return Verdict(Outcome.WAIT, f"{named} {said}{yet}{found}", params.wait_minutes)


def _join(relation: Relation, outcomes: Iterable[Outcome]) -> Outcome:
    deciding, otherwise = Outcome.FAILURE, Outcome.SUCCESS
    if relation is Relation.OR:
        deciding, otherwise = otherwise, deciding
    found = set(outcomes)
    return next((each for each in (deciding, Outcome.WAIT) if each in found), otherwise)
