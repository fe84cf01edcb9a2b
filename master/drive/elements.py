"""The elements of an `each` task in progress: which begins next, and how the task ends. Pure."""

from __future__ import annotations

from collections.abc import Callable

from master.drive.element_results import ElementResults
from master.drive.element_values import ElementValues
from model.choices import OnElementFailure
from model.definitions.plan import PlannedTask
from model.errors import Refused
from model.ids import TaskCode
from model.parameters.large_values import ValuesMissing
from model.runs.elements import KEPT, element_name
from model.runs.instances import AttemptEnd, TaskAttempt
from model.runs.states import TaskState

T = TaskState


class Elements:
    """The elements of one attempt of a task.

    Args:
        begin: begins the next attempt of an element; one that cannot begin is over at once, as a FAILURE.
        results: makes lists of the elements' results.
    """

    __slots__ = (
        "_begin",
        "_ended",
        "_given",
        "_next",
        "_results",
        "_task",
        "_under_way",
        "attempt",
        "values",
    )

    def __init__(
        self,
        task: PlannedTask,
        attempt: int,
        values: ElementValues,
        begin: Callable[[int], TaskAttempt],
        results: ElementResults,
    ) -> None:
        self.attempt = attempt
        self.values = values
        self._task = task
        self._begin = begin
        self._results = results
        self._under_way: set[int] = set()
        self._ended: dict[int, TaskState] = {}
        self._given: dict[int, str] = {}
        self._next = 0

    @property
    def is_over(self) -> bool:
        """Whether none is in progress and none will begin."""
        return not self._under_way and (len(self._ended) == len(self.values.elements) or self._stops)

    @property
    def may_be_last(self) -> bool:
        """Whether at most one is in progress, and no other must begin."""
        return len(self._under_way) <= 1 and len(self._ended) + 1 >= len(self.values.elements)

    @property
    def _stops(self) -> bool:
        """Whether one has failed, so that no other begins."""
        assert self._task.each is not None, "it has no elements"
        stops = self._task.each.on_failure is OnElementFailure.STOP
        return stops and not KEPT.issuperset(self._ended.values())

    def counts(self, index: int, text: str | None) -> bool:
        """Whether an attempt with this value belongs to the element with this index."""
        return index < len(self.values.elements) and text == self.values.text(index)

    def under_way(self, index: int) -> None:
        """Record that the last attempt of an element is in progress, or its end will follow."""
        self._under_way.add(index)

    def ended(self, index: int, state: TaskState, outputs: str | None = None) -> None:
        """Record that an element has ended, without a further attempt."""
        self._under_way.discard(index)
        self._ended[index] = state
        if outputs:
            self._given[index] = outputs

    def paused(self, index: int) -> None:
        """Record that an element was held back: it has not begun."""
        self._under_way.discard(index)

    def start_more(self) -> list[TaskAttempt]:
        """Begin as many as may run at once, in order. Those made of large values come in waves, as many as are read at
        once. Raises `ValuesMissing`."""
        assert self._task.each is not None, "it has no elements"
        effects: list[TaskAttempt] = []
        while (
            len(self._under_way) < self._task.each.parallel
            and self._next < len(self.values.elements)
            and not self._stops
        ):
            if self._next not in self._under_way and self._next not in self._ended:
                if missing := self.values.missing_from(self._next, self._task.each.parallel):
                    if effects or self._under_way:
                        break
                    raise ValuesMissing(missing)
                attempt = self._begin(self._next)
                effects.append(attempt)
                if attempt.state is T.FAILURE:
                    self._ended[self._next] = T.FAILURE
                else:
                    self._under_way.add(self._next)
            self._next += 1
        return effects

    def end(self, *, as_paused: bool, dry_run: bool = False) -> AttemptEnd | None:
        """The end of the task if no other element begins; None while one is in progress.

        With elements that never began it ends as PAUSE if `as_paused`, else as KILL. A `dry_run` gives no values.
        """
        if self._under_way:
            return None
        if not self.is_over:
            if as_paused:
                return self._end(T.PAUSE)
            return self._end(T.KILL, reason="its workflow was stopped")
        failed = [index for index in sorted(self._ended) if self._ended[index] not in KEPT]
        if failed:
            killed = all(self._ended[index] is T.KILL for index in failed)
            return self._end(T.KILL if killed else T.FAILURE, reason=self._why(failed, killed=killed))
        if self._ended and all(state is T.SKIPPED for state in self._ended.values()):
            return self._end(T.SKIPPED, reason="all its elements were skipped")
        try:
            outputs, reason = (None, "") if dry_run else self._results.lists(self._given, len(self.values.elements))
        except Refused as error:  # its elements keep their success: a rerun only makes the lists again
            return self._end(T.FAILURE, reason=str(error))
        return self._end(T.SUCCESS, outputs, reason)

    def _end(self, state: TaskState, outputs: str | None = None, reason: str = "") -> AttemptEnd:
        return AttemptEnd(TaskCode(self._task.code), self.attempt, state, outputs, reason)

    def _why(self, failed: list[int], *, killed: bool) -> str:
        count, first = len(self.values.elements), element_name(self._task.name, failed[0])
        said = f"{len(failed):,} of {count:,} elements {'were killed' if killed else 'failed'}, the first is {first}"
        never = count - len(self._ended)
        return f"{said}; {never:,} did not begin, since on_failure is stop" if never else said
