"""Texts of half a megabyte are read in time that grows with their length: a master reads them beside its other work."""

from __future__ import annotations

import pytest

from model.parameters.foreign_values import Need
from model.parameters.results import bases
from model.scripts.python_script import NamedPython
from model.scripts.scripts_in_definitions import written_script
from model.scripts.shell_reader import need_of_arguments

LENGTH = 500_000

pytestmark = pytest.mark.timeout(30)
"""Reading in time that grows with the square of the length takes minutes."""


def long(part: str) -> str:
    return part * (LENGTH // len(part))


@pytest.mark.parametrize(
    ("part", "need"),
    [
        ("/", Need.NUMBER), ("*/1,", Need.NUMBER), ("if ", Need.TEXT), ("time ", Need.TEXT), ("a=1 ", Need.TEXT),
        ("PATH=$a ", Need.NUMBER), ("[[ ", Need.TEXT), ("${a}", Need.NUMBER), ("a${b}", Need.NUMBER),
        ("find -exec ", Need.NUMBER), ("if ((1)) ", Need.PLAIN), ("$$", Need.NUMBER),
    ],
)  # fmt: skip
def test_a_bash_script(part: str, need: Need) -> None:
    assert written_script(long(part)).need is need


@pytest.mark.parametrize(
    ("part", "need"),
    [
        ("\n", Need.TEXT),
        ("import os ", Need.TEXT),
        ("import os\n", Need.TEXT),
        ("execv(", Need.NUMBER),
        ("run(", Need.TEXT),
    ],
)
def test_a_python_script(part: str, need: Need) -> None:
    assert NamedPython.of(long(part)).need is need


@pytest.mark.parametrize(("word", "need"), [("/", Need.PLAIN), ("\0", Need.NUMBER), ("a/", Need.PLAIN)])
def test_a_word_of_a_command(word: str, need: Need) -> None:
    assert need_of_arguments([long(word)])[0] is need


def test_a_reference_to_a_part_of_a_part_of_a_part() -> None:
    assert list(bases(long("0."))) == []
