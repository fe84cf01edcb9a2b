"""What a worker does for every task, of whatever type."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import worker.attempts.executor
from model.choices import ParameterType
from model.runs.states import TaskState
from tests.worker.errand import Errands, claimed
from worker.attempts.work_folder import WorkFolder
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult

HELD = {"host": "10.0.0.1", "password": "sword fish", "url": "http://me:tuna-fish@10.0.0.1/"}


async def test_secrets_of_what_it_holds_are_in_neither_its_log_nor_its_reason_nor_its_outputs(errands: Errands) -> None:
    script = """
        echo "$SHOAL_RESOURCE_PROXIES"
        echo '${setValue(found=sword fish)}'
        echo "could not log in to 10.0.0.1 with sword fish"
        exit 3
    """
    leases = json.dumps({"proxies": [{"name": "p1", "data": HELD}]})
    end = await errands.run(claimed(params={"script": script}, leases=leases))
    assert (end.state, end.reason) == (
        TaskState.FAILURE,
        "exit code 3: could not log in to 10.0.0.1 with ******",
    )
    assert "10.0.0.1" in errands.log
    assert not any(secret in f"{errands.log} {end.outputs}" for secret in ("sword fish", "tuna-fish"))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo $[yyyyMMdd] $[yyyy-MM-dd-1]", "20220826 2022-08-25"),
        ("echo $[1 + 2] $[nix]", "3 0"),  # bash's own
        ("echo ${day}", "$[yyyyMMdd]"),  # a value is data
        ("echo '$[yyyy]'${year}", "2022!"),
    ],
)
async def test_time_expressions_are_replaced_before_the_values(errands: Errands, script: str, said: str) -> None:
    end = await errands.shell(script, values={"day": "$[yyyyMMdd]", "year": "!"})
    assert (end.state, errands.log) == (TaskState.SUCCESS, f"{said}\n")


async def test_time_expressions_are_computed_in_the_zone_of_the_run(errands: Errands) -> None:
    await errands.shell("echo $[yyyyMMddHH]", time_zone="America/New_York")
    assert errands.log == "2022082601\n"


async def test_an_attempt_knows_its_own_numbers_and_names(errands: Errands) -> None:
    names = "task.instance.id task.definition.name task.definition.code workflow.instance.id workflow.definition.code"
    script = "; ".join(f'echo "${{system.{name}}}"' for name in names.split())
    await errands.shell(script, values={"system.workflow.definition.code": "given"})
    assert errands.log.splitlines() == ["5", "load it", "2", "8", "given"]


async def test_the_folder_is_made_only_for_who_asks_for_it(errands: Errands) -> None:
    end = await errands.run(claimed("FAKE", params={"write": "${system.task.execute.path}/x"}))
    assert (end.state, errands.log) == (TaskState.SUCCESS, f"{errands.folder}/work/5/x\n")
    assert list((errands.folder / "work").iterdir()) == []
    await errands.run(claimed("FAKE", params={"write": "${out}"}, values={"out": "${system.task.execute.path}/y"}))
    assert errands.log.endswith("/work/5/y\n")
    (errands.folder / "work").rmdir()
    await errands.run(claimed("FAKE", params={"write": "nothing"}))
    assert not (errands.folder / "work").exists()


async def test_a_cancellation_changes_no_end_that_is_known_while_its_folder_is_removed(
    errands: Errands, monkeypatch: pytest.MonkeyPatch
) -> None:
    removing, may_go_on = asyncio.Event(), asyncio.Event()
    remove = WorkFolder.remove

    async def slowly(folder: WorkFolder) -> None:
        removing.set()
        await may_go_on.wait()
        await remove(folder)

    monkeypatch.setattr(WorkFolder, "remove", slowly)
    running = errands.start("echo '${setValue(rows=10)}'")
    await removing.wait()
    running.cancel()
    await asyncio.sleep(0)
    may_go_on.set()
    end = await running
    assert (end.state, json.loads(end.outputs or "")) == (TaskState.SUCCESS, {"rows": "10"})
    assert not (errands.folder / "work" / "5").exists()


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when an attempt has ended, while its probe does not end."""
    ended = asyncio.Event()

    @asynccontextmanager
    async def slow(*_: object) -> AsyncIterator[None]:
        yield
        ended.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(worker.attempts.executor, "probed", slow)
    return ended


async def test_a_cancellation_changes_no_end_that_is_known_while_its_probe_ends(
    errands: Errands, ended: asyncio.Event
) -> None:
    running = errands.start("exit 3", stream="{}")
    await ended.wait()
    running.cancel()
    end = await running
    assert (end.state, end.exit_code) == (TaskState.FAILURE, 3)


async def test_a_known_end_whose_secrets_cannot_be_masked_fails_and_leaves_nothing(
    errands: Errands, ended: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def odd(*_: object) -> None:
        raise TypeError("what it gave is odd")

    monkeypatch.setattr(worker.attempts.executor, "without_secrets", odd)
    running = errands.start("echo '${setValue(rows=10)}'", stream="{}")
    await ended.wait()
    running.cancel()
    end = await running
    assert (end.state, end.outputs) == (TaskState.FAILURE, None)
    assert not (errands.folder / "work" / "5").exists()


async def test_printed_values_are_reported_as_json(errands: Errands) -> None:
    end = await errands.shell("echo '${setValue(rows=10)}'; echo '#{setValue(text=ü \"x\")}'")
    assert json.loads(end.outputs or "") == {"rows": "10", "text": 'ü "x"'}


async def test_a_value_beyond_the_limits_fails_the_task_and_says_so_in_the_log(errands: Errands) -> None:
    end = await errands.shell("printf '${setValue(a='; head -c 100000 /dev/zero | tr '\\0' x; echo ')}'")
    assert end.state is TaskState.FAILURE
    assert "more than 65536 bytes" in end.reason
    assert errands.log.endswith(f"{end.reason}\n")


@pytest.mark.parametrize(
    ("type_", "params"), [("SHELL", {"script": "echo ran"}), ("FAKE", {"fail": True, "write": "ran"})]
)
async def test_a_dry_run_does_everything_but_the_work(errands: Errands, type_: str, params: dict[str, Any]) -> None:
    end = await errands.run(claimed(type_, params=params, dry_run=True))
    assert (end.state, end.outputs) == (TaskState.SUCCESS, None)
    assert "a dry run" in errands.log
    assert "ran" not in errands.log


async def test_a_dry_run_finds_wrong_parameters(errands: Errands) -> None:
    end = await errands.run(claimed(params={"skript": "echo ran"}, dry_run=True))
    assert end.state is TaskState.FAILURE
    assert "script: Field required" in end.reason
    assert errands.log == f"{end.reason}\n"


@pytest.mark.parametrize("types", ['{"a": "NIX"}', "[]", "{"])
async def test_types_that_are_none_fail_the_task_in_a_sentence(errands: Errands, types: str) -> None:
    end = await errands.run(claimed("FAKE", params={}, parameter_types=types))
    assert (end.state, end.reason) == (
        TaskState.FAILURE,
        "the types of its parameters, as the database has them, are not a JSON object of types",
    )


async def test_a_zone_that_does_not_exist_is_named(errands: Errands) -> None:
    end = await errands.shell("echo $[yyyy]", time_zone="Nix/Nowhere")
    assert end.reason == 'there is no time zone "Nix/Nowhere"; use a name such as Europe/Berlin or UTC'


async def test_a_task_is_told_which_values_are_no_texts(errands: Errands, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[TaskContext] = []

    class Looking(Task):
        Params = TaskParams

        async def run(self, context: TaskContext) -> TaskResult:
            seen.append(context)
            return TaskResult.success()

    monkeypatch.setattr(TaskCatalog, "_load", lambda *_: Looking)
    await errands.run(claimed("LOOKING", params={}, values={"n": "1"}, parameter_types='{"n": "INTEGER"}'))
    assert (seen[0].types, seen[0].values["n"]) == ({"n": ParameterType.INTEGER}, "1")
