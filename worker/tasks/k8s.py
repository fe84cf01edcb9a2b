"""K8S: one container as a Kubernetes Job: created once, followed to its end, its output copied, deleted on a kill.

The Job has the name of the attempt and a mark that only this attempt knows. So a create whose answer was lost finds its
own Job, and an existing Job of another origin is neither followed nor deleted.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress

from model.errors import NotFound, Refused, ShoalError, Unavailable
from worker.tasks.inserted import mark, plain
from worker.tasks.kubernetes_api import PATIENCE_S, Cluster, Json, Taken, connected, load_client
from worker.tasks.kubernetes_job import (
    CONTAINER,
    KubernetesParams,
    exit_code,
    has_begun,
    is_success,
    job_name,
    job_of,
    waits_for,
    warnings_of,
    why_failed,
)
from worker.tasks.plugin import Task, TaskContext, TaskResult

POLL_S_MIN = 0.2
POLL_S_MAX = 5.0
LAST_LOG_S_MAX = 30.0
"""How long the rest of the output may take after the Job has ended."""

DELETE_S_MAX = 20.0
DELETE_TRIES = 3
"""A create that was interrupted by the kill may still arrive: the Job is searched for this often, a second apart."""


class KubernetesTask(Task):
    """One attempt of a K8S task."""

    Params = KubernetesParams

    params: KubernetesParams
    starts_processes = False
    below_keeper = True
    grace_s = DELETE_S_MAX

    @classmethod
    def prepare(cls) -> None:
        """Load the client's thousand modules, if it is installed."""
        load_client()

    patience_s = PATIENCE_S
    """How long a cluster may be silent; tests set less."""

    insert = staticmethod(mark)  # what is safe differs between an argument, a variable and a name

    async def run(self, context: TaskContext) -> TaskResult:
        """Create the Job and follow it to its end; in any other case delete it."""
        params = self.params
        own = secrets.token_hex(16)
        job = job_of(params, context, own)
        kubeconfig = plain(params.kubeconfig) if params.kubeconfig is not None else None
        kube_context = plain(params.kube_context) if params.kube_context is not None else None
        async with connected(kubeconfig, kube_context, params.namespace, self.patience_s, context.may_go_on) as cluster:
            is_made = False
            try:
                await cluster.create(job)
                is_made = True
                context.log.write(f"[shoal] Job {job_name(context)} in namespace {params.namespace}\n")
                return await self._followed(cluster, context)
            except Taken:
                raise
            except BaseException as error:
                is_known = is_made or isinstance(error, Refused)
                await _delete(cluster, context, own, 1 if is_known else DELETE_TRIES)
                raise

    async def _followed(self, cluster: Cluster, context: TaskContext) -> TaskResult:
        name = job_name(context)
        await self._begun(cluster, context)
        pod = await cluster.pod(name)
        copy = _Copy(cluster, context, pod["metadata"]["name"] if pod is not None else None)
        copying = asyncio.ensure_future(copy.follow())
        try:
            job = await _ended(cluster, name, copying)
        finally:
            copying.cancel()
            with suppress(asyncio.CancelledError):
                await copying
        await copy.finish()
        pod = await cluster.pod(name)
        code = exit_code(pod)
        if is_success(job):
            return TaskResult.success(exit_code=0 if code is None else code)
        return context.failed(why_failed(job, pod, context.log.last_line()), code)

    async def _begun(self, cluster: Cluster, context: TaskContext) -> None:
        """Return when the container has started or the Job has ended without starting it.

        Raises:
            Unavailable: that takes too long.
        """
        name = job_name(context)
        wait = _Wait(cluster, context)
        pause_s = POLL_S_MIN
        try:
            async with asyncio.timeout(self.params.start_timeout_s):
                while True:
                    pod = await cluster.pod(name)
                    if (pod is not None and has_begun(pod)) or is_success(await cluster.job(name)) is not None:
                        return
                    await wait.tell(pod)
                    await asyncio.sleep(pause_s)
                    pause_s = min(2 * pause_s, POLL_S_MAX)
        except TimeoutError:
            raise Unavailable(
                f"the container did not start within {self.params.start_timeout_s:g} s: {wait.reason or 'no answer'}"
            ) from None


class _Wait:
    """Logs why a container has not started: the state of its pod, and the warnings among its events.

    Without a pod, those of the Job, such as FailedCreate for a quota.
    """

    def __init__(self, cluster: Cluster, context: TaskContext) -> None:
        self._cluster = cluster
        self._context = context
        self._state = ""
        self._warnings: list[str] = []
        self._may_list = True

    @property
    def reason(self) -> str:
        """The state, and the last warning if it says something else."""
        last = self._warnings[-1] if self._warnings else ""
        return self._state if (last.partition(": ")[2] or last) in self._state else f"{self._state}; {last}"

    async def tell(self, pod: Json | None) -> None:
        """Log what is new. Raises `Unavailable`."""
        state = waits_for(pod)
        if state != self._state:
            self._context.log.write(f"[shoal] waiting: {state}\n")
            self._state = state
        if not self._may_list:
            return
        try:
            of = pod["metadata"]["name"] if pod is not None else job_name(self._context)
            found = warnings_of(await self._cluster.events(of))
        except Refused as error:
            self._may_list = False
            self._context.log.write(f"[shoal] the events of its pod cannot be read: {error}\n")
            return
        for warning in found:
            if warning not in self._warnings:
                self._context.log.write(f"[shoal] {warning}\n")
                self._warnings.append(warning)


class _Copy:
    """Copies the pod's output into the log, each byte once however often the stream is cut."""

    def __init__(self, cluster: Cluster, context: TaskContext, pod: str | None) -> None:
        self._cluster = cluster
        self._context = context
        self._pod = pod
        self._copied = 0
        """In bytes. Kubernetes always sends the log from its beginning."""

    async def follow(self) -> None:
        """Return when the container has ended. A stream that was cut is opened again."""
        pause_s = POLL_S_MIN
        while self._pod is not None:
            try:
                await self._read(self._pod, follow=True)
            except Unavailable:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, POLL_S_MAX)
            else:
                return

    async def finish(self) -> None:
        """Copy what is still missing; if that fails, log a note."""
        if self._pod is None:
            return
        try:
            async with asyncio.timeout(LAST_LOG_S_MAX):
                await self._read(self._pod, follow=False)
        except (Unavailable, TimeoutError) as error:
            self._context.log.write(f"[shoal] the end of the output may be missing: {error or 'it took too long'}\n")

    async def _read(self, pod: str, follow: bool) -> None:
        position = 0
        async for piece in self._cluster.log(pod, CONTAINER, follow):
            new = piece[max(self._copied - position, 0) :]
            position += len(piece)
            if new:
                self._context.log.write(new)
                self._copied = position


async def _ended(cluster: Cluster, name: str, copying: asyncio.Future[None]) -> Json:
    """Wait until the Job has ended, and return it. The end of the output triggers a check at once.

    Raises:
        Unavailable: the Job was deleted by somebody else, or the cluster is silent.
        OSError: the log cannot be written.
    """
    pause_s = POLL_S_MIN
    was_copying = True
    while True:
        try:
            job = await cluster.job(name)
        except NotFound:
            raise Unavailable(f"the Job {name} was deleted by somebody else before it ended") from None
        if is_success(job) is not None:
            return job
        if was_copying:
            await asyncio.wait([copying], timeout=pause_s)
            if copying.done():
                copying.result()
                was_copying, pause_s = False, POLL_S_MIN
        else:
            await asyncio.sleep(pause_s)
        pause_s = min(2 * pause_s, POLL_S_MAX)


async def _delete(cluster: Cluster, context: TaskContext, own: str, tries: int) -> None:
    """Delete the Job, searching for it `tries` times, and log whether that succeeded."""
    name = job_name(context)
    said = ""
    try:
        async with asyncio.timeout(DELETE_S_MAX):
            for again in reversed(range(tries)):
                if await cluster.delete(name, own):
                    said = f"Job {name} deleted; its pod ends within its grace period"
                    break
                if again:
                    await asyncio.sleep(1)
    except (ShoalError, TimeoutError) as error:
        said = (
            f"Job {name} could not be deleted ({error or 'no answer'}); if it is there, delete it: "
            f"kubectl delete job {name} -n {cluster.namespace}"
        )
    if said:
        with suppress(OSError):  # a full disk may be why it is deleted
            context.log.write(f"[shoal] {said}\n")
