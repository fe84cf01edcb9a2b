"""Which nodes are judged dead, and above all which are not: a wrong verdict on a worker kills its tasks."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from master.membership.failure_detector import FailureDetector, Sight, Verdict
from model.cluster.nodes import NodeKind
from model.cluster.timing import TASKS_END_S, WORKER_CUT_MARGIN_S, Silence, Timing
from model.ids import Epoch
from tests.every import every

MASTER, WORKER = NodeKind.MASTER, NodeKind.WORKER
ME, OTHER = Epoch(1), Epoch(2)
TIMING = Timing()
BEAT_S = TIMING.heartbeat_every.total_seconds()
CUT_S = TIMING.worker_cut_limit.total_seconds() + WORKER_CUT_MARGIN_S

PRESENT, ABSENT, UNREADABLE = frozenset({ME, OTHER}), frozenset({ME}), None
Registry = frozenset[Epoch] | None


class Watch:
    """One master that watches one other node."""

    def __init__(self, kind: NodeKind, epoch: Epoch = OTHER) -> None:
        self.detector = FailureDetector(ME, TIMING)
        self.kind, self.epoch = kind, epoch

    def look(self, now_s: float, beat_no: int, registry: Registry, *, is_gone: bool = False) -> list[Verdict]:
        suspects = self.detector.observe([Sight(self.epoch, self.kind, beat_no, is_gone)], now_s)
        return self.detector.verdicts(suspects, registry, now_s)

    def standstill(self, registry: Registry, until_s: float, every_s: float = BEAT_S) -> float | None:
        """When a node is judged whose beat never moves, in seconds from the first look."""
        times = [every_s * look for look in range(int(until_s / every_s) + 1)]
        return next((now_s for now_s in times if self.look(now_s, 7, registry)), None)


@given(
    st.sampled_from(NodeKind),
    st.lists(st.floats(0.01, 2 * BEAT_S), min_size=1, max_size=50),
    st.lists(st.tuples(st.floats(0.01, 30), st.sampled_from([PRESENT, ABSENT, UNREADABLE])), max_size=50),
)
def test_a_node_that_beats_is_never_judged_however_we_look(
    kind: NodeKind, between_beats_s: list[float], looks: list[tuple[float, Registry]]
) -> None:
    """Its beats come at most two intervals apart, for as long as we look; our looks come at any time."""
    watch, now_s = Watch(kind), 0.0
    beaten_s = list(accumulate(between_beats_s * 200))
    for pause_s, registry in looks:
        now_s = min(now_s + pause_s, beaten_s[-1])
        assert watch.look(now_s, bisect_right(beaten_s, now_s), registry) == []


@every("registry", [PRESENT, UNREADABLE])
def test_a_master_whose_beat_stands_still_is_judged_after_its_limit(registry: Registry) -> None:
    assert Watch(MASTER).standstill(registry, 100) == 10
    watch = Watch(MASTER)
    watch.standstill(registry, 8)
    assert watch.look(10, 7, registry) == [Verdict(OTHER, "its beat stood still for 10 s")]


def test_a_master_that_also_left_the_registry_is_judged_after_three_beats() -> None:
    assert Watch(MASTER).standstill(ABSENT, 100) == 3 * BEAT_S
    watch = Watch(MASTER)
    watch.standstill(ABSENT, 4)
    assert watch.look(6, 7, ABSENT) == [Verdict(OTHER, "it left the registry and its beat stood still for 6 s")]


@every("kind", NodeKind)
def test_an_absent_node_whose_beat_moves_is_left_alone(kind: NodeKind) -> None:
    watch = Watch(kind)
    assert [watch.look(BEAT_S * look, look // 2, ABSENT) for look in range(1000)] == [[]] * 1000


@every(("registry", "judged_s"), [(ABSENT, 30.0), (PRESENT, CUT_S), (UNREADABLE, CUT_S)])
def test_a_worker_is_judged_early_only_when_both_its_channels_are_silent(registry: Registry, judged_s: float) -> None:
    assert Watch(WORKER).standstill(registry, 1000) == judged_s


@given(st.lists(st.sampled_from([PRESENT, UNREADABLE]), min_size=315, max_size=315))
def test_a_worker_that_no_fresh_list_misses_keeps_its_tasks_up_to_the_cut_limit(registries: list[Registry]) -> None:
    watch = Watch(WORKER)
    for look, registry in enumerate(registries):
        assert watch.look(BEAT_S * look, 7, registry) == []
    assert watch.look(CUT_S, 7, UNREADABLE) == [Verdict(OTHER, "its beat stood still for 630 s")]


def test_only_the_list_of_this_moment_counts_against_a_worker() -> None:
    watch = Watch(WORKER)
    for look in range(14):
        assert watch.look(BEAT_S * look, 7, ABSENT) == []
    for look in range(14, 20):
        assert watch.look(BEAT_S * look, 7, PRESENT) == []
    assert watch.look(40, 7, ABSENT) == [Verdict(OTHER, "it left the registry and its beat stood still for 40 s")]


@every(("kind", "judged_after_s"), [(MASTER, 6.0), (WORKER, 30.0)])
def test_a_gap_in_our_own_looking_starts_the_observation_again(kind: NodeKind, judged_after_s: float) -> None:
    """We were stopped, or the database was away: then no node could beat either."""
    watch = Watch(kind)
    assert [watch.look(now_s, 7, ABSENT) for now_s in (0.0, 2.0, 4.0)] == [[], [], []]
    resumed_s = 64.0
    times = [resumed_s + BEAT_S * look for look in range(int(judged_after_s / BEAT_S))]
    assert [watch.look(now_s, 7, ABSENT) for now_s in times] == [[]] * len(times)
    assert watch.look(resumed_s + judged_after_s, 7, ABSENT) != []


@given(st.sampled_from(NodeKind), st.lists(st.floats(2.51 * BEAT_S, 1000), max_size=30))
def test_who_hardly_looks_judges_nobody(kind: NodeKind, pauses_s: list[float]) -> None:
    watch = Watch(kind)
    assert not any(watch.look(now_s, 7, ABSENT) for now_s in accumulate(pauses_s))


def test_a_beat_that_moved_once_starts_the_measure_again() -> None:
    watch = Watch(MASTER)
    for look in range(5):
        assert watch.look(BEAT_S * look, 7, PRESENT) == []
    assert watch.look(10, 8, PRESENT) == []
    assert [watch.look(now_s, 8, PRESENT) for now_s in (12, 14, 16, 18)] == [[]] * 4
    assert watch.look(20, 8, PRESENT) != []


def test_a_beat_number_that_went_back_is_a_beat_that_moved() -> None:
    watch = Watch(MASTER)
    watch.standstill(PRESENT, 8)
    assert watch.look(10, 3, PRESENT) == []


def test_a_node_that_was_not_in_one_read_is_watched_again() -> None:
    watch = Watch(MASTER)
    watch.standstill(ABSENT, 4)
    assert watch.detector.observe([], 5) == []
    assert watch.look(6, 7, ABSENT) == []


@every("registry", [PRESENT, ABSENT, UNREADABLE])
def test_a_master_that_is_provably_gone_is_judged_at_the_first_look(registry: Registry) -> None:
    assert Watch(MASTER).look(0, 7, registry, is_gone=True) == [Verdict(OTHER, "its process is gone")]


@every("kind", NodeKind)
@every("registry", [PRESENT, ABSENT, UNREADABLE])
@every("beat_no", [7, 8])
def test_who_dies_before_our_eyes_is_judged_once_its_tasks_have_ended(
    kind: NodeKind, registry: Registry, beat_no: int
) -> None:
    """A master at once; what a worker ran is ended by the keepers, and must not run elsewhere before."""
    watch, gone = Watch(kind), [Verdict(OTHER, "its process is gone")]
    assert watch.look(0, 7, registry) == []
    assert watch.look(BEAT_S, beat_no, registry, is_gone=True) == (gone if kind is MASTER else [])
    assert watch.look(BEAT_S + 0.9 * TASKS_END_S, beat_no, registry, is_gone=True) == (gone if kind is MASTER else [])
    assert watch.look(BEAT_S + TASKS_END_S, beat_no, registry, is_gone=True) == gone


@every("registry", [PRESENT, ABSENT, UNREADABLE])
def test_a_worker_that_died_while_we_could_not_look_is_spared_for_its_successor(registry: Registry) -> None:
    """It may have left results on its disk while the database was away, and they are reported in its name."""
    watch = Watch(WORKER)
    assert watch.look(0, 7, registry) == []
    back_s, spared_s = 60.0, TIMING.session_timeout.total_seconds()
    times = [back_s + BEAT_S * look for look in range(int(spared_s / BEAT_S))]
    assert [watch.look(now_s, 7, registry, is_gone=True) for now_s in times] == [[]] * len(times)
    assert watch.look(back_s + spared_s, 7, registry, is_gone=True) == [Verdict(OTHER, "its process is gone")]


@every("kind", NodeKind)
@every("registry", [PRESENT, ABSENT, UNREADABLE])
def test_who_beats_on_after_it_was_seen_gone_lives_whatever_the_machine_says(
    kind: NodeKind, registry: Registry
) -> None:
    """The fence that its first sight brought found that it had beaten since, or the worker was spared."""
    watch = Watch(kind)
    watch.look(0, 0, registry, is_gone=True)
    looks = [watch.look(BEAT_S * look, 1 + look // 2, registry, is_gone=True) for look in range(1, 1000)]
    assert looks == [[]] * len(looks)


@every("kind", NodeKind)
def test_a_beat_that_was_under_way_at_a_death_puts_off_the_verdict_and_no_more(kind: NodeKind) -> None:
    watch = Watch(kind)
    assert watch.look(0, 6, PRESENT) == []
    assert (watch.look(BEAT_S, 7, PRESENT, is_gone=True) != []) is (kind is MASTER)
    assert [watch.look(BEAT_S * look, 8, ABSENT, is_gone=True) for look in (2, 3, 4)] == [[], [], []]
    assert watch.look(5 * BEAT_S, 8, PRESENT, is_gone=True) == [Verdict(OTHER, "its process is gone")]


@given(st.sampled_from(NodeKind), st.booleans(), st.sampled_from([PRESENT, frozenset(), UNREADABLE]))
def test_nobody_judges_itself(kind: NodeKind, is_gone: bool, registry: Registry) -> None:
    watch = Watch(kind, ME)
    assert not any(watch.look(BEAT_S * look, 7, registry, is_gone=is_gone) for look in range(400))


def test_one_dead_node_among_many_is_the_only_one_judged() -> None:
    detector = FailureDetector(ME, TIMING)
    for look in range(6):
        sights = [Sight(Epoch(epoch), MASTER, 0 if epoch == 5 else look, False) for epoch in range(1, 9)]
        suspects = detector.observe(sights, BEAT_S * look)
    assert [verdict.epoch for verdict in detector.verdicts(suspects, None, 10)] == [5]


def test_a_node_is_judged_by_the_silence_that_it_states_itself() -> None:
    """Whatever the detector's own settings: shorter times do not make it hasty, longer ones not patient."""
    said = Silence(beat_s=1, session_s=4, fence_s=60, cut_s=100)
    for kind, registry, limit_s in (
        (WORKER, ABSENT, 60),
        (WORKER, PRESENT, 100 + WORKER_CUT_MARGIN_S),
        (MASTER, PRESENT, 60),
        (MASTER, ABSENT, 3),
    ):
        detector = FailureDetector(ME, TIMING)
        for now_s in range(0, int(limit_s) + 1):
            suspects = detector.observe([Sight(OTHER, kind, 7, is_gone=False, silence=said)], now_s)
            assert bool(detector.verdicts(suspects, registry, now_s)) == (now_s >= limit_s), (kind, now_s)
