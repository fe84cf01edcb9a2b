"""A long error of a database is cut once its secrets are masked: no half of one stays at the cut."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.ids import TaskInstanceId, WorkflowInstanceId
from worker.child import SENTENCE_CHARACTERS_MAX, _attempt
from worker.launcher.deadline import Deadline
from worker.order import Order
from worker.tasks.catalog import TaskCatalog

SECRET = "zq4" * 6


@pytest.mark.parametrize("limit", [1_000, SENTENCE_CHARACTERS_MAX])
@pytest.mark.parametrize("before", [3, 9, 15])
async def test_no_half_of_a_secret_stays_where_an_error_is_cut(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], limit: int, before: int
) -> None:
    """The first `before` characters of the secret stand before the limit in what the database says."""
    begin = 'near "'
    word = "x" * (limit - before - len(begin)) + SECRET
    task = TaskCatalog().make("SQL", json.dumps({"datasource": "shop", "sql": f"SELECT 1 {word} {word}"}), {})
    order = Order(
        task, WorkflowInstanceId(1), TaskInstanceId(2), "a", 1, {}, {}, {"shop": "sqlite://"}, (SECRET,), tmp_path, True
    )
    result = await _attempt(order, Deadline())
    said = capfd.readouterr().out.partition("SELECT 1")[2].partition("\n")[2]
    assert begin + "xxx" in result.reason
    assert "zq4" not in result.reason + said
    assert len(result.reason) <= SENTENCE_CHARACTERS_MAX
