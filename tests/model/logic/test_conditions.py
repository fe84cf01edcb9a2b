"""CONDITIONS: which of two branches the ends of predecessors choose."""

from __future__ import annotations

from typing import Any

from model.logic.conditions import ConditionsParams, choose
from tests.every import every


def params(when: Any, relation: str = "AND") -> ConditionsParams:
    return ConditionsParams.read({"relation": relation, "when": when, "on_success": "good", "on_failure": ["bad"]})


def group(relation: str, **asked: str) -> dict[str, Any]:
    return {"relation": relation, "items": [{"task": task, "status": status} for task, status in asked.items()]}


@every(
    ("outer", "left", "right", "chosen"),
    [
        ("AND", "AND", "AND", "bad"), ("OR", "AND", "AND", "bad"), ("AND", "OR", "OR", "good"),
        ("AND", "OR", "AND", "bad"), ("OR", "OR", "AND", "good"), ("OR", "AND", "OR", "good"),
    ],
)  # fmt: skip
def test_two_levels_of_and_and_or(outer: str, left: str, right: str, chosen: str) -> None:
    both = [group(left, a="SUCCESS", b="SUCCESS"), group(right, c="FAILURE", d="FAILURE")]
    assert choose(params(both, outer), {"a": True, "b": False, "c": True, "d": False}) == (chosen,)


def test_the_short_form_is_joined_by_the_relation() -> None:
    asked = {"extract": "SUCCESS", "load": "FAILURE"}
    assert choose(params(asked), {"extract": True, "load": False}) == ("good",)
    assert choose(params(asked), {"extract": True, "load": True}) == ("bad",)
    assert choose(params(asked, "OR"), {"extract": True, "load": True}) == ("good",)


def test_one_that_was_skipped_or_killed_failed() -> None:
    assert choose(params({"a": "FAILURE"}), {}) == ("good",)
    assert choose(params({"a": "SUCCESS"}), {}) == ("bad",)


def test_each_predecessor_is_named_once_in_order() -> None:
    assert params([group("AND", b="SUCCESS", a="FAILURE"), group("OR", b="FAILURE")]).named() == ("b", "a")
