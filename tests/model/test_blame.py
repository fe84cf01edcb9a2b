"""A fault of all is told from that of one by what else is handled meanwhile."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from model.blame import ALONE_S, LONG_S, Blame, Verdict

MOMENTS = st.lists(st.floats(0, 10 * LONG_S), min_size=1).map(sorted)


@given(times=MOMENTS, ids=st.lists(st.integers(0, 3), min_size=2))
def test_while_nothing_is_handled_none_of_several_is_to_blame(times: list[float], ids: list[int]) -> None:
    blame: Blame[int] = Blame()
    for id_ in (0, 1):
        blame.failed(id_, 0)
    assert {blame.failed(id_, time_s) for time_s in times for id_ in ids} == {Verdict.UNKNOWN}


def test_what_fails_again_after_another_of_its_kind_is_to_blame() -> None:
    blame: Blame[int] = Blame()
    assert blame.failed(1, 0, "START") is Verdict.UNKNOWN
    assert blame.handled(["PAUSE"]) == []
    assert blame.failed(1, 1, "START") is Verdict.UNKNOWN
    assert blame.handled(["START"]) == [1]
    assert blame.failed(1, 2, "START") is Verdict.TO_BLAME


def test_the_only_one_is_to_blame_after_a_while_and_what_must_not_wait_for_ever_in_the_end() -> None:
    blame: Blame[int] = Blame(LONG_S)
    assert blame.failed(1, 0) is Verdict.UNKNOWN
    assert blame.failed(1, ALONE_S) is Verdict.ONLY
    assert blame.failed(2, ALONE_S) is Verdict.UNKNOWN
    assert blame.failed(1, ALONE_S + 1) is Verdict.UNKNOWN
    assert blame.failed(1, LONG_S) is Verdict.TO_BLAME
