"""A worker process: the one place that knows all its parts, starts them in order and stops them in reverse order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from dao.cluster import cluster, nodes
from dao.cluster.went_back import Known, LastGiven
from dao.postgres import reserved_descriptors
from dao.postgres.notify import EVENT, notify
from dao.postgres.readiness import wait_until_ready
from dao.secrets.vault import Vault
from dao.tasks import task_claims
from logstore.calls import StoreCalls
from logstore.opening import open_calls
from logstore.settings import LogStoreSettings
from metrics.health import Health
from model.cluster.low_water import MarkOfQueue, Walks
from model.cluster.nodes import NodeKind
from model.errors import ShoalError, WentBack
from model.logs.name import LogName
from model.runs.states import TaskState
from model.time.zones import load_zones
from node import vitals
from node.address import advertised, joined
from node.joining import Joining
from node.left_tasks import mark_of
from node.life import Life
from node.lives import end_all, ending_life, live_until_stopped, new_life
from node.overload import Overload
from node.threads import in_thread
from registry.clock import boottime_s
from registry.process import this_process
from registry.protocol import Registry
from worker.attempts.executor import Executor
from worker.attempts.news import News
from worker.attempts.tenants import check_default_tenant, runs_as_root
from worker.beats import Beats
from worker.check_runner import PoolChecks
from worker.claims.writer import Writer
from worker.files.file_cache import FileCache
from worker.folder import WorkerFolder
from worker.former_life import FormerLife, last_given, tell_gone, why_back
from worker.launcher.client import Launcher
from worker.logs.copy_parts import Copying
from worker.logs.disk_deletion import delete_old_logs
from worker.logs.service import LogService
from worker.logs.walk import LeftLogs
from worker.notifications import listener_of
from worker.results.former_lives import report_last_words, report_left_results
from worker.results.late import LateResults
from worker.results.recorded_ends import LastWords
from worker.results.spool import Spool
from worker.results.value_files import ValueFiles
from worker.secrets.named import NamedSecrets
from worker.settings import WorkerSettings

log = structlog.get_logger()

COMPARE_EVERY_S = 10.0
"""How often a worker compares what it runs with its rows."""


class Worker:
    """One worker. `run` returns after a graceful stop.

    Args:
        joining: no other living worker may have its name, which defaults to the host's name and the id in the folder.
            Others reach its logs at its host, which defaults to the address of the log server.
        vault: decrypts the data sources and environments that its tasks name.
        traced: whether masters send the spans of attempts: tasks then learn theirs.
        log_store: where the logs of ended attempts are copied.
        health: learns when it has joined, and whether it takes work.
    """

    def __init__(
        self,
        joining: Joining,
        settings: WorkerSettings,
        vault: Vault,
        *,
        traced: bool = False,
        log_store: LogStoreSettings | None = None,
        health: Health | None = None,
    ) -> None:
        self._joining = joining
        self._settings = settings
        self._vault = vault
        self._traced = traced
        self._log_store = log_store or LogStoreSettings()
        self._health = health or Health()

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set. A worker that was fenced kills what it ran and begins a new life.

        Raises `Refused` for a wrong schema, a default tenant that it cannot become, a folder that another worker uses
        or a certificate that cannot be read, `Unavailable` when a server is not reachable at start, `Outdated` when the
        schema became too new for it; it has left by then.
        """
        calls = open_calls(self._log_store)
        await check_default_tenant(self._settings)
        if runs_as_root(self._settings):
            log.warning(
                "tasks_run_as_root",
                so="a task without a tenant can read this worker's keys and database URL",
                fix="set worker.default_tenant, or start it as an ordinary user",
            )
        reserved_descriptors.fill()
        await in_thread(load_zones)
        within_s = self._joining.connect_timeout_s
        await wait_until_ready(self._joining.database_url, "worker", within_s)
        folder = WorkerFolder(self._settings.place)
        await folder.wait_until_made(stop)
        if stop.is_set():
            return
        name = folder.lock(self._joining.name)
        logs = await folder.serve_logs(self._settings)
        try:
            await live_until_stopped(
                lambda stop: self._live(stop, folder, name, logs, calls), stop, within_s, self._health
            )
        finally:
            await logs.stop()
            folder.unlock()

    async def _live(
        self, stop: asyncio.Event, folder: WorkerFolder, name: str, logs: LogService, calls: StoreCalls | None
    ) -> None:
        bound, port = logs.address
        address = joined(advertised(self._joining.host, bound), port)
        place = self._settings.place.absolute()
        results, ends = place / "results", place / "ends"
        database_url, within_s = self._joining.database_url, self._joining.connect_timeout_s
        given = await last_given(database_url)
        # First: the new life fences the former one, which may then report nothing more.
        await report_left_results(results, database_url, within_s)
        await report_last_words(ends, place / "logs", database_url, within_s)
        log_url = f"{logs.scheme}://{address}"
        async with new_life(NodeKind.WORKER, name, address, self._joining, stop=stop, log_url=log_url) as (
            life,
            registry,
        ):
            await self._compare(folder, life, given)
            logs.publish_key(life)
            copying = Copying(place / "logs", life, name, calls)
            values = copying.values(self._settings.value_bytes_max)
            last_words = LastWords(ends, life.me, values.bytes_max)
            await self._serve(stop, life, registry, Spool(results, life.me), last_words, copying, values)

    async def _serve(
        self,
        stop: asyncio.Event,
        life: Life,
        registry: Registry,
        spool: Spool,
        last_words: LastWords,
        copying: Copying,
        values: ValueFiles,
    ) -> None:
        grace_s = life.timing.kill_grace.total_seconds()
        launcher = Launcher(grace_s, life=mark_of(this_process(), life.me.epoch))
        secrets = NamedSecrets(life.database, self._vault)
        load = self._settings.load
        overload = Overload(load, so="takes no new tasks; running tasks continue", folder=self._settings.place)
        news = News()
        executor = Executor(
            self._settings,
            launcher,
            life.me.epoch,
            secrets,
            overload,
            last_words,
            news.progress,
            news.readiness,
            copying.has_log,
            self._traced,
            values=values,
            files=FileCache(life.database, self._settings.place / "files", self._settings.files_bytes_max),
        )
        writer = Writer(life, executor, last_words.reported, news, copying.offer)
        news.readiness.on_news = writer.wake.set
        checks = PoolChecks(life, launcher, self._settings, takes=lambda: writer.takes_new)
        writer.pools.on_unchecked = checks.notice
        life.known = partial(self._known, writer)
        late = LateResults(lambda: writer.unreported, spool, last_words.reported)
        beats = Beats(life, registry, launcher, self._settings, overload, writer)
        ears = listener_of(life, writer, self._settings.groups)
        ready = [vitals.beats(life), vitals.hears(ears), vitals.stays(life), beats.why_idle]
        healthy = self._health.judged_by(lives=[vitals.tries_to_beat(life)], ready=ready)
        parts = (
            beats.beat,
            beats.guard,
            beats.measure,
            partial(self._poll, life, writer, checks),
            writer.run,
            writer.pools.run,
            checks.run,
            partial(news.progress.run, writer.wake.set),
            late.run,
            partial(delete_old_logs, self._settings.place / "logs", life),
            ears.run,
        )
        try:
            launcher.open()
            async with ending_life(
                life, lambda: self._leave(life, writer, launcher, broke=True), self._settings.when_fenced
            ):
                await beats.join()
                life.has_joined = True
                log.info(
                    "joined", groups=self._settings.groups, capacity=self._settings.capacity, registry=registry.url
                )
                self._health.begun.set()
                registry.use(ears)
                with healthy:
                    await self._work(stop, life, registry, writer, copying, parts)
                await self._leave(life, writer, launcher)
        finally:
            await writer.abandon()
            await late.close()
            await launcher.close()

    async def _work(
        self,
        stop: asyncio.Event,
        life: Life,
        registry: Registry,
        writer: Writer,
        copying: Copying,
        parts: Sequence[Callable[[], Coroutine[Any, Any, None]]],
    ) -> None:
        """Run the parts of a life until it is to end."""
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(part()) for part in (*parts, *copying.parts)]
            await stop.wait()
            log.info("leaving", tasks=writer.running)
            await self._drain(life, registry, writer)
            await copying.finish()
            await end_all(running)

    async def _compare(self, folder: WorkerFolder, life: Life, given: LastGiven) -> None:
        """Raises `WentBack` if the folder knows a later state of the database: it was restored."""
        recorded = await life.database.read(cluster.registry)
        if recorded is None or life.began is None:
            return
        before = await in_thread(folder.former_life, recorded.mark)
        why = None
        if before is not None:
            logged = await self._logged()
            known = Known(attempts=[each.task_instance_id for each in logged])
            of_folder = partial(why_back, me=life.me, before=before, given=given, logged=logged)
            why = await life.stop_all_if(of_folder, known)
            if why is None and life.began.restored_s > before.began.at_s:
                await tell_gone(life.database, logged)
        if why is None:
            now = FormerLife(life.me.epoch, life.me.incarnation, life.began)
            await in_thread(folder.begin_life, recorded.mark, now)
            return
        raise WentBack(f"the database went back to an earlier state: {why}; shoal db restored")

    async def _known(self, writer: Writer) -> Known:
        logged = [each.task_instance_id for each in await self._logged()]
        return replace(writer.known, attempts=logged)

    async def _logged(self) -> list[LogName]:
        return await in_thread(LeftLogs(self._settings.place / "logs").more)

    async def _poll(self, life: Life, writer: Writer, checks: PoolChecks) -> None:
        """Poll for work and for tasks to kill, without notifications; periodically compare what runs with the rows."""
        compared_s = boottime_s()
        walks, mark = Walks(), MarkOfQueue()
        while True:
            if boottime_s() - compared_s >= COMPARE_EVERY_S:
                compared_s = boottime_s()
                writer.compares = True
                writer.wake.set()
            try:
                began_s, groups = boottime_s(), self._settings.groups
                walked, first = walks.are_due(began_s), 0 if walks.are_of_all(began_s) else mark.now
                waits = await life.database.read(
                    task_claims.work_waits, groups, life.me.epoch, walks=walked, first=first, runs=writer.running > 0
                )
                if walked:
                    ended_s = boottime_s()
                    walks.took(ended_s - began_s, ended_s, of_all=not first)
                    mark.looked(
                        found=waits.queued, given=waits.given + 1, horizon=waits.horizon, times_s=(began_s, ended_s)
                    )
                if waits.queued:
                    writer.search_queue()
                writer.kills = writer.kills or waits.kills
                writer.streams.note(waits=waits.streams)
                if waits.kills or waits.streams:
                    writer.wake.set()
                if waits.for_pools:
                    writer.pools.notice()
                if waits.checks:
                    checks.notice()
            except ShoalError as error:
                log.warning("poll_failed", error=str(error))
            await asyncio.sleep(self._settings.look_every.total_seconds())

    async def _drain(self, life: Life, registry: Registry, writer: Writer) -> None:
        """Take nothing new, let tasks run that end in time, and give the rest to others."""
        life.is_leaving = True
        try:
            await registry.unregister()
            await life.database.write(nodes.set_leaving, life.me)
        except ShoalError as error:
            log.warning("leave_not_recorded", error=str(error))
        writer.wake.set()  # its streams are not waited for
        await _until(lambda: not writer.running, self._settings.drain.total_seconds())
        if writer.running:
            writer.cancel_all(TaskState.NEED_FAULT_TOLERANCE, "its worker was stopped")
            await _until(lambda: not writer.running, life.timing.kill_grace.total_seconds() + 5)

    async def _leave(self, life: Life, writer: Writer, launcher: Launcher, *, broke: bool = False) -> None:
        await writer.abandon()  # what outlived the drain must have ended before others may start it
        if launcher.has_left:
            log.error("end_not_recorded", so="its tasks left processes: others fence it after its silence")
            return
        with suppress(ShoalError):
            async with life.database.writing() as connection:
                await nodes.set_left(connection, life.me, broke=broke)
                await notify(connection, EVENT)
        log.info("left")


async def _until(is_so: Callable[[], bool], within_s: float) -> None:
    deadline_s = boottime_s() + within_s
    while not is_so() and boottime_s() < deadline_s:  # noqa: ASYNC110 - once in a life
        await asyncio.sleep(0.05)
