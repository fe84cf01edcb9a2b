"""The simulation matches today's Shoal: each statement that masters and workers send has a model like it."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from dao.cluster import fencing, nodes
from tests.every import every
from tests.simulation import wiring
from tests.simulation.run import run
from tests.simulation.wiring import NOT_STATEMENTS, OF_THEIR_OWN, NotModelled, models

ROOT = Path(__file__).parents[2]
NOT_SIMULATED = {
    "dao.cluster.cluster.record_registry": "another registry than the cluster's",
    "dao.commands.commands.insert_many": "backfills",
    "dao.definitions.backfill_dates.dates_of": "backfills",
    "dao.definitions.references.depending_on": "backfills",
    "dao.commands.commands.record_errors": "ids that come again",
    "dao.runs.later_fires.due_runs": "runs that ask whether they are the latest of their schedule",
    "dao.checks.stuck_runs.end_timeless_waits": "rows changed by hand",
    "dao.secrets.data_sources.url_of": "what a task needs while it runs",
    "dao.secrets.environments.script_of": "what a task needs while it runs",
    **dict.fromkeys(
        (
            "dao.duties.duties.delete_old",
            "dao.pools.pool_leases.free_left",
            "dao.pools.pool_line_repair.leave_lines",
            "dao.pools.pool_line_repair.join_lines",
            "dao.duties.queue_statistics.read",
            "dao.duties.queue_statistics.analyze",
            "dao.duties.queue_statistics.vacuum",
            "dao.checks.table_checks.find",
            "dao.commands.queue_listings.queue_by_group",
            "dao.alerts.alerts.delete_old",
            "dao.alerts.alerts.nodes_were_lost",
            "dao.alerts.alerts.pending",
            "dao.alerts.alerts.tasks_take_too_long",
            "dao.alerts.conditions.read_standing",
            "dao.alerts.conditions.update",
            "dao.alerts.refused_commands.take",
            "dao.alerts.rules.consume_ends",
            "dao.alerts.rules.deadlines",
            "dao.alerts.rules.enabled",
            "dao.alerts.rules.failures",
            "dao.alerts.rules.long_runs",
            "dao.alerts.rules.met",
            "dao.alerts.rules.now",
            "dao.alerts.rules.set_deadlines",
            "dao.alerts.rules.set_failures",
            "dao.alerts.rules.set_problem",
        ),
        "what a step of a duty does",
    ),
    "dao.pools.pool_checks.take": "checks of resources",
    "dao.pools.pool_checks.record": "checks of resources",
    "dao.pools.pool_checks.give_back": "checks of resources",
    "dao.retention.old_runs.delete_left": "runs with thousands of attempts",
    "dao.retention.gone_runs.gone": "logs on a disk",
    "dao.retention.gone_runs.gone_attempts": "logs on a disk",
    "dao.cluster.cluster_figures.read": "what Prometheus is shown",
    "dao.runs.run_spans.runs": "traces",
    "dao.runs.run_spans.attempts": "traces",
    "dao.tasks.task_logs.publish_key": "what readers of logs need",
    **dict.fromkeys(
        (
            "dao.cluster.log_stores.enter",
            "dao.cluster.log_stores.enter_as",
            "dao.cluster.log_stores.is_ours",
            "dao.cluster.log_stores.say",
            "dao.cluster.log_stores.step_done",
            "dao.cluster.log_stores.take_step",
            "dao.tasks.stored_logs.delete",
            "dao.tasks.stored_logs.record",
            "dao.tasks.stored_logs.wanted",
        ),
        "copies of logs",
    ),
}
"""Calls of masters and workers to `dao/` that a simulation never makes, each with the reason. If one is made after all,
its seed fails and names it."""


def _called() -> Iterator[tuple[str, Path]]:
    """Async functions of `dao/`, wherever master, worker or registry name them."""
    for folder in ("master", "worker", "node", "registry"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text("utf-8"))
            modules: dict[str, str] = {}
            names: list[str] = []
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dao."):
                    found = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                    if hasattr(importlib.import_module(node.module), "__path__"):
                        modules |= found
                    else:
                        names += found.values()
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                    names.append(f"{modules[node.value.id]}.{node.attr}")
            for name in names:
                module, _, function = name.rpartition(".")
                if inspect.iscoroutinefunction(getattr(importlib.import_module(module), function, None)):
                    yield name, path.relative_to(ROOT)


def test_every_statement_that_a_master_or_worker_sends_has_a_model() -> None:
    known = {*models(), *OF_THEIR_OWN, *NOT_SIMULATED, *NOT_STATEMENTS}
    missing = [f"{path} calls it: {NotModelled(name)}" for name, path in _called() if name not in known]
    assert not missing, "\n".join(missing)


def test_nothing_is_said_to_be_left_out_that_has_a_model_or_is_gone() -> None:
    called = {name for name, _ in _called()}
    assert not [name for name in NOT_SIMULATED if name in models() or name not in called]


@every("name", sorted(models()))
def test_a_model_takes_the_arguments_of_what_it_stands_for(name: str) -> None:
    if name in OF_THEIR_OWN:
        return
    module, _, function = name.rpartition(".")
    real = inspect.signature(getattr(importlib.import_module(module), function)).parameters.values()
    model = inspect.signature(models()[name]).parameters.values()
    assert [(each.name, each.kind) for each in model][1:] == [(each.name, each.kind) for each in real][1:]


def test_a_statement_without_a_model_is_a_violation_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: model for name, model in models().items() if name != "dao.cluster.nodes.beat"}
    monkeypatch.setattr(wiring, "models", lambda: known)
    violation = run(0).violation
    assert violation is not None
    assert violation.startswith("dao.cluster.nodes.beat has no model: write one, beat(tx, ...), into tests/simulation/")


def test_a_run_leaves_the_modules_as_they_were() -> None:
    before = (nodes.beat, fencing.fence, importlib.import_module("master.server").Listener)
    run(0)
    assert (nodes.beat, fencing.fence, importlib.import_module("master.server").Listener) == before
