"""Files that tasks hand on: what stands for them, which are taken for one, and which paths a definition may name."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.files.handed_files import (
    HandedFile,
    files_in,
    files_left,
    handed_file,
    handed_in,
    handed_on,
    is_asked_for,
    paths_left,
    recorded,
    recorded_in,
    with_paths,
)
from tests.every import every

FILE = HandedFile("20260131/1/2/3.0.file", 'a "b" é.csv', 7, "0" * 64, "load it")
FACTS = json.loads(FILE.written)


@given(st.lists(st.sampled_from([None, FILE, replace(FILE, size=8)]), max_size=5))
def test_a_list_stands_for_the_files_of_its_elements(files: list[HandedFile | None]) -> None:
    text = json.dumps([None if each is None else json.loads(each.written) for each in files])
    assert (handed_in(text) or []) == [each for each in files if each is not None]


@every(
    "text",
    [
        "",
        "shoal_file",
        '{"shoal_file": 1',
        '["shoal_file"]',
        json.dumps([FACTS, "a.csv"]),
        json.dumps({**FACTS, "shoal_file": "20260131/1/2/3.log"}),
        json.dumps({**FACTS, "shoal_file": "../20260131/1/2/3.0.file"}),
        json.dumps({**FACTS, "sha256": "0" * 63}),
        json.dumps({**FACTS, "size": -1}),
        json.dumps({**FACTS, "name": None}),
    ],
)
def test_other_texts_stand_for_themselves(text: str) -> None:
    assert handed_in(text) is None


def test_a_file_is_asked_for_by_its_reference_or_its_variable() -> None:
    assert handed_file(FILE.written) == FILE
    for params in ('{"script": "cat ${load.f}"}', '{"script": "cat $SHOAL_PARAM_load_f"}', '{"sql": "!{load.f}"}'):
        assert is_asked_for("load.f", params)
    for params in ('{"script": "load.f"}', '{"script": "cat ${load.f.name}"}', '{"script": "cat ${load.f[0]}"}'):
        assert not is_asked_for("load.f", params)


def spec(value: str, type_: str = "SHELL", **param: Any) -> WorkflowSpec:
    local = {"f": {"direct": "OUT", "type": "FILE", "value": value, **param}}
    return WorkflowSpec.parse({"tasks": [{"name": "a", "type": type_, "params": {}, "local_params": local}]})


@every("value", ["", "a.csv", "out/a b.csv", "/mnt/a.csv", "$[yyyyMMdd].csv", "${day}/../a"])
def test_a_path_in_the_folder_travels_with_the_attempt(value: str) -> None:
    (task,) = spec(value).tasks
    assert recorded_in(json.dumps(recorded(task))) == {"f": value}


@every("value", ["../a", "a//b", "./a", "out/", "a\nb", "a\\b", "x" * 300])
def test_a_path_that_leads_elsewhere_is_refused(value: str) -> None:
    with pytest.raises(InvalidWorkflow, match='task "a": the OUT parameter "f" is a FILE, and its path'):
        spec(value)


def test_a_file_is_not_kept_for_runs_that_outlive_it() -> None:
    given = spec("a.csv").model_dump(mode="json", exclude_unset=True)
    with pytest.raises(InvalidWorkflow, match='"f" is a FILE, which is deleted with its run, and cache is for later'):
        WorkflowSpec.parse({"tasks": [{**given["tasks"][0], "cache": True}]})


def test_what_is_no_file_of_a_folder_is_text_as_before() -> None:
    for other in (spec("../a", "K8S"), spec("../a", type="TEXT"), spec("../a", direct="IN")):
        assert recorded(other.tasks[0]) == {}


def test_json_has_files_anywhere_and_no_secret_beside_them() -> None:
    said = {
        "a": [{"shoal_file": "/w/1/b.csv", "of": "key 1234"}, FACTS, None],
        "n": [1234, 7],
        "key 1234": "a\nkey 1234",
    }
    left = files_left(json.dumps(said), "/w/1/")
    assert list(paths_left(left)) == ["b.csv"]
    other = replace(FILE, name="b.csv")
    value = handed_on(left, {"b.csv": other}, lambda text: text.replace("1234", "******"))
    given = json.loads(value)
    assert given == {
        "a": [{"of": "key ******", **json.loads(other.written)}, FACTS, None],
        "n": ["******", 7],
        "key ******": "a\nkey ******",
    }
    assert files_in(value) == [other, FILE]
    assert json.loads(with_paths(value, {other: "/b", FILE: "/c"}))["a"][1] == {**FACTS, "path": "/c"}


@every("said", ["b.csv", "[a].csv", "nul"])
def test_what_is_no_json_is_a_path(said: str) -> None:
    assert list(paths_left(files_left(said, "/w/1/"))) == [said]
    assert list(paths_left(files_left("null", "/"))) == []
