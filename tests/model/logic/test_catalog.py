"""Messages about logic tasks are sentences without words of Python."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from model.logic.catalog import LOGIC_TYPES, check_logic
from model.logic.sub_process import SubProcessParams
from tests.every import every

NO_WORKFLOW = 'field "workflow": must be the name of a workflow or its code, a positive number'
GOOD: dict[str, dict[str, Any]] = {
    "SUB_PROCESS": {"workflow": "child", "version": 2, "params": {"n": 5, "on": True}},
    "DYNAMIC": {"workflow": 17, "lists": [{"name": "a", "value": "1,2"}]},
    "DEPENDENT": {"groups": [{"items": [{"workflow": "w", "cycle": "today"}]}]},
    "SWITCH": {"cases": [{"when": "${n} > 5", "then": "after"}], "default": "other"},
    "CONDITIONS": {"when": {"before": "SUCCESS"}, "on_success": "after", "on_failure": ["other"]},
    "APPROVAL": {"text": "load ${n} rows?", "form": {"rows": {"type": "INTEGER", "required": True}}, "users": ["ada"]},
}


def wrong(type_: str, **changed: Any) -> list[str]:
    params = {name: value for name, value in {**GOOD[type_], **changed}.items() if value is not None}
    return check_logic(type_, params, {"after", "other"}, {"before"})


@every("type_", LOGIC_TYPES)
def test_what_is_right_has_no_sentence(type_: str) -> None:
    assert wrong(type_) == []


@every(
    ("type_", "changed", "sentence"),
    [
        ("SUB_PROCESS", {"workflow": None}, 'the field "workflow" is missing; add it'),
        ("SUB_PROCESS", {"workflow": True}, NO_WORKFLOW),
        ("SUB_PROCESS", {"workflow": 0}, NO_WORKFLOW),
        ("SUB_PROCESS", {"version": 0}, 'field "version": must be greater than or equal to 1'),
        ("SUB_PROCESS", {"paramz": {}}, 'there is no field "paramz"; did you mean params?'),
        ("DYNAMIC", {"lists": []}, 'field "lists": must have at least 1 item, not 0'),
        ("DYNAMIC", {"lists": "a"}, 'field "lists": must be a list, such as [a, b]'),
        ("DYNAMIC", {"lists": [7]}, 'field "lists.1": must be a mapping of fields to values'),
        ("DYNAMIC", {"lists": [{"name": "a", "valu": "1", "value": ""}]},
         'there is no field "lists.1.valu"; did you mean value?'),
        ("DYNAMIC", {"max_instances": 10_001}, 'field "max_instances": must be less than or equal to 10000'),
        ("DEPENDENT", {"groups": [{"items": [{"workflow": "w", "cycle": "today", "tsk": "x"}]}]},
         'there is no field "groups.1.items.1.tsk"; did you mean task?'),
        ("DEPENDENT", {"on_failure": "fail"}, "field \"on_failure\": must be 'FAIL' or 'WAIT'"),
        ("SWITCH", {"default": "zzz"}, 'it chooses "zzz", which does not come directly after it; '
         "add that arrow or remove the name"),
        ("SWITCH", {"default": ["othr"]},
         'it chooses "othr", which does not come directly after it; did you mean "other"?'),
        ("SWITCH", {"default": ["other", "other"]},
         'field "default": must not name the same task twice; once is enough'),
        ("SWITCH", {"cases": [{"when": "${n} >", "then": "after"}]},
         'case 1, ${n} >: it cannot be read; write it like ${a} > 5 && "${b}" == "x"'),
        ("SWITCH", {"cases": [{"when": "true", "then": []}]}, 'field "cases.1.then": must have at least 1 item, not 0'),
        ("APPROVAL", {"text": None}, 'the field "text" is missing; add it'),
        ("APPROVAL", {"form": {"key": {"type": "SECRET"}}},
         'field "form": "key" is SECRET, and an answer is stored in clear; choose another type'),
        ("APPROVAL", {"form": {"rows": {"type": "INTEGER", "value": "many"}}},
         'form: parameter "rows" is INTEGER and must be a whole number such as 42; it is "many"'),
        ("APPROVAL", {"form": {"answered_by": "x"}},
         'form: "answered_by" is the result that names who approved; choose another name'),
        ("APPROVAL", {"timeout": "1h", "on_timeout": "APPROVE"},
         'form: "rows" is required, and nobody gives it when the timeout approves; give it a default, or choose '
         "another on_timeout"),
        ("APPROVAL", {"on_timeout": "SKIP"}, "on_timeout: SKIP needs a timeout; add one, such as timeout: 8h"),
        ("CONDITIONS", {"when": {"befor": "SUCCESS"}},
         'it asks for "befor", which does not come directly before it; did you mean "before"?'),
        ("CONDITIONS", {"when": {"before": "KILL"}}, "field \"when.1.items.1.status\": must be 'SUCCESS' or 'FAILURE'"),
        ("CONDITIONS", {"on_success": "aft\ner"}, 'field "on_success.1": must not contain control characters'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_in_a_sentence(type_: str, changed: dict[str, Any], sentence: str) -> None:
    assert wrong(type_, **changed) == [sentence]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    assert len(wrong("SWITCH", cases=[{"when": "(", "then": "x"}, {"when": ")", "then": "after"}], default="y")) == 4
    assert len(wrong("DYNAMIC", parallelism=0, max_instances=0, filtr="")) == 3


def test_no_field_is_named_like_something_of_pydantic() -> None:
    assert not [name for model in LOGIC_TYPES.values() for name in model.model_fields if hasattr(BaseModel, name)]


def test_values_for_a_child_are_texts_as_a_person_reads_them() -> None:
    assert SubProcessParams.read(GOOD["SUB_PROCESS"]).params == {"n": "5", "on": "true"}
