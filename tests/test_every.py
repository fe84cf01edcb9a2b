"""One test takes all of its cases, and says which of them failed."""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path

import pytest

from tests.every import every


def test_each_case_is_tried_though_one_fails_and_the_one_is_named() -> None:
    seen = []

    @every("number, text", [(1, "a"), (2, "b"), (3, "c")])
    def test(number: int, text: str) -> None:
        seen.append((number, text))
        assert number != 2

    with pytest.raises(AssertionError) as raised:
        test()
    assert seen == [(1, "a"), (2, "b"), (3, "c")]
    assert raised.value.__notes__ == ["with number=2, text='b'"]


def test_all_that_fail_are_told_of_also_where_an_error_was_expected() -> None:
    @every("number", [0, 1, 2])
    def test(number: int) -> None:
        with pytest.raises(ZeroDivisionError):
            _ = 1 / number

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases failed: with number=1; with number=2") as raised:
        test()
    assert [each.__notes__ for each in raised.value.exceptions] == [["with number=1"], ["with number=2"]]


def test_two_above_each_other_take_each_with_each() -> None:
    seen = []

    @every("letter", "ab")
    @every("number", [1, 2])
    def test(letter: str, number: int) -> None:
        seen.append((letter, number))
        assert (letter, number) != ("b", 1)

    with pytest.raises(AssertionError) as raised:
        test()
    assert seen == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    assert raised.value.__notes__ == ["with number=1, letter='b'"]


async def test_what_awaits_takes_all_cases_with_the_same_fixtures(tmp_path: Path) -> None:
    @every("number", [1, 2])
    async def test(tmp_path: Path, number: int) -> None:
        await asyncio.sleep(0)
        assert (tmp_path / str(number)).parent.name == str(number)

    assert list(inspect.signature(test).parameters) == ["tmp_path"]
    with pytest.raises(BaseExceptionGroup, match="2 of 2 cases failed: with number=1; with number=2"):
        await test(tmp_path=tmp_path)


def test_a_test_without_cases_is_an_error() -> None:
    with pytest.raises(ValueError, match="there is no case of number"):
        every("number", [])
