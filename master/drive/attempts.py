"""The attempts of one run's tasks: their numbers, the retries used, and which of them are in progress. Pure."""

from __future__ import annotations

from model.ids import TaskCode


class Attempts:
    """The last attempt of each task."""

    __slots__ = ("_in_flight", "_numbers", "_rests", "retries")

    def __init__(self) -> None:
        self.retries: dict[TaskCode, int] = {}
        """The retries that each task has used."""
        self._numbers: dict[TaskCode, int] = {}
        self._in_flight: set[TaskCode] = set()
        self._rests: set[TaskCode] = set()

    def restore(self, code: TaskCode, number: int, retries: int) -> None:
        """Restore the last attempt of a task from its row."""
        self._numbers[code] = number
        self.retries[code] = retries

    def put_in_flight(self, code: TaskCode, *, rests: bool) -> None:
        """Mark the last attempt of a task as in progress. It `rests` if no worker runs it, or not yet."""
        self._in_flight.add(code)
        if rests:
            self._rests.add(code)

    def begin(self, code: TaskCode, *, rests: bool = False) -> int:
        """Begin the next attempt, and return its number."""
        self._numbers[code] = self.next(code)
        self.put_in_flight(code, rests=rests)
        return self._numbers[code]

    def skip(self, code: TaskCode) -> int:
        """Add an attempt that is over at once; return its number."""
        self._numbers[code] = self.next(code)
        return self._numbers[code]

    def end(self, code: TaskCode) -> None:
        self._in_flight.discard(code)
        self._rests.discard(code)

    def wake(self, code: TaskCode) -> None:
        """Record that the attempt no longer rests."""
        self._rests.discard(code)

    def next(self, code: TaskCode) -> int:
        """The number of the next attempt; the first is 1."""
        return self._numbers.get(code, 0) + 1

    def has_begun(self, code: TaskCode) -> bool:
        """Whether the task has had an attempt, valid or not."""
        return code in self._numbers

    def is_last(self, code: TaskCode, number: int) -> bool:
        """Whether this is the number of the task's last attempt."""
        return self._numbers.get(code) == number

    def is_under_way(self, code: TaskCode, number: int) -> bool:
        """Whether this is the last attempt, and its end has not been reported."""
        return code in self._in_flight and self.is_last(code, number)

    def is_in_flight(self, code: TaskCode) -> bool:
        return code in self._in_flight

    def under_way(self) -> list[tuple[TaskCode, int]]:
        """The attempts whose ends have not been reported."""
        return [(code, self._numbers[code]) for code in list(self._in_flight)]  # a thread may be changing it

    @property
    def any_under_way(self) -> bool:
        """Whether the end of any attempt has not been reported."""
        return bool(self._in_flight)

    @property
    def all_rest(self) -> bool:
        """Whether attempts are in progress, and all of them rest."""
        return bool(self._in_flight) and len(self._rests) == len(self._in_flight)
