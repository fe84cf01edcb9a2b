"""The size of a batch follows the backlog and never leaves its bounds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from master.claim.batch import AdaptiveBatch


def test_a_backlog_is_taken_in_ever_larger_batches() -> None:
    batch, sizes = AdaptiveBatch(500), []
    for _ in range(6):
        sizes.append(batch.size)
        batch.took(batch.size, 0.01)
    assert sizes == [20, 40, 80, 160, 320, 500]


def test_a_batch_that_came_back_half_empty_changes_nothing() -> None:
    batch = AdaptiveBatch(500)
    batch.took(19, 0.01)
    assert batch.size == 20


def test_a_slow_batch_halves_the_next_one_even_when_it_was_full() -> None:
    batch = AdaptiveBatch(500)
    for _ in range(5):
        batch.took(batch.size, 0.01)
    batch.took(500, 0.3)
    assert batch.size == 250


@given(st.integers(1, 10_000), st.lists(st.tuples(st.integers(0, 10_000), st.floats(0, 10)), max_size=50))
def test_the_size_stays_within_its_bounds(size_max: int, batches: list[tuple[int, float]]) -> None:
    batch = AdaptiveBatch(size_max)
    for count, seconds in batches:
        batch.took(min(count, batch.size), seconds)
        assert min(AdaptiveBatch.SMALLEST, size_max) <= batch.size <= size_max
