"""A program that ends its task as SKIPPED, of each type that runs one: by its exit code, or by a line of its output."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from model.ids import TaskInstanceId, WorkflowInstanceId
from model.parameters import skip_codes
from model.runs.states import TaskState as T
from tests.worker.errand import Errands, claimed
from tests.worker.kubernetes_server import kubernetes_server
from tests.worker.scene import Scene
from tests.worker.test_mr_task import command
from tests.worker.test_recorded_ends import written
from tests.worker.test_spark_task import context
from tests.worker.test_strict_outputs import recorded
from worker.attempts.child import _attempt
from worker.attempts.order import Order, answer_of
from worker.launcher.horizon import Deadline
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskResult

TYPES = recorded({"rows": {"direct": "OUT"}}, {"skip_exit_codes": [99, 98]})
"""Types of a task with an OUT parameter, which a skipped attempt need not give a value."""
SECRETS = {"leases": json.dumps({"proxies": [{"name": "p", "data": {"password": "sword fish"}}]})}


@pytest.mark.parametrize(
    ("script", "state", "reason"),
    [
        ("echo no orders; exit 99", T.SKIPPED, "exit code 99: no orders"),
        ("exit 98", T.SKIPPED, "exit code 98"),
        ("exit 97", T.FAILURE, "exit code 97"),
        ("echo '#{setSkipped(no orders today)}'", T.SKIPPED, "no orders today"),
        ("printf '${setSkipped()}'", T.SKIPPED, ""),
        ("echo '#{setValue(rows=1)}'; echo '#{setSkipped(a)}'; echo '#{setSkipped(b (c)})}'", T.SKIPPED, "b (c)}"),
        ("echo '#{setSkipped(no orders)}'; exit 99", T.SKIPPED, "exit code 99: #{setSkipped(no orders)}"),
        ("echo '#{setSkipped(no orders)}'; exit 1", T.FAILURE, "exit code 1: #{setSkipped(no orders)}"),
    ],
)
async def test_a_program_skips_its_task_and_its_values_do_not_count(
    errands: Errands, script: str, state: T, reason: str
) -> None:
    end = await errands.shell(script, parameter_types=TYPES)
    assert (end.state, end.reason, end.outputs) == (state, reason, None)
    assert "[shoal]" not in errands.log


async def test_a_python_script_skips_its_task(errands: Errands) -> None:
    script = "print('no orders'); raise SystemExit(99)"
    end = await errands.run(claimed("PYTHON", params={"script": script}, parameter_types=TYPES))
    assert (end.state, end.reason, end.exit_code) == (T.SKIPPED, "exit code 99: no orders", 99)


@pytest.mark.parametrize("script", ["echo '#{setSkipped(not sword fish)}'", "echo not sword fish; exit 99"])
async def test_a_secret_is_masked_in_the_reason(errands: Errands, script: str) -> None:
    end = await errands.shell(script, parameter_types=TYPES, **SECRETS)
    assert (end.state, end.reason.removeprefix("exit code 99: ")) == (T.SKIPPED, "not ******")


@pytest.mark.parametrize("text", ["echo ${setSkipped(a)}\n", "#{setSkipped(a)}!\n", "#{setSkipped(a\n)}\n"])
async def test_a_line_that_does_not_stand_alone_skips_nothing_and_the_log_says_so(errands: Errands, text: str) -> None:
    end = await errands.shell(f"cat <<'E'\n{text}E")
    assert (end.state, errands.log.count("[shoal] a line with setSkipped skipped nothing")) == (T.SUCCESS, 1)


@pytest.mark.parametrize(
    ("code", "log", "reason"),
    [(99, b"no orders\n", "exit code 99: no orders"), (0, b"#{setSkipped(no orders)}\n", "no orders")],
)
def test_the_end_of_a_process_counts_the_same_after_its_worker_died(
    tmp_path: Path, code: int, log: bytes, reason: str
) -> None:
    [end] = written(tmp_path, code, log, task=claimed(params={}, parameter_types=TYPES))
    assert (end.state, end.reason, end.exit_code, end.outputs) == (T.SKIPPED, reason, code, None)


def test_the_answer_of_an_order_counts_too(tmp_path: Path) -> None:
    [end] = written(tmp_path, 0, None, answer=answer_of(TaskResult.skipped("no orders")))
    assert (end.state, end.reason) == (T.SKIPPED, "no orders")


@pytest.mark.parametrize(("code", "state"), [(99, T.SKIPPED), (1, T.FAILURE)])
@pytest.mark.parametrize(
    ("type_", "program", "params"),
    [("MR", "hadoop", {"jar": "a.jar"}), ("SPARK", "spark-submit", {"application": "a.py"})],
)
async def test_a_program_of_a_cluster_skips_its_task(
    scene: Scene, tmp_path: Path, type_: str, program: str, params: dict[str, Any], code: int, state: T
) -> None:
    command(tmp_path / "home", program, f"echo no orders; exit {code}")
    home = {"MR": "HADOOP_HOME", "SPARK": "SPARK_HOME"}[type_]
    task = TaskCatalog().make(type_, json.dumps(params), {})
    result = await task.run(replace(context(scene, {home: str(tmp_path / "home")}), skip_exit_codes={99}))
    assert (result.state, result.reason, result.exit_code) == (state, f"exit code {code}: no orders", code)


async def test_a_container_skips_its_task(tmp_path: Path) -> None:
    async with kubernetes_server(tmp_path) as cluster:
        params = {"image": "busybox:1.36", "kubeconfig": str(cluster.kubeconfig)}
        task = TaskCatalog().make("K8S", json.dumps(params), {})
        ids = (WorkflowInstanceId(1), TaskInstanceId(2), "a", 1)
        order = Order(task, *ids, {}, {}, {}, (), tmp_path, False, skip_codes.recorded_in(TYPES))
        attempt = asyncio.ensure_future(_attempt(Order.from_text(order.to_text()), Deadline()))
        while not cluster.jobs:
            await asyncio.sleep(0.01)
        cluster.start_container()
        cluster.end(98)
        result = await attempt
    assert (result.state, result.exit_code) == (T.SKIPPED, 98)


async def test_an_environment_that_fails_skips_nothing(scene: Scene) -> None:
    async def exports() -> str:
        return "exit 99"

    task = TaskCatalog().make("SHELL", json.dumps({"script": "true"}), {})
    result = await task.run(replace(context(scene), exports=exports, skip_exit_codes={99}))
    assert (result.state, result.exit_code) == (T.FAILURE, 99)
