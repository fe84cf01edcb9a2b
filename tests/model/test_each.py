"""`each` in a definition: its forms, what it does not fit, and the list that it becomes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from model.choices import OnElementFailure
from model.definitions.each import Each, count_stored, listed, read_stored, stored
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import TaskCode
from model.runs.elements import MAPPED_CODE_MAX, element_code, index_of, task_named_in, task_of
from tests.every import every


def parsed(each: Any, **task: Any) -> Each:
    content = {"tasks": [{"name": "a", "type": "FAKE", "each": each, **task}]}
    found = WorkflowSpec.parse(content).tasks[0].each
    assert found is not None
    return found


def test_a_list_and_a_reference_are_short_for_the_long_form() -> None:
    assert parsed("${files}") == Each(over="${files}")
    assert parsed(["a", {"b": 1}]) == Each(over=["a", {"b": 1}])
    long = {"over": "[1]", "parallel": 3, "on_failure": "stop"}
    assert parsed(long) == Each(over="[1]", parallel=3, on_failure=OnElementFailure.STOP)


@every(
    ("task", "said"),
    [
        ({"each": "a, b"}, "each needs a JSON list such as"),
        ({"each": {"over": 3}}, 'field "each.over": must be a list such as [a, b], or a text such as ${list.files}'),
        ({"each": {"over": [1], "parallel": 0}}, "greater than or equal to 1"),
        ({"each": {"over": [1], "on_failure": "never"}}, "'continue' or 'stop'"),
        ({"each": {"list": [1]}}, 'there is no field "list"'),
        ({"each": [0] * 16_385}, "each has 16,385 elements, and at most 16,384 are possible"),
        ({"each": [1], "type": "SWITCH"}, "a SWITCH task runs in the master and has no each"),
        ({"each": [1], "stream": True}, "a stream runs until it is stopped, so it has no each"),
        ({"each": [1], "teardown": True}, "a task with teardown has no each"),
        ({"each": [1], "local_params": {"each": "x"}}, 'the local parameter "each" is what each calls its elements'),
        ({"each": [1], "code": MAPPED_CODE_MAX + 1}, f"the code of a task with each is at most {MAPPED_CODE_MAX}"),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(task: dict[str, Any], said: str) -> None:
    other = {"name": "b", "type": "FAKE", **({"code": 1} if "code" in task else {})}
    with pytest.raises(Refused) as error:
        WorkflowSpec.parse({"tasks": [{"name": "a", "type": "FAKE", **task}, other]})
    assert said in str(error.value)


def test_no_task_has_the_name_of_an_element_of_another() -> None:
    tasks = [{"name": "a", "type": "FAKE", "each": [1]}, {"name": "a[12]", "type": "FAKE"}]
    with pytest.raises(Refused, match=r'task "a\[12\]" has the name of an element of a task with each; rename it'):
        WorkflowSpec.parse({"tasks": tasks})
    del tasks[0]["each"]
    WorkflowSpec.parse({"tasks": tasks})


def test_a_list_of_a_secret_is_refused() -> None:
    tasks = [{"name": "a", "type": "FAKE", "each": ["${key}"]}]
    with pytest.raises(Refused, match="its elements are stored in clear"):
        WorkflowSpec.parse({"params": {"key": {"type": "SECRET", "value": "x"}}, "tasks": tasks})


def test_a_value_stays_within_its_text_in_a_list_that_is_written_down() -> None:
    values = {"a": '", "b', "all": '["x", 1.50]'}
    assert json.loads(listed(Each(over=["<${a}>", {"k": ["${a}"]}]), values)) == ['<", "b>', {"k": ['", "b']}]
    assert listed(Each(over="${all}"), values) == '["x", 1.50]'
    with pytest.raises(Refused, match="each needs a JSON list such as"):
        listed(Each(over="${nowhere}"), values)


def test_the_code_of_an_element_says_its_task_and_place() -> None:
    for task in (1, 77, MAPPED_CODE_MAX):
        for index in (0, 1, 16_383):
            code = element_code(TaskCode(task), index)
            assert -(2**63) <= code < 0
            assert (task_of(code), index_of(code)) == (task, index)
    assert task_named_in("load[3]") == "load"
    assert [task_named_in(name) for name in ("load", "load[x]", "load[03]", "[3]")] == [None] * 4


def test_the_row_of_a_task_keeps_its_list_as_it_was_written() -> None:
    row = stored('["x", 1.50]', 2, {"k": "v"}, ["k"])
    assert read_stored(row) == ('["x", 1.50]', {"k": "v"}, ["k"])
    assert count_stored(row) == 2
    for damaged in ("{", "[]", '{"each": "[]"}', "null"):
        with pytest.raises(Refused):
            read_stored(damaged)
        with pytest.raises(Refused):
            count_stored(damaged)
