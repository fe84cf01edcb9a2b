"""Values that know their place in a text, the small paths into JSON, and what is found in an output."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.errors import Refused
from model.parameters.json_values import Missing, parse_json
from tests.every import every
from tests.worker.scene import MemoryLog
from worker.tasks.application_ids import FOUND_MAX, OutputScan
from worker.tasks.inserted import Piece, arguments, as_written, mark, pieces, plain
from worker.tasks.job_conf import properties_text
from worker.tasks.json_path import parse_path, value_at

own = st.text("ab\0[]={}$", max_size=12)
values = st.text("ab[]={}$\0".replace("\0", ""), max_size=12)


@given(before=own, value=values, between=own, second=values, after=own)
def test_a_value_is_always_taken_for_a_value_and_never_for_more(
    before: str, value: str, between: str, second: str, after: str
) -> None:
    text = before + mark("v", value) + between + mark("w", second) + after
    named = [piece for piece in pieces(text) if piece.name in ("v", "w")]
    assert [Piece(value, "v"), Piece(second, "w")] == [each for each in named if each.name in ("v", "w")]
    if "\0" not in before + between + after:
        assert plain(text) == before + value + between + second + after
        assert as_written(text) == before + "${v}" + between + "${w}" + after


def test_a_value_with_a_nul_is_refused() -> None:
    with pytest.raises(Refused, match="contains a NUL"):
        mark("v", "a\0]b")


def test_an_argument_of_the_definers_may_begin_with_a_dash_one_of_a_value_may_not() -> None:
    assert arguments(["-x", "--y=" + mark("v", "-z"), mark("v", "-1.5"), mark("e", "")], "args") == [
        *("-x", "--y=-z", "-1.5", "")
    ]
    for given_text in (mark("v", "-z"), mark("e", "") + mark("v", "-z"), mark("v", "-") + "z", mark("v", "-1x")):
        with pytest.raises(Refused, match=r"args\[0\] begins with the value of \"v\""):
            arguments([given_text], "args")


GIVEN: Any = {"a": [{"b": "x"}, 1.50, None], "c d": {"e-f": True}, "0": "zero", 'q"': 1}


@every(
    ("path", "value"),
    [
        ("$.a[0].b", "x"),
        ("$.a[1]", "1.50"),
        ("$.a[-1]", ""),
        ('$["c d"].e-f', "true"),
        ("$.0", "zero"),
        ('$["q\\""]', "1"),
        ("$.a[0]", '{"b": "x"}'),
    ],
)
def test_a_path_leads_to_one_value(path: str, value: str) -> None:
    assert value_at(parse_json(json.dumps(GIVEN).replace("1.5", "1.50")), parse_path(path)) == value


@every("path", ["$.b", "$.a.b", "$.a[3]", "$.a[-4]", "$[0]", "$.a[0].b[0]", "$.a[0].b.c"])
def test_a_path_that_leads_nowhere_is_missing(path: str) -> None:
    with pytest.raises(Missing):
        value_at(GIVEN, parse_path(path))


@every("path", ["", "a", "$a", "$.", "$..a", "$.*", "$[a]", "$[0", "$.a b", '$["a]', "$[?(@.a)]", "x$.a"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(Refused, match="is not a path"):
        parse_path(path)


def test_an_output_is_searched_by_lines_however_it_is_cut_and_without_end() -> None:
    log = MemoryLog()
    scan = OutputScan(log, re.compile(r"id-(\d+)"))
    for piece in (b"x id", b"-1\nid-", b"2\n", b"\xff\x00id-1\n", b"z" * 100_000, b"id-3\n"):
        scan.write(piece)
    assert scan.found == ["1", "2"]
    assert log.size == 100_000 + 24
    scan.write("id-4")
    assert scan.found == ["1", "2"]  # it may go on
    scan.finish()
    assert scan.found == ["1", "2", "4"]
    scan.write("\n" + "".join(f"id-{number}\n" for number in range(10 * FOUND_MAX)))
    assert len(scan.found) == FOUND_MAX


def test_the_reason_is_the_last_error_or_else_the_last_line() -> None:
    scan = OutputScan(MemoryLog(), re.compile("(x)"))
    scan.write("all well\n")
    assert scan.reason(2) == "exit code 2: all well"
    scan.write("org.example.OddException: one\n  at x\nCaused by: java.io.IOException: two\nINFO done")
    assert scan.reason(1) == "exit code 1: Caused by: java.io.IOException: two"


def test_a_properties_file_is_ascii_on_lines_of_its_own() -> None:
    text = properties_text({"a b": " x\\y\nz=ü🐟"})
    assert text == "a\\ b=\\ x\\\\y\\nz=\\u00fc\\ud83d\\udc1f\n"
