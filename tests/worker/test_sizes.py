"""The size of a task's texts with values inserted is limited, before any is copied."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from model.errors import Refused
from model.runs.states import TaskState
from tests.every import every
from tests.worker.errand import Errands, claimed
from worker.statements.binding import Binder
from worker.statements.grammar import Grammar
from worker.tasks import python, shell
from worker.tasks.catalog import TaskCatalog

MANY = "${b} " * 2_000


@every(
    ("type_name", "params"),
    [
        ("SHELL", {"script": f"echo {MANY}"}),
        ("PYTHON", {"script": f'x = "{MANY}"'}),
        ("SQL", {"datasource": "d", "sql": f"SELECT '{MANY}'"}),
        ("SQL", {"datasource": MANY, "sql": "SELECT 1"}),
        ("PROCEDURE", {"datasource": "d", "name": "p", "arguments": [{"value": MANY}]}),
        ("HTTP", {"url": "http://localhost", "body": MANY}),
        ("HTTP", {"url": "http://localhost", "body": {"a": [{"b": "${b}"}] * 2_000}}),
        ("HTTP", {"url": "http://localhost", "headers": {"x": MANY}}),
        ("SPARK", {"application": "a.jar", "args": ["${b}"] * 2_000}),
        ("MR", {"jar": "a.jar", "args": [MANY]}),
        ("K8S", {"image": "i", "env": {"A": MANY}}),
        ("FAKE", {"log": MANY}),
    ],
)
def test_values_that_grow_by_where_they_stand_are_refused_before_they_are_copied(
    type_name: str, params: dict[str, Any]
) -> None:
    catalog = TaskCatalog()
    catalog.params_schema(type_name)
    tracemalloc.start()
    try:
        with pytest.raises(Refused, match=r"its parameters grow beyond 4194304 bytes .*; shorten"):
            catalog.make(type_name, json.dumps(params), {"b": "x" * 200_000})
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


async def test_a_task_whose_values_grow_without_bound_fails_and_no_worker_is_lost(errands: Errands) -> None:
    params = {"url": "http://127.0.0.1:1/", "method": "POST", "body": "${b}" * 2_000}
    report = await errands.run(claimed("HTTP", params=params, values={"b": "x" * 200_000}))
    assert report.state is TaskState.FAILURE
    assert "its parameters grow beyond" in report.reason


def recording(function: Callable[..., Any], threads: list[threading.Thread]) -> Callable[..., Any]:
    """The function, which notes the thread in which it is called."""

    def recorded(*args: Any, **kwargs: Any) -> Any:
        threads.append(threading.current_thread())
        return function(*args, **kwargs)

    return recorded


@pytest.mark.parametrize(
    ("type_name", "of_type", "reads"), [("SHELL", shell, "bash_script"), ("PYTHON", python, "python_script")]
)
async def test_a_large_script_is_filled_in_beside_the_loop(
    errands: Errands, monkeypatch: pytest.MonkeyPatch, type_name: str, of_type: ModuleType, reads: str
) -> None:
    threads: list[threading.Thread] = []
    for place, name in ((TaskCatalog, "make"), (of_type, reads)):
        monkeypatch.setattr(place, name, recording(getattr(place, name), threads))
    script = "\n".join(f"# {number} ${{b}}" for number in range(20_000))
    report = await errands.run(claimed(type_name, params={"script": script}, values={"b": "x"}))
    assert report.state is TaskState.SUCCESS
    assert len(threads) == 2
    assert threading.main_thread() not in threads


def test_a_name_put_into_sql_text_many_times_is_refused_before_it_is_copied() -> None:
    binder = Binder(Grammar(), {"n": "x" * 200_000}, {})
    with pytest.raises(Refused, match="its SQL statements grow beyond"):
        binder.statements("SELECT !{n} " * 2_000)
