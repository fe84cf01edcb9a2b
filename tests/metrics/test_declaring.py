"""Times that are observed together count like those that are observed one by one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import generate_latest

from metrics.declaring import WAITS_S, Part

TIMES = st.one_of(st.sampled_from(WAITS_S), st.floats(0, 1e6), st.just(0.0))


@given(seconds=st.lists(TIMES))
def test_a_batch_counts_like_its_times_one_by_one(seconds: list[float]) -> None:
    together, alone = Part(), Part()
    together.times("shoal_test_seconds", "A test.", WAITS_S).observe_all(seconds)
    times = alone.times("shoal_test_seconds", "A test.", WAITS_S)
    for each in seconds:
        times.observe(each)
    shown, expected = (
        [line.rsplit(" ", 1) for line in generate_latest(part.registry).decode().splitlines() if line[0] != "#"]
        for part in (together, alone)
    )
    assert [name for name, _ in shown] == [name for name, _ in expected]
    for (name, one), (_, other) in zip(shown, expected, strict=True):
        assert abs(float(one) - float(other)) <= 1e-9 * max(1.0, float(other)), name
