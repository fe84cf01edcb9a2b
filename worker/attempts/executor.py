"""Runs one attempt of a task, from the claimed row to the report of how it ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial

import structlog

from dao.tasks.task_claims import ClaimedTask, Report
from model.choices import TimeoutStrategy
from model.errors import ShoalError
from model.ids import Epoch, TaskInstanceId
from model.parameters.outputs import OutParameters
from model.parameters.secret_values import has_sealed
from model.pools.secrets import secrets_held
from model.pools.variables import resource_variables
from node.overload import Overload
from node.threads import in_thread_if_large
from node.waiting import to_its_end
from worker.attempts.attempt_launcher import AttemptLauncher
from worker.attempts.environment import passed_on, task_environment
from worker.attempts.failed_attempt import TookTooLong, lacks_means, result_of
from worker.attempts.missing_outputs import with_all_outputs
from worker.attempts.order import Order
from worker.attempts.progress import FILE, VARIABLE, ProgressBoard
from worker.attempts.readiness import Dropped, ReadinessBoard, probed
from worker.attempts.report import report
from worker.attempts.tenants import Account, Launching, TenantProcesses, account_for, give_to
from worker.attempts.traces import log_fields, trace_of, trace_variable
from worker.attempts.values import secret_names, secrets_used, types_of_values, values_of, with_time_expressions
from worker.attempts.work_folder import WorkFolder
from worker.launcher.errors import BrokenLauncher
from worker.logs.stream_logs import StreamLogs
from worker.logs.task_log import LogFile
from worker.results.recorded_ends import LastWords, log_name
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import ProcessRunner, Task, TaskContext, TaskResult
from worker.tasks.process import exit_reason

log = structlog.get_logger()

TRIES_MAX = 100
"""The maximum number of attempts of a task that no worker can start; the last one fails with the reason."""
BROKEN_TRIES_MAX = 5
"""The same for one whose worker lacks nothing, and has a launcher that ends at each start."""
_NO_PROBE = nullcontext()


class Executor:
    """What all attempts of one worker share: the task types, the launcher, the folders."""

    def __init__(
        self,
        settings: WorkerSettings,
        processes: Launching,
        epoch: Epoch,
        secrets: NamedSecrets,
        overload: Overload,
        last_words: LastWords | None = None,
        progress: ProgressBoard | None = None,
        readiness: ReadinessBoard | None = None,
        on_log: Callable[[TaskInstanceId], None] = lambda _id: None,
        *,
        traced: bool = False,
    ) -> None:
        """With `last_words` keepers record how attempts ended; `progress` is what running tasks report, and `readiness`
        what probes of streams find. `on_log` is called with each attempt that has ended and has a log. With `traced`
        tasks get the spans of their attempts (`worker/attempts/traces.py`)."""
        self._progress = progress or ProgressBoard()
        self._readiness = readiness or ReadinessBoard()
        self._stream_logs = StreamLogs()
        self._on_log = on_log
        self._overload = overload
        self._catalog = TaskCatalog()
        self._processes = processes
        self._epoch = epoch
        self._secrets = secrets
        self._last_words = last_words
        folder = settings.place.absolute()  # the launcher's processes have another working directory
        self._logs = folder / "logs"
        self._folders = folder / "work"
        self._log_bytes_max = settings.log_bytes_max
        self._settings = settings
        self._traced = traced
        self._machine = passed_on(os.environ)

    async def run(self, task: ClaimedTask) -> Report:
        """Run it to its end. Raises nothing but cancellation, which kills what it started."""
        if (trace := trace_of(task, traced=self._traced)) is not None:
            structlog.contextvars.bind_contextvars(**log_fields(trace))
        folder = WorkFolder(self._folders, str(task.id))
        file = LogFile(self._logs, log_name(task), bytes_max=self._log_bytes_max, rolls=task.stream is not None)
        launcher = AttemptLauncher(
            self._processes, partial(self._progress.watching, task.id, task.attempt, file.masked)
        )
        ended: list[TaskResult] = []
        try:
            result = await self._in_time(task, file, folder, launcher, ended)
        except asyncio.CancelledError:
            if not ended:
                self._close(task, file)
                await self._clean_up(task, folder)
                raise
            result = ended[0]
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its attempt fails, the worker lives
            is_known = ended and isinstance(error, TookTooLong)
            result = ended[0] if is_known else self._result_of(error, task, file, launcher)
        try:
            result = _without_secrets(result, task, file)
            if not task.dry_run:
                result = with_all_outputs(result, OutParameters.recorded_in(task.parameter_types), file)
        except Exception as error:  # noqa: BLE001 - what it gave may be anything
            result = self._result_of(error, task, file, launcher)
        self._close(task, file)
        if folder.is_made or task.stream is not None:
            await to_its_end(self._clean_up(task, folder))
        reason = file.masked(result.reason)
        return report(task, result.state, reason, result.exit_code, result.outputs, result.alert)

    def _close(self, task: ClaimedTask, file: LogFile) -> None:
        """After the attempt has ended, however it did."""
        try:
            file.close()
        except OSError as error:
            log.warning("log_without_its_end", task_instance=task.id, error=str(error))
        if file.is_made:
            self._on_log(task.id)

    async def _clean_up(self, task: ClaimedTask, folder: WorkFolder) -> None:
        """After its log is closed."""
        await folder.remove()
        if task.stream is not None:
            await self._stream_logs.ended(task, self._logs)

    def _result_of(self, error: Exception, task: ClaimedTask, file: LogFile, launcher: AttemptLauncher) -> TaskResult:
        if lacks_means(error):  # within a beat interval a worker could fail a thousand tasks
            self._overload.doubt()
        elif not isinstance(error, ShoalError | OSError):
            log.warning("task_raised", task_instance=task.id, type=task.type, error=file.masked(repr(error)))
        if isinstance(error, ShoalError):
            with suppress(OSError):  # the original error is the reason; a full disk comes second
                file.write(f"{error}\n")
        is_broken = isinstance(error, BrokenLauncher)
        tries_max = BROKEN_TRIES_MAX if is_broken else TRIES_MAX
        # The attempts of a stream are no tries: it was moved, or restarted.
        may_try = task.attempt < tries_max or (task.stream is not None and not is_broken)
        return result_of(error, may_begin_again=not launcher.may_have_begun and may_try)

    async def _in_time(
        self,
        task: ClaimedTask,
        file: LogFile,
        folder: WorkFolder,
        launcher: AttemptLauncher,
        ended: list[TaskResult],
    ) -> TaskResult:
        """Run the attempt, and apply its timeout strategy when it takes too long. Raises `TookTooLong`.

        `ended` gets its result as soon as that is known: no cancellation changes it any more.

        The worker's own clock measures it from the start that the database recorded. If the worker is lost, so is the
        attempt, so no other clock is needed.
        """
        if task.timeout_s is None:
            return await self._attempt(task, file, folder, launcher, ended)
        timer = None
        if task.timeout_strategy != TimeoutStrategy.FAILED:
            late = {"task_instance": task.id, "task": task.name, "timeout_s": task.timeout_s}
            warn = partial(log.warning, "task_takes_too_long", **late)
            timer = asyncio.get_running_loop().call_later(task.timeout_s, warn)
        kills = task.timeout_strategy != TimeoutStrategy.WARN
        try:
            async with asyncio.timeout(task.timeout_s if kills else None) as limit:
                return await self._attempt(task, file, folder, launcher, ended)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TookTooLong(f"it took longer than its timeout of {task.timeout_s / 60:g} min") from None
        finally:
            if timer is not None:
                timer.cancel()

    async def _attempt(
        self,
        task: ClaimedTask,
        file: LogFile,
        folder: WorkFolder,
        launcher: AttemptLauncher,
        ended: list[TaskResult],
    ) -> TaskResult:
        values = values_of(task, folder.make)
        if has_sealed(task.parameter_values):
            used = secrets_used(task, values)
            values = await self._secrets.parameters(task.workflow_code, values, used, file.hide)
        for secret in sorted(secrets_held(task.leases)):
            file.hide(secret)
        made = await in_thread_if_large(
            len(task.params) + len(task.parameter_values),
            self._catalog.make,
            task.type,
            task.params,
            values,
            in_time=partial(with_time_expressions, task),
        )
        if made.starts_processes or made.below_keeper:
            file.open()  # before anything begins: an attempt that cannot be logged must not begin
        else:
            launcher.may_have_begun = True  # it works in this process
        # What is not a script asks bash for its environment's variables first.
        launcher.is_one_process = made.runs_one_process and (task.environment is None or made.ends_as_its_process)
        if self._last_words and _needs_no_worker_to_report(made, task):
            launcher.last_word = self._last_words.of(task)
        account = None
        if made.starts_processes or made.below_keeper:
            account = await account_for(task.tenant, self._settings)
        if task.dry_run:
            file.write("[shoal] a dry run: its parameters are right, its work is left out\n")
            return TaskResult.success()
        is_probed = task.stream is not None
        probing = probed(task, self._readiness, partial(self._probe, task, folder, account)) if is_probed else _NO_PROBE
        async with probing:
            if made.below_keeper:
                result = await self._carried_out(task, made, values, file, folder, account, launcher)
            else:
                result = await made.run(self._context(task, values, file, folder, account, launcher))
            if result.alert is not None:
                await self._secrets.check_alert_group(task.workflow_code, result.alert.group)
            ended.append(result)
        return result

    async def _probe(self, task: ClaimedTask, folder: WorkFolder, account: Account | None, argv: list[str]) -> int:
        return await self._processes.run(
            argv,
            env=self._environment(task, account, folder),
            cwd=folder.make(),
            log=Dropped(),
            identity=None if account is None else account.identity,
        )

    async def _carried_out(
        self,
        task: ClaimedTask,
        made: Task,
        values: Mapping[str, str],
        file: LogFile,
        folder: WorkFolder,
        account: Account | None,
        launcher: AttemptLauncher,
    ) -> TaskResult:
        """Run an attempt of a type that runs below a keeper (`worker/attempts/child.py`)."""
        urls = {}
        if (source := made.data_source(values)) is not None:
            urls[source] = await self._secrets.data_source(task.workflow_code, source, file.hide)
        order = Order(
            made,
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            values,
            types_of_values(task),
            urls,
            file.secrets,
            folder.make(),
            self._settings.local_files,
        )
        if account is not None:
            give_to(folder.path, account.identity)
        code, result = await launcher.carry_out(
            order,
            env=self._environment(task, account, folder),
            cwd=folder.path,
            log=file,
            identity=account.identity if account is not None else None,
        )
        if code != 0 or result is None:
            return TaskResult.failure(exit_reason(code, file.last_line()), code)
        return result

    def _environment(self, task: ClaimedTask, account: Account | None, folder: WorkFolder) -> Mapping[str, str]:
        made = task_environment(
            self._machine if account is None else account.environment(self._machine),
            workflow_instance_id=task.workflow_instance_id,
            task_code=task.code,
            task_instance_id=task.id,
            attempt=task.attempt,
            fence=self._epoch,
            extra={},
        )
        trace = trace_variable(trace_of(task, traced=self._traced))
        return {**made, VARIABLE: str(folder.path / FILE), **resource_variables(task.leases), **trace}

    def _context(
        self,
        task: ClaimedTask,
        values: Mapping[str, str],
        file: LogFile,
        folder: WorkFolder,
        account: Account | None,
        launcher: AttemptLauncher,
    ) -> TaskContext:
        processes: ProcessRunner = launcher
        if account is not None:
            processes = TenantProcesses(launcher, account, folder.path)
        return TaskContext(
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            values,
            file,
            processes,
            make_folder=folder.make,
            make_environment=lambda: self._environment(task, account, folder),
            types=types_of_values(task),
            data_source=partial(self._secrets.data_source, task.workflow_code, hide=file.hide),
            exports=partial(self._secrets.exports, task.environment) if task.environment else None,
            masked=file.masked,
        )


def _needs_no_worker_to_report(made: Task, task: ClaimedTask) -> bool:
    """Whether a later life can derive the result from what a keeper records. A later life cannot mask secrets,
    and does not know how an environment changed exit codes."""
    if not (made.below_keeper or (made.ends_as_its_process and not task.environment)):
        return False
    has_secrets = has_sealed(task.parameter_values) or "SECRET" in (task.parameter_types or "")
    return not (has_secrets or secrets_held(task.leases))


def _without_secrets(result: TaskResult, task: ClaimedTask, file: LogFile) -> TaskResult:
    """A task's outputs are stored in plain text: secrets in them are masked, one with the name of a secret is left
    out."""
    if not (file.secrets or "SECRET" in (task.parameter_types or "")):
        return result
    if result.alert is not None:
        result = replace(result, alert=result.alert.changed(file.masked))
    if not result.outputs:
        return result
    secret = secret_names(task)
    if left_out := sorted(secret.intersection(result.outputs)):
        with suppress(OSError):
            file.write(f"[shoal] a SECRET is no output, so this is not passed on: {', '.join(left_out)}\n")
    outputs = {file.masked(name): file.masked(value) for name, value in result.outputs.items() if name not in secret}
    return replace(result, outputs=outputs)
