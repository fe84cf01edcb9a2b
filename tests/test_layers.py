"""Imports only go down, and what is pure stays pure. Beside each ban stands the bug that it prevents.

Read from the syntax trees, so that an import inside a function counts too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model.definitions.graph import find_cycle
from tests.every import every

ROOT = Path(__file__).parent.parent

BELOW = {
    "model": set[str](),
    "http_server": {"model"},
    "metrics": {"model", "http_server", "dao"},
    "sql": set[str](),
    "logstore": {"model"},
    "dao": {"model", "sql"},
    "registry": {"model", "dao"},
    "node": {"model", "logstore", "dao", "registry", "metrics"},
    "master": {"model", "logstore", "dao", "registry", "node", "metrics"},
    "worker": {"model", "http_server", "logstore", "dao", "registry", "node", "metrics"},
    "service": {"model", "logstore", "dao", "registry", "sql"},
    "api": {"model", "http_server", "dao", "registry", "node", "service", "metrics"},
    "alert": {"model", "dao", "registry", "node", "service", "metrics"},
    "importers": {"model", "service", "worker"},
    "shoal": {
        *("model", "http_server", "logstore", "dao", "registry", "node", "service", "sql", "metrics"),
        *("master", "worker", "api", "alert", "importers"),
    },
}
"""Each folder and those that it may import. A master that imports a worker, or the other way round, would share more
than the database with it: then they can no longer be upgraded, restarted or trusted one by one."""

PURE = (
    "model/**/*.py",
    "master/membership/failure_detector.py",
    "master/drive/attempts.py",
    "master/drive/task_starter.py",
    "master/drive/output_scope.py",
    "master/drive/parameters.py",
    "master/drive/results.py",
    "master/drive/children.py",
    "master/drive/element_results.py",
    "master/drive/element_values.py",
    "master/drive/elements.py",
    "master/drive/branch_choice.py",
    "master/drive/outcome.py",
    "master/drive/events.py",
    "master/drive/retries.py",
    "master/drive/runnable.py",
    "master/claim/revival.py",
    "master/claim/batch.py",
)
IMPURE = {
    "asyncio": "an await in the middle of a decision lets another event in, and the same events no longer give the same"
    " effects",
    "sqlalchemy": "a decision that reads rows by itself cannot be replayed, and decides from another moment than its"
    " transaction",
    "psycopg": "errors and types of the driver would leak into the words that all share",
    "kazoo": "its callbacks come on a foreign thread, and find a value half changed",
    "threading": "a value would be read torn in the middle of a rebalance",
    "time": "a machine's clock decides nothing: two of them differ. Times are arguments, `now_s`",
    "random": "a simulation that failed could not be run again. Chance is an argument, as in model/backoff.py",
    "os": "the same row would mean something else on another machine",
    "subprocess": "the same",
    "socket": "the same",
}

HOMELESS = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "shared", "tools"}
"""A function that fits only there shows a missing concept; such a module grows forever and everything imports it."""

CLOCKS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns"}
"""Time that decides is the database's. A machine's clock jumps and differs from the next one's: a lease, a time-out or
a fire time computed from it ends early on one machine and late on another. Measure spans by `registry/clock.py`."""

CLOCK_READERS: dict[str, str] = {
    "service/checks/doctor.py": "tells a person how far it is from the database's",
    "service/checks/log_service_health.py": "tells a person how far a worker's is from this machine's",
    "worker/tasks/wait.py": "says in the log when a task looked; what has come by then decides the database",
    "shoal/cli/next_fires.py": "shows a person the fire times of a cron text that is not saved; no database is asked",
}
"""Module -> why it may read the machine's wall clock: only what a person reads may depend on it."""

modules = sorted(path for package in BELOW for path in (ROOT / package).rglob("*.py"))
pure = sorted(path for pattern in PURE for path in ROOT.glob(pattern))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@dataclass(frozen=True)
class Module:
    """What these tests need of a module, with lines; its syntax tree is not kept."""

    imports: list[tuple[int, str]]
    calls: list[tuple[int, str]]
    statements: list[int]
    awaits: bool


@cache
def module_of(path: Path) -> Module:
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"), str(path))))
    awaits = any(isinstance(node, ast.Await) for node in nodes)
    return Module(list(_imports(path, nodes)), list(_calls(nodes)), list(_statements(nodes)), awaits)


def _imports(path: Path, nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module imports, wherever it does."""
    for node in nodes:
        match node:
            case ast.Import(names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module, names, level):
                assert not level, (
                    f"{name_of(path)}:{node.lineno}: say the whole name, so that a reader can search for it"
                )
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Call(ast.Name("files" | "import_module"), [ast.Constant(str(package)), *_]):
                yield node.lineno, package


def _calls(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a module calls; of a longer chain the last two names."""
    for node in nodes:
        match node:
            case ast.Call(ast.Attribute(ast.Name(owner) | ast.Attribute(_, owner), name)):
                yield node.lineno, f"{owner}.{name}"
            case ast.Call(ast.Name(name)):
                yield node.lineno, name


def test_the_tests_see_the_modules() -> None:
    assert {path.parent.name for path in modules} >= {
        "model",
        "dao",
        "registry",
        "node",
        "service",
        "master",
        "worker",
        "shoal",
    }
    assert len(pure) >= 15
    assert all(list(ROOT.glob(pattern)) for pattern in PURE)


def test_imports_only_go_down() -> None:
    wrong = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in modules
        for line, imported in module_of(path).imports
        if (layer := imported.split(".")[0]) in BELOW
        and layer not in BELOW[own := path.relative_to(ROOT).parts[0]] | {own}
    ]
    assert not wrong


def test_the_sdk_imports_nothing_of_the_engine() -> None:
    """Otherwise it would not be light, nor work with a server of another version. `simulate` imports by name what is
    installed."""
    light = {"httpx", "pydantic", "pydantic_core", "typing_extensions", "shoal_sdk", *sys.stdlib_module_names}
    sdk = sorted((ROOT / "sdk" / "shoal_sdk").glob("*.py"))
    wrong = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in sdk
        for line, imported in module_of(path).imports
        if imported.split(".")[0] not in light
    ]
    assert sdk
    assert not wrong


def test_no_product_module_imports_a_test_or_a_benchmark() -> None:
    outside = {"tests", "bench", "examples", "pytest", "hypothesis"}
    wrong = [name_of(path) for path in modules for _, name in module_of(path).imports if name.split(".")[0] in outside]
    assert not wrong


def test_no_two_layers_may_import_each_other_even_around_a_corner() -> None:
    assert find_cycle(BELOW) is None


@every("banned", IMPURE)
def test_what_is_pure_imports_nothing_that_is_not(banned: str) -> None:
    wrong = [
        f"{name_of(path)}:{line}"
        for path in pure
        for line, imported in module_of(path).imports
        if imported.split(".")[0] == banned
    ]
    assert not wrong, f"{banned} is banned there: {IMPURE[banned]}"


def test_what_is_pure_awaits_nothing() -> None:
    wrong = [name_of(path) for path in pure if module_of(path).awaits]
    assert not wrong, IMPURE["asyncio"]


def test_what_is_pure_stands_on_what_is_pure() -> None:
    """A pure module that imports an impure one is not pure."""
    known = {name_of(path).removesuffix(".py").replace("/", ".") for path in pure}
    wrong = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in pure
        for line, imported in module_of(path).imports
        if imported.split(".")[0] in BELOW and not {imported, imported.rpartition(".")[0]} & known
    ]
    assert not wrong


def test_no_module_is_named_after_having_no_place() -> None:
    everything = [*modules, *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    wrong = [name_of(path) for path in everything if {path.stem, path.parent.name} & HOMELESS]
    assert not wrong, "name it after the concept"


def test_nobody_waits_with_wait_for() -> None:
    wrong = [
        f"{name_of(path)}:{line}"
        for path in modules
        for line, name in module_of(path).calls
        if name.endswith("wait_for")
    ]
    assert not wrong, (
        "in Python 3.11 asyncio.wait_for swallows a cancellation that comes together with the result, and its caller"
        " never ends (bpo-42130); use `async with asyncio.timeout(...)`, or node/waiting.py for an event"
    )


def test_only_what_a_person_reads_asks_the_machine_for_the_time_of_day() -> None:
    wrong = [
        f"{name_of(path)}:{line} calls {name}"
        for path in modules
        for line, name in module_of(path).calls
        if name in CLOCKS and name_of(path) not in CLOCK_READERS
    ]
    assert not wrong, "time that decides is the database's; see CLOCKS"


SQL = re.compile(
    r"\b(SELECT\s.*\bFROM\b|SELECT\s+\w+\(|INSERT\s+INTO\b|DELETE\s+FROM\b|UPDATE\s+\w+(\s+\w+)?\s+SET\b"
    r"|(CREATE|ALTER|DROP)\s+(TABLE|INDEX|TRIGGER|FUNCTION|ROLE|DATABASE)\b|LISTEN\s+\"|NOTIFY\s+\w+,)",
    re.DOTALL,
)
SQL_ELSEWHERE = {
    "importers/airflow/checks.py": "writes the statement of an imported task, which runs on a data source",
    "shoal/embedded/cluster.py": "makes the role and the database: `dao/` needs a database to connect to",
}
"""Module -> why it has a statement of its own."""


def _statements(nodes: list[ast.AST]) -> Iterator[int]:
    """The lines of the strings that are SQL; docstrings are not."""
    documentation = {id(each.value) for each in nodes if isinstance(each, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(str(written)) if id(node) not in documentation and SQL.search(written):
                yield node.lineno


def test_statements_stand_in_dao_and_nowhere_else() -> None:
    """A statement elsewhere escapes the review of its locks, its index and its owner clause."""
    elsewhere = [path for path in modules if path.relative_to(ROOT).parts[0] not in ("dao", "sql")]
    composed = [
        f"{name_of(path)}:{line} imports {imported}"
        for path in elsewhere
        for line, imported in module_of(path).imports
        if imported.startswith(("dao.postgres.sql", "sqlalchemy.text", "psycopg.sql"))
    ]
    written = {name_of(path): line for path in elsewhere for line in module_of(path).statements}
    assert not composed
    assert written.keys() == SQL_ELSEWHERE.keys(), written


def test_a_statement_is_recognized() -> None:
    dao = [path for path in modules if path.relative_to(ROOT).parts[0] == "dao"]
    assert sum(1 for path in dao for _ in module_of(path).statements) >= 100


def test_fenced_transactions_are_made_in_one_place() -> None:
    """Made by hand, one could be without the lock on the node's row: a fenced node would write."""
    made = {name_of(path) for path in modules for _, name in module_of(path).calls if name == "FencedTransaction"}
    assert made == {"dao/cluster/nodes.py"}
