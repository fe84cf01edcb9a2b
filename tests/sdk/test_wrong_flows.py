"""What the SDK says about a wrong flow."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import SecretStr

from shoal_sdk import NotAValueYet, WrongFlow, branch, cel, each, flow, shell, subflow, task, wait_for
from tests.sdk import sales
from tests.sdk.sales import extract, load, weekly

LIES: dict[str, Callable[[Any], Any]] = {
    "use branch(": lambda ref: 1 if ref else 2,
    "use each(": lambda ref: [item for item in ref],  # noqa: C416
    "write ${on}": lambda ref: f"{ref}",
    "use branch(condition": lambda ref: bool(ref == "a"),
    "size({it})": len,
    "do that in a task": lambda ref: ref + "x",
    "computed with": lambda ref: ref // 2,
    "cannot be computed": lambda ref: range(ref),
    "before the flow runs; do": int,
    "do that in": round,
}


@pytest.mark.parametrize("cure", LIES)
def test_a_result_used_as_a_value_says_what_to_write(cure: str) -> None:
    @flow
    def wrong(on: str) -> None:
        LIES[cure](on)

    with pytest.raises(NotAValueYet) as caught:
        wrong.spec()
    assert cure in str(caught.value)
    assert "\n" not in str(caught.value)


def _inner() -> Any:
    @task
    def inner() -> int:
        return 1

    return inner


WRONG: dict[str, Callable[[Any], Any]] = {
    'Loaded has no field "rowz"': lambda on: load(on, "t").rowz,  # type: ignore[attr-defined]
    "put it at the top of its file": lambda _: _inner()(),
    'load: "bad" is no condition': lambda on: branch("bad", then=load(on, "t")),
    "exactly one list": lambda _: each(sales.measure),
    "is a parameter of the flow": lambda _: shell("s", "echo ${on}", on="2026"),
    "give plain data": lambda on: load(on, object()),  # type: ignore[arg-type]
    "missing a required argument": lambda on: load(on),  # type: ignore[call-arg]
    "subflow(weekly": lambda on: weekly(on),
    "{y} is not given": lambda on: branch(cel("{y} > 1", x=on), then=load(on, "t")),
    "rename the parameter": lambda _: shell("s", "true", outputs={"on": str}),
    'has no parameter "rows"': lambda _: each(sales.measure, rows=[1, 2]),
    '"city" is 7, and must be a list': lambda _: each(sales.measure, city=7, given={"unit": "km"}),
    "argument: 'unit'": lambda _: each(sales.measure, city=["a"]),
    "remove it there": lambda _: each(sales.measure, city=["a"], given={"city": "b", "unit": "km"}),
    "is no task; give": lambda _: each(weekly, on=["a"]),  # type: ignore[arg-type]
    "is no flow; give": lambda _: subflow(extract),  # type: ignore[arg-type]
    "or a workflow's name": lambda _: wait_for(extract),  # type: ignore[arg-type]
    'of task "extract"> is no condition': lambda on: branch((load(on, "t").bad > 1) & extract(on), then=load(on, "u")),
    "a value, as in ok == True": lambda on: branch(~extract(on), then=load(on, "u")),  # type: ignore[operator]
    "compare parts": lambda on: branch(load(on, "t") == {"rows": 1}, then=load(on, "u")),
    'the argument "on" is a float': lambda _: extract(math.nan),  # type: ignore[arg-type]
    "make it a SecretStr parameter": lambda _: extract(SecretStr("hidden")),  # type: ignore[arg-type]
    "should be a valid number": lambda _: sales.everything.given(limit="x"),  # type: ignore[arg-type]
    'two tasks "s"': lambda _: (shell("s", "true"), shell("s", "true")),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_flow_is_refused_in_a_sentence(sentence: str) -> None:
    @flow
    def wrong(on: str) -> None:
        WRONG[sentence](on)

    with pytest.raises((WrongFlow, AttributeError)) as caught:
        wrong.spec()
    assert sentence.removeprefix("load: ").replace('"bad" is', "is") in str(caught.value)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy], ids=["shallow", "deep"])
def test_a_result_in_plain_data_may_be_copied(copied: Callable[[Any], Any]) -> None:
    @flow
    def copying(on: str) -> None:
        given = {"source": extract(on), "table": "t"}
        load(**copied(given))

    assert [each["name"] for each in copying.spec()["tasks"]] == ["extract", "load"]


def test_parameters_of_a_flow_have_names() -> None:
    with pytest.raises(WrongFlow, match='flow "many": its parameter "days" cannot be given by name'):

        @flow
        def many(*days: str) -> None:
            extract(days[0])


def test_a_result_of_nobody_knows_which_name_is_refused() -> None:
    @flow
    def returning() -> Any:
        return shell("s", "true")

    with pytest.raises(WrongFlow, match='returns all of task "s"; return one of its outputs'):
        returning.spec()


def test_a_part_that_is_not_there_can_be_asked_for() -> None:
    @flow
    def asking(on: str) -> None:
        assert not hasattr(load(on, "t"), "rowz")

    assert len(asking.spec()["tasks"]) == 1
