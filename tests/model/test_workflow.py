"""A definition and everything that can be wrong with it: each fault a sentence that says where and how to fix it."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.choices import Priority
from model.definitions.problems import InvalidWorkflow
from model.definitions.workflow import TASK_CODE_MAX, TASKS_MAX, WorkflowSpec
from model.errors import Refused
from model.parameters.text import NESTING_MAX
from tests.every import every

TASK = {"name": "a", "type": "SHELL"}


def a_task(**fields: Any) -> dict[str, Any]:
    return TASK | fields


def fault(content: Any) -> str:
    with pytest.raises(InvalidWorkflow) as caught:
        WorkflowSpec.parse(content)
    return str(caught.value)


def fault_in_task(**fields: Any) -> str:
    return fault({"tasks": [a_task(**fields)]})


def chained(*after: tuple[str, list[str]]) -> dict[str, Any]:
    return {"tasks": [a_task(name=name, after=befores) for name, befores in after]}


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def test_what_is_not_said_has_its_usual_value() -> None:
    spec = WorkflowSpec.parse({"tasks": [TASK]})
    assert spec.model_dump(mode="json", exclude={"tasks"}) == {
        "description": "", "priority": "MEDIUM", "failure_strategy": "CONTINUE", "worker_group": "default",
        "params": {}, "execution_type": "PARALLEL", "serial_key": None, "timeout_minutes": 0, "time_zone": "UTC",
        "after_last": None,
        "environment": None, "tenant": None, "outputs": [], "secrets": [], "timeout_strategy": "WARN",
        "strict_outputs": True, "file_contents": {}, "warning_type": "NONE", "alert_group": None, "declared": {},
        "tags": [], "max_active": 1, "triggers": [],
    }  # fmt: skip
    assert spec.tasks[0].model_dump(mode="json") == TASK | {
        "params": {}, "after": [], "priority": "MEDIUM", "worker_group": None, "on_worker_loss": "retry", "code": None,
        "retry_times": 0, "retry_interval": 0, "delay_time": 0, "timeout": 0, "timeout_strategy": "FAILED",
        "flag": "YES", "local_params": [], "cache": False, "environment": None, "tenant": None, "dispatch_timeout": 0,
        "resources": {}, "stream": False, "restart": "always", "restart_pause": 1 / 60, "restart_pause_max": 5,
        "healthy_after": 1, "readiness": None, "strict_outputs": None, "start_when": "all_success",
        "skip_exit_codes": [], "files": [], "data_sources": [], "description": "", "group": None,
        "teardown": False, "on_exit": False, "each": None, "updates": [],
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------ the shape


@every("content", [None, [], "tasks", 5])
def test_a_workflow_is_a_mapping(content: Any) -> None:
    assert fault(content) == "a workflow must be a mapping of fields to values"


def test_tasks_must_not_be_missing() -> None:
    assert fault({}) == 'the field "tasks" is missing'


def test_no_task_is_no_workflow() -> None:
    assert fault({"tasks": []}) == 'a workflow needs at least one task; add one under "tasks"'


@every("tasks", [{"a": TASK}, "a", 5, None])
def test_tasks_are_a_list(tasks: Any) -> None:
    assert fault({"tasks": tasks}) == 'field "tasks": must be a list, such as [a, b]'


def test_a_task_that_is_no_mapping_is_named_by_its_place() -> None:
    assert fault({"tasks": [TASK, "b"]}) == "task 2: must be a mapping of fields to values"


def test_too_many_tasks_are_refused() -> None:
    tasks = [a_task(name=str(number)) for number in range(TASKS_MAX + 1)]
    assert fault({"tasks": tasks}) == 'field "tasks": must not have more than 10000 entries'
    assert len(WorkflowSpec.parse({"tasks": tasks[:-1]}).tasks) == TASKS_MAX


# ----------------------------------------------------------------------------------------------- the fields


def test_an_unknown_field_is_met_with_the_one_that_was_meant() -> None:
    assert fault({"tasks": [TASK], "prams": {}}) == 'there is no field "prams", did you mean "params"?'
    assert fault_in_task(afer=["b"]) == 'task "a": there is no field "afer", did you mean "after"?'


def test_an_unknown_field_that_is_like_none_is_met_with_all_of_them() -> None:
    assert fault({"tasks": [TASK], "zzz": 1}) == (
        'there is no field "zzz"; known are description, tags, priority, failure_strategy, worker_group, '
        "execution_type, serial_key, max_active, after_last, triggers, timeout_minutes, timeout_strategy, "
        "warning_type, alert_group, time_zone, environment, tenant, params, declared, secrets, outputs, "
        "strict_outputs, file_contents, defaults, tasks"
    )
    said = 'there is no field "on_exit"; it is a field of a task'
    assert fault({"tasks": [TASK], "on_exit": [TASK]}) == said
    assert fault_in_task(zzz=1) == (
        'task "a": there is no field "zzz"; known are name, description, group, type, params, after, start_when, each, '
        "priority, worker_group, on_worker_loss, retry_times, retry_interval, delay_time, timeout, timeout_strategy, "
        "dispatch_timeout, flag, local_params, strict_outputs, cache, skip_exit_codes, files, data_sources, "
        "environment, tenant, "
        "resources, stream, restart, "
        "restart_pause, restart_pause_max, healthy_after, readiness, teardown, on_exit, updates, code"
    )


def test_a_missing_field_is_named_with_its_task() -> None:
    assert fault({"tasks": [{"name": "a"}]}) == 'task "a": the field "type" is missing'
    assert fault({"tasks": [TASK, {"type": "SHELL"}]}) == 'task 2: the field "name" is missing'


@every(
    ("fields", "sentence"),
    [
        ({"name": 5}, 'task "5": field "name": must be a text; write it in quotes'),
        ({"name": ""}, 'task "": field "name": string should have at least 1 character'),
        ({"name": "a\nb"}, "task 'a\\nb': field \"name\": must not contain control characters"),
        ({"name": "a\x9b2J"}, "task 'a\\x9b2J': field \"name\": must not contain control characters"),
        ({"name": "\ud800"}, "task '\\ud800': field \"name\": must not contain an unpaired surrogate"),
        ({"type": ""}, 'task "a": field "type": string should have at least 1 character'),
        ({"type": None}, 'task "a": field "type": must be a text; write it in quotes'),
        ({"after": "b"}, 'task "a": field "after": must be a list, such as [a, b]'),
        ({"after": [1]}, 'task "a": field "after.0": must be a text; write it in quotes'),
        ({"params": "x"}, 'task "a": field "params": must be a mapping of names to values'),
        (
            {"priority": "URGENT"},
            "task \"a\": field \"priority\": input should be 'HIGHEST', 'HIGH', 'MEDIUM', 'LOW' or 'LOWEST'",
        ),
        (
            {"start_when": "finished"},
            "task \"a\": field \"start_when\": input should be 'all_success', 'all_done', 'one_success', 'one_failed', "
            "'all_failed', 'none_failed' or 'always'",
        ),
        (
            {"start_when": "all_done"},
            'task "a": start_when: all_done is about the tasks before it, and it has none; name them in "after", or '
            "remove it",
        ),
        ({"on_worker_loss": "x"}, "task \"a\": field \"on_worker_loss\": input should be 'retry' or 'fail'"),
        ({"worker_group": "a b"}, 'task "a": field "worker_group": must be 1 to 100 letters, digits and _ . -'),
        ({"retry_times": -1}, 'task "a": field "retry_times": input should be greater than or equal to 0'),
        (
            {"skip_exit_codes": [99, 0]},
            'task "a": field "skip_exit_codes.1": input should be greater than or equal to 1',
        ),
        ({"skip_exit_codes": 99}, 'task "a": field "skip_exit_codes": must be a list, such as [a, b]'),
        (
            {"skip_exit_codes": [99], "stream": True},
            'task "a": a stream has no skip_exit_codes, since restart says what follows its end; remove it',
        ),
        (
            {"type": "DEPENDENT", "skip_exit_codes": [99]},
            'task "a": a DEPENDENT task runs in the master and has no skip_exit_codes; remove it',
        ),
        ({"retry_interval": -0.5}, 'task "a": field "retry_interval": must be 0s to 366d; a bare number is minutes'),
        ({"delay_time": float("inf")}, 'task "a": field "delay_time": must be 0s to 366d; a bare number is minutes'),
        ({"timeout": 366 * 24 * 60 + 1}, 'task "a": field "timeout": must be 0s to 366d; a bare number is minutes'),
        (
            {"timeout_strategy": "x"},
            "task \"a\": field \"timeout_strategy\": input should be 'WARN', 'FAILED' or 'WARNFAILED'",
        ),
        ({"flag": "MAYBE"}, "task \"a\": field \"flag\": input should be 'YES' or 'NO'"),
        (
            {"tenant": "Root User"},
            'task "a": field "tenant": must be a user of the operating system: at most 32 small letters, digits and '
            "_ . -",
        ),
        ({"environment": ""}, 'task "a": field "environment": string should have at least 1 character'),
        ({"code": 0}, 'task "a": field "code": input should be greater than 0'),
        ({"code": 2**63}, 'task "a": field "code": input should be less than or equal to 9223372036854775807'),
        (
            {"code": "x"},
            'task "a": field "code": input should be a valid integer, unable to parse string as an integer',
        ),
    ],
)
def test_a_wrong_field_of_a_task_is_named_with_what_it_must_be(fields: dict[str, Any], sentence: str) -> None:
    assert fault_in_task(**fields) == sentence


@every(
    ("fields", "sentence"),
    [
        ({"failure_strategy": "STOP"}, "field \"failure_strategy\": input should be 'CONTINUE' or 'END'"),
        ({"worker_group": "x" * 101}, 'field "worker_group": must be 1 to 100 letters, digits and _ . -'),
        ({"params": [1]}, 'field "params": must be a mapping of names to values'),
        (
            {"execution_type": "SERIAL"},
            "field \"execution_type\": input should be 'PARALLEL', 'SERIAL_WAIT', 'SERIAL_DISCARD' or "
            "'SERIAL_PRIORITY'",
        ),
        ({"timeout_minutes": -1}, 'field "timeout_minutes": must be 0s to 366d; a bare number is minutes'),
        (
            {"time_zone": "Europe/Belrin"},
            'field "time_zone": there is no time zone "Europe/Belrin"; use a name such as Europe/Berlin or UTC',
        ),
        ({"outputs": "rows"}, 'field "outputs": must be a list, such as [a, b]'),
        ({"description": 5}, 'field "description": must be a text; write it in quotes'),
        ({"description": "x" * 10_001}, 'field "description": string should have at most 10000 characters'),
    ],
)
def test_a_wrong_field_of_the_workflow_is_named_with_what_it_must_be(fields: dict[str, Any], sentence: str) -> None:
    assert fault({"tasks": [TASK], **fields}) == sentence


def test_a_name_that_is_too_long_is_not_repeated_in_full() -> None:
    sentence = fault_in_task(name="x" * 1_000_000)
    assert sentence.endswith('field "name": string should have at most 200 characters')
    assert len(sentence) < 300


def test_all_faults_are_told_at_once_each_with_its_place() -> None:
    with pytest.raises(InvalidWorkflow) as caught:
        WorkflowSpec.parse({"priority": "x", "tasks": [TASK, {"name": "b"}, a_task(name="c", after="b")]})
    assert [problem.where for problem in caught.value.problems] == [
        ("priority",), ("tasks", 1, "type"), ("tasks", 2, "after")
    ]  # fmt: skip
    assert str(caught.value).count("; ") == 2


# ------------------------------------------------------------------------------------ how tasks fit together


def test_a_name_stands_there_twice() -> None:
    assert fault(chained(("a", []), ("b", []), ("b", []))) == (
        'task "b" stands there twice; give each task a different name'
    )


def test_after_names_an_unknown_task() -> None:
    assert fault(chained(("extract", []), ("load", ["exract"]))) == (
        'task "load" waits for "exract", which does not exist; did you mean "extract"?'
    )
    assert fault(chained(("a", ["zzz"]))) == (
        'task "a" waits for "zzz", which does not exist; add that task or remove it'
    )


def test_a_task_waits_for_itself() -> None:
    assert fault(chained(("a", ["a"]))) == 'task "a" waits for itself; remove it from its "after"'


def test_after_names_a_task_twice() -> None:
    assert fault(chained(("a", []), ("b", ["a", "a"]))) == (
        'task "b" names the same task twice in its "after"; once is enough'
    )


def test_conditions_have_no_start_rule() -> None:
    conditions = {"name": "c", "type": "CONDITIONS", "after": ["a"], "params": {"when": {"a": "SUCCESS"}}}
    assert fault({"tasks": [TASK, conditions | {"start_when": "always"}]}) == (
        'task "c": a CONDITIONS task starts when all tasks before it have ended; remove start_when: always'
    )


def test_the_usual_start_rule_may_be_written_and_is_not_stored() -> None:
    spec = WorkflowSpec.parse({"tasks": [TASK | {"start_when": "all_success"}]})
    assert "start_when" not in spec.model_dump_json(exclude_defaults=True)
    assert WorkflowSpec.parse({"tasks": [TASK]}) == spec


def test_tasks_wait_in_a_circle() -> None:
    assert fault(chained(("a", ["c"]), ("b", ["a"]), ("c", ["b"]))) == (
        "tasks wait for each other in a circle: b -> c -> a -> b; remove one of these arrows"
    )


@every("codes", [(1, 1), (1, None)])
def test_codes_are_given_to_all_or_none_each_its_own(codes: tuple[int, int | None]) -> None:
    tasks = [a_task(name=name, code=code) for name, code in zip("ab", codes, strict=True)]
    assert fault({"tasks": tasks}) == ("task codes must be given to all tasks or to none, each its own; leave them out")


# ---------------------------------------------------------------------------------------------- parameters


@every(
    ("written", "text"),
    [
        ("x", "x"), (5, "5"), (1.5, "1.5"), (True, "true"), (False, "false"), (None, ""), ([1, "ä"], '[1, "ä"]'),
        ({"b": 1}, '{"b": 1}'), (date(2026, 1, 31), "2026-01-31"), ([date(2026, 1, 31)], '["2026-01-31"]'),
    ],
)  # fmt: skip
def test_parameters_become_text_as_a_person_would_read_them(written: Any, text: str) -> None:
    assert WorkflowSpec.parse({"tasks": [TASK], "params": {"p": written}}).params == {"p": text}


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@every(
    ("value", "what"),
    [
        ("\x00", "must not contain a NUL or an unpaired surrogate"),
        (["\ud800"], "must not contain a NUL or an unpaired surrogate"),
        ({"\x00": 1}, "must not contain a NUL or an unpaired surrogate"),
        ([float("nan")], "must not contain the number nan; write it in quotes"),
        ([b"x"], "must not contain a bytes; JSON has texts, numbers, lists and objects"),
        (nested(NESTING_MAX + 1), "must not be nested deeper than 50 levels"),
        (nested(5000), "must not be nested deeper than 50 levels"),
        (CIRCLE, "must not be nested deeper than 50 levels"),
    ],
)
def test_what_no_database_takes_is_refused_when_it_is_read_not_when_it_is_saved(value: Any, what: str) -> None:
    assert fault_in_task(params={"p": value}) == f'task "a": field "params": {what}'
    assert fault({"tasks": [TASK], "params": {"p": value}}) == f'field "params.p": {what}'


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)


@given(json_values)
def test_any_json_is_either_refused_in_a_sentence_or_can_be_saved_and_read_again(value: Any) -> None:
    content = {"tasks": [a_task(params={"p": value})], "params": {"p": value}}
    try:
        spec = WorkflowSpec.parse(content)
    except Refused:
        assert "\\u0000" in json.dumps(content)
    else:
        assert WorkflowSpec.parse(json.loads(spec.model_dump_json(exclude_defaults=True))) == spec


@given(
    st.recursive(
        json_values,
        lambda values: st.dictionaries(
            st.sampled_from(["tasks", "name", "type", "after", "params", "code", "priority", "worker_group"]),
            values | st.lists(values),
        ),
    )
)
def test_whatever_is_given_for_a_workflow_nothing_but_a_refusal_comes_of_it(content: Any) -> None:
    try:
        WorkflowSpec.parse(content)
    except Refused as error:
        assert str(error)
        str(error).encode()


# ---------------------------------------------------------------------------------------------------- codes


def codes(spec: WorkflowSpec) -> dict[str, int | None]:
    return {task.name: task.code for task in spec.tasks}


def test_tasks_without_codes_are_numbered_in_their_order() -> None:
    spec = WorkflowSpec.parse(chained(("b", []), ("a", [])))
    assert codes(spec) == {"b": None, "a": None}
    assert codes(spec.coded()) == {"b": 1, "a": 2}


def test_a_task_keeps_the_code_that_its_name_had() -> None:
    spec = WorkflowSpec.parse(chained(("new", []), ("old", [])))
    assert codes(spec.coded({"old": 7, "gone": 9})) == {"new": 10, "old": 7}


def test_a_given_code_wins_over_the_former_one() -> None:
    spec = WorkflowSpec.parse({"tasks": [a_task(code=3)]})
    assert codes(spec.coded({"a": 1})) == {"a": 3}


def test_beyond_the_largest_code_the_gaps_are_used() -> None:
    spec = WorkflowSpec.parse(chained(("a", []), ("b", []), ("c", [])))
    assert codes(spec.coded({"a": TASK_CODE_MAX, "gone": 1})) == {"a": TASK_CODE_MAX, "b": 2, "c": 3}


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True),
    st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 20)),
)
def test_codes_are_distinct_and_coding_twice_changes_nothing(names: list[str], known: dict[str, int]) -> None:
    distinct = {name: code for code, name in {code: name for name, code in known.items()}.items()}
    spec = WorkflowSpec.parse(chained(*((name, []) for name in names))).coded(distinct)
    given_codes = codes(spec)
    assert len(set(given_codes.values())) == len(names)
    assert spec.coded() == spec.coded({"a": 999}) == spec
    assert all(given_codes[name] == code for name, code in distinct.items() if name in names)


def test_the_graph_speaks_of_codes() -> None:
    graph = WorkflowSpec.parse(chained(("a", ["b"]), ("b", []))).coded().graph()
    assert graph.successors == {1: (), 2: (1,)}
    assert graph.roots == (2,)


def test_priorities_are_listed_from_the_most_urgent_on() -> None:
    assert [priority.value for priority in Priority] == ["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]
