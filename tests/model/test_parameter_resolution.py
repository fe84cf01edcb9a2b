"""Parameters made of each other: replaced once, whatever their values look like, and never without end."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.parameters.nested_references import DEPTH_MAX, resolve
from model.parameters.parameters import PARAMETERS_BYTES_MAX

AT = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")


def resolved(raw: dict[str, str], **known: str) -> dict[str, str]:
    return resolve(raw, known, AT, BERLIN)


def test_what_refers_to_nothing_stays_as_it_is() -> None:
    assert resolved({"a": "x", "b": "5 $ and { }"}) == {"a": "x", "b": "5 $ and { }"}


def test_a_value_may_name_others_in_whichever_order_they_stand() -> None:
    assert resolved({"c": "<${b}>", "b": "(${a})", "a": "x"}) == {"c": "<(x)>", "b": "(x)", "a": "x"}


def test_own_values_go_before_known_ones() -> None:
    assert resolved({"b": "${a} ${k}", "a": "own"}, a="known", k="far") == {"b": "own far", "a": "own"}


def test_an_unknown_name_stays_and_an_escaped_one_becomes_literal() -> None:
    assert resolved({"a": "${nobody} $${a}"}) == {"a": "${nobody} ${a}"}


def test_a_value_that_names_itself_means_the_known_one() -> None:
    """As in a shell: `path = ${path}:/more`."""
    assert resolved({"path": "${path}:/more"}, path="/bin") == {"path": "/bin:/more"}
    assert resolved({"path": "${path}:/more"}) == {"path": "${path}:/more"}


def test_time_expressions_are_computed_in_the_zone() -> None:
    assert resolved({"day": "$[yyyy-MM-dd HH:mm]", "file": "${day}.csv"}) == {
        "day": "2026-03-29 01:30",
        "file": "2026-03-29 01:30.csv",
    }


def test_what_is_put_in_is_data_and_is_not_looked_at_again() -> None:
    """A value that a task printed would otherwise read the parameters of others."""
    printed = "${secret} $[yyyy] $${x}"
    assert resolved({"a": "<${out}>"}, out=printed, secret="s") == {"a": f"<{printed}>"}


NAMES = st.sampled_from("abcdef")
PIECES = st.sampled_from(["", "x", "$", "{", "}", "$[", "]", "$[yyyy]"]) | NAMES.map(lambda name: f"${{{name}}}")
TEXTS = st.lists(PIECES, max_size=4).map("".join)


@given(st.dictionaries(NAMES, TEXTS), st.dictionaries(st.sampled_from(["k", "l"]), st.text()))
def test_whatever_refers_to_whatever_it_ends(raw: dict[str, str], known: dict[str, str]) -> None:
    assert set(resolve(raw, known, AT, BERLIN)) == set(raw)


@given(st.text())
def test_a_known_value_never_becomes_an_expression(value: str) -> None:
    assert resolve({"a": "<${k}>"}, {"k": value, "secret": "s"}, AT, BERLIN) == {"a": f"<{value}>"}


@given(st.permutations(["a", "b", "c", "d", "e"]))
def test_a_circle_ends_wherever_it_is_entered(order: list[str]) -> None:
    raw = {name: f"{name}${{{after}}}" for name, after in zip(order, [*order[1:], order[0]], strict=True)}
    found = resolve(raw, {}, AT, BERLIN)
    assert all(value.startswith(name) for name, value in found.items())
    assert all(len(value) < 100 for value in found.values())


def test_a_circle_that_leads_to_a_known_value_takes_it() -> None:
    assert resolved({"a": "${b}a", "b": "${a}b"}, a="x") == {"a": "xba", "b": "xb"}


def test_a_long_chain_ends_and_what_lies_beyond_it_stays_as_it_is_written() -> None:
    length = DEPTH_MAX + 10
    raw = {str(f"n{number}"): f"${{n{number + 1}}}" for number in range(length)} | {f"n{length}": "end"}
    found = resolve(raw, {}, AT, BERLIN)
    assert found["n0"].startswith("${n")
    assert found[f"n{length}"] == "end"


def test_values_that_double_each_other_are_refused_before_they_fill_the_memory() -> None:
    raw = {f"n{number}": f"${{n{number + 1}}}${{n{number + 1}}}" for number in range(40)} | {"n40": "x" * 100}
    with pytest.raises(
        Refused, match=f"grow beyond {PARAMETERS_BYTES_MAX} bytes by the values put into them; shorten those"
    ):
        resolve(raw, {}, AT, BERLIN)


def test_one_value_that_is_put_in_often_is_refused_too() -> None:
    with pytest.raises(Refused, match="shorten those"):
        resolve({"a": "${k}" * 2_000}, {"k": "x" * 1_000}, AT, BERLIN)
