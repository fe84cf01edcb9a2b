"""Checks an attempt's outputs: OUT parameters without a valid value, and secrets among them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from dao.tasks.task_claims import ClaimedTask
from model.parameters.outputs import OutParameters
from model.runs.states import TaskState
from worker.attempts.values import secret_names
from worker.logs.task_log import LogFile
from worker.tasks.plugin import TaskResult


class _Log(Protocol):
    def write(self, text: str | bytes) -> None: ...


def with_all_outputs(result: TaskResult, outs: OutParameters, log: _Log) -> TaskResult:
    """Return the result, or a failure that names what is missing or does not fit; the log names it in either case."""
    if result.state is not TaskState.SUCCESS or not (said := outs.fault(result.outputs)):
        return result
    with suppress(OSError):  # the log is second to the result
        log.write(f"\n[shoal] {said}\n")
    return TaskResult.failure(said) if outs.strict else result


def without_secrets(result: TaskResult, task: ClaimedTask, outs: OutParameters, file: LogFile) -> TaskResult:
    """Mask secrets in the outputs, which are stored in plain text, and drop outputs with a secret's name. A dropped
    output that was declared is a failure, like one without a value."""
    if not (file.secrets or "SECRET" in (task.parameter_types or "")):
        return result
    if result.alert is not None:
        result = replace(result, alert=result.alert.changed(file.masked))
    if not result.outputs:
        return result
    secret = secret_names(task)
    if left_out := sorted(secret.intersection(result.outputs)):
        said = f"a SECRET is no output, so this is not passed on: {', '.join(left_out)}"
        with suppress(OSError):
            file.write(f"[shoal] {said}\n")
        if outs.strict and not set(outs.names).isdisjoint(left_out):
            return TaskResult.failure(f"{said}; give the OUT parameter another name")
    outputs = {file.masked(name): file.masked(value) for name, value in result.outputs.items() if name not in secret}
    return replace(result, outputs=outputs)
