"""Prints how much there is to read: `make sizes`.

It counts files in git. Generated code is not read by hand and is left out: the page's types from the API's description,
and that description.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = (
    *("alert", "api", "dao", "http_server", "logstore", "master", "metrics", "model", "node", "registry", "service"),
    *("shoal", "worker", "importers"),
)
GENERATED = {"ui/src/api/schema.d.ts", "docs/reference/openapi.json"}
MAKES = {"Sql", "statement"}
PARAMETERS_MAX = 6
LINES_MAX = 70
"""For a function of the page: as in ui/biome.json."""


@dataclass(frozen=True)
class Size:
    """One line of the table; `goal` is empty for what has none."""

    what: str
    value: str
    goal: str = ""


def main() -> None:
    """Print the table."""
    sizes = list(measured())
    width = max(len(size.what) for size in sizes)
    for size in sizes:
        print(f"{size.what:<{width}}  {size.value:>14}  {size.goal}".rstrip())  # noqa: T201


def measured() -> Iterator[Size]:
    """All of them."""
    product = [path for folder in PRODUCT for path in _files(f"{folder}/*.py")]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in product}
    yield Size("lines of the product's Python", f"{_lines(product):,}", "at most 75,000")
    dao = [path for path in product if path.is_relative_to(ROOT / "dao")]
    sql = sum(_sql_lines(trees[path]) for path in dao)
    yield Size(
        "lines of dao/; of Python to one of SQL",
        f"{_lines(dao):,}; {(_lines(dao) - sql) / sql:.1f}",
        "at most 10,000; 2",
    )
    texts, joined = _statements(trees[path] for path in product)
    yield Size("SQL statements; put together from parts", f"{texts + joined}; {joined}", "15 of the latter")
    yield Size("noqa: S608", str(_count(product, r"noqa: S608")), "0")
    shoal = [path for path in product if path.is_relative_to(ROOT / "shoal")]
    yield Size(
        "imports inside functions of shoal/", str(sum(_inner_imports(trees[path]) for path in shoal)), "at most 150"
    )
    yield Size("verbs at the top of shoal --help", str(_verbs(trees)), "at most 30")
    counts = sorted((_parameters(node) for tree in trees.values() for node in _functions(tree)), reverse=True)
    many = sum(1 for count in counts if count > PARAMETERS_MAX)
    yield Size(
        f"functions with more than {PARAMETERS_MAX} parameters; the most", f"{many}; {counts[0]}", "at most 15; 10"
    )
    page = [path for kind in ("ts", "tsx", "css") for path in _files(f"ui/src/*.{kind}")]
    yield Size("lines of the page, CSS included", f"{_lines(page):,}", "at most 24,000")
    yield Size(f"its functions of more than {LINES_MAX} lines", str(_long_functions()), "at most 5")
    docs = _files("docs/*.md")
    yield Size("words of docs/", f"{_words(docs):,}", "at most 55,000")
    yield Size("words of CHANGELOG.md", f"{_words([ROOT / 'CHANGELOG.md']):,}", "one page")
    yield Size("lines of the tests' Python", f"{_lines(_files('tests/*.py')):,}")


def _files(pattern: str) -> list[Path]:
    found = subprocess.run(["git", "ls-files", "--", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in found.stdout.splitlines() if name not in GENERATED and (ROOT / name).is_file()]


def _lines(paths: list[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def _words(paths: list[Path]) -> int:
    """Count words without signs of tables and code."""
    return sum(len(re.findall(r"[\w'./-]*\w[\w'./-]*", path.read_text("utf-8"))) for path in paths)


def _count(paths: list[Path], pattern: str) -> int:
    return sum(len(re.findall(pattern, path.read_text("utf-8"))) for path in paths)


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return sum(1 for argument in named if argument.arg not in ("self", "cls"))


def _inner_imports(tree: ast.AST) -> int:
    inner = {
        each for node in _functions(tree) for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)
    }
    return len(inner)


def _verbs(trees: dict[Path, ast.Module]) -> int:
    """The names in the groups of the help."""
    (groups,) = (
        node.value
        for node in trees[ROOT / "shoal" / "cli" / "on_demand.py"].body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "GROUPS"
    )
    return sum(len(names) for names in ast.literal_eval(groups).values())


def _texts(tree: ast.AST) -> Iterator[ast.expr]:
    """The arguments of `Sql(...)` and `statement(...)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKES and node.args:
            yield node.args[0]


def _statements(trees: Iterator[ast.Module]) -> tuple[int, int]:
    """How many statements are one literal, and how many are not."""
    whole = [isinstance(argument, ast.Constant) for tree in trees for argument in _texts(tree)]
    return sum(whole), len(whole) - sum(whole)


def _sql_lines(tree: ast.Module) -> int:
    """The lines of whole statements, and of parts of others that are constants of a module."""
    parts = [statement.value for statement in tree.body if isinstance(statement, ast.Assign)]
    texts = {*_texts(tree), *(part for part in parts if isinstance(part, ast.Constant) and "\n" in str(part.value))}
    return sum((text.end_lineno or text.lineno) - text.lineno + 1 for text in texts)


def _long_functions() -> int:
    """Count by the page's linter, whose rule has the limit."""
    rule = "complexity/noExcessiveLinesPerFunction"
    command = ["node_modules/.bin/biome", "lint", f"--only={rule}", "--max-diagnostics=none", "--reporter=json", "src"]
    # It ends with 1 when it finds some.
    done = subprocess.run(command, cwd=ROOT / "ui", capture_output=True, text=True, check=False)
    return len(json.loads(done.stdout)["diagnostics"])


if __name__ == "__main__":
    main()
