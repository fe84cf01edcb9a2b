"""`docs/internals/where.md` and `docs/internals/walkthrough.md` lead to what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.every import every
from tests.test_repository import ROOT

DOCS = ROOT / "docs" / "internals"
ROWS = re.findall(r"^\| (.+) \| (`.+`) \|$", (DOCS / "where.md").read_text("utf-8"), re.MULTILINE)
STEPS = re.findall(r"^(\d+)\. .* `([\w./]+)`: `([\w.]+)`$", (DOCS / "walkthrough.md").read_text("utf-8"), re.MULTILINE)


def functions_of(path: Path) -> set[str]:
    """Functions of a module, and methods as Class.method; of SQL its functions."""
    if path.suffix == ".sql":
        return set(re.findall(r"CREATE FUNCTION (\w+)", path.read_text("utf-8")))
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
            found |= {f"{node.name}.{method.name}" for method in methods}
    return found


def test_each_of_many_questions_is_answered_once() -> None:
    assert len(ROWS) == len({question for question, _ in ROWS}) >= 30


@every(("question", "files"), ROWS)
def test_an_answer_is_files_that_exist(question: str, files: str) -> None:
    assert all((ROOT / file.strip("`")).is_file() for file in files.split(", ")), question


def test_the_walkthrough_takes_at_most_twenty_steps() -> None:
    assert [int(number) for number, *_ in STEPS] == list(range(1, len(STEPS) + 1))
    assert 10 <= len(STEPS) <= 20


@every(("number", "file", "function"), STEPS)
def test_a_step_names_a_function_that_exists(number: str, file: str, function: str) -> None:
    assert function in functions_of(ROOT / file), number
