"""The task types SHELL, PYTHON and FAKE, made by the catalogue and run for real."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from model.errors import Refused
from model.ids import TaskInstanceId, WorkflowInstanceId
from model.runs.states import TaskState
from tests.worker.scene import Scene
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskContext, TaskResult


def context(scene: Scene, attempt: int = 1, values: Mapping[str, str] | None = None) -> TaskContext:
    return TaskContext(
        workflow_instance_id=WorkflowInstanceId(1),
        task_instance_id=TaskInstanceId(2),
        task_name="a",
        attempt=attempt,
        values=values or {},
        log=scene.log,
        processes=scene.launcher,
        make_folder=lambda: scene.cwd,
        make_environment=lambda: scene.env,
    )


async def run(scene: Scene, type_name: str, attempt: int = 1, **params: Any) -> TaskResult:
    return await TaskCatalog().make(type_name, json.dumps(params), {}).run(context(scene, attempt))


async def test_a_shell_script_that_ends_well_is_a_success(scene: Scene) -> None:
    result = await run(scene, "SHELL", script="false\necho hello $((40 + 2))\npwd")
    assert (result.state, result.exit_code) == (TaskState.SUCCESS, 0)
    assert scene.log.text == f"hello 42\n{scene.cwd}\n"
    assert (scene.cwd / "script.sh").stat().st_mode & 0o777 == 0o700


LARGE = {"big": "x" * 200_000, "dynamic.out": json.dumps(["y" * 20_000] * 7), "small": "z"}


@pytest.mark.parametrize(
    ("type_name", "script"),
    [
        ("SHELL", 'echo "${#SHOAL_PARAM_big}"'),
        ("SHELL", 'for each in "${!SHOAL_PARAM_@}"; do echo "${!each}"; done'),
        ("SHELL", 'cat <<< "$SHOAL_PARAM_dynamic_out"'),
        ("PYTHON", 'import os\nprint(os.environ.get("SHOAL_PARAM_big"))'),
        ("PYTHON", 'import os\nfor name in ["big"]:\n    print(os.environ.get(f"SHOAL_PARAM_{name}"))'),
    ],
)
async def test_a_script_never_reads_an_empty_variable_in_place_of_a_large_value(
    scene: Scene, type_name: str, script: str
) -> None:
    task = TaskCatalog().make(type_name, json.dumps({"script": script}), {})
    with pytest.raises(Refused, match=r"bytes, and a variable takes 120,000; read the file that SHOAL_FILE_\w+ names"):
        await task.run(context(scene, values=LARGE))


@pytest.mark.parametrize(
    ("type_name", "script"),
    [
        ("SHELL", 'wc -c < "$SHOAL_FILE_big"; wc -c < "$SHOAL_FILE_dynamic_out"; echo "$SHOAL_PARAM_small"'),
        (
            "PYTHON",
            "import os\nfor each in 'big', 'dynamic_out':\n"
            "    print(len(open(os.environ['SHOAL_FILE_' + each]).read()))\nprint(os.environ['SHOAL_PARAM_small'])",
        ),
    ],
)
async def test_a_script_reads_a_large_value_from_a_file(scene: Scene, type_name: str, script: str) -> None:
    task = TaskCatalog().make(type_name, json.dumps({"script": script}), {})
    assert (await task.run(context(scene, values=LARGE))).state is TaskState.SUCCESS
    assert scene.log.text.endswith(f"200000\n{len(LARGE['dynamic.out'])}\nz\n")
    assert "[shoal] SHOAL_PARAM_big is not set" in scene.log.text


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("exit 3", "exit code 3"),
        ("echo 'no such table: x' >&2; echo; exit 1", "exit code 1: no such table: x"),
        ("kill -9 $$", "exit code 137 (SIGKILL)"),
    ],
)
async def test_a_failure_says_why_in_one_sentence(scene: Scene, script: str, reason: str) -> None:
    result = await run(scene, "SHELL", script=script)
    assert (result.state, result.reason) == (TaskState.FAILURE, reason)


async def test_a_python_script_runs_with_the_interpreter_of_the_tasks_path(scene: Scene) -> None:
    assert (await run(scene, "PYTHON", script="print(6 * 7)")).state is TaskState.SUCCESS
    assert scene.log.text == "42\n"


async def test_a_python_script_can_name_its_interpreter(scene: Scene) -> None:
    result = await run(scene, "PYTHON", script="import sys; sys.exit('it broke')", interpreter=sys.executable)
    assert (result.exit_code, result.reason) == (1, "exit code 1: it broke")


async def test_a_missing_interpreter_is_named(scene: Scene) -> None:
    result = await run(scene, "PYTHON", script="", interpreter="python9")
    assert result.state is TaskState.FAILURE
    assert 'no Python interpreter "python9"' in result.reason


@pytest.mark.parametrize(
    ("type_name", "script"),
    [
        ("SHELL", "echo '${setValue(a=1)}'; printf '#{setValue(b=x y)}'"),
        ("PYTHON", "print('${setValue(a=1)}')\nprint('#{setValue(b=x y)}')"),
    ],
)
async def test_a_script_gives_values_by_printing_them(scene: Scene, type_name: str, script: str) -> None:
    assert await run(scene, type_name, script=script) == TaskResult.success({"a": "1", "b": "x y"}, exit_code=0)
    assert "${setValue(a=1)}" in scene.log.text


async def test_a_script_that_failed_gives_no_values(scene: Scene) -> None:
    result = await run(scene, "SHELL", script="echo '${setValue(a=1)}'; exit 3")
    assert (result.state, result.outputs) == (TaskState.FAILURE, {})


async def test_fake_does_as_it_is_told(scene: Scene) -> None:
    assert await run(scene, "FAKE", outputs={"a": "1"}, write="hello") == TaskResult.success({"a": "1"})
    assert scene.log.text == "hello\n"
    assert (await run(scene, "FAKE", fail=True)).state is TaskState.FAILURE
    assert (await run(scene, "FAKE", fail_attempts=2, attempt=2)).state is TaskState.FAILURE
    assert (await run(scene, "FAKE", fail_attempts=2, attempt=3, sleep_s=0.01)).state is TaskState.SUCCESS


def test_the_catalogue_knows_what_the_entry_points_offer() -> None:
    assert {"FAKE", "PYTHON", "SHELL"} <= set(TaskCatalog().known())


@pytest.mark.parametrize(
    ("type_name", "params", "sentence"),
    [
        ("SHEL", "{}", "did you mean SHELL?"),
        ("shell", "{}", "did you mean SHELL?"),
        ("TELEPORT", "{}", "known: FAKE, "),
        ("SHELL", "{}", "SHELL parameters: script: Field required"),
        ("SHELL", '{"script": 5}', "script: Input should be a valid string"),
        ("FAKE", '{"speed": 1}', "speed: Extra inputs are not permitted"),
        ("FAKE", '{"sleep_s": -1}', "sleep_s: Input should be greater than or equal to 0"),
        ("FAKE", '{"sleep_s": NaN}', "sleep_s: "),
        ("FAKE", "{", "Invalid JSON"),
        ("FAKE", "[" * 5000, "Invalid JSON"),
        ("FAKE", '"${a}', "Invalid JSON"),
        ("FAKE", "[" * 5000 + '"${a}"', "Invalid JSON"),
    ],
)
def test_what_cannot_be_made_is_refused_with_the_cure(type_name: str, params: str, sentence: str) -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make(type_name, params, {})
    assert sentence in str(refused.value)


def test_a_refusal_does_not_repeat_the_values_that_may_be_secret() -> None:
    with pytest.raises(Refused) as refused:
        TaskCatalog().make("SHELL", '{"script": ["hunter2"], "hunter": "hunter2"}', {})
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("value", ["no.such.module:Task", "json:loads", "pathlib:Path"])
def test_a_broken_plug_in_spoils_only_its_own_type(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    catalog = TaskCatalog()
    entries = {"BROKEN": EntryPoint("BROKEN", value, "shoal.tasks"), **catalog._entries}
    monkeypatch.setitem(catalog.__dict__, "_entries", entries)
    with pytest.raises(Refused, match="task type BROKEN: the plug-in"):
        catalog.make("BROKEN", "{}", {})
    assert catalog.make("FAKE", "{}", {})


async def test_a_task_sees_nothing_of_the_workers_environment(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATABASE_URL", "hunter2")
    await run(scene, "SHELL", script="env")
    bashs_own = {"PWD", "SHLVL", "_"}
    assert {line.partition("=")[0] for line in scene.log.text.splitlines()} == {
        "PATH",
        "MARK",
        "SHOAL_LAUNCH",
    } | bashs_own
