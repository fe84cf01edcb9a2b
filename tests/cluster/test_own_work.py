"""SQL, PROCEDURE, HTTP and K8S have their effects once though their worker freezes in the middle of them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.own_work import HOLD, OwnWork
from tests.cluster.tls import certificate
from tests.eventually import eventually
from tests.worker.http_server import HttpServer, says
from tests.worker.kubernetes_server import kubernetes_server

pytestmark = pytest.mark.timeout(180)

WHOLE = pytest.mark.parametrize(
    "whole", [pytest.param(False, id="worker", marks=pytest.mark.soak), pytest.param(True, id="whole tree")]
)
SQL = {
    "datasource": "here",
    "sql": f"INSERT INTO effect SELECT 1; SELECT 1 FROM pg_advisory_xact_lock_shared({HOLD})",
}
CALL = {"datasource": "here", "name": "have_effect"}


@WHOLE
@pytest.mark.parametrize(
    ("type_", "params"),
    [pytest.param("SQL", SQL, id="SQL"), pytest.param("PROCEDURE", CALL, id="PROCEDURE", marks=pytest.mark.soak)],
)
async def test_a_statement_of_a_frozen_worker_is_not_committed_after_another_ran_it(
    cluster: Cluster, type_: str, params: dict[str, Any], whole: bool
) -> None:
    work = OwnWork(cluster)
    await work.data_source("here", cluster.environment["SHOAL_DATABASE_URL"])
    cluster.rows("CREATE TABLE effect (id integer)")
    cluster.rows(
        "CREATE PROCEDURE have_effect() LANGUAGE sql AS "
        f"$$ INSERT INTO effect VALUES (1); SELECT pg_advisory_xact_lock_shared({HOLD}) $$"
    )
    cluster.rows("SELECT pg_advisory_lock(%s)", HOLD)
    worker = await work.begin(type_, params)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await eventually(lambda: cluster.one(waiting) == 1, within_s=20)
    with work.frozen(worker, whole=whole):
        await work.fenced(worker)
        cluster.rows("SELECT pg_advisory_unlock(%s)", HOLD)
        await work.second_attempt_succeeds()
    await work.thawed(worker)
    assert cluster.one("SELECT count(*) FROM effect") == 1


@WHOLE
async def test_a_request_of_a_frozen_worker_is_not_sent_after_another_sent_it(
    cluster: Cluster, tmp_path: Path, whole: bool
) -> None:
    async with https_server(tmp_path) as server:
        work = OwnWork(cluster)
        params = {"url": f"{server.address}/effect", "method": "POST", "body": "x", "verify": False}
        worker = await work.begin("HTTP", {**params, "timeout_s": 600, "connect_timeout_s": 600})
        await asyncio.wait_for(server.first_is_held.wait(), 20)
        with work.frozen(worker, whole=whole):
            await work.second_attempt_succeeds()
            assert len(server.http.seen) == 1
            server.let_go.set()
        await work.thawed(worker)
        await asyncio.wait_for(server.first_is_over.wait(), 20)
        assert [seen.line for seen in server.http.seen] == ["POST /effect HTTP/1.1"]


@WHOLE
async def test_a_job_of_a_frozen_worker_is_not_created_after_another_made_it(
    cluster: Cluster, tmp_path: Path, whole: bool
) -> None:
    async with kubernetes_server(tmp_path) as server:
        work = OwnWork(cluster)
        server.refusals += [("POST", 503, "busy")] * 100_000
        worker = await work.begin("K8S", {"kubeconfig": str(server.kubeconfig), "image": "busybox"})
        await eventually(lambda: len(server.asked) >= 2, within_s=30)
        with work.frozen(worker, whole=whole):
            await work.fenced(worker)
            server.refusals.clear()
            ending = asyncio.create_task(_end_the_job(server))
            await work.second_attempt_succeeds()
            await ending
        await work.thawed(worker)
        assert [name.rpartition("-")[2] for name in server.jobs] == ["2"]


async def _end_the_job(server: Any) -> None:
    await eventually(lambda: server.jobs, within_s=60)
    server.start_container()
    server.end()


class HttpsServer:
    """An HTTP server behind TLS, where the handshake of the first connection waits until it is let go."""

    def __init__(self, http: HttpServer) -> None:
        self.http = http
        self.address = ""
        self.first_is_held = asyncio.Event()
        self.let_go = asyncio.Event()
        self.first_is_over = asyncio.Event()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        """Pass bytes through, in both directions."""
        is_first = not self.first_is_held.is_set()
        if is_first:
            self.first_is_held.set()
            await self.let_go.wait()
        try:
            onward, back = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(_pass_on(reader, back), _pass_on(onward, writer))
        finally:
            if is_first:
                self.first_is_over.set()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


@asynccontextmanager
async def https_server(folder: Path) -> AsyncIterator[HttpsServer]:
    """The server on a free port of this machine until the block ends."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate(folder))
    server = HttpsServer(HttpServer({"*": says("200 OK", "done")}))
    inner = await asyncio.start_server(server.http.handle, "127.0.0.1", 0, ssl=tls)
    port = inner.sockets[0].getsockname()[1]
    outer = await asyncio.start_server(lambda r, w: server.handle(r, w, port), "127.0.0.1", 0)
    server.address = f"https://127.0.0.1:{outer.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        outer.close()
        inner.close()
