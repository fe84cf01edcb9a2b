"""DYNAMIC: which children there are, in which order, and how many are left out."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.logic.dynamic import LISTS_LENGTH_MAX, DynamicParams, Tuples, tuples
from tests.every import every


def made(*lists: dict[str, Any], values: dict[str, str] | None = None, **more: Any) -> Tuples:
    return tuples(DynamicParams.read({"workflow": "child", "lists": list(lists), **more}), values or {})


def elements(value: Any, separator: str = ",", **values: str) -> list[str]:
    return [each["a"] for each in made({"name": "a", "value": value, "separator": separator}, values=values)]


def test_the_last_list_turns_fastest() -> None:
    found = made({"name": "a", "value": "x, y"}, {"name": "b", "value": [1, 2]})
    assert list(found) == [{"a": "x", "b": "1"}, {"a": "x", "b": "2"}, {"a": "y", "b": "1"}, {"a": "y", "b": "2"}]
    assert found.said() == "4 children, one for each tuple of the lists"


def test_values_of_the_filter_are_left_out_of_every_list() -> None:
    lists = {"name": "a", "value": "x,y,z"}, {"name": "b", "value": "1,x"}
    assert list(made(*lists, filter="x, z")) == [{"a": "y", "b": "1"}]
    assert list(made(*lists, filter=["x", "z"])) == [{"a": "y", "b": "1"}]


def test_more_than_the_maximum_are_cut_and_counted() -> None:
    found = made({"name": "a", "value": "1,2,3"}, {"name": "b", "value": "1,2,3"}, max_instances=4)
    assert [each["a"] + each["b"] for each in found] == ["11", "12", "13", "21"]
    assert found.said() == "4 children; 5 more tuples were left out, raise max_instances to have them"


def test_a_huge_product_costs_nothing_until_it_is_asked_for() -> None:
    lists = [{"name": f"l{number}", "value": list(range(1_000))} for number in range(10)]
    found = made(*lists, max_instances=10_000)
    assert (len(found), found.left_out) == (10_000, 1_000**10 - 10_000)
    assert found[9_999] == {**dict.fromkeys((f"l{number}" for number in range(8)), "0"), "l8": "9", "l9": "999"}
    with pytest.raises(IndexError):
        found[10_000]


@every(
    ("value", "expected"),
    [
        ("a,b", ["a", "b"]), (" a , , b,", ["a", "b"]), ("", []), ("[]", []), ('["a, b", ""]', ["a, b", ""]),
        ("[1, 1.10, true, null]", ["1", "1.10", "true", ""]), ("${list}", ["p", "q"]), ("${json}", ["p", "q,r"]),
        ('["${list}", "z"]', ["p,q", "z"]), ("${list},${one}", ["p", "q", "o"]), ("[${one}]", None),
        ('[[1, 1.10], {"a": [null]}, 1.10]', ["[1, 1.1]", '{"a": [null]}', "1.10"]),
        ("${nope}", ["${nope}"]), ("$${one}", ["${one}"]), (["x", 1, "${one}"], ["x", "1", "o"]),
        ("[a],b", ["[a]", "b"]),
    ],
)  # fmt: skip
def test_lists_are_texts_or_json_with_references(value: Any, expected: list[str] | None) -> None:
    given_ = {"list": "p,q", "json": '["p", "q,r"]', "one": "o"}
    if expected is None:
        with pytest.raises(Refused, match=r'^list "a" '):
            elements(value, **given_)
    else:
        assert elements(value, **given_) == expected


def test_another_separator_cuts_elsewhere() -> None:
    assert elements("a,b;c", ";") == ["a,b", "c"]


def test_lists_are_bounded_before_they_are_made() -> None:
    for value in ("${a}" * 10, json.dumps(["${a}"] * 10)):
        with pytest.raises(Refused, match="characters; make it shorter"):
            elements(value, a="x" * (LISTS_LENGTH_MAX // 10 + 1))


def test_lists_of_one_name_are_told() -> None:
    one = {"name": "a", "value": "1"}
    read = DynamicParams.read({"workflow": "child", "lists": [one, one]})
    assert read.problems() == ['two lists are named "a"; give each a different name']


@given(st.lists(st.lists(st.text("abc", min_size=1), max_size=4), min_size=1, max_size=4), st.integers(1, 40))
def test_any_lists_give_their_product(lists: list[list[str]], most: int) -> None:
    found = made(*({"name": f"l{n}", "value": json.dumps(each)} for n, each in enumerate(lists)), max_instances=most)
    every = [{f"l{n}": value for n, value in enumerate(chosen)} for chosen in product(*lists)]
    assert list(found) == every[:most]
    assert found.left_out == max(0, len(every) - most)
