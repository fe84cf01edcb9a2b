"""The syntax of a resource pool: what is accepted, and the sentence and place of each fault."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.pools.spec import (
    DATA_BYTES_MAX,
    RESOURCES_MAX,
    InvalidPool,
    PoolSpec,
    fault_of_pool_name,
    faults_of_variables,
)
from model.pools.variables import resource_variable, resource_variables
from tests.every import every


def problems_of(content: dict[str, Any]) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(InvalidPool) as caught:
        PoolSpec.parse(content, ("kind", "name"))
    return [(each.where, each.sentence) for each in caught.value.problems]


def test_a_list_of_names_is_resources_without_data() -> None:
    listed, mapped = PoolSpec.parse({"resources": ["a", "b"]}), PoolSpec.parse({"resources": {"a": None, "b": {}}})
    assert listed == mapped
    assert (listed.size, PoolSpec.parse({"count": 40}).size) == (2, 40)


def test_durations_of_a_check_have_units() -> None:
    spec = PoolSpec.parse({"resources": ["a"], "check": {"url": "http://x/${name}", "timeout": "500ms", "every": "2m"}})
    assert spec.check is not None
    assert (spec.check.timeout, spec.check.every) == (0.5, 120.0)


@every(
    ("content", "where", "sentence"),
    [
        ({}, (), "a pool needs `resources` (names, with data of each) or a `count` of places; write one"),
        ({"count": 1, "resources": ["a"]}, ("count",), "has `resources` or a `count`, not both"),
        ({"count": 0}, ("count",), 'field "count": must be 1 to 10000'),
        ({"count": RESOURCES_MAX + 1}, ("count",), "must be 1 to 10000"),
        ({"count": "4"}, ("count",), "must be a whole number"),
        ({"count": True}, ("count",), "must be a whole number"),
        ({"count": 3, "check": {"url": "http://x"}}, ("check",), "have nothing to check"),
        ({"resources": {}}, ("resources",), "must not be empty; name a resource"),
        ({"resources": "a"}, ("resources",), "must be a mapping of names to data, or a list of names"),
        ({"resources": ["a", "a"]}, ("resources", 1), 'the resource "a" stands there twice'),
        ({"resources": ["a", 3]}, ("resources", 1), "resource 2 must be a name, a text"),
        ({"resources": ["a"] * (RESOURCES_MAX + 1)}, ("resources",), "must not have more than 10000 resources"),
        ({"resources": {"a": 3}}, ("resources", "a"), 'resource "a": its data must be an object such as'),
        ({"resources": {"a": [1]}}, ("resources", "a"), 'resource "a": its data must be an object such as'),
        ({"resources": {"a": {"b": "c" * DATA_BYTES_MAX}}}, ("resources", "a"), "8192 is the most"),
        ({"resources": {"a": {"b": "\0"}}}, ("resources", "a"), "must not contain a NUL"),
        ({"resources": {"a": {"b": float("inf")}}}, ("resources", "a"), "must not contain the number inf"),
        ({"resources": {" a": {}}}, ("resources", " a"), "begins or ends with a blank"),
        ({"resources": {"": {}}}, ("resources", ""), "a resource needs a name"),
        ({"resources": {"a\n": {}}}, ("resources", "a\n"), "holds a control character"),
        ({"resources": {"a" * 201: {}}}, ("resources", "a" * 201), "at most 200 characters"),
        ({"resources": ["a"], "check": "x"}, ("check",), "must be a mapping of fields"),
        ({"resources": ["a"], "check": {}}, ("check",), "needs either a `script` or a `url`"),
        ({"resources": ["a"], "check": {"script": "true", "url": "http://x"}}, ("check",), "not both"),
        ({"resources": ["a"], "check": {"script": " "}}, ("check",), "its script is empty"),
        ({"resources": ["a"], "check": {"url": "ftp://x"}}, ("check",), "begin with http:// or https://"),
        ({"resources": ["a"], "check": {"url": "http://x", "timeout": 5}}, ("check", "timeout"), "with its unit"),
        ({"resources": ["a"], "check": {"url": "http://x", "timeout": "61s"}}, ("check",), "100ms to 60s"),
        ({"resources": ["a"], "check": {"url": "http://x", "every": "1s"}}, ("check",), "5s to 7d, or 0s"),
        ({"resouces": ["a"], "count": 1}, ("resouces",), 'there is no field "resouces", did you mean "resources"?'),
        ({"slots": 5, "count": 1}, ("slots",), 'there is no field "slots", did you mean "count"?'),
        ({"nmae": "p", "count": 1}, ("nmae",), 'did you mean "name"?'),
        ({"resources": ["a"], "check": {"scrip": "x"}}, ("check", "scrip"), 'did you mean "script"?'),
    ],
)
def test_what_is_wrong_has_its_place_and_a_sentence(
    content: dict[str, Any], where: tuple[str | int, ...], sentence: str
) -> None:
    found = problems_of(content)
    assert any(place == where and sentence in said for place, said in found), found
    assert len(found) <= 2


def test_all_problems_are_reported_at_once() -> None:
    found = problems_of({"resources": {"a": 3, " b": {}}, "description": 5, "check": {"timeout": "x"}})
    assert {where for where, _ in found} == {
        ("resources", "a"),
        ("resources", " b"),
        ("description",),
        ("check", "timeout"),
    }


@every(
    ("check", "data", "sentence"),
    [
        ({"url": "http://${hots}/"}, {"host": "x"}, "the url of the check has ${hots}, which no resource has; did you"),
        ({"url": "http://${nix}/"}, {"host": "x"}, "known are host, name"),
        ({"script": "curl ${host}"}, {"host": "x"}, "host=$(jq -r '.data.host' <<< \"$SHOAL_RESOURCE\")"),
        ({"script": "curl ${name}"}, {"host": "x"}, "name=$(jq -r '.name' <<< \"$SHOAL_RESOURCE\")"),
    ],
)
def test_a_check_names_only_what_resources_have(check: dict[str, str], data: dict[str, str], sentence: str) -> None:
    ((where, said),) = problems_of({"resources": {"a": data}, "check": check})
    assert where == ("check", *check)
    assert sentence in said


def test_each_resource_has_what_the_check_needs() -> None:
    content = {"resources": {"a": {"host": "x"}, "b": {}}, "check": {"url": "http://${host}/"}}
    assert problems_of(content) == [
        (("resources", "b"), 'resource "b" has no host, which the url of the check needs; add it')
    ]


def test_a_script_has_variables_of_the_shell_too() -> None:
    script = 'host=$(jq -r .data.host <<< "$SHOAL_RESOURCE"); test -e "${HOME}" && ping ${host}'
    assert PoolSpec.parse({"resources": {"a": {"host": "x"}}, "check": {"script": script}}).check is not None


@every("name", ["proxies", "a", "0", "A.b-c_d", "p" * 100])
def test_names_of_pools(name: str) -> None:
    assert fault_of_pool_name(name) is None


@every("name", ["", " ", "a b", "-a", ".", "..", "_a", "a/b", "a?b", "代理", "p" * 101, "a\n", None, 5])
def test_names_that_no_pool_may_have(name: object) -> None:
    assert fault_of_pool_name(name) is not None


@every("name", ["_a", "-a", ".a", "代理", "a b", "", "p" * 101, "a\n"])
def test_a_task_names_only_what_a_pool_may_be_called(name: str) -> None:
    task = {"name": "t", "type": "FAKE", "resources": {name: 1}}
    with pytest.raises(InvalidWorkflow) as caught:
        WorkflowSpec.parse({"tasks": [task]})
    assert str(caught.value) == (
        f'task "t": field "resources.{name}": must name pools, which are 1 to 100 letters (a to z), digits and _ . -, '
        f"a letter or digit first"
    )
    assert fault_of_pool_name(name) is not None


def test_a_task_does_not_name_two_pools_of_which_there_can_be_only_one() -> None:
    task = {"name": "t", "type": "FAKE", "resources": {"a-b": 1, "c": 1, "A.b": 1}}
    with pytest.raises(
        InvalidWorkflow, match=r'the pools "a-b" and "A\.b" are one variable of a task, SHOAL_RESOURCE_A_B'
    ):
        WorkflowSpec.parse({"tasks": [task]})


@every(("number", "is_right"), [(0, False), (-1, False), (1, True), (10_000, True), (10_001, False)])
def test_how_many_a_task_may_need(number: int, is_right: bool) -> None:
    task = {"name": "t", "type": "FAKE", "resources": {"a": number}}
    if is_right:
        WorkflowSpec.parse({"tasks": [task]})
    else:
        with pytest.raises(InvalidWorkflow, match=r'task "t": field "resources\.a": '):
            WorkflowSpec.parse({"tasks": [task]})


def test_a_variable_that_is_too_long_is_refused() -> None:
    held = [{"name": "x", "data": {"long": "y" * 8_000}}] * 16
    assert resource_variables(json.dumps({"a": held}))["SHOAL_RESOURCE_A"]
    with pytest.raises(Refused, match="bytes in SHOAL_RESOURCE_A, and a variable takes 131,071"):
        resource_variables(json.dumps({"a": [*held, *held]}))


def test_pools_that_are_one_variable_cannot_stand_beside_each_other() -> None:
    assert resource_variable("my-proxies.eu") == "SHOAL_RESOURCE_MY_PROXIES_EU"
    others = {resource_variable("a-b"): "a-b"}
    assert list(faults_of_variables("a-b", others)) == []
    (sentence,) = faults_of_variables("A.b", others)
    assert sentence.startswith('the pools "A.b" and "a-b" are one variable of a task, SHOAL_RESOURCE_A_B')
