"""Foreign texts are cut after their secrets are masked: no half of one stays at the cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from model.ids import TaskInstanceId, WorkflowInstanceId
from tests.worker.http_server import http_server, says
from tests.worker.kubernetes_server import kubernetes_server
from worker.attempts.child import SENTENCE_CHARACTERS_MAX, _attempt
from worker.attempts.order import Order
from worker.launcher.horizon import Deadline
from worker.statements.table import CELL_LENGTH_MAX
from worker.tasks.catalog import TaskCatalog
from worker.tasks.http import LOGGED_CHARACTERS_MAX
from worker.tasks.plugin import TaskResult
from worker.tasks.sql import STATEMENT_SHOWN_MAX

SECRET = "zq4" * 6


async def attempted(folder: Path, type_: str, secret: str = SECRET, **params: Any) -> TaskResult:
    """Run as below a keeper, but without the log, which the worker masks."""
    task = TaskCatalog().make(type_, json.dumps(params), {})
    sources = {"shop": "sqlite://"}
    order = Order(task, WorkflowInstanceId(1), TaskInstanceId(2), "a", 1, {}, {}, sources, (secret,), folder, True)
    return await _attempt(order, Deadline())


@pytest.mark.parametrize("limit", [1_000, SENTENCE_CHARACTERS_MAX])
@pytest.mark.parametrize("before", [3, 9, 15])
async def test_no_half_of_a_secret_stays_where_an_error_is_cut(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], limit: int, before: int
) -> None:
    """The first `before` characters of the secret stand before the limit in what the database says."""
    begin = 'near "'
    word = "x" * (limit - before - len(begin)) + SECRET
    result = await attempted(tmp_path, "SQL", datasource="shop", sql=f"SELECT 1 {word} {word}")
    said = capfd.readouterr().out.partition("SELECT 1")[2].partition("\n")[2]
    assert begin + "xxx" in result.reason
    assert "zq4" not in result.reason + said
    assert len(result.reason) <= SENTENCE_CHARACTERS_MAX


@pytest.mark.parametrize("before", [3, 9, 15])
async def test_no_half_of_a_secret_stays_where_a_cell_or_a_statement_is_cut(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], before: int
) -> None:
    cell = "x" * (CELL_LENGTH_MAX - before) + SECRET
    begin = f"SELECT '{cell}', '"
    await attempted(
        tmp_path, "SQL", datasource="shop", sql=begin + "y" * (STATEMENT_SHOWN_MAX - before - len(begin)) + SECRET + "'"
    )
    said = capfd.readouterr().out
    assert "xxx" in said
    assert "yyy" in said
    assert "zq4" not in said


@pytest.mark.parametrize("before", [3, 9, 15])
async def test_no_half_of_a_secret_stays_where_an_answer_is_cut(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], before: int
) -> None:
    body = "x" * (LOGGED_CHARACTERS_MAX - before) + SECRET
    async with http_server({"*": says("500 Sorry", body)}) as server:
        await attempted(tmp_path, "HTTP", url=server.address + "/")
    said = capfd.readouterr().out
    assert "xxx" in said
    assert "zq4" not in said


@pytest.mark.parametrize("limit", [300, SENTENCE_CHARACTERS_MAX - 22])
@pytest.mark.parametrize("secret", [SECRET, "zq4zq4  zq4zq4", "zq4zq4\nzq4zq4"])
async def test_no_half_of_a_secret_stays_in_what_a_cluster_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], limit: int, secret: str
) -> None:
    begin = "the cluster says 403: "
    async with kubernetes_server(tmp_path) as cluster:
        cluster.refusals.append(("POST", 403, "x" * (limit - 9) + secret))
        result = await attempted(tmp_path, "K8S", secret, image="busybox:1.36", kubeconfig=str(cluster.kubeconfig))
    assert result.reason.startswith(f"{begin}xxx")
    assert "zq4" not in result.reason + capfd.readouterr().out
