"""Scenarios of the tasks that choose a branch: SWITCH and CONDITIONS."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenarios.engine import BY_HAND, Engine

FAILS = {"params": {"fail": True}}


def switch(*cases: tuple[str, str], **fields: Any) -> dict[str, Any]:
    listed = [{"when": when, "then": then} for when, then in cases]
    return {"name": "which", "type": "SWITCH", "params": {"cases": listed, **fields}}


def branches(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "after": ["which"]} for name in names]


# ------------------------------------------------------------------------------------------------ SWITCH


@pytest.mark.parametrize(
    ("params", "chosen"),
    [
        ({"a": "10", "b": "x"}, "first"),
        ({"a": "10", "b": "y"}, "second"),
        ({"a": "3", "b": "x"}, "third"),
        ({"a": "3", "b": "y"}, "default"),
    ],
)
async def test_switch_takes_the_first_true_condition_or_else_the_default(
    engine: Engine, params: dict[str, str], chosen: str
) -> None:
    cases = [('${a} > 5 && "${b}" == "x"', "first"), ("${a} > 5", "second"), ('${b} == "x"', "third")]
    code = engine.define(
        switch(*cases, default="default"),
        *branches("first", "second", "third", "default"),
        {"name": "join", "after": ["first", "second", "third", "default"]},
    )
    run = await engine.run(code, params=params)
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"which": "SUCCESS", chosen: "SUCCESS", "join": "SUCCESS"}


async def test_switch_without_a_default_may_choose_nothing(engine: Engine) -> None:
    run = await engine.run(engine.define(switch(("1 == 2", "a")), *branches("a"), {"name": "b", "after": ["a"]}))
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"which": "SUCCESS"}


async def test_switch_sees_what_its_ancestors_gave(engine: Engine) -> None:
    code = engine.define(
        {"name": "before", "params": {"outputs": {"rows": "12"}}},
        {**switch(("${rows} >= 10", "many"), default="few"), "after": ["before"]},
        *branches("many", "few"),
    )
    run = await engine.run(code)
    assert set(engine.tasks(run)) == {"before", "which", "many"}


async def test_switch_sees_built_in_parameters(engine: Engine) -> None:
    when = '"${system.biz.curdate}" == "20260101" && "${system.project.name}" == "default"'
    code = engine.define(switch((when, "then"), default="else"), *branches("then", "else"))
    run = await engine.run(code, schedule_time="2026-01-01 05:00:00+00")
    assert set(engine.tasks(run)) == {"which", "then"}


async def test_conditions_count_a_task_that_never_began_as_failed(engine: Engine) -> None:
    when = {"when": {"a": "SUCCESS", "b": "SUCCESS"}, "on_success": "yes", "on_failure": "no"}
    run = await engine.run(
        engine.define(
            {"name": "a", **FAILS},
            {"name": "b", "after": ["a"]},
            {"name": "which", "type": "CONDITIONS", "after": ["a", "b"], "params": when},
            *branches("yes", "no"),
        )
    )
    assert engine.tasks(run) == {"a": "FAILURE", "which": "SUCCESS", "no": "SUCCESS"}
    assert engine.state(run) == "SUCCESS"


@pytest.mark.parametrize(
    ("when", "chosen", "state"),
    [
        ({"a": "SUCCESS"}, "bad", "SUCCESS"),
        ({"b": "FAILURE"}, "good", "FAILURE"),
        ({"c": "SUCCESS"}, "good", "FAILURE"),
    ],
)
async def test_conditions_wait_for_what_they_do_not_name_and_handle_only_what_they_name(
    engine: Engine, when: dict[str, str], chosen: str, state: str
) -> None:
    code = engine.define(
        {"name": "a", **FAILS},
        {"name": "b", "after": ["a"]},
        {"name": "c"},
        {**conditions(when), "after": ["a", "b", "c"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert engine.tasks(run) == {"a": "FAILURE", "c": "SUCCESS", "which": "SUCCESS", chosen: "SUCCESS"}
    assert engine.state(run) == state


async def test_switch_leaves_tasks_that_it_does_not_name_alone(engine: Engine) -> None:
    run = await engine.run(engine.define(switch(("1 == 2", "a")), *branches("a", "always")))
    assert engine.tasks(run) == {"which": "SUCCESS", "always": "SUCCESS"}


@pytest.mark.parametrize(
    ("condition", "params", "sentence"),
    [
        ("${nobody} > 1", {}, "there is no parameter nobody"),
        ("${a} > 1", {"a": "many"}, "it compares what does not fit together"),
        ("${a} + 1", {"a": "1"}, "it is neither true nor false"),
        ("1 / ${a} > 0", {"a": "0"}, "it divides by zero"),
    ],
)
async def test_switch_with_a_condition_that_cannot_be_judged_fails_with_a_sentence(
    engine: Engine, condition: str, params: dict[str, str], sentence: str
) -> None:
    run = await engine.run(engine.define(switch((condition, "a"), default="b"), *branches("a", "b")), params=params)
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"which": "FAILURE"}
    assert sentence in engine.why(run, "which")
    assert condition in engine.why(run, "which")


@pytest.mark.parametrize(
    "value",
    [
        'x" || true || "',
        "x' || true || '",
        "true",
        "1 == 1",
        '" == "" || "',
        "x || true",
        "__import__('os')",
        "\\",
        "${b}",
    ],
)
async def test_switch_never_takes_a_value_for_code(engine: Engine, value: str) -> None:
    cases = [('"${a}" == "x"', "yes"), ('${a} == "x"', "yes"), ("'${a}' == 'x'", "yes")]
    run = await engine.run(engine.define(switch(*cases, default="no"), *branches("yes", "no")), params={"a": value})
    assert set(engine.tasks(run)) == {"which", "no"}


# -------------------------------------------------------------------------------------------- CONDITIONS


def conditions(when: Any, **fields: Any) -> dict[str, Any]:
    params = {"when": when, "on_success": "good", "on_failure": "bad", **fields}
    return {"name": "which", "type": "CONDITIONS", "params": params}


@pytest.mark.parametrize(("fails", "chosen"), [(False, "good"), (True, "bad")])
async def test_conditions_choose_by_the_end_of_a_predecessor_and_take_its_failure_up(
    engine: Engine, fails: bool, chosen: str
) -> None:
    code = engine.define(
        {"name": "a", "params": {"fail": fails}},
        {**conditions({"a": "SUCCESS"}), "after": ["a"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "FAILURE" if fails else "SUCCESS", "which": "SUCCESS", chosen: "SUCCESS"}


async def test_conditions_wait_for_the_last_retry(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", "params": {"fail_attempts": 1}, "retry_times": 1},
        {**conditions({"a": "SUCCESS"}), "after": ["a"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert engine.tasks(run) == {"a": "SUCCESS", "which": "SUCCESS", "good": "SUCCESS"}


async def test_a_failure_that_conditions_do_not_ask_for_is_not_taken_up(engine: Engine) -> None:
    code = engine.define(
        {"name": "a"},
        {"name": "b", **FAILS},
        {**conditions({"a": "SUCCESS"}), "after": ["a"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert engine.state(run) == "FAILURE"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "FAILURE", "which": "SUCCESS", "good": "SUCCESS"}


async def test_a_failure_is_not_taken_up_for_other_tasks_that_hang_on_it(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **FAILS},
        {"name": "usual", "after": ["a"]},
        {**conditions({"a": "SUCCESS"}), "after": ["a"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert "usual" not in engine.tasks(run)
    assert engine.tasks(run) == {"a": "FAILURE", "which": "SUCCESS", "bad": "SUCCESS"}


async def test_with_end_a_failure_that_conditions_take_up_ends_nothing(engine: Engine) -> None:
    code = engine.define(
        {"name": "a", **FAILS},
        {"name": "beside", **BY_HAND},
        {**conditions({"a": "SUCCESS"}), "after": ["a"]},
        *branches("good", "bad"),
        failure_strategy="END",
    )
    run = await engine.begin(code)
    await engine.task_becomes(run, "bad", "SUCCESS")
    await engine.claim(run, "beside")
    engine.report(run, "beside", "SUCCESS")
    assert await engine.end(run) == "SUCCESS"


@pytest.mark.parametrize(
    ("when", "strategy", "ends", "chosen"),
    [
        ({"a": "SUCCESS", "b": "SUCCESS"}, "CONTINUE", "SUCCESS", "bad"),
        ({"a": "FAILURE", "b": "FAILURE"}, "CONTINUE", "SUCCESS", "good"),
        ({"a": "FAILURE", "b": "FAILURE"}, "END", "SUCCESS", "good"),
        ({"b": "FAILURE"}, "CONTINUE", "FAILURE", "good"),
        ({"b": "FAILURE"}, "END", "FAILURE", None),
    ],
)
async def test_conditions_are_judged_when_a_task_before_them_never_begins(
    engine: Engine, when: dict[str, str], strategy: str, ends: str, chosen: str | None
) -> None:
    code = engine.define(
        {"name": "a", **FAILS},
        {"name": "b", "after": ["a"]},
        {**conditions(when), "after": ["a", "b"]},
        *branches("good", "bad"),
        failure_strategy=strategy,
    )
    run = await engine.run(code)
    judged = {"which": "SUCCESS", chosen: "SUCCESS"} if chosen else {}
    assert (engine.state(run), engine.tasks(run)) == (ends, {"a": "FAILURE"} | judged)


@pytest.mark.parametrize(("beside", "judged"), [("skipped", False), ("succeeds", True)])
async def test_conditions_are_skipped_only_if_all_before_them_are(engine: Engine, beside: str, judged: bool) -> None:
    code = engine.define(
        {**switch(("1 == 2", "never"), default="succeeds"), "name": "way"},
        *({**each, "after": ["way"]} for each in ({"name": "never"}, {"name": "succeeds"})),
        {"name": "skipped", "after": ["never"]},
        {**conditions({"never": "FAILURE"}), "after": ["never", beside]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    assert engine.state(run) == "SUCCESS"
    assert engine.tasks(run) == dict.fromkeys(["way", "succeeds", *(["which", "good"] if judged else [])], "SUCCESS")


@pytest.mark.parametrize(
    ("rule", "fields", "chosen"),
    [("one_failed", {}, "bad"), ("one_failed", FAILS, "good"), ("one_success", FAILS, "bad")],
)
async def test_conditions_take_what_its_start_rule_kept_from_starting_for_a_failure(
    engine: Engine, rule: str, fields: dict[str, Any], chosen: str
) -> None:
    """With one_failed it is skipped when nothing fails, with one_success it never begins when all do."""
    code = engine.define(
        {"name": "a", **fields},
        {"name": "b", "after": ["a"], "start_when": rule},
        {**conditions({"b": "SUCCESS"}), "after": ["a", "b"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code)
    tasks = engine.tasks(run)
    assert (tasks["which"], chosen in tasks, {"good", "bad"} - {chosen} <= tasks.keys()) == ("SUCCESS", True, False)


@pytest.mark.parametrize(
    ("relation", "inner", "chosen"),
    [("AND", "AND", "bad"), ("AND", "OR", "bad"), ("OR", "AND", "good"), ("OR", "OR", "good")],
)
async def test_conditions_have_two_levels_of_and_and_or(engine: Engine, relation: str, inner: str, chosen: str) -> None:
    groups = [
        {"relation": inner, "items": [{"task": "a"}, {"task": "b"}]},
        {"relation": inner, "items": [{"task": "c"}, {"task": "d", "status": "SUCCESS"}]},
    ]
    tasks: list[dict[str, Any]] = [{"name": "a"}, {"name": "b"}, {"name": "c", **FAILS}, {"name": "d", **FAILS}]
    which = {**conditions(groups, relation=relation), "after": ["a", "b", "c", "d"]}
    run = await engine.run(engine.define(*tasks, which, *branches("good", "bad")))
    assert engine.state(run) == "SUCCESS"
    assert chosen in engine.tasks(run)
    assert len(engine.tasks(run)) == 6


async def test_a_run_that_a_failure_ended_goes_on_and_conditions_judge_then(engine: Engine) -> None:
    code = engine.define(
        {"name": "a"},
        {"name": "b", "after": ["a"], "params": {"fail_attempts": 1}},
        {**conditions({"a": "SUCCESS"}), "after": ["a", "b"]},
        *branches("good", "bad"),
    )
    run = await engine.run(code, failure_strategy="END")
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "FAILURE"}
    await engine.change("START_FAILURE_TASK_PROCESS", run)
    assert await engine.end(run) == "SUCCESS"
    assert engine.tasks(run) == {"a": "SUCCESS", "b": "SUCCESS", "which": "SUCCESS", "good": "SUCCESS"}


async def test_a_dry_run_chooses_too(engine: Engine) -> None:
    run = await engine.run(engine.define(switch(("1 == 1", "a"), default="b"), *branches("a", "b")), dry_run=True)
    assert engine.tasks(run) == {"which": "SUCCESS", "a": "SUCCESS"}
