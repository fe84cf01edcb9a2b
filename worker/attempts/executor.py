"""Runs one attempt of a task, from the claimed row to the report of how it ended."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from dao.tasks.task_claims import ClaimedTask, Report
from model.choices import ParameterType, TimeoutStrategy
from model.definitions import task_data_sources
from model.errors import ShoalError
from model.files import handed_files, task_files
from model.ids import Epoch, TaskInstanceId
from model.parameters import skip_codes
from model.parameters.large_values import has_large
from model.parameters.outputs import OutParameters
from model.parameters.parameters import replace_references
from model.parameters.secret_values import has_sealed
from model.pools.secrets import secrets_held
from model.pools.variables import resource_variables
from model.runs.looks import WAIT
from model.runs.states import TaskState
from model.time.durations import said_duration
from node.overload import Overload
from node.threads import in_thread_if_large
from node.waiting import to_its_end
from worker.attempts.attempt_launcher import AttemptLauncher
from worker.attempts.environment import passed_on, task_environment
from worker.attempts.failed_attempt import TookTooLong, lacks_means, result_of
from worker.attempts.handed_files import HandedFiles
from worker.attempts.look_places import LookPlaces
from worker.attempts.order import Order
from worker.attempts.outputs import with_all_outputs, without_secrets
from worker.attempts.progress import FILE, VARIABLE, ProgressBoard
from worker.attempts.readiness import Dropped, ReadinessBoard, probed
from worker.attempts.report import report
from worker.attempts.tenants import Account, Launching, TenantProcesses, account_for, give_to, user_folder
from worker.attempts.traces import log_fields, trace_of, trace_variable
from worker.attempts.values import local_time, secrets_used, types_of, types_of_values, values_of, with_time_expressions
from worker.attempts.work_folder import WorkFolder
from worker.files.file_cache import FileCache
from worker.launcher.errors import BrokenLauncher
from worker.launcher.last_word import ProcessEnd
from worker.launcher.wire import Identity
from worker.logs.stream_logs import StreamLogs
from worker.logs.task_log import LogFile
from worker.results.recorded_ends import LastWords, log_name
from worker.results.value_files import ValueFiles
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings
from worker.tasks.catalog import TaskCatalog
from worker.tasks.installer import UvInstaller
from worker.tasks.plugin import ProcessRunner, Task, TaskContext, TaskResult
from worker.tasks.process import exit_reason

log = structlog.get_logger()

TRIES_MAX = 100
"""The maximum number of attempts of a task that no worker can start; the last one fails with the reason."""
BROKEN_TRIES_MAX = 5
"""The same if the worker lacks no resource, but its launcher ends at each start."""
_NO_PROBE = nullcontext()


@dataclass
class Executor:
    """Shared by all attempts of one worker.

    With `last_words` keepers record how attempts ended. `progress` collects reports of running tasks, `readiness` the
    results of probes. `on_log` is called with each ended attempt that has a log. With `traced` tasks get the spans of
    their attempts (`worker/attempts/traces.py`).
    """

    settings: WorkerSettings
    launcher: Launching
    epoch: Epoch
    secrets: NamedSecrets
    overload: Overload
    last_words: LastWords | None = None
    progress: ProgressBoard = field(default_factory=ProgressBoard)
    readiness: ReadinessBoard = field(default_factory=ReadinessBoard)
    on_log: Callable[[TaskInstanceId], None] = lambda _id: None
    traced: bool = False
    catalog: TaskCatalog = field(default_factory=TaskCatalog)
    stream_logs: StreamLogs = field(default_factory=StreamLogs)
    files: FileCache | None = None
    values: ValueFiles = field(default_factory=ValueFiles)
    looks: LookPlaces = field(default_factory=LookPlaces)

    def __post_init__(self) -> None:
        folder = self.settings.place.absolute()  # the launcher's processes have another working directory
        self.logs = folder / "logs"
        self.folders = folder / "work"
        self.environments = folder / "environments"
        self.machine = passed_on(os.environ)
        self.handed = HandedFiles(self.values, self.settings.output_files_bytes_max)

    async def run(self, task: ClaimedTask) -> Report:
        """Run an attempt to its end. Raises only cancellation, which kills what it started."""
        return await _Attempt(self, task).run()


class _Attempt:
    """One attempt: its log, its folder, its launcher, and its result once that is known."""

    def __init__(self, executor: Executor, task: ClaimedTask) -> None:
        self._worker = executor
        self._task = task
        self._trace = trace_of(task, traced=executor.traced)
        self._folder = WorkFolder(executor.folders, str(task.id))
        self._log = LogFile(
            executor.logs,
            log_name(task),
            bytes_max=executor.settings.log_bytes_max,
            rolls=task.stream is not None or task.type == WAIT,
        )
        self._launcher = AttemptLauncher(
            executor.launcher, partial(executor.progress.watching, task.id, task.attempt, self._log.masked)
        )
        self._account: Account | None = None
        self._values: Mapping[str, str] = {}
        self._size = 0
        """The size of its values, an estimate of the time to insert them."""
        self._urls: Mapping[str, str] = {}
        self._fetched: Mapping[str, str] = {}
        """The paths of earlier tasks' files, by the names of the values that stand for them."""
        self._handed: Mapping[str, str] = {}
        """The values that stand for the files it left."""
        self._ended: TaskResult | None = None
        """Its result as soon as it is known; no cancellation changes it then."""

    async def run(self) -> Report:
        """See `Executor.run`."""
        task = self._task
        if self._trace is not None:
            structlog.contextvars.bind_contextvars(**log_fields(self._trace))
        try:
            result = await self._in_time()
        except asyncio.CancelledError:
            if self._ended is None:
                self._close_log()
                await self._clean_up()
                raise
            result = self._ended
        except Exception as error:  # noqa: BLE001 - a plug-in may raise anything; its attempt fails, the worker lives
            known = self._ended if isinstance(error, TookTooLong) else None
            result = self._result_of(error) if known is None else known
        try:
            outs = OutParameters.recorded_in(task.parameter_types)
            if not task.dry_run:  # first: what is masked or left out has got a value
                result = with_all_outputs(result, outs, self._log)
            result = without_secrets(result, task, outs, self._log)
            if self._handed and result.state is TaskState.SUCCESS:
                result = replace(result, outputs={**result.outputs, **self._handed})
            if result.outputs:
                result = await self._worker.values.kept(result, task, outs.types)
        except Exception as error:  # noqa: BLE001 - what it gave may be anything
            result = self._result_of(error)
        self._close_log()
        if self._folder.is_made or task.stream is not None:
            await to_its_end(self._clean_up())
        return report(task, replace(result, reason=self._log.masked(result.reason)) if result.reason else result)

    def _close_log(self) -> None:
        """Close the log after the attempt has ended in any way."""
        try:
            self._log.close()
        except OSError as error:
            log.warning("log_without_its_end", task_instance=self._task.id, error=str(error))
        if self._log.is_made:
            self._worker.on_log(self._task.id)

    async def _clean_up(self) -> None:
        """Remove what the attempt leaves, after its log is closed."""
        await self._folder.remove()
        if self._task.stream is not None:
            await self._worker.stream_logs.ended(self._task, self._worker.logs)

    def _result_of(self, error: Exception) -> TaskResult:
        task = self._task
        if lacks_means(error):  # within a beat interval a worker could fail a thousand tasks
            self._worker.overload.doubt()
        elif not isinstance(error, ShoalError | OSError):
            log.warning("task_raised", task_instance=task.id, type=task.type, error=self._log.masked(repr(error)))
        if isinstance(error, ShoalError):
            with suppress(OSError):  # the original error is the reason; a full disk comes second
                self._log.write(f"{error}\n")
        is_broken = isinstance(error, BrokenLauncher)
        tries_max = BROKEN_TRIES_MAX if is_broken else TRIES_MAX
        # The attempts of a stream do not count as tries: it was moved, or restarted.
        may_try = task.attempt < tries_max or (task.stream is not None and not is_broken)
        return result_of(error, may_begin_again=not self._launcher.may_have_begun and may_try)

    async def _in_time(self) -> TaskResult:
        """Run the attempt, and apply its timeout strategy when it takes too long. Raises `TookTooLong`.

        The worker's own clock measures from the start that the database recorded. A lost worker loses its attempts too,
        so no other clock is needed.
        """
        task = self._task
        if task.timeout_s is None:
            return await self._work()
        timer = None
        if task.timeout_strategy != TimeoutStrategy.FAILED:
            late = {"task_instance": task.id, "task": task.name, "timeout_s": task.timeout_s}
            warn = partial(log.warning, "task_takes_too_long", **late)
            timer = asyncio.get_running_loop().call_later(task.timeout_s, warn)
        kills = task.timeout_strategy != TimeoutStrategy.WARN
        try:
            async with asyncio.timeout(task.timeout_s if kills else None) as limit:
                return await self._work()
        except TimeoutError:
            if not limit.expired():
                raise
            raise TookTooLong(f"it took longer than its timeout of {said_duration(task.timeout_s)}") from None
        finally:
            if timer is not None:
                timer.cancel()

    async def _work(self) -> TaskResult:
        task, worker = self._task, self._worker
        await self._read_values()
        made = await in_thread_if_large(
            len(task.params) + self._size,
            worker.catalog.make,
            task.type,
            task.params,
            self._values,
            in_time=partial(with_time_expressions, task),
        )
        await self._prepare(made)
        if task.dry_run:
            self._log.write("[shoal] a dry run: its parameters are right, its work is left out\n")
            return TaskResult.success()
        if wanted := task_files.recorded_in(task.parameter_types):
            assert worker.files is not None, "each worker has one"
            await worker.files.put_into(self._folder.make(), wanted)
        if outputs := handed_files.recorded_in(task.parameter_types):
            worker.handed.check_store(outputs)
        async with probed(task, worker.readiness, self._probe) if task.stream is not None else _NO_PROBE:
            result = await (self._below_keeper(made) if made.below_keeper else made.run(self._context()))
            if result.state is TaskState.DELAY_EXECUTION:
                result = replace(result, again=made.again)
                if result.again is None:
                    result = TaskResult.failure(f"a {task.type} task cannot end as {result.state}")
            if result.alert is not None:
                await worker.secrets.check_alert_group(task.workflow_code, result.alert.group)
            if outputs and result.state is TaskState.SUCCESS:
                said = {name: result.outputs.get(name) or self._filled_in(path) for name, path in outputs.items()}
                await self._keep_files({name: path for name, path in said.items() if path})
            self._ended = result
        return result

    async def _keep_files(self, paths: Mapping[str, str]) -> None:
        owner = None if self._identity is None else self._identity.uid
        self._handed = await self._worker.handed.kept(self._task, paths, self._folder.make(), owner, self._log.masked)

    def _filled_in(self, path: str) -> str:
        return replace_references(with_time_expressions(self._task, path), self._values, lambda _, value: value)

    async def _read_values(self) -> None:
        """Read the parameters' values; the log masks each secret from then on."""
        task = self._task
        self._values = values_of(task, self._folder.make)
        if has_large(task.parameter_values):
            self._values = await self._worker.values.read(self._values, task.params, types_of(task))
        if any(map(handed_files.has_handed, self._values.values())):
            self._fetched = await self._worker.handed.fetched(task, self._values, types_of(task), self._folder.make)
            self._values = {**self._values, **self._fetched}
        self._size = max(len(task.parameter_values), *map(len, self._values.values()), 0)
        if has_sealed(task.parameter_values):
            used = secrets_used(task, self._values)
            secrets = self._worker.secrets
            self._values = await secrets.parameters(task.workflow_code, self._values, used, self._log.hide)
        for secret in sorted(secrets_held(task.leases)):
            self._log.hide(secret)

    async def _prepare(self, made: Task) -> None:
        """Prepare everything that must exist before the attempt begins."""
        task, launcher, last_words = self._task, self._launcher, self._worker.last_words
        has_process = made.starts_processes or made.below_keeper
        if has_process:
            self._log.open()  # an attempt that cannot be logged must not begin
        else:
            launcher.may_have_begun = True  # it works in this process
        # A type that is no script gets its environment's variables from bash first.
        is_all = made.runs_one_process and (task.environment is None or made.ends_as_its_process)
        last_word = last_words.of(task) if last_words and _needs_no_worker_to_report(made, task) else None
        launcher.end = ProcessEnd(is_all, last_word)
        if has_process:
            if names := task_data_sources.recorded_in(task.parameter_types):
                self._urls = await self._worker.secrets.variables(task.workflow_code, names, self._log.hide)
            self._account = await account_for(task.tenant, self._worker.settings)

    async def _below_keeper(self, made: Task) -> TaskResult:
        """Run the attempt in a process of its own; in this process if it only looks and a place is free."""
        if made.only_looks and self._account is None:
            async with self._worker.looks.one() as has_place:
                if has_place:
                    return await made.run(self._context())
        return await self._carried_out(made)

    async def _probe(self, argv: list[str]) -> int:
        return await self._worker.launcher.run(
            argv, env=self._environment(), cwd=self._folder.make(), log=Dropped(), identity=self._identity
        )

    async def _carried_out(self, made: Task) -> TaskResult:
        """Run an attempt of a type that runs below a keeper (`worker/attempts/child.py`)."""
        task, secrets, file = self._task, self._worker.secrets, self._log
        urls = {}
        if (source := made.data_source(self._values)) is not None:
            urls[source] = await secrets.data_source(task.workflow_code, source, file.hide)
        order = Order(
            made,
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            self._values,
            self._types(),
            urls,
            file.secrets,
            self._folder.make(),
            self._worker.settings.local_files,
            skip_codes.recorded_in(task.parameter_types),
            self._worker.values.bytes_max,
        )
        if self._identity is not None:
            give_to(self._folder.path, self._identity)
        code, result = await self._launcher.carry_out(
            order, env=self._environment(), cwd=self._folder.path, log=file, identity=self._identity
        )
        if code != 0 or result is None:
            return TaskResult.failure(exit_reason(code, file.last_line()), code)
        return result

    def _types(self) -> Mapping[str, ParameterType]:
        of_files = {
            name: ParameterType.FILE if said.startswith("/") else ParameterType.JSON
            for name, said in self._fetched.items()
        }
        return {**types_of_values(self._task), **of_files}

    @property
    def _identity(self) -> Identity | None:
        return None if self._account is None else self._account.identity

    def _environment(self) -> Mapping[str, str]:
        task, machine = self._task, self._worker.machine
        made = task_environment(
            machine if self._account is None else self._account.environment(machine), task, self._worker.epoch
        )
        progress = str(self._folder.path / FILE)
        of_pools = resource_variables(task.leases)
        of_values = self._worker.values.variables
        return {**made, VARIABLE: progress, **of_pools, **of_values, **self._urls, **trace_variable(self._trace)}

    def _context(self) -> TaskContext:
        task, secrets, file = self._task, self._worker.secrets, self._log
        processes: ProcessRunner = self._launcher
        if self._account is not None:
            processes = TenantProcesses(self._launcher, self._account, self._folder.path)
        return TaskContext(
            task.workflow_instance_id,
            task.id,
            task.name,
            task.attempt,
            self._values,
            file,
            processes,
            make_folder=self._folder.make,
            make_environment=self._environment,
            types=self._types(),
            data_source=partial(secrets.data_source, task.workflow_code, hide=file.hide),
            exports=partial(secrets.exports, task.environment) if task.environment else None,
            may_go_on=lambda: self._worker.launcher.may_go_on(),
            masked=file.masked,
            skip_exit_codes=skip_codes.recorded_in(task.parameter_types),
            local_time=partial(local_time, task),
            value_bytes_max=self._worker.values.bytes_max,
            installer=self._installer(),
        )

    def _installer(self) -> UvInstaller | None:
        settings = self._worker.settings
        if settings.uv is None:
            return None
        folder = partial(user_folder, self._worker.environments, self._identity)
        return UvInstaller(settings.uv, settings.environments_max, folder)


def _needs_no_worker_to_report(made: Task, task: ClaimedTask) -> bool:
    """Whether a later life can derive the result from a keeper's record. A later life cannot mask secrets, hand files
    on, or know how an environment changed exit codes."""
    if not (made.below_keeper or (made.ends_as_its_process and not task.environment)):
        return False
    has_secrets = has_sealed(task.parameter_values) or "SECRET" in (task.parameter_types or "")
    of_worker = task_data_sources.recorded_in(task.parameter_types) or handed_files.recorded_in(task.parameter_types)
    return not (has_secrets or secrets_held(task.leases) or of_worker)
