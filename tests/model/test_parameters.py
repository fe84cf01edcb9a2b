"""Values from JSON, and what becomes of `${name}`."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.parameters.parameters import (
    PARAMETERS_BYTES_MAX,
    is_plain,
    is_storable,
    parse_parameters,
    replace_references,
)
from tests.every import every

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]{0,10}", fullmatch=True)


def fault(text: str) -> str:
    with pytest.raises(Refused) as caught:
        parse_parameters(text, "params")
    return str(caught.value)


def replaced(text: str, **values: str) -> str:
    return replace_references(text, values, lambda name, value: f"<{name}={value}>")


# ----------------------------------------------------------------------------------------------- read JSON


@given(st.dictionaries(storable, storable), st.booleans())
def test_texts_come_back_as_they_were_given(values: dict[str, str], ascii_only: bool) -> None:
    assert parse_parameters(json.dumps(values, ensure_ascii=ascii_only), "params") == values


@every(
    ("written", "text"),
    [
        ("5", "5"), ("-1", "-1"), ("1.10", "1.10"), ("1e999", "1e999"), ("12345678901234567.5", "12345678901234567.5"),
        ("true", "true"), ("null", ""), ('[1, "ä"]', '[1, "ä"]'), ('{"a": {"b": 1.5}}', '{"a": {"b": 1.5}}'),
    ],
)  # fmt: skip
def test_what_is_no_text_becomes_the_text_as_it_was_written(written: str, text: str) -> None:
    assert parse_parameters(f'{{"p": {written}}}', "params") == {"p": text}


def test_who_changes_what_was_read_changes_it_for_nobody_else() -> None:
    parse_parameters('{"a": "1"}', "its")["a"] = "2"
    assert parse_parameters('{"a": "1"}', "its") == {"a": "1"}


def test_broken_json_is_told_with_its_place() -> None:
    assert fault('{"day": }') == (
        'params is not valid JSON at character 9: Expecting value; write an object such as {"day": "2026-01-31"}'
    )
    assert fault("").startswith("params is not valid JSON at character 1: ")


@every(
    ("text", "kind"),
    [
        ("[]", "a list"),
        ('"x"', "a text"),
        ("1", "a number"),
        ("1.5", "a number"),
        ("true", "a truth value"),
        ("null", "null"),
    ],
)
def test_what_is_no_object_is_told_what_it_is(text: str, kind: str) -> None:
    assert fault(text) == f'params must be a JSON object such as {{"day": "2026-01-31"}}, not {kind}'


@every("levels", [*range(900, 1010), 100_000])
def test_deep_nesting_is_refused_in_a_sentence_wherever_the_stack_ends(levels: int) -> None:
    """Between what Python's reader takes and what its writer takes there was a depth that escaped as RecursionError."""
    try:
        parse_parameters(f'{{"p": {"[" * levels}{"]" * levels}}}', "params")
    except Refused as error:
        assert str(error) == "params is nested too deeply; make it flatter"


def test_a_number_that_python_does_not_read_is_told_as_one() -> None:
    assert fault(f'{{"p": {"9" * 5000}}}') == "params contains a number with too many digits; write it in quotes"


@every("text", [r'{"p": "\u0000"}', r'{"\u0000": 1}', r'{"p": "\ud800"}', '{"p": "\udc80"}', r'{"p": ["\ud800"]}'])
def test_what_no_process_takes_is_refused(text: str) -> None:
    assert fault(text).endswith("contains a NUL or an unpaired surrogate; remove it")
    fault(text).encode()


def test_a_whole_character_written_as_two_halves_is_taken() -> None:
    assert parse_parameters(r'{"p": "\ud83d\ude00"}', "params") == {"p": "😀"}


def test_the_size_is_bounded_in_bytes() -> None:
    room = PARAMETERS_BYTES_MAX - len('{"p": ""}')
    assert len(parse_parameters(f'{{"p": "{"x" * room}"}}', "params")["p"]) == room
    sentence = f"params is larger than {PARAMETERS_BYTES_MAX} bytes; pass a file's name instead"
    assert fault(f'{{"p": "{"x" * (room + 1)}"}}') == sentence
    assert fault(f'{{"p": "{"ä" * (room // 2 + 1)}"}}') == sentence


@given(st.text() | st.text('{}[]",:1e.\\u0dtrfalsn'))
def test_any_text_gives_values_that_a_process_takes_or_a_sentence(text: str) -> None:
    try:
        values = parse_parameters(text, "params")
    except Refused as error:
        str(error).encode()
    else:
        assert all(is_storable(part) for pair in values.items() for part in pair)


# ---------------------------------------------------------------------------------------------- references


@every(
    ("text", "result"),
    [
        ("at ${day}!", "at <day=1>!"),
        ("${day}${day}", "<day=1><day=1>"),
        ("${unknown}", "${unknown}"),
        ("$${day}", "${day}"),
        ("$${unknown}", "${unknown}"),
        ("$$${day}", "$$<day=1>"),
        ("$$${day}$$", "$$<day=1>$$"),
        ("$$${unknown}", "$$${unknown}"),
        ("$$$${day} $$$$${day}", "$$${day} $$$$<day=1>"),
        ("${day}$${day}", "<day=1>${day}"),
        ("$day {day} ${ day} ${} ${1} ${day", "$day {day} ${ day} ${} ${1} ${day"),
        ("${day:-x} ${#day} ${day%.*}", "${day:-x} ${#day} ${day%.*}"),
        ("", ""),
    ],
)
def test_only_a_known_name_in_braces_is_replaced(text: str, result: str) -> None:
    assert replaced(text, day="1") == result


def test_names_may_have_dots() -> None:
    assert (
        replace_references("${system.biz.date}", {"system.biz.date": "20260131"}, lambda _, value: value) == "20260131"
    )


@given(names, storable)
def test_what_is_put_in_is_not_looked_at_again(name: str, value: str) -> None:
    assert replace_references(f"${{{name}}}", {name: value}, lambda _, value: value) == value


@given(storable, st.dictionaries(names, storable))
def test_a_text_without_a_reference_stays_as_it_is(text: str, values: dict[str, str]) -> None:
    text = text.replace("$", "")
    assert replace_references(text, values, lambda _, value: value) == text


@given(st.lists(st.tuples(names, storable), max_size=5))
def test_an_escaped_reference_is_a_literal_whatever_is_known(pairs: list[tuple[str, str]]) -> None:
    text = " ".join(f"${{{name}}}" for name, _ in pairs)
    assert replace_references(text.replace("$", "$$"), dict(pairs), lambda _, value: value) == text


# ---------------------------------------------------------------------------------------------------- plain


@every("value", ["", "2026-01-31", "a_b.c/d:e,f@g%h+i=j", "00:00:00"])
def test_a_plain_value_is_one_that_cannot_become_code(value: str) -> None:
    assert is_plain(value)


@every("character", [*" \t\n\r\x00\"'`$\\;&|<>()[]{}*?!#~^", "ä", "é", "٣", "\u2028", "\x85"])
def test_a_character_that_means_something_to_a_shell_or_is_not_ascii_is_not_plain(character: str) -> None:
    assert not is_plain(character)
    assert not is_plain(f"a{character}")
    assert not is_plain(f"{character}a")


@given(st.text())
def test_plain_is_nothing_but_the_listed_characters(value: Any) -> None:
    allowed = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.,:/@%+=-")
    assert is_plain(value) == (set(value) <= allowed)


@given(st.text(st.characters(exclude_categories=[]) | st.sampled_from("\x00\ud800\udfff")))
def test_storable_is_what_can_be_encoded_and_has_no_nul(text: str) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        assert not is_storable(text)
    else:
        assert is_storable(text) == (b"\x00" not in encoded)
