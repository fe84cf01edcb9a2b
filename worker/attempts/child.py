"""The process of one attempt that runs its type's own code: a fork of the warm zygote, below its keeper.

Its standard output is the task's log. TERM cancels the task, so that a statement is cancelled on its server. Before
each effect it checks the deadline: after a freeze of this process and its keeper, it might otherwise act a moment
before the keeper ends it. If it fails for lack of a resource before the first check, it has had no effect, and the
attempt is given back (PAUSE).
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from model.cluster.means import is_passing
from model.errors import Refused, ShoalError
from model.runs.states import TaskState
from worker.attempts.failed_attempt import result_of
from worker.attempts.last_line import last_line_of, tail_of
from worker.attempts.order import Order, answer_of
from worker.launcher.errors import DeadlinePassed
from worker.launcher.horizon import Deadline
from worker.launcher.wire import put_answer
from worker.secrets.masking import Masking
from worker.statements.thread import cancel_once
from worker.tasks.plugin import TaskContext, TaskLog, TaskResult

TERMINATED_CODE = 128 + signal.SIGTERM
SENTENCE_CHARACTERS_MAX = 2_000
"""The maximum length of a reason. Texts are cut only after masking, since half a secret would not be found."""


def carry_out(order: Order, answer_fd: int, deadline: Deadline) -> NoReturn:
    """Run the attempt, write its result over the request, and end this process."""
    try:
        result = _run(order, deadline)
    except asyncio.CancelledError:
        os._exit(TERMINATED_CODE)
    except (OSError, RuntimeError, MemoryError) as error:  # not even an event loop could be made
        if not is_passing(error):
            raise
        result = _not_begun(error)
    put_answer(answer_fd, answer_of(result))
    os._exit(0)  # not the interpreter's normal exit: it would wait for threads that hang in a driver


def _run(order: Order, deadline: Deadline) -> TaskResult:
    loop = asyncio.new_event_loop()
    attempt = loop.create_task(_attempt(order, deadline))
    loop.add_signal_handler(signal.SIGTERM, cancel_once, attempt)
    return loop.run_until_complete(attempt)


async def _attempt(order: Order, deadline: Deadline) -> TaskResult:
    masked = Masking(order.secrets).masked  # here already: a keeper writes the answer to the disk
    log = _Output()
    licence = _Licence(deadline)
    try:
        result = await order.task.run(_context(order, log, licence, masked))
    except Exception as error:  # noqa: BLE001 - a task type may raise anything
        if is_passing(error) and not licence.was_asked_for:
            result = _not_begun(error)
        else:
            if isinstance(error, ShoalError):
                log.write(f"{masked(str(error))[:SENTENCE_CHARACTERS_MAX]}\n")
            result = result_of(error)
    outputs = {masked(name): masked(value) for name, value in result.outputs.items()}
    alert = None if result.alert is None else result.alert.changed(masked)
    return TaskResult(result.state, masked(result.reason)[:SENTENCE_CHARACTERS_MAX], result.exit_code, outputs, alert)


def _not_begun(error: BaseException) -> TaskResult:
    return TaskResult(TaskState.PAUSE, f"its process is short of something: {error}")


class _Licence:
    """Permission for an effect, to be requested before each one."""

    def __init__(self, deadline: Deadline) -> None:
        self.was_asked_for = False
        self._deadline = deadline

    def ask(self) -> None:
        """Raises `DeadlinePassed`."""
        self.was_asked_for = True
        if self._deadline.has_passed():
            raise DeadlinePassed("it was ended because its worker was stopped or cut off for too long")


def _context(order: Order, log: TaskLog, licence: _Licence, masked: Callable[[str], str]) -> TaskContext:
    async def data_source(name: str) -> str:
        if name not in order.data_sources:
            raise Refused(f'the task did not declare that it needs the data source "{name}"')
        return order.data_sources[name]

    return TaskContext(
        order.workflow_instance_id,
        order.task_instance_id,
        order.task_name,
        order.attempt,
        order.values,
        log,
        _NoProcesses(),
        make_folder=lambda: order.folder,
        make_environment=lambda: dict(os.environ),
        types=order.types,
        data_source=data_source,
        may_go_on=licence.ask,
        masked=masked,
        local_files=order.local_files,
        skip_exit_codes=order.skip_exit_codes,
        value_bytes_max=order.value_bytes_max,
    )


class _Output:
    """The `TaskLog` of this process: its standard output, which the worker masks and keeps."""

    def __init__(self) -> None:
        self._tail = b""

    def write(self, text: str | bytes) -> None:
        data = text.encode(errors="replace") if isinstance(text, str) else text
        self._tail = tail_of(self._tail, data)
        while data:
            data = data[os.write(1, data) :]

    def last_line(self) -> str:
        return last_line_of(self._tail)


class _NoProcesses:
    """Refuses processes of the task: it is in a tree of its own already, and everything it starts ends with it."""

    async def run(self, argv: list[str], *, env: Mapping[str, str], cwd: Path, log: TaskLog) -> int:  # noqa: ARG002
        raise Refused("a task type that runs below a keeper starts processes by itself, such as by asyncio")
