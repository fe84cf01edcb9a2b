"""A small HTTP server that answers as a Kubernetes API server does about Jobs and pods. It is no Kubernetes.

It has the shapes of `batch/v1` and `v1` as the API's reference gives them, keeps what it is sent, and moves a Job's
pod only when the test says so. What a cluster's controllers, scheduler and kubelets do is not tested by it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

Json = dict[str, Any]
TOKEN = "t0ken-of-the-cluster"
JOBS = "/apis/batch/v1/namespaces/{namespace}/jobs"
EVENTS = "/api/v1/namespaces/{namespace}/events"
PODS = "/api/v1/namespaces/{namespace}/pods"


@dataclass
class KubernetesServer:
    """The objects, and what goes wrong: `refusals` are answers given instead, first come first served."""

    jobs: dict[str, Json] = field(default_factory=dict)
    pods: dict[str, Json] = field(default_factory=dict)
    events: list[Json] = field(default_factory=list)
    may_list_events: bool = True
    makes_pods: bool = True
    output: bytes = b""
    output_ends: bool = False
    asked: list[str] = field(default_factory=list)
    deleted: list[Json] = field(default_factory=list)
    refusals: list[tuple[str, int, str]] = field(default_factory=list)
    """Method, status and message; the status 0 means: done, but the answer is lost."""

    cut_log_after: int | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    kubeconfig: Path = Path()
    port: int = 0

    def start_container(self) -> None:
        self._set_state({"running": {"startedAt": "2026-01-31T00:00:00Z"}}, "Running")

    def wait_for_image(self) -> None:
        waiting = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "no/such"'}
        self._set_state({"waiting": waiting}, "Pending")

    def write(self, text: str) -> None:
        self.output += text.encode()
        self._wake()

    def end(self, code: int = 0, reason: str = "", message: str = "") -> None:
        terminated = {"exitCode": code, "reason": reason or ("Error" if code else "Completed"), "message": message}
        self._set_state({"terminated": terminated}, "Failed" if code else "Succeeded")
        self.output_ends = True
        self._wake()
        conditions = [
            {"type": "FailureTarget" if code else "SuccessCriteriaMet", "status": "True"},
            {
                "type": "Failed" if code else "Complete",
                "status": "True",
                "reason": "BackoffLimitExceeded" if code else "CompletionsReached",
                "message": "Job has reached the specified backoff limit" if code else "Reached expected number",
            },
        ]
        self.job["status"] = {"conditions": conditions, "failed" if code else "succeeded": 1}

    def evict(self) -> None:
        """The pod vanishes with its node, and so the Job has failed."""
        self.pods.clear()
        failed = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "Job was active longer"}
        self.job["status"] = {"conditions": [failed]}
        self.output_ends = True
        self._wake()

    @property
    def job(self) -> Json:
        (job,) = self.jobs.values()
        return job

    def _set_state(self, state: Json, phase: str) -> None:
        for pod in self.pods.values():
            beside = {"name": "istio-proxy", "state": {"running": {}}}
            pod["status"] = {"phase": phase, "containerStatuses": [beside, {"name": "task", "state": state}]}

    def _wake(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    async def create(self, request: Request) -> Response:
        job = json.loads(await request.body())
        name = job["metadata"]["name"]
        if (refusal := self._refusal(request)) is not None and not isinstance(refusal, _Lost):
            return refusal
        if name in self.jobs:
            return _status(409, f'jobs.batch "{name}" already exists', "AlreadyExists")
        job["metadata"].update(uid=f"uid-of-{name}", namespace=request.path_params["namespace"], resourceVersion="1")
        self.jobs[name] = {**job, "status": {}}
        metadata = {"name": f"{name}-x7k2p", "labels": {"job-name": name}}
        if self.makes_pods:
            self.pods[name] = {"metadata": metadata, "status": {"phase": "Pending"}}
        return JSONResponse(self.jobs[name], 201) if refusal is None else _Lost()

    async def read(self, request: Request) -> Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        name = request.path_params["name"]
        return JSONResponse(self.jobs[name]) if name in self.jobs else _missing(name)

    async def delete(self, request: Request) -> Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        name = request.path_params["name"]
        if name not in self.jobs:
            return _missing(name)
        self.deleted.append(json.loads(await request.body()))
        del self.jobs[name]
        self.pods.pop(name, None)
        return _status(200, "", "")

    async def list_pods(self, request: Request) -> Response:
        if (refusal := self._refusal(request)) is not None:
            return refusal
        key, _, name = request.query_params["labelSelector"].partition("=")
        items = [pod for pod in self.pods.values() if pod["metadata"]["labels"].get(key) == name]
        return JSONResponse({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items})

    async def list_events(self, request: Request) -> Response:
        if not self.may_list_events:
            return _status(403, "events is forbidden: User cannot list resource", "Forbidden")
        if (refusal := self._refusal(request)) is not None:
            return refusal
        name = request.query_params["fieldSelector"].removeprefix("involvedObject.name=")
        known = self.jobs.keys() if not self.makes_pods else {pod["metadata"]["name"] for pod in self.pods.values()}
        items = [each for each in self.events if name in known]
        return JSONResponse({"kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": items})

    async def log(self, request: Request) -> Response:
        assert request.query_params["container"] == "task"
        self._refusal(request)
        if request.query_params.get("follow") != "true":
            return PlainTextResponse(self.output)
        return StreamingResponse(self._following(), media_type="text/plain")

    async def _following(self) -> AsyncIterator[bytes]:
        sent = 0
        while True:
            changed = self.changed
            if new := self.output[sent : self.cut_log_after]:
                sent += len(new)
                yield new
            if self.cut_log_after is not None and sent >= self.cut_log_after:
                self.cut_log_after = None
                raise ConnectionResetError
            if self.output_ends:
                return
            await changed.wait()

    def _refusal(self, request: Request) -> Response | None:
        self.asked.append(f"{request.method} {request.url.path}")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if (scheme.lower(), token) != ("bearer", TOKEN):
            return _status(401, "Unauthorized", "Unauthorized")
        for refusal in self.refusals:
            method, status, message = refusal
            if method == request.method:
                self.refusals.remove(refusal)
                return _status(status, message, "Refused") if status else _Lost()
        return None


class _Lost(StreamingResponse):
    """An answer that never arrives whole: the connection is cut in the middle of it."""

    def __init__(self) -> None:
        super().__init__(self._cut(), headers={"Content-Length": "100"})

    @staticmethod
    async def _cut() -> AsyncIterator[bytes]:
        yield b"{"
        raise ConnectionResetError


def _status(code: int, message: str, reason: str) -> Response:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": code, "message": message, "reason": reason}
    return JSONResponse({**body, "status": "Failure" if code >= 400 else "Success"}, code)


def _missing(name: str) -> Response:
    return _status(404, f'jobs.batch "{name}" not found', "NotFound")


@asynccontextmanager
async def kubernetes_server(
    folder: Path, certificate: tuple[Path, Path] | tuple[None, None] = (None, None)
) -> AsyncIterator[KubernetesServer]:
    """The server on a free port, over TLS with the files of a certificate and its key, and a kubeconfig file that leads
    to it, until the block ends."""
    stand_in = KubernetesServer()
    routes = [
        Route(JOBS, stand_in.create, methods=["POST"]),
        Route(JOBS + "/{name}", stand_in.read, methods=["GET"]),
        Route(JOBS + "/{name}", stand_in.delete, methods=["DELETE"]),
        Route(PODS, stand_in.list_pods, methods=["GET"]),
        Route(EVENTS, stand_in.list_events, methods=["GET"]),
        Route(PODS + "/{name}/log", stand_in.log, methods=["GET"]),
    ]
    own, key = certificate
    server = uvicorn.Server(
        uvicorn.Config(
            Starlette(routes=routes),
            port=0,
            log_level="critical",
            timeout_graceful_shutdown=1,
            ssl_certfile=own,
            ssl_keyfile=key,
        )
    )
    serving = asyncio.ensure_future(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    stand_in.port = port = server.servers[0].sockets[0].getsockname()[1]
    stand_in.kubeconfig = folder / "kubeconfig"
    stand_in.kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
                "users": [{"name": "u", "user": {"token": TOKEN}}],
                "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    try:
        yield stand_in
    finally:
        server.should_exit = True
        await serving
