"""The lines that a newcomer types from the pages work, and print what the pages say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.newcomer.comparison import difference
from tests.newcomer.newcomer import ROOT, Newcomer
from tests.newcomer.page import Line, Page

FIRST = ("README.md", "docs/reference/cli.md")
"""Pages that start a cluster; the others use the last one."""
PAGES = [
    *FIRST,
    *sorted({str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")} - set(FIRST)),
    "examples/README.md",
]
UP = next(line for line in Page.read(ROOT, "docs/reference/cli.md").lines if line.typed.startswith("shoal up"))


@pytest.fixture(scope="module")
def newcomer() -> Iterator[Newcomer]:
    with Newcomer() as found:
        yield found


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [name for name in PAGES if Page.read(ROOT, name).lines])
def test_what_a_page_says_to_type_works_and_prints_what_it_shows(newcomer: Newcomer, name: str) -> None:
    if name not in FIRST and not newcomer.runs_up:
        newcomer.start_up(UP)
    faults = newcomer.faults_of(Page.read(newcomer.clone, name))
    assert not faults, "\n\n".join(faults)


def test_a_line_that_fails_or_prints_something_else_is_found(newcomer: Newcomer) -> None:
    lines = [Line("a.md:1", "false"), Line("a.md:2", "echo a 3", ("b 3",)), Line("a.md:3", "echo 1", ("2",))]
    fails, differs = newcomer.faults_of(Page("a.md", lines))
    assert fails == "a.md:1\n$ false\nended with 1, should end with 0\n"
    assert differs == "a.md:2\n$ echo a 3\nthe page shows 'b #', printed is 'a #'\na 3\n"


def test_ctrl_c_ends_all_that_up_has_started_as_the_page_says(newcomer: Newcomer) -> None:
    if not newcomer.runs_up:
        assert not newcomer.start_up(UP)
    assert not difference(UP.shown, newcomer.stop_up())
