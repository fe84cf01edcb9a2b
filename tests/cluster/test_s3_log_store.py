"""Logs that outlive their worker in S3-compatible storage, which is killed, hangs and comes back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator

import pytest

from tests.api.serving import BASE, serving, token_of
from tests.cluster.cluster import Cluster
from tests.cluster.test_log_store import define, stored
from tests.eventually import eventually
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.servers.warm import run_verb

WAITS = "SELECT coalesce((SELECT reason FROM log_copying ORDER BY node_id DESC LIMIT 1), '')"


@pytest.fixture
def server(s3_server: S3Server, bucket: str, cluster: Cluster) -> Iterator[S3Server]:
    """The server, whose bucket is the log store of all processes; it is as it was after the test."""
    cluster.environment |= {**s3_server.environment(bucket), "SHOAL_LOG_STORE__TIMEOUT": "1"}
    yield s3_server
    s3_server.resume()
    if not s3_server.serves():
        s3_server.start()


async def test_logs_are_read_from_objects_by_every_door(
    cluster: Cluster, server: S3Server, bucket: str, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    define(cluster, "echo begin; seq 1 2000000; echo an error occurred; echo end")
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 1, within_s=20)
    worker.kill()
    shutil.rmtree(cluster.folder / "worker-1")
    text = cluster.shoal("log", "1/a")
    assert (text[:12], text[-30:], text.count("\n")) == (
        "begin\n1\n2\n3\n",
        "2000000\nan error occurred\nend\n",
        2_000_003,
    )
    (path,) = [each for each in server.objects(bucket) if each.endswith(".log")]
    assert path.startswith("shoal/logs/2")
    for name, value in cluster.environment.items():
        if name.startswith("SHOAL_LOG_STORE"):
            monkeypatch.setenv(name, value)
    size = len(text)
    async with serving(database_url) as api, api.client(await token_of(api.backend, "ada", is_admin=True)) as client:
        log = f"{BASE}/task-instances/1/log"
        whole = await client.get(log)
        assert (whole.status_code, whole.text == text) == (200, True)
        assert whole.headers["x-shoal-log-first"] == "0"
        part = await client.get(log, headers={"Range": "bytes=-4"})
        assert (part.status_code, part.text) == (206, "end\n")
        assert part.headers["content-range"] == f"bytes {size - 4}-{size - 1}/{size}"
        tail = await client.get(f"{log}?offset={size - 4}&limit=100")
        assert (tail.text, tail.headers["x-shoal-log-size"]) == ("end\n", str(size))
        found = (await client.get(f"{log}:search?errors=true")).json()
        assert [each["text"] for each in found["found"]] == ["an error occurred"]
        followed = await client.get(f"{log}?follow=1&offset={size - 4}", headers={"Accept": "text/plain"})
        assert followed.text == "end\n"
        source = (await client.get(f"{BASE}/task-instances/1/log-source")).json()
        assert source["stored_at"].endswith("Z")
        other = await client.get(log, headers={"Authorization": f"Bearer {await token_of(api.backend, 'eve')}"})
        assert other.status_code in (403, 404), "rights are as before"


async def test_a_store_that_hangs_and_dies_delays_nothing_and_gets_all_logs(
    cluster: Cluster, server: S3Server, bucket: str
) -> None:
    define(cluster, "echo said $SHOAL_TASK_INSTANCE")
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: stored(cluster) == 1)
    server.pause()
    cluster.start(1, 20)
    await cluster.all_ends()
    await eventually(
        lambda: "does not answer" in cluster.one(WAITS) or "has not answered" in cluster.one(WAITS), within_s=20
    )
    cluster.start(1, 20)
    await cluster.all_ends()
    assert len(worker.events("joined")) == 1, "it was never late with anything"
    server.resume()
    await eventually(lambda: stored(cluster) == 41, within_s=60)
    server.kill()
    cluster.start(1, 20)
    await cluster.all_ends()
    server.start()
    await eventually(lambda: stored(cluster) == 61, within_s=60)
    await eventually(lambda: cluster.one(WAITS) == "", within_s=20)
    worker.kill()
    shutil.rmtree(cluster.folder / "worker-1")
    for id_ in (1, 21, 41, 61):
        assert cluster.shoal("log", str(id_)) == f"said {id_}\n"
    assert len(server.objects(bucket)) == 62, "and the mark"
    server.pause()
    answer = run_verb(["log", "1"], {**os.environ, **cluster.environment}, cwd=cluster.folder)
    assert (answer.code != 0, answer.out) == (True, "")
    assert "its copy cannot be read: the log store s3://" in answer.err


async def test_no_secret_is_shown_anywhere(cluster: Cluster, server: S3Server, bucket: str) -> None:
    cluster.environment |= {"SHOAL_LOG_STORE__URL": "s3://there-is-no-such-bucket/logs"}
    define(cluster, "echo said; env; cat /proc/$PPID/environ")
    await cluster.master()
    worker = await cluster.worker()
    cluster.start(1)
    await cluster.all_ends()
    await eventually(lambda: "no such bucket (NoSuchBucket)" in cluster.one(WAITS), within_s=15)
    shown = [cluster.shoal("log", "1/a") if cluster.one("SELECT state FROM task_instance") == "SUCCESS" else ""]
    for words in (["config", "show"], ["config", "show", "--json"], ["doctor"], ["log", "1/a"]):
        answer = run_verb(words, {**os.environ, **cluster.environment}, cwd=cluster.folder)
        shown += [answer.out, answer.err]
    shown += [worker.log.read_text(), json.dumps(cluster.rows("SELECT * FROM log_copying"), default=str)]
    assert "no such bucket" in "".join(shown)
    assert not [text for text in shown if KEY in text or SECRET in text]
