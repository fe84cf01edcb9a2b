"""Sums in time expressions, which Python itself never evaluates."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from model.time.arithmetic import calculate
from tests.every import every


@every(
    ("text", "value"),
    [("1", 1), (" 7 * 2 ", 14), ("1-2-3", -4), ("2*(3+4)", 14), ("-3+-6*(+8)-(-5)", -46), ("7/2", Fraction(7, 2)),
     ("1/24/60", Fraction(1, 1440)), ("-(2)*-3", 6), ("((((1))))", 1), ("--1", 1)],
)  # fmt: skip
def test_a_sum_has_the_value_of_its_rules(text: str, value: Fraction | int) -> None:
    assert calculate(text) == value


@every("text", ["", " ", "1 2", "1+", "*1", "(1", "1)", "()", "1.5", "x", "1/0", "1/(2-2)", ")(", "²"])
def test_what_is_no_sum_has_no_value(text: str) -> None:
    assert calculate(text) is None


@given(
    st.recursive(
        st.integers(0, 99).map(str), lambda part: st.builds("({}{}{})".format, part, st.sampled_from("+-*"), part)
    )
)
def test_sums_come_out_as_in_python(text: str) -> None:
    assert calculate(text) == eval(text)
