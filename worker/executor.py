"""Runs one attempt of a task, from the claimed row to the report of how it ended."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import structlog

from dao.tasks.task_claims import ClaimedTask, Report
from model.builtin_parameters import EXECUTE_PATH, task_parameters, with_task_parameters
from model.choices import ParameterType, TimeoutStrategy
from model.errors import Fenced, Refused, ShoalError
from model.ids import Epoch
from model.means import is_passing
from model.parameters import parse_parameters
from model.secret_values import has_sealed, sealed_value
from model.states import TaskState
from model.time_expressions import replace_time_expressions
from model.zones import zone
from worker.begun import Begun
from worker.environment import task_environment
from worker.last_words import LastWords, log_name
from worker.launcher.errors import NoMeans
from worker.named_secrets import NamedSecrets
from worker.order import Order
from worker.report import report
from worker.settings import WorkerSettings
from worker.task_log import LogFile
from worker.tasks.bash_values import parameter_variable
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import ProcessRunner, Task, TaskContext, TaskResult
from worker.tasks.process import exit_reason
from worker.tenants import Account, Launching, TenantProcesses, account_of, give_to

log = structlog.get_logger()

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
TRIES_MAX = 100
"""The maximum number of attempts of a task that no worker can start; the last one fails with the reason."""


class Executor:
    """What all attempts of one worker share: the task types, the launcher, the folders."""

    def __init__(
        self,
        settings: WorkerSettings,
        processes: Launching,
        epoch: Epoch,
        secrets: NamedSecrets,
        last_words: LastWords | None = None,
    ) -> None:
        """With `last_words` keepers record how attempts ended."""
        self.lacked_means: Callable[[], None] = lambda: None
        """Called when an attempt met a full disk, or could not begin for lack of another resource."""
        self._catalog = TaskCatalog()
        self._processes = processes
        self._epoch = epoch
        self._secrets = secrets
        self._last_words = last_words
        folder = settings.place.absolute()  # the launcher's processes have another working directory
        self._logs = folder / "logs"
        self._folders = folder / "work"
        self._log_bytes_max = settings.log_bytes_max
        self._tenants = settings.tenants
        self._local_files = settings.local_files

    async def run(self, task: ClaimedTask) -> Report:
        """Run it to its end. Raises nothing but cancellation, which kills what it started."""
        name = log_name(task)
        folder = _Folder(self._folders / str(task.id))
        file = LogFile(self._logs, name, bytes_max=self._log_bytes_max)
        begun = Begun(self._processes)
        try:
            result = _without_secrets(await self._in_time(task, file, folder, begun), task, file)
        except Fenced as error:
            # It ran past the horizon: others may have started it again already. If not, it has to run again.
            result = TaskResult(TaskState.NEED_FAULT_TOLERANCE, str(error))
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its attempt fails, the worker lives
            lacks = is_passing(error) or isinstance(error, NoMeans)
            if lacks:
                self.lacked_means()
            elif not isinstance(error, ShoalError | OSError):
                log.warning("task_raised", task_instance=task.id, type=task.type, error=file.masked(repr(error)))
            may_wait = lacks and not begun.may_have and task.attempt < TRIES_MAX
            result = _given_back(error) if may_wait else TaskResult.failure(_fault(error))
        finally:
            try:
                file.close()
            except OSError as error:
                log.warning("log_without_its_end", task_instance=task.id, error=str(error))
            if folder.is_made:
                await _remove(folder.path)
        return report(task, result.state, file.masked(result.reason), result.exit_code, result.outputs)

    async def _in_time(self, task: ClaimedTask, file: LogFile, folder: _Folder, begun: Begun) -> TaskResult:
        """Run the attempt, and apply its timeout strategy when it takes too long.

        The worker's own clock measures it from the start that the database recorded. If the worker is lost, so is the
        attempt, so no other clock is needed.
        """
        if task.timeout_s is None:
            return await self._attempt(task, file, folder, begun)
        kills = task.timeout_strategy != TimeoutStrategy.WARN
        warns = task.timeout_strategy != TimeoutStrategy.FAILED
        sentence = f"it took longer than its timeout of {task.timeout_s / 60:g} min"

        def warn() -> None:
            log.warning("task_takes_too_long", task_instance=task.id, task=task.name, timeout_s=task.timeout_s)

        timer = asyncio.get_running_loop().call_later(task.timeout_s, warn) if warns else None
        try:
            async with asyncio.timeout(task.timeout_s if kills else None) as limit:
                return await self._attempt(task, file, folder, begun)
        except TimeoutError:
            if not limit.expired():
                raise
            with suppress(OSError):
                file.write(f"{sentence}\n")
            return TaskResult.failure(sentence)
        finally:
            if timer is not None:
                timer.cancel()

    async def _attempt(self, task: ClaimedTask, file: LogFile, folder: _Folder, begun: Begun) -> TaskResult:
        try:
            values = _values(task, folder)
            if has_sealed(task.parameter_values):
                values = self._secrets.parameters(values, _secrets_used(task, values), file.hide)
            made = self._catalog.make(task.type, task.params, values, in_time=_time_expressions(task))
            if made.starts_processes or made.below_keeper:
                file.open()  # before anything begins: an attempt that cannot be logged must not begin
            else:
                begun.may_have = True  # it works in this process
            begun.is_one_process = made.runs_one_process
            if self._last_words and _needs_no_worker_to_tell(made, task):
                begun.last_word = self._last_words.of(task)
            account = None
            if task.tenant is not None and (made.starts_processes or made.below_keeper):
                account = await asyncio.to_thread(account_of, task.tenant, self._tenants)
            if task.dry_run:
                file.write("[shoal] a dry run: its parameters are right, its work is left out\n")
                return TaskResult.success()
            if made.below_keeper:
                return await self._carried_out(task, made, values, file, folder, account, begun)
            return await made.run(self._context(task, values, file, folder, account, begun))
        except ShoalError as error:
            with suppress(OSError):  # the original error is the reason; a full disk comes second
                file.write(f"{error}\n")
            raise

    async def _carried_out(
        self,
        task: ClaimedTask,
        made: Task,
        values: Mapping[str, str],
        file: LogFile,
        folder: _Folder,
        account: Account | None,
        begun: Begun,
    ) -> TaskResult:
        """Run an attempt of a type that runs below a keeper (`worker/child.py`)."""
        source = made.data_source(values)
        urls = {source: await self._secrets.data_source(source, hide=file.hide)} if source is not None else {}
        order = Order(
            made,
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            values,
            _types(task),
            urls,
            file.secrets,
            folder.make(),
            self._local_files,
        )
        if account is not None:
            give_to(folder.path, account.identity)
        code, result = await begun.carry_out(
            order,
            env=self._environment(task, account),
            cwd=folder.path,
            log=file,
            identity=account.identity if account is not None else None,
        )
        if code != 0 or result is None:
            return TaskResult.failure(exit_reason(code, file.last_line()), code)
        return result

    def _environment(self, task: ClaimedTask, account: Account | None) -> Mapping[str, str]:
        return task_environment(
            os.environ if account is None else account.environment(os.environ),
            workflow_instance_id=task.workflow_instance_id,
            task_code=task.code,
            task_instance_id=task.id,
            attempt=task.attempt,
            fence=self._epoch,
            extra={},
        )

    def _context(
        self,
        task: ClaimedTask,
        values: Mapping[str, str],
        file: LogFile,
        folder: _Folder,
        account: Account | None,
        begun: Begun,
    ) -> TaskContext:
        processes: ProcessRunner = begun
        if account is not None:
            processes = TenantProcesses(begun, account, folder.path)
        return TaskContext(
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            values,
            file,
            processes,
            make_folder=folder.make,
            make_environment=lambda: self._environment(task, account),
            types=_types(task),
            data_source=partial(self._secrets.data_source, hide=file.hide),
            exports=partial(self._secrets.exports, task.environment) if task.environment else None,
        )


def _values(task: ClaimedTask, folder: _Folder) -> dict[str, str]:
    """The values from the master, and those that only the attempt's worker knows."""
    own = task_parameters(
        task_instance_id=task.id,
        task_name=task.name,
        task_code=task.code,
        workflow_instance_id=task.workflow_instance_id,
        workflow_code=task.workflow_code,
    )
    wanted = f"${{{EXECUTE_PATH}}}"
    if wanted in task.params or wanted in task.parameter_values:
        own[EXECUTE_PATH] = str(folder.make())
    return with_task_parameters(parse_parameters(task.parameter_values, "its parameters"), own)


def _secrets_used(task: ClaimedTask, values: Mapping[str, str]) -> set[str]:
    """The secrets that a task receives: those that it declares, or that its parameters name in any form."""
    declared = {name for name, type_ in _types(task).items() if type_ is ParameterType.SECRET}
    named = {name for name in values if name in task.params or parameter_variable(name) in task.params}
    return declared | named


def _needs_no_worker_to_tell(made: Task, task: ClaimedTask) -> bool:
    """Whether a later life can derive the result from what a keeper records. A later life cannot mask secret
    parameters, and does not know how an environment changed exit codes."""
    if has_sealed(task.parameter_values) or "SECRET" in (task.parameter_types or ""):
        return False
    return made.below_keeper or (made.ends_as_its_process and not task.environment)


def _without_secrets(result: TaskResult, task: ClaimedTask, file: LogFile) -> TaskResult:
    """A task's outputs are stored in plain text: secrets in them are masked, one with the name of a secret is left
    out."""
    if not result.outputs or not (file.secrets or "SECRET" in (task.parameter_types or "")):
        return result
    values = parse_parameters(task.parameter_values, "its parameters")
    secret = {name for name, value in values.items() if sealed_value(value) is not None}
    secret |= {name for name, type_ in _types(task).items() if type_ is ParameterType.SECRET}
    if left_out := sorted(secret.intersection(result.outputs)):
        with suppress(OSError):
            file.write(f"[shoal] a SECRET is no output, so this is not given on: {', '.join(left_out)}\n")
    outputs = {file.masked(name): file.masked(value) for name, value in result.outputs.items() if name not in secret}
    return replace(result, outputs=outputs)


def _time_expressions(task: ClaimedTask) -> Callable[[str], str]:
    def in_time(text: str) -> str:
        return replace_time_expressions(text, task.schedule_time, zone(task.time_zone)) if "$[" in text else text

    return in_time


def _types(task: ClaimedTask) -> dict[str, ParameterType]:
    if task.parameter_types is None:
        return {}
    try:
        return {name: ParameterType(type_) for name, type_ in json.loads(task.parameter_types).items()}
    except (ValueError, AttributeError):
        raise Refused("the types of its parameters, as the database has them, are no JSON object of types") from None


def _given_back(error: BaseException) -> TaskResult:
    """It certainly has not begun: its master queues it again, or holds it back if its run has been halted."""
    return TaskResult(TaskState.PAUSE, f"its worker could not begin it, and gave it back: {_fault(error)}")


def _fault(error: BaseException) -> str:
    if isinstance(error, ShoalError):
        return str(error)
    if isinstance(error, OSError):
        if error.errno in DISK_FULL:
            return f"the disk of its worker is full ({error.strerror}); make room in the worker's folder"
        return str(error)
    return f"{type(error).__name__}: {error}"


class _Folder:
    """The work folder of one attempt, made at the first access. That it was made is remembered: checking the disk for
    each attempt took a sixth of a worker's time with FAKE tasks."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_made = False

    def make(self) -> Path:
        self.is_made = True
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path.mkdir(mode=0o700, exist_ok=True)
        return self.path


async def _remove(folder: Path) -> None:
    try:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    except RuntimeError:  # no thread can be started now: that must not change how the attempt ended
        shutil.rmtree(folder, ignore_errors=True)
