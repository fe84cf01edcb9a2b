"""What stands for a value that is too large for a row, and what is made of it."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
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


def test_a_list_has_each_value_as_json_or_within_its_quotes() -> None:
    text, listed = kept('it\'s "x"', "t", is_json=False), kept('[1, "y"]', "j")
    room = 1_000_000
    whole = joined(f"[{text.written}, {listed.written}, null]", room, "a", "all")
    assert json.loads(whole) == ['it\'s "x"', [1, "y"], None]
    quoted = joined(json.dumps([{"t": text.written, "j": listed.written}]), room, "a", "all", in_quotes=True)
    assert json.loads(quoted) == [{"t": 'it\'s "x"', "j": '[1, "y"]'}]
    lost = large_value(joined(f"[{listed.written}]", 100, "a", "all"))
    assert lost is not None and (lost.task, lost.name) == ("a", "all")


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
