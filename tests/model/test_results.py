"""What `${...}` names besides a parameter: the syntax, and parts of JSON values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from model.parameters.json_values import is_container, looks_like_json
from model.parameters.nested_references import resolve
from model.parameters.parameters import references, replace_references
from model.parameters.results import bases, find, is_of_bash, named_task, quoted, said_of, written
from tests.every import every

UTC_ZONE = ZoneInfo("UTC")
KEYS = st.text(st.characters(exclude_characters='"\x7f', exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@every(
    ("name", "task", "rest"),
    [
        ("load.rows", "load", "rows"),
        ("load.files[0].name", "load", "files[0].name"),
        ('tasks["load files"].rows', "load files", "rows"),
        ("tasks['say \"a.b\"'].files[0]", 'say "a.b"', "files[0]"),
        ("tasks['加载'].rows", "加载", "rows"),
        ('tasks["load"]', "load", ""),
        ("tasks.rows", "tasks", "rows"),
    ],
)
def test_a_reference_names_a_task_and_a_value_of_it(name: str, task: str, rest: str) -> None:
    assert references(f"a ${{{name}}} b") == [name]
    assert named_task(name) == (task, rest)


@every("name", ["rows", "files[0]", "files[0].name", 'load["rows"]', "tasks[0].name"])
def test_what_has_no_name_before_a_point_names_no_task(name: str) -> None:
    assert references(f"${{{name}}}") == [name]
    assert named_task(name) is None


@every(
    "text",
    [
        "${load-files.rows}",
        "${load.rows:-1}",
        "${a[i]}",
        "${a[$i]}",
        "${a[@]}",
        '${a["]}',
        "${a[0}",
        "${#a[0]}",
        "${a[0]x}",
    ],
)
def test_what_bash_and_others_write_is_no_reference(text: str) -> None:
    assert references(text) == []


def test_only_an_element_of_an_array_belongs_to_bash() -> None:
    assert is_of_bash("files[0]") and is_of_bash('files["a"]')
    assert not is_of_bash("load.files[0]") and not is_of_bash("files[0].name") and not is_of_bash("load.rows")


@given(task=KEYS, out=st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,3}(\.[A-Za-z0-9_]{1,2})?", fullmatch=True))
def test_what_is_written_for_a_task_names_it_again(task: str, out: str) -> None:
    for text in (written(task, out), quoted(task, out)):
        (name,) = references(text)
        assert named_task(name) == (task, out)


def test_the_longest_name_comes_first() -> None:
    assert list(bases("dynamic.out[0].a")) == [("dynamic.out", (0, "a")), ("dynamic", ("out", 0, "a"))]
    values = {"dynamic.out": '[{"a": 1.10}]', "dynamic": '{"out": [{"a": 2}]}'}
    found = find(values, "dynamic.out[0].a")
    assert found is not None and (found.base, found.text, found.is_json) == ("dynamic.out", "1.10", True)


@given(JSON)
def test_a_path_leads_to_each_part_of_a_value(value: Any) -> None:
    pending: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while pending:
        path, part = pending.pop()
        found = find({"x": json.dumps(value)}, "x" + said_of(path))
        assert found is not None and found.text is not None
        if path:
            assert found.is_json is not isinstance(part, str)
            assert found.text == ("" if part is None else part) or json.loads(found.text) == part
        items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
        pending += [((*path, step), inner) for step, inner in items]


@every("name", ["x[3]", "x[0].b", "x.a", 'x["a"]', "y[0]", "x[0].a.b"])
def test_what_is_not_there_is_not_found(name: str) -> None:
    found = find({"x": '[{"a": "text"}]'}, name)
    assert found is None or found.text is None


def test_a_part_of_a_text_that_is_no_json_is_not_found() -> None:
    found = find({"x": "[1, 2", "y": "sealed:v2:a"}, "x[0]")
    assert found is not None and found.text is None


def test_a_path_stands_in_values_that_are_made_of_others() -> None:
    raw = {"first": "<${files[0].name}>", "files": '[{"name": "${day}.csv"}]', "none": "${files[9].name}"}
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert resolve(raw, {"day": "monday"}, at, UTC_ZONE) == {
        "first": "<monday.csv>",
        "files": '[{"name": "monday.csv"}]',
        "none": "${files[9].name}",
    }
    assert resolve({"files": "${files[0]}"}, {"files": "[[1], 2]"}, at, UTC_ZONE) == {"files": "[1]"}, (
        "of the one outside"
    )
    assert resolve({"a": "${b[0]}", "b": "${a[0]}"}, {}, at, UTC_ZONE)["a"] == "${b[0]}", "a circle ends"


def test_a_reference_is_replaced_by_what_has_its_text() -> None:
    values = {'tasks["a b"].x': "1", "load.files[0]": "2"}
    text = """${tasks["a b"].x} ${load.files[0]} $${load.files[0]} ${tasks['a b'].x}"""
    assert replace_references(text, values, lambda _, value: value) == "1 2 ${load.files[0]} ${tasks['a b'].x}"


@every("text", ["[]", ' {"a": [1.50]}', "7", "-1.5e3", "true", "false"])
def test_json_is_told_from_text_by_its_look(text: str) -> None:
    assert looks_like_json(text)


@every("text", ["", "007", "+5", "null", '"a"', "[1", "[NaN]", "True", "1 ", "{a: 1}", "[" * 100_000])
def test_what_json_does_not_write_is_text(text: str) -> None:
    assert not looks_like_json(text)
    assert not is_container(text)
