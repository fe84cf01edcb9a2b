"""The file of a pool that is shown or exported is read as the same pool."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.pools.spec import InvalidPool, PoolSpec
from service.pools.pool_file import pools_of, yaml_of_pool
from service.workflows.definition_files import parse_files
from service.workflows.workflow_file import BadWorkflowFile, documents_in
from tests.every import every
from worker.tasks.catalog import TaskCatalog

FILE = "pool.yaml"
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
WORDS = (
    "no",
    "Null",
    "1.5",
    "0x1f",
    "10.0.0.1",
    "2026-11-24",
    "a: b",
    "# x",
    "- y",
    "{z",
    "e",
    "~",
    "a\u2028b",
    "\x85",
    "é",
)


def _read_again(spec: PoolSpec) -> PoolSpec:
    (pool,) = pools_of(documents_in(yaml_of_pool("proxies", spec).encode(), FILE), FILE)
    return pool.spec


@given(data=st.dictionaries(st.text(min_size=1, max_size=6), VALUES, max_size=4))
def test_the_data_of_a_resource_is_read_as_it_was_written(data: dict[str, Any]) -> None:
    try:
        spec = PoolSpec.parse({"resources": {"p1": data, "no": {}}})
    except InvalidPool:
        return  # what cannot be saved is not written
    assert _read_again(spec).resources == spec.resources


@every("word", WORDS)
def test_what_yaml_would_take_for_something_else_is_quoted(word: str) -> None:
    spec = PoolSpec.parse({"resources": {"p1": {"value": word, "list": [word, 1e20, True, None]}}})
    assert _read_again(spec).resources == spec.resources


def test_each_resource_is_a_line_as_people_write_it() -> None:
    spec = PoolSpec.parse({"resources": {"p1": {"host": "10.0.0.1", "port": 3128}, "p2": {}}})
    assert yaml_of_pool("proxies", spec).endswith("resources:\n  p1: {host: 10.0.0.1, port: 3128}\n  p2: {}\n")


@every(
    ("content", "sentence"),
    [
        ("", f"{FILE}: there is no workflow and no pool in it; begin with `name:` and `tasks:`, or with `kind: pool`"),
        ("- kind: pool\n  name: p\n  count: 1\n", f"{FILE}:1: a pool stands in no list: begin the line with `kind:"),
        ("- name: w\n", f"{FILE}:1: a workflow is a mapping with `name:` and `tasks:`"),
    ],
)
def test_what_is_no_pool_is_told_how_to_become_one(content: str, sentence: str) -> None:
    with pytest.raises(BadWorkflowFile) as raised:
        parse_files([(FILE, content.encode())], TaskCatalog())
    assert str(raised.value).startswith(sentence)
