"""Runs one attempt of a task, from the claimed row to the report of how it ended."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from functools import partial
from pathlib import Path

import structlog

from dao.task_claims import ClaimedTask, Report
from model.choices import TimeoutStrategy
from model.errors import Fenced, ShoalError
from model.ids import Epoch
from model.parameters import parse_parameters
from model.states import TaskState
from worker.environment import task_environment
from worker.named_secrets import NamedSecrets
from worker.settings import WorkerSettings
from worker.task_log import LogFile, LogName
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import ProcessRunner, TaskContext, TaskResult

log = structlog.get_logger()

REASON_LENGTH_MAX = 2_000


class Executor:
    """What all attempts of one worker share: the task types, the launcher, the folders."""

    def __init__(self, settings: WorkerSettings, processes: ProcessRunner, epoch: Epoch, secrets: NamedSecrets) -> None:
        self._catalog = TaskCatalog()
        self._processes = processes
        self._epoch = epoch
        self._secrets = secrets
        folder = settings.folder.absolute()  # the launcher's processes have another working directory than we
        self._logs = folder / "logs"
        self._folders = folder / "work"
        self._log_bytes_max = settings.log_bytes_max

    async def run(self, task: ClaimedTask) -> Report:
        """Run it to its end. Never raises but for cancellation, which kills what it started."""
        name = LogName(task.day, task.workflow_code, task.workflow_instance_id, task.id)
        folder = _Folder(self._folders / str(task.id))
        file = LogFile(self._logs, name, bytes_max=self._log_bytes_max)
        try:
            result = await self._in_time(task, file, folder)
        except Fenced as error:
            # It ran past the horizon: others may have given it up already. If not, it has to run again.
            result = TaskResult(TaskState.NEED_FAULT_TOLERANCE, str(error))
        except (ShoalError, OSError) as error:
            result = TaskResult.failure(str(error))
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its attempt fails, the worker lives
            log.warning("task_raised", task_instance=task.id, type=task.type, error=file.masked(repr(error)))
            result = TaskResult.failure(f"{type(error).__name__}: {error}")
        finally:
            file.close()
            if folder.is_made:
                await asyncio.to_thread(shutil.rmtree, folder.path, ignore_errors=True)
        return report(task, result.state, file.masked(result.reason), result.exit_code, result.outputs)

    async def _in_time(self, task: ClaimedTask, file: LogFile, folder: _Folder) -> TaskResult:
        """The attempt, and what its timeout strategy says when it takes too long.

        The worker's own clock measures it from the start that the database recorded; a worker that is lost loses the
        attempt as well, so no other clock is needed.
        """
        if task.timeout_s is None:
            return await self._attempt(task, file, folder)
        kills = task.timeout_strategy != TimeoutStrategy.WARN
        warns = task.timeout_strategy != TimeoutStrategy.FAILED
        sentence = f"it took longer than its timeout of {task.timeout_s / 60:g} min"

        def warn() -> None:
            log.warning("task_takes_too_long", task_instance=task.id, task=task.name, timeout_s=task.timeout_s)

        timer = asyncio.get_running_loop().call_later(task.timeout_s, warn) if warns else None
        try:
            async with asyncio.timeout(task.timeout_s if kills else None) as limit:
                return await self._attempt(task, file, folder)
        except TimeoutError:
            if not limit.expired():
                raise
            file.write(f"{sentence}\n")
            return TaskResult.failure(sentence)
        finally:
            if timer is not None:
                timer.cancel()

    async def _attempt(self, task: ClaimedTask, file: LogFile, folder: _Folder) -> TaskResult:
        values = parse_parameters(task.parameter_values, "its parameters")
        context = TaskContext(
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            values,
            file,
            self._processes,
            make_folder=folder.make,
            make_environment=lambda: task_environment(
                os.environ,
                workflow_instance_id=task.workflow_instance_id,
                task_code=task.code,
                task_instance_id=task.id,
                attempt=task.attempt,
                fence=self._epoch,
                extra={},
            ),
            data_source=partial(self._secrets.data_source, hide=file.hide),
            exports=partial(self._secrets.exports, task.environment) if task.environment else None,
        )
        try:
            return await self._catalog.make(task.type, task.params, values).run(context)
        except ShoalError as error:
            file.write(f"{error}\n")
            raise


def report(
    task: ClaimedTask, state: TaskState, reason: str, exit_code: int | None = None, outputs: object = None
) -> Report:
    """How an attempt ended, in a form that the database takes whatever the task printed."""
    return Report(
        task.id,
        task.attempt,
        state,
        _storable(reason)[:REASON_LENGTH_MAX],
        exit_code,
        _storable(json.dumps(outputs, ensure_ascii=False)) if outputs else None,
    )


class _Folder:
    """The work folder of one attempt, made when first asked for. That it was is remembered: a look at the disk for
    each attempt was a sixth of what a worker with FAKE tasks did."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_made = False

    def make(self) -> Path:
        self.is_made = True
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return self.path


def _storable(text: str) -> str:
    return text.replace("\x00", "\\0").encode("utf-8", "replace").decode("utf-8")
