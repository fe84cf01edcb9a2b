"""What a reader of SQL can rely on: a statement is one literal text, so that it can be read without reading Python.

The few that are put together from parts are named here, each with its reason. Their parts are constants of our own;
values are always bound.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

DAO = Path(__file__).parents[2] / "dao"
TOGETHER = {
    "checks/stuck_runs.py: _walk": "all runs or one: the same sixty lines",
    "checks/table_checks.py: finding": "every check is counted and cut in the same way",
    "cluster/nodes.py: _beat": "all nodes or itself: the same thirty lines",
    "definitions/schedule_contents.py: change_columns": "only the columns that are given",
    "postgres/listen.py: run": "a channel cannot be bound",
    "postgres/statements.py: statement": "the literal text of each function that is a statement",
    "postgres/sql.py: filtered": "conditions of lists, by what is asked for",
    "run_lists/attempt_rows.py: attempts_that": "pages by four conditions and three orders: the same thirty columns",
    "run_lists/run_counts.py: bars": "runs that are found by different indexes",
    "run_lists/run_counts.py: planned_rows": "EXPLAIN before a query",
    "run_lists/run_pages.py: counted": "runs that are found by different indexes",
    "run_lists/run_listings.py: _read": "runs by their ids, or found by different indexes: the same fifty lines",
    "run_lists/run_walks.py: walk": "its conditions, by what is asked for",
    "runs/workflow_instances.py: _INSERT": "its many columns are those of _INSERT_ONCE",
    "runs/workflow_instances.py: _INSERT_ONCE": "its many columns are those of _INSERT",
    "tasks/task_claims.py: _claim": "everywhere or at some places: the same thirty lines, and different plans",
}
MAKES, SENDS = {"Sql", "statement"}, {"execute"}


def test_a_statement_is_one_literal_text_but_for_a_few_with_a_reason() -> None:
    found = {
        f"{path.relative_to(DAO)}: {name}"
        for path in DAO.rglob("*.py")
        for name, part in _parts(ast.parse(path.read_text("utf-8")))
        if _puts_together(part)
    }
    assert found == TOGETHER.keys()


def test_a_function_without_a_body_is_a_statement() -> None:
    """mypy takes any such function of `dao/` for one."""
    for path in DAO.rglob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.AsyncFunctionDef) and all(_says_nothing(each) for each in node.body):
                assert "@statement" in {f"@{ast.unparse(each).split('(')[0]}" for each in node.decorator_list}, (
                    node.name
                )


def _says_nothing(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)


def _parts(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The functions, and the constants of the module, by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
            yield ast.unparse(target), statement


def _puts_together(part: ast.AST) -> bool:
    """Whether it makes a statement of a text that is no literal, or sends a text that it puts together."""
    for call in ast.walk(part):
        if isinstance(call, ast.Call) and call.args:
            text = call.args[0]
            if isinstance(call.func, ast.Name) and call.func.id in MAKES and not isinstance(text, ast.Constant):
                return True
            sends = isinstance(call.func, ast.Attribute) and call.func.attr in SENDS
            if sends and isinstance(text, ast.JoinedStr | ast.BinOp):
                return True
    return False
