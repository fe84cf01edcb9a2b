"""The texts that stand for values too large for a row, and their use."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.parameters.json_values import Missing
from model.parameters.large_values import (
    REMEMBERED_CHARACTERS_MAX,
    Content,
    LargeValue,
    ValuesMissing,
    content_of,
    expanded,
    forget,
    is_named,
    joined,
    large_in,
    large_value,
    part_in,
    remember,
)
from tests.every import every


def kept(text: str, name: str = "rows", task: str = "load it", *, is_json: bool = True) -> LargeValue:
    data = text.encode()
    key = f"20260131/1/2/{len(data)}.0.value"
    value = LargeValue(key, len(data), hashlib.sha256(data).hexdigest(), is_json, task, name)
    remember(value, Content(text))
    return value


@given(st.text(min_size=1, max_size=30), st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,20}", fullmatch=True), st.booleans())
def test_the_text_in_its_place_says_what_it_is_wherever_it_stands(task: str, name: str, is_json: bool) -> None:
    value = LargeValue("20260131/1/2/3.0.value", 70_000, "ab" * 32, is_json, task, name)
    assert large_value(value.written) == value
    assert large_in(f"a{value.written}.b {value.written}") == [value]
    assert large_value(f"{value.written} ") is None


def test_what_was_not_read_yet_is_asked_for_and_what_nobody_can_read_says_why() -> None:
    value = kept("[]")
    forget(value)
    with pytest.raises(ValuesMissing) as asked:
        expanded(f"x {value.written}")
    assert asked.value.values == [value]
    remember(value, Refused("it is gone"))
    with pytest.raises(Refused, match="it is gone"):
        content_of(value)
    with pytest.raises(Refused, match=r'"rows" of task "a" .2,000,000 bytes. was too large to be passed on'):
        content_of(LargeValue.lost(2_000_000, "a", "rows"))


def test_a_list_has_each_value_within_its_quotes() -> None:
    text, listed = kept('it\'s "x"', "t", is_json=False), kept('[1, "y"]', "j")
    quoted = joined(json.dumps([{"t": text.written, "j": listed.written}]), 1_000_000, "a", "all")
    assert json.loads(quoted) == [{"t": 'it\'s "x"', "j": '[1, "y"]'}]
    lost = large_value(joined(f"[{listed.written}]", 100, "a", "all"))
    assert lost is not None and (lost.task, lost.name) == ("a", "all")


def test_a_list_in_parts_is_put_together_of_json_and_texts_and_its_parts_are_found_alone() -> None:
    text, listed = kept('it\'s "x"', "t", is_json=False), kept('[1, {"y": 2.50}]', "j")
    like_one = f'said "{text.written}"'
    made = kept(json.dumps([text.written, listed.written, None, like_one, "small"]), "all")
    value = replace(made, in_parts=True)
    remember(value, Content(content_of(made).text))
    assert large_value(value.written) == value
    assert json.loads(expanded(f"{value.written}")) == ['it\'s "x"', [1, {"y": 2.5}], None, like_one, "small"]
    assert part_in(value, [1, 1, "y"]) == 2.5
    assert part_in(value, [-1]) == "small"
    assert large_value(part_in(value, [0])) == text, "it stays by reference"
    paths: list[list[str | int]] = [[0, "y"], [1, 7], [9]]
    for path in paths:
        with pytest.raises(Missing):
            part_in(value, path)
    forget(listed)
    with pytest.raises(ValuesMissing) as asked:
        expanded(value.written)
    assert asked.value.values == [listed]


def test_more_than_fits_into_memory_is_not_put_together() -> None:
    parts = [LargeValue(f"20260131/1/2/{n}.0.value", 6_000_000, "ab" * 32, True, "a", "x") for n in range(3)]
    made = kept(json.dumps([part.written for part in parts]), "all", "fan")
    value = replace(made, in_parts=True)
    remember(value, Content(content_of(made).text))
    with pytest.raises(Refused, match=r'"all" of task "fan" .* has 3 large parts, together 18,000,\d+ bytes, and only'):
        expanded(value.written)


def test_the_oldest_are_forgotten_when_all_are_too_large() -> None:
    first, second = kept("1" * (REMEMBERED_CHARACTERS_MAX // 2 + 1)), kept("2" * (REMEMBERED_CHARACTERS_MAX // 2))
    with pytest.raises(ValuesMissing):
        content_of(first)
    assert content_of(second).text.startswith("2")
    forget(second)


@every("name", ["rows", "load.rows", 'tasks["us east"].rows', "tasks['us \u00e4'].rows"])
def test_parameters_name_a_value_in_any_form(name: str) -> None:
    assert is_named(name, json.dumps({"script": f"${{{name}}}"}, ensure_ascii=False))
    assert not is_named(name, json.dumps({"script": "${lines}"}))
    if "[" not in name:
        variable = name.replace(".", "_")
        assert is_named(name, f"cat $SHOAL_FILE_{variable}") and is_named(name, f"echo $SHOAL_PARAM_{variable}")
