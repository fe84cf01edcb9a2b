"""What becomes of an attempt that has succeeded and gave an OUT parameter no value."""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol

from model.parameters.outputs import CURE, OutParameters
from model.runs.states import TaskState
from worker.tasks.plugin import TaskResult


class _Log(Protocol):
    def write(self, text: str | bytes) -> None: ...


def with_all_outputs(result: TaskResult, outs: OutParameters, log: _Log) -> TaskResult:
    """The result, or a failure that names what is missing; the log names it in either case."""
    if result.state is not TaskState.SUCCESS or not (said := outs.missing(result.outputs)):
        return result
    sentence = f"{said}; {CURE}" if outs.strict else said
    with suppress(OSError):  # the log is second to the result
        log.write(f"\n[shoal] {sentence}\n")
    return TaskResult.failure(sentence) if outs.strict else result
