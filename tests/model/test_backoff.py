"""Pauses between tries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from model.backoff import Backoff

shares = st.floats(0, 1, exclude_max=True)


def test_pauses_double_up_to_the_limit_and_begin_again_after_a_success() -> None:
    backoff = Backoff(first_s=0.1, max_s=1.0)
    assert [backoff.next_pause_s(0) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    backoff.reset()
    assert backoff.next_pause_s(0) == 0.1


@given(st.lists(shares, max_size=100))
def test_chance_shortens_a_pause_by_up_to_a_half_and_never_to_nothing(drawn: list[float]) -> None:
    backoff, plain = Backoff(), Backoff()
    for share in drawn:
        pause_s, longest_s = backoff.next_pause_s(share), plain.next_pause_s(0)
        assert longest_s / 2 <= pause_s <= longest_s <= backoff.max_s


def test_an_outage_of_days_does_not_overflow() -> None:
    backoff = Backoff(tries=10**9)
    assert backoff.next_pause_s(0) == backoff.max_s
