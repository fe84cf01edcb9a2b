"""SWITCH: which branch is taken, what a condition means, and that no value is ever code."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.logic.expression import LENGTH_MAX, TOKENS_MAX, VALUES_LENGTH_MAX, looks_like, read_condition
from model.logic.switch import SwitchParams, check, choose
from model.parameters.parameters import replace_references
from tests.every import every

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
hostile = st.sampled_from(
    ['" || true || "', "' || true", "${a}", "$${a}", "\\", '"', "true", "1 == 1", "v0", "5", "1.0"]
)
values = storable | hostile
wholes = st.integers(-(2**63) + 1, 2**63 - 1)


def holds(text: str, **given_: str) -> bool:
    condition = read_condition(text)
    condition.check()
    return condition.holds(given_)


def fault(text: str, **given_: str) -> str:
    with pytest.raises(Refused) as caught:
        holds(text, **given_)
    return str(caught.value)


def switch(*cases: tuple[str, Any], default: Any = ()) -> SwitchParams:
    written = [{"when": when, "then": then} for when, then in cases]
    return SwitchParams.read({"cases": written, "default": list(default)})


# ------------------------------------------------------------------------------------------------ lists and maps

FILES = '[{"name": "a.csv", "size": 3}, "b"]'


@every(
    "text",
    [
        "size(${load.files}) == 2",
        "${load.files}.size() > 1",
        '"b" in ${load.files}',
        '!("c" in ${load.files}) && "a" in ${load.map}',
        "${load.files} != [] && size(${load.map}) == 2",
        '"${load.files}".startsWith("[{") && size("${load.files}") > 10',
        """${tasks["load files"].n} > 41 && ${load.files[0].name} == "a.csv" && "${load.files[0].name}" == 'a.csv'""",
        "3 in ${load.numbers} && !(4 in ${load.numbers})",
    ],
)
def test_json_of_a_result_is_a_list_or_map_outside_of_quotes(text: str) -> None:
    known = {
        "load.files": FILES,
        "load.map": '{"a": 1, "b": null}',
        "load.numbers": "[1, 3]",
        'tasks["load files"].n': "42",
        "load.files[0].name": "a.csv",
    }
    condition = read_condition(text)
    condition.check()
    assert condition.holds(known, known.keys())


def test_json_of_a_flat_name_is_text_as_before() -> None:
    assert holds("size(${files}) > 30", files=FILES)
    assert holds("${files} == '[\"a\"]'", files='["a"]')
    assert not read_condition("size(${files}) > 30").holds({"files": FILES}, {"files"})


def test_a_broken_list_of_a_result_is_text() -> None:
    assert read_condition("size(${l}) == 3").holds({"l": "[1,"}, {"l"})


# --------------------------------------------------------------------------------------------------- the branch


def test_the_first_true_case_chooses() -> None:
    params = switch(("${n} > 10", "large"), ("${n} > 5", ["middle", "log"]), ("${n} > 0", "small"), default=["none"])
    assert choose(params, {"n": "11"}) == ("large",)
    assert choose(params, {"n": "7"}) == ("middle", "log")
    assert choose(params, {"n": "0"}) == ("none",)
    assert params.branches() == ("large", "middle", "log", "small", "none")


def test_without_a_default_nothing_comes_next() -> None:
    assert choose(switch(("false", "a")), {}) == ()


def test_a_case_that_cannot_be_judged_stops_the_choice_and_is_named_without_the_value() -> None:
    params = switch(("${n} > 10", "a"), ("true", "b"))
    with pytest.raises(Refused) as caught:
        choose(params, {"n": "geheim"})
    assert str(caught.value) == (
        "case 1, ${n} > 10: it compares what does not fit together, such as a text with a number; check its values"
    )


def test_a_syntax_error_is_told_when_it_is_saved_with_its_case() -> None:
    with pytest.raises(Refused, match=r"^case 2, \$\{n\} >: it cannot be read; write it like "):
        check(switch(("true", "a"), ("${n} >", "b")))
    check(switch(("true", "a")))


# ------------------------------------------------------------------------------------------ what a condition says


@every(
    "text",
    [
        '${a} > 4 && "${b}" == "x"', '${a} == "5"', '"5" == ${a}', '(${a}) == "5"', '!(${a} != "5")', "${a} == 5",
        '${a} in ["5", "6"]', '"5" in [${a}, ${b}]', "${a} in [5, 6]", "${month} > 7", '${month} == "08"', "${d} < 2",
        "${yes}", "!${no}", '${yes} == "true"', "${yes} == true", "${a} > 10 || ${n} > 10", "${b} == ${b}",
        '${b} == "x" ? ${n} > 10 : ${n} < 10', '${b}.startsWith("x")', "${a}.size() == 1", "size(${a}) == 1",
        'string(${id}) == "007"', 'int("5") == ${a}', '"${a}${b}" == "5x"', '"<${a}-${b}>" == "<5-x>"', '"${e}" == ""',
        '"${system.biz.date}" > "20251231"', "'${b}' == \"x\"", r"r'\d${a}' == '\\d5'", r'"\"${b}\"" == "\"x\""',
        "${a} * 2 + 1 == 11", "-${a} < 0", "double(${a}) / 2.0 == 2.5", "${a} == 5 // five", '"ä" == "ä"',
        '"$$${b}" == "$$" + "x"', r"r'$$${b}' == '$$x'", '"$$$${b}" == "$$$" + "{b}"',
        '"$${b}" == "$" + "{b}"', '"$${b}${b}" == "$" + "{b}x"', 'timestamp("${day}T00:00:00Z") > timestamp(${t})',
    ],
)  # fmt: skip
def test_what_users_write_means_what_they_mean(text: str) -> None:
    given_ = {"a": "5", "b": "x", "month": "08", "n": "12", "d": "1.5", "yes": "true", "no": "false", "id": "007"}
    more = {"e": "", "system.biz.date": "20260101", "day": "2026-01-02", "t": "2026-01-01T00:00:00Z"}
    assert holds(text, **given_, **more)


@every(
    ("text", "sentence"),
    [
        ("", 'it cannot be read; write it like ${a} > 5 && "${b}" == "x"'),
        ("${a} = 5", "= at character 6 means nothing here; write =="),
        ("a > 5", 'a means nothing here; write ${a} for a parameter, "a" for a text'),
        ("v0 == 5", 'v0 means nothing here; write ${v0} for a parameter, "v0" for a text'),
        ("${a} > 5 and true", "and means nothing here; write &&"),
        ("${nope} > 1", "there is no parameter nope; give it a value or remove ${nope}"),
        ("true || ${nope}", "there is no parameter nope; give it a value or remove ${nope}"),
        ("${a}", "it is neither true nor false; compare its result with something"),
        ("${a} / 0 == 1", "it divides by zero; ask first whether the divisor is 0"),
        ("${a} * 9223372036854775807 > 0", "one of its functions or sums cannot take these values; check them first"),
        ("${a}${a} == 55", "an operator such as && or == is missing before ${a}; add it"),
        ("${a", "$ at character 1 begins no ${name}; outside quotes write ${name}"),
        (
            '"$[HH]" == "23"',
            '$[...] is no time here; give a parameter this value, such as day: "$[yyyyMMdd]", and use it',
        ),
        ("$${a} == 1", "$ at character 1 begins no ${name}; outside quotes write ${name}"),
        ('"abc', "the quote at character 1 is not closed; close it"),
        ("[1].map(x, x) == [1]", "there is no function map here; known are contains, endsWith, size, startsWith"),
        ('${a}.startWith("x")', "there is no function startWith here; did you mean startsWith?"),
        ('"a".matches("a")', "there is no function matches here; known are contains, endsWith, size, startsWith"),
    ],
)
def test_what_is_wrong_is_told_in_a_sentence(text: str, sentence: str) -> None:
    assert fault(text, a="5") == sentence


@every(
    ("value", "seen"),
    [
        ("5", 5), ("-5", -5), ("007", 7), ("1.50", 1.5), ("true", True), ("True", "True"), ("", ""), ("5 ", "5 "),
        ("1e5", "1e5"), ("٣", "٣"), ("9223372036854775808", "9223372036854775808"), ("9" * 5000, "9" * 5000),
        ("9" * 400 + ".0", "9" * 400 + ".0"), ("0" * 5000 + "7", 7), ("-0", 0),
    ],
)  # fmt: skip
def test_a_value_is_what_it_looks_like(value: str, seen: object) -> None:
    assert looks_like(value) == seen
    assert type(looks_like(value)) is type(seen)


# ------------------------------------------------------------------------------------------- no value is ever code


@given(values, values)
def test_any_two_texts_compare_as_python_compares_them(left: str, right: str) -> None:
    for sign, truth in (("==", left == right), ("!=", left != right), ("<", left < right), (">=", left >= right)):
        assert holds(f'"${{l}}" {sign} "${{r}}"', l=left, r=right) is truth
        assert holds(f'${{l}} {sign} "${{r}}"', l=left, r=right) is truth
    assert holds('"<${l}|${r}>" == "<" + "${l}" + "|" + ${r} + ">"', l=left, r=right)


@given(wholes, wholes)
def test_any_two_whole_numbers_compare_as_python_compares_them(left: int, right: int) -> None:
    for sign, truth in (("==", left == right), ("<", left < right), ("<=", left <= right)):
        assert holds(f"${{l}} {sign} ${{r}}", l=str(left), r=str(right)) is truth


@given(values)
def test_no_value_makes_a_false_condition_true(value: str) -> None:
    assert not holds('"${v}" == "no such value" || ${v} == "nor this one"', v=value)


@given(st.text() | st.text("${}ab\"'\\ &|=!<>()[].,?:+-*/%rtrue0123456789infunctsize//"))
def test_any_condition_is_judged_or_refused_in_a_sentence(text: str) -> None:
    try:
        holds(text, a="5", b="x")
    except Refused as error:
        assert str(error)


@given(st.text("${}a_.1 ") | st.lists(st.sampled_from(["${a}", "$${a}", "$", "{a}", "${a.b}"])).map("".join))
def test_references_are_those_of_all_other_parameters(text: str) -> None:
    """The pattern stands twice, as quotes have escapes of their own; here both say the same."""
    every = dict.fromkeys(read_condition(f'"{text}" == ""').uses, "x")
    pasted = replace_references(text, every, lambda _, value: value)
    assert holds(f'"{text}" == "${{pasted}}"', pasted=pasted, **every)


# ---------------------------------------------------------------------------------------------------------- bounds


def test_a_value_that_no_database_takes_is_refused() -> None:
    assert fault('"${a}" == ""', a="\ud800") == "the value of a contains a NUL or an unpaired surrogate; remove it"


def test_conditions_and_their_values_are_bounded() -> None:
    assert "characters; make it shorter" in fault("1" * (LENGTH_MAX + 1))
    assert "characters; compare something shorter" in fault('"${a}${a}" == ""', a="x" * (VALUES_LENGTH_MAX // 2 + 1))
    with pytest.raises(Refused, match=f"more than {TOKENS_MAX} words and signs"):
        check(switch(*[("${a} == 1 || ${a} == 2", "a")] * 90))
    with pytest.raises(Refused, match="characters together"):
        check(switch(*[(f'"{"x" * 9_000}" == ""', "a")] * 2))


@every("text", ["(" * 5_000, "!" * 9_000 + "true", "[" * 5_000, "true ? " * 1_000, "-" * 9_000 + "1"])
def test_deep_nesting_ends_no_process(text: str) -> None:
    with pytest.raises(Refused):
        choose(switch((text, "a")), {})


@every(
    "text",
    [
        "1" + "+1" * 295 + " == 0", '"x" in [' + ",".join(['"x"'] * 190) + "] && false",
        "true" + " && true" * 295 + "== false",
        "${a} == 'y'" + " || ${a} == 'y'" * 110, "!" * 590 + "false",
        '"' + "${a}" * 140 + '" == "y"', "(" * 90 + "false" + ")" * 90,
    ],
)  # fmt: skip
def test_the_largest_choice_does_not_hold_up_the_loop(text: str) -> None:
    params = switch((text, "a"))
    choose(params, {"a": "x" * 600})
    taken = []
    for _ in range(5):
        started = time.thread_time()
        choose(params, {"a": "x" * 600})
        taken.append(time.thread_time() - started)
    assert min(taken) < 0.05, "5 ms are meant, ten times that for a slow machine"
