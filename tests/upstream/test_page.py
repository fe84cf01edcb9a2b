"""The page on what was reported upstream names every test of this folder, and no other."""

from __future__ import annotations

import ast
import re
from pathlib import Path

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "internals" / "upstream.md"


def _tests() -> dict[str, set[str]]:
    """Name of each test that begins with numbers -> the numbers."""
    names = [
        node.name
        for path in FOLDER.glob("test_*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return {
        name: set(begin[0].split("_")) for name in names if (begin := re.findall(r"^test_(\d+(?:_\d{4,})*)_", name))
    }


def test_each_row_of_the_page_names_its_numbers_and_their_test() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| #")]
    told = {test: set(re.findall(r"#(\d+)", row)) for row in rows for test in re.findall(r"`(test_\w+)`", row)}
    assert len(rows) == len(told)
    assert told == _tests()
