"""The calls about one Job of a Kubernetes cluster, over the official client (`shoal[k8s]`).

Each call is bounded by `CALL_S_MAX`. A transient failure (the server is busy, the connection was cut) is retried for
`PATIENCE_S`; a repeated create finds its own Job by a mark that only this attempt knows.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from model.cluster.means import is_passing
from model.errors import NotFound, Refused, Unavailable
from worker.attempts.extras import how_to_install

if TYPE_CHECKING:
    from kubernetes.aio.client import ApiClient, Configuration

CALL_S_MAX = 30.0
PATIENCE_S = 300.0
"""How long a cluster may be unreachable before the attempt fails: long enough for its API server to be upgraded."""

FOLLOW_S_MAX = 3_600.0
"""After this a log is requested again, since a connection may be dead without a sign."""

PAUSE_S_MAX = 5.0
EVENTS_MAX = 100
MARK = "shoal.attempt"
"""The annotation that identifies a Job as this attempt's."""

Json = dict[str, Any]


class NotInstalled(Refused):
    """The official client is missing."""

    def __init__(self) -> None:
        super().__init__(f"K8S tasks need the official client; install it on this worker: {how_to_install('k8s')}")


class Taken(Refused):
    """Another attempt or program has a Job of that name."""


class Cluster:
    """The calls about one Job and its pod, in one namespace."""

    def __init__(
        self,
        client: ApiClient,
        namespace: str,
        patience_s: float = PATIENCE_S,
        may_go_on: Callable[[], None] = lambda: None,
    ) -> None:
        from kubernetes.aio.client import BatchV1Api, CoreV1Api

        self._batch = BatchV1Api(client)
        self._core = CoreV1Api(client)
        self.namespace = namespace
        self._patience_s = patience_s
        self._may_go_on = may_go_on

    async def create(self, job: Json) -> Json:
        """Create the Job, or find that an earlier try of ours succeeded though its answer was lost.

        Raises:
            Taken: there is a Job of that name that is not this attempt's.
            Refused: the cluster rejects it; the text is the cluster's.
            Unavailable: no answer for too long.
        """
        from kubernetes.aio.client import V1Job

        name, mark = job["metadata"]["name"], job["metadata"]["annotations"][MARK]
        body = V1Job.model_validate(job)
        ask = self._batch.create_namespaced_job_without_preload_content
        try:
            return await self._ask(lambda: ask(self.namespace, body, _request_timeout=CALL_S_MAX))
        except Taken:
            found = await self.job(name)
            if found["metadata"].get("annotations", {}).get(MARK) == mark:
                return found
            raise Taken(
                f'there is a Job "{name}" in the namespace "{self.namespace}" that this attempt did not make; '
                f"check what it is and delete it: kubectl delete job {name} -n {self.namespace}"
            ) from None

    async def job(self, name: str) -> Json:
        """The Job as it is now. Raises `NotFound`, `Refused` or `Unavailable`."""
        ask = self._batch.read_namespaced_job_without_preload_content
        return await self._ask(lambda: ask(name, self.namespace, _request_timeout=CALL_S_MAX))

    async def pod(self, job_name: str) -> Json | None:
        """The pod of the Job, if it has one yet. Raises `Refused` or `Unavailable`."""
        ask = self._core.list_namespaced_pod_without_preload_content
        selector = f"job-name={job_name}"
        found = await self._ask(
            lambda: ask(self.namespace, label_selector=selector, limit=1, _request_timeout=CALL_S_MAX)
        )
        items: list[Json] = found.get("items") or []
        return items[0] if items else None

    async def events(self, name: str) -> list[Json]:
        """The events of a Job or a pod. Raises `Refused` if they may not be listed, or `Unavailable`."""
        ask = self._core.list_namespaced_event_without_preload_content
        selector = f"involvedObject.name={name}"
        found = await self._ask(
            lambda: ask(self.namespace, field_selector=selector, limit=EVENTS_MAX, _request_timeout=CALL_S_MAX)
        )
        items: list[Json] = found.get("items") or []
        return items

    async def delete(self, name: str, mark: str) -> bool:
        """Delete this attempt's Job and its pod; false if it has none.

        Raises:
            Refused: the cluster does not allow it.
            Unavailable: no answer for too long.
        """
        from kubernetes.aio.client import V1DeleteOptions

        try:
            found = await self.job(name)
            if found["metadata"].get("annotations", {}).get(MARK) != mark:
                return False
            only_this = {"uid": found["metadata"]["uid"]}
            options = V1DeleteOptions.model_validate({"propagationPolicy": "Background", "preconditions": only_this})
            ask = self._batch.delete_namespaced_job_without_preload_content
            await self._ask(lambda: ask(name, self.namespace, body=options, _request_timeout=CALL_S_MAX))
        except NotFound:
            return False
        return True

    async def log(self, pod_name: str, container: str, follow: bool) -> AsyncIterator[bytes]:
        """The output of the container from its beginning, in chunks as they arrive; with `follow` until it ends.

        Raises:
            Unavailable: it cannot be read now, or was cut.
        """
        import aiohttp

        ask = self._core.read_namespaced_pod_log_without_preload_content
        limit_s = FOLLOW_S_MAX if follow else CALL_S_MAX
        try:
            response: Any = await ask(
                pod_name, self.namespace, container=container, follow=follow, _request_timeout=limit_s
            )
            try:
                if response.status != 200:
                    raise Unavailable(_said(response.status, _parsed(await response.read())))
                async for piece in response.content.iter_any():
                    yield piece
            finally:
                response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise Unavailable(f"the log of the pod was cut: {type(error).__name__}") from None

    async def _ask(self, call: Callable[[], Awaitable[Any]]) -> Json:
        """One answer as JSON, retried as long as a retry can help."""
        loop = asyncio.get_running_loop()
        last_s = loop.time() + self._patience_s
        pause_s = 0.2
        while True:
            self._may_go_on()
            try:
                return await _answer(call)
            except Unavailable:
                if loop.time() + pause_s > last_s:
                    raise
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, PAUSE_S_MAX)


@asynccontextmanager
async def connected(
    kubeconfig: str | None,
    kube_context: str | None,
    namespace: str,
    patience_s: float,
    may_go_on: Callable[[], None] = lambda: None,
) -> AsyncIterator[Cluster]:
    """The cluster of a kubeconfig file, or without one the cluster in which this worker runs.

    Raises:
        Refused: no client is installed, the file cannot be used, or the worker runs in no cluster.
    """
    try:
        # In a thread: the client's thousand modules take longer to load than the loop may be blocked.
        configuration = await asyncio.to_thread(_new_configuration)
    except ImportError:
        raise NotInstalled from None
    await _configure(configuration, kubeconfig, kube_context)
    from kubernetes.aio.client import ApiClient

    client = await asyncio.to_thread(ApiClient, configuration)
    try:
        yield Cluster(client, namespace, patience_s, may_go_on)
    finally:
        await client.close()  # type: ignore[no-untyped-call]


def load_client() -> None:
    """Load the official client, if it is installed."""
    with suppress(ImportError):
        _new_configuration()
        import kubernetes.aio.client.rest  # noqa: F401


def _new_configuration() -> Configuration:
    from kubernetes.aio import config
    from kubernetes.aio.client import Configuration

    assert config is not None  # loaded here, so that it never blocks the loop
    return Configuration()


async def _configure(configuration: Configuration, kubeconfig: str | None, kube_context: str | None) -> None:
    from kubernetes.aio import config

    if kubeconfig is None and "KUBERNETES_SERVICE_HOST" not in os.environ:
        raise Refused("this worker runs in no cluster; name the file of a kubeconfig under kubeconfig")
    try:
        if kubeconfig is None:
            config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            await config.load_kube_config(  # type: ignore[no-untyped-call]
                kubeconfig, context=kube_context, client_configuration=configuration, persist_config=False
            )
    except config.ConfigException as error:
        why = f"cannot be used: {one_line(str(error))}"
        if kubeconfig is None:
            why = f"the service account of this worker's pod {why}; give it one, or name the file of a kubeconfig"
            raise Refused(why) from None
        raise Refused(f"kubeconfig: it {why}") from None
    except Exception as error:
        if is_passing(error):
            raise
        raise Refused(f"kubeconfig: it cannot be used ({type(error).__name__})") from None


async def _answer(call: Callable[[], Awaitable[Any]]) -> Json:
    import aiohttp

    try:
        async with asyncio.timeout(CALL_S_MAX):
            response = await call()
            data = await response.read()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise Unavailable(f"the cluster does not answer: {type(error).__name__}") from None
    answer = _parsed(data)
    if 200 <= response.status < 300 and answer:
        return answer
    said = _said(response.status, answer)
    if response.status == 404:
        raise NotFound(said)
    if response.status == 409:
        raise Taken(said)
    if response.status in (408, 429) or response.status >= 500 or 200 <= response.status < 300:
        raise Unavailable(said)
    raise Refused(said)


def _parsed(data: bytes) -> Json:
    try:
        answer = json.loads(data)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _said(status: int, answer: Json) -> str:
    return f"the cluster says {status}: {one_line(str(answer.get('message', '')))}"


def one_line(text: str) -> str:
    """Join a text into one line. It is cut after masking, so its blanks stay: they may be a secret's."""
    return " ".join(line for line in text.splitlines() if line.strip()).strip()
