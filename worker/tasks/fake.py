"""FAKE: behaves as its parameters say, without a process, for tests and benchmarks; thousands run each second."""

from __future__ import annotations

import asyncio

from pydantic import Field

from worker.tasks.plugin import Task, TaskContext, TaskParams, TaskResult


class FakeTask(Task):
    """One attempt of a FAKE task."""

    class Params(TaskParams):
        """The behaviour.

        It sleeps `sleep_s` seconds, then logs the line `write`. It fails if `fail`, and in its first `fail_attempts`
        attempts; else it returns `outputs`, or is SKIPPED if `skip`.
        """

        sleep_s: float = Field(default=0, ge=0)
        fail: bool = False
        fail_attempts: int = Field(default=0, ge=0)
        skip: bool = False
        outputs: dict[str, str] = Field(default_factory=dict)
        write: str = ""

    params: Params
    starts_processes = False

    async def run(self, context: TaskContext) -> TaskResult:
        """Sleep, write, and end according to the parameters."""
        params = self.params
        if params.sleep_s:
            await asyncio.sleep(params.sleep_s)
        if params.write:
            context.log.write(f"{params.write}\n")
        if params.fail or context.attempt <= params.fail_attempts:
            return TaskResult.failure("its parameters ask for a failure")
        if params.skip:
            return TaskResult.skipped("its parameters ask for it")
        return TaskResult.success(params.outputs)
