"""`model/runs/queue_places.py`: a claim searches little, and finds whatever was said, in its order."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from model.choices import Priority
from model.runs.queue_places import AGAIN_S, ALL_EVERY_S, HINTS_BYTES_MAX, Places, Queued, QueuedAttempt, QueuePlaces
from tests.every import every

HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW


def knowing_nothing_waits(*groups: str) -> QueuePlaces:
    """A worker whose claim at 0 s has just found that its queue is empty."""
    places = QueuePlaces(groups or ("a", "b"))
    places.begin(0)
    places.end([])
    return places


def said(*queued: tuple[Priority, str, int]) -> str:
    """The payload of the notification."""
    return ",".join(sorted(Queued(QueuedAttempt(*each) for each in queued).hints))


def test_at_first_everything_is_searched_and_then_nothing() -> None:
    places = QueuePlaces(["a"])
    assert places.begin(0) is None
    places.end([])
    assert places.begin(0) == {}


def test_what_was_queued_is_searched_from_its_oldest_run() -> None:
    places = knowing_nothing_waits()
    places.note(said((MEDIUM, "a", 9), (MEDIUM, "a", 7), (LOW, "a", 8), (HIGH, "c", 1)))
    places.note(said((MEDIUM, "a", 8), (MEDIUM, "b", 5)))
    assert places.begin(0) == {MEDIUM: {"a": 7, "b": 5}, LOW: {"a": 8}}


@every(
    "payload",
    ["", "a", "a,c", "a,>MEDIUM:9:b", "a,>MEDIUM:x:a", "a,>URGENT:9:a", "a,>MEDIUM:9999999999999999999:a", "a,>"],
)
def test_where_it_was_not_said_everything_is_searched(payload: str) -> None:
    """A former version names only the groups, and a finder of other nodes' work means everything."""
    places = knowing_nothing_waits()
    places.note(said((MEDIUM, "a", 9)))
    places.note(payload)
    assert places.begin(0) is None


def test_a_hint_of_another_group_or_of_streams_changes_nothing() -> None:
    places = knowing_nothing_waits("a")
    places.note(said((MEDIUM, "c", 9)) + "," + ",".join(Queued([QueuedAttempt(MEDIUM, "a", 7, is_stream=True)]).hints))
    assert places.begin(0) == {}


def test_where_is_left_out_if_it_is_too_long_to_say() -> None:
    queued = [QueuedAttempt(MEDIUM, f"{'group':x<90}{number}", number) for number in range(HINTS_BYTES_MAX // 110)]
    assert len(Queued(queued).hints) == 2 * len(queued)
    more = [*queued, *(QueuedAttempt(LOW, each.worker_group, each.run) for each in queued)]
    assert Queued(more).hints == {each.worker_group for each in queued}


def test_a_full_claim_goes_on_behind_what_it_took() -> None:
    places = knowing_nothing_waits()
    places.note(said((HIGH, "a", 90), (MEDIUM, "a", 7), (MEDIUM, "b", 30), (LOW, "b", 2)))
    places.begin(0)
    places.note(said((MEDIUM, "b", 4)))
    places.end([(MEDIUM, 20), (HIGH, 90), (MEDIUM, 7)])
    places.begin(AGAIN_S)
    places.end([(MEDIUM, 20)])
    assert places.begin(1.9 * AGAIN_S) == {HIGH: {"a": 90}, MEDIUM: {"a": 7, "b": 4}, LOW: {"b": 2}}, "once more"
    places.end([(MEDIUM, 21)])
    assert places.begin(2 * AGAIN_S) == {MEDIUM: {"a": 20, "b": 4}, LOW: {"b": 2}}
    places.end([(MEDIUM, 22)])
    assert places.begin(3 * AGAIN_S) == {MEDIUM: {"a": 21, "b": 21}, LOW: {"b": 2}}


def test_a_full_claim_of_everything_knows_nothing_of_what_is_less_urgent() -> None:
    places = QueuePlaces(["a", "b"])
    places.begin(0)
    places.end([(LOW, 20)])
    assert places.begin(0) == {LOW: {"a": 20, "b": 20}, Priority.LOWEST: {"a": 0, "b": 0}}


def test_everything_is_searched_now_and_then_and_what_was_said_is_not_forgotten() -> None:
    places = knowing_nothing_waits()
    places.note(said((MEDIUM, "a", 7)))
    assert places.begin(ALL_EVERY_S) is None
    places.end([])
    assert places.begin(ALL_EVERY_S) == {MEDIUM: {"a": 7}}


def test_a_claim_after_a_pause_searches_only_where_something_was_said() -> None:
    """During the pause the polls found nothing; otherwise they would have noted it."""
    places = knowing_nothing_waits()
    places.note(said((MEDIUM, "a", 7)))
    later_s = ALL_EVERY_S + 10
    assert places.begin(later_s) == {MEDIUM: {"a": 7}}
    places.end([])
    places.begin(later_s + ALL_EVERY_S / 2)
    places.end([])
    assert places.begin(later_s + ALL_EVERY_S) is None, "it claims again and again"


def test_what_is_said_during_a_claim_to_be_anywhere_stays_so() -> None:
    places = knowing_nothing_waits()
    places.note(said((MEDIUM, "a", 7)))
    places.begin(0)
    places.search_all()
    places.end([(MEDIUM, 7)])
    assert places.begin(0) is None


def test_others_see_what_waits_and_what_is_just_being_claimed() -> None:
    places = QueuePlaces(["a", "b"])
    assert places.all is None
    places.begin(0)
    assert places.all is None
    places.end([])
    assert places.all == {}
    places.note(said((MEDIUM, "a", 7), (HIGH, "a", 3)))
    places.begin(0)
    places.note(said((MEDIUM, "a", 9), (MEDIUM, "b", 2)))
    assert places.all == {HIGH: {"a": 3}, MEDIUM: {"a": 7, "b": 2}}


Attempt = tuple[int, int, str]
"""The rank of its priority, its run, its group: in the order of the queue, but for the group."""


@dataclass
class Queue:
    """A queue, its notifications on their way, and what one worker of groups a and b took, each claim apart."""

    waiting: list[Attempt] = field(default_factory=list)
    on_their_way: list[str] = field(default_factory=list)
    places: QueuePlaces = field(default_factory=lambda: QueuePlaces(["a", "b"], again_s=0, all_every_s=inf))
    is_queued: bool = True
    taken: list[Attempt] = field(default_factory=list)

    def queue(self, attempts: list[Attempt]) -> None:
        self.waiting += attempts
        self.on_their_way.append(said(*((tuple(Priority)[rank], group, run) for rank, run, group in attempts)))

    def hear(self) -> None:
        for payload in self.on_their_way:
            self.places.note(payload)
            self.is_queued = True
        self.on_their_way.clear()

    def claim(self, limit: int, meanwhile: list[Attempt]) -> None:
        self.is_queued = False
        searched = self.places.begin(0)
        found = sorted(each for each in self.waiting if is_in(each, searched))[:limit]
        for each in found:
            self.waiting.remove(each)
        if meanwhile:
            self.queue(meanwhile)
            self.hear()
        self.taken += found
        is_full = len(found) == limit
        self.places.end((tuple(Priority)[rank], run) for rank, run, _ in (found if is_full else ()))
        self.is_queued = self.is_queued or is_full


def is_in(attempt: Attempt, searched: Places | None) -> bool:
    rank, run, group = attempt
    if searched is None:
        return True
    lowest = searched.get(tuple(Priority)[rank], {}).get(group)
    return lowest is not None and run >= lowest


attempts = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 30), st.sampled_from("ab")), min_size=1, max_size=8)
steps = st.one_of(
    st.tuples(st.just("queue"), attempts),
    st.tuples(st.just("hear"), st.none()),
    st.tuples(st.just("claim"), st.tuples(st.integers(1, 5), st.one_of(st.just([]), attempts))),
)


@given(st.lists(steps, max_size=30))
def test_whatever_was_queued_is_taken_without_a_poll(given_steps: list[tuple[str, object]]) -> None:
    queue = Queue()
    for name, values in given_steps:
        match name, values:
            case "queue", list(new):
                queue.queue(new)
            case "hear", _:
                queue.hear()
            case "claim", (int(limit), list(meanwhile)):
                queue.claim(limit, meanwhile)
    queue.hear()
    left = sorted(queue.waiting)
    queue.taken.clear()
    while queue.is_queued:
        queue.claim(3, [])
    assert queue.waiting == []
    assert [each[:2] for each in queue.taken] == [each[:2] for each in left], "in the order of the queue"
