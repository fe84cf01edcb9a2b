"""What the texts of statements are put together from.

Nearly all are put together from constants while their modules are imported, before anybody has sent anything. A few
depend on what is asked for: these are named here, with the constants that they choose from. Values are always bound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

DAO = Path(__file__).parents[2] / "dao"
LATER = {
    "accounts/audit.py: page": "_CONDITIONS",
    "definitions/schedule_contents.py: change_columns": "COLUMNS",
    "postgres/listen.py: run": "the channels, which are constants",
    "postgres/notify.py: _send": "numbers",
    "views/alerts.py: page": "the columns of the filter, _RESULTS",
    "views/run_conditions.py: clause": "its conditions, by the fields that are set",
    "views/run_counts.py: bars": "run_pages, RunConditions",
    "views/run_counts.py: planned_rows": "EXPLAIN before a query of SQLAlchemy",
    "views/run_pages.py: newest": "ranges of the index",
    "views/run_pages.py: counted": "ranges of the index",
    "views/run_walks.py: walk": "run_pages, RunConditions",
    "views/schedule_listings.py: _found": "_CONDITIONS",
}
SENDS = {"execute", "exec_driver_sql"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def test_a_text_is_put_together_from_constants_before_anybody_sends_anything() -> None:
    trees = {str(path.relative_to(DAO)): ast.parse(path.read_text("utf-8")) for path in DAO.rglob("*.py")}
    called = {
        file: {name for function in _functions(tree) for name in _calls(function)} for file, tree in trees.items()
    }
    everywhere = set().union(*called.values())
    found = set()
    for file, tree in trees.items():
        for function in _functions(tree):
            callers = called[file] if function.name.startswith("_") else everywhere
            is_run_later = isinstance(function, ast.AsyncFunctionDef) or function.name in callers
            if is_run_later and _puts_together(function):
                found.add(f"{file}: {function.name}")
    assert found == LATER.keys()


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _calls(function: Function) -> Iterator[str]:
    for call in ast.walk(function):
        if isinstance(call, ast.Call):
            yield call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _puts_together(function: Function) -> bool:
    """Whether it makes a statement of a text that is no literal, or sends a text that it puts together."""
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and call.args:
            text = call.args[0]
            if isinstance(call.func, ast.Name) and call.func.id == "text" and not isinstance(text, ast.Constant):
                return True
            sends = isinstance(call.func, ast.Attribute) and call.func.attr in SENDS
            if sends and isinstance(text, ast.JoinedStr | ast.BinOp):
                return True
    return False
