"""Logs over the API: slices, ranges, and what is added, from the worker that has them."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

import api.byte_streams
import api.sending
from api.event_text import event, whole_characters
from api.ranges import NotThatLong, read_range
from service.byte_stream import StreamQuery
from service.callers import Caller
from service.logs.log_source import read_log
from shoal.clients.direct import DirectClient
from shoal.clients.remote import RemoteClient
from tests.api.serving import BASE, Serving, serving, token_of
from tests.cluster.cluster import PATIENT, Cluster
from tests.eventually import eventually
from tests.every import every
from tests.service.test_slices import Rolling
from tests.shoal.command_line import CommandLine

QUICK = {"SHOAL_WORKER__LOG_BYTES_MAX": str(1 << 30)}


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(database_url, database_url, tmp_path, PATIENT) as made:
        yield made


@pytest.fixture
async def api_(database_url: str) -> AsyncIterator[Serving]:
    async with serving(database_url) as running:
        yield running


async def run_of(cluster: Cluster, script: str, *, ended: bool = True) -> int:
    """Start masters, a worker and a task; its id, once it has ended (or runs)."""
    cluster.define(7, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    await cluster.master()
    await cluster.worker(**QUICK)
    cluster.start(7)
    state = "SUCCESS" if ended else "RUNNING_EXECUTION"
    find = "SELECT coalesce(min(id), 0) FROM task_instance WHERE state = %s"
    return int(await eventually(lambda: cluster.one(find, state), within_s=20))


async def rolling(cluster: Cluster, script: str) -> int:
    """The same for a stream that runs, of whose log a MiB is kept."""
    task = {"name": "a", "type": "SHELL", "params": {"script": script}, "stream": True, "restart": "on_failure"}
    cluster.define(7, "w", tasks=[task])
    await cluster.master()
    await cluster.worker(SHOAL_WORKER__LOG_BYTES_MAX=str(1 << 20))
    cluster.start(7)
    find = "SELECT coalesce(min(id), 0) FROM task_instance WHERE state = 'RUNNING_EXECUTION'"
    return int(await eventually(lambda: cluster.one(find), within_s=20))


async def events_of(client: httpx.AsyncClient, path: str, **headers: str) -> list[dict[str, str]]:
    """All events of a stream, as a browser reads them."""
    found: list[dict[str, str]] = []
    async with client.stream("GET", path, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream"), answer.headers
        now: dict[str, Any] = {"data": []}
        async for line in answer.aiter_lines():
            if not line:
                if now["data"]:
                    found.append({**now, "data": "\n".join(now["data"])})
                now = {"data": []}
            elif line.startswith("data: "):
                now["data"].append(line[6:])
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                now[name] = value
    return found


async def test_a_log_is_read_in_slices_in_ranges_and_whole(api_: Serving, cluster: Cluster) -> None:
    task = await run_of(cluster, "printf 0123456789")
    path = f"{BASE}/task-instances/{task}/log"
    async with api_.client(await token_of(api_.backend, "ada", is_admin=True)) as client:

        async def read(query: str = "", **headers: str) -> tuple[int, str, str | None]:
            answer = await client.get(path + query, headers=headers)
            return answer.status_code, answer.text, answer.headers.get("content-range")

        whole = await client.get(path)
        assert whole.text == "0123456789"
        wanted = {
            "content-length": "10",
            "content-type": "text/plain; charset=utf-8",
            "x-content-type-options": "nosniff",
            "content-disposition": f'attachment; filename="task-{task}.log"',
            "x-shoal-log-size": "10",
            "x-shoal-log-complete": "true",
            "content-location": path,
        }
        assert {name: whole.headers.get(name) for name in wanted} == wanted
        assert await read("?offset=4&limit=3") == (200, "456", None)
        assert await read("?offset=8") == (200, "89", None)
        assert await read("?offset=99") == (200, "", None)
        assert await read("?limit=0") == (200, "", None)
        assert await read(range="bytes=2-4") == (206, "234", "bytes 2-4/10")
        assert await read(range="bytes=-3") == (206, "789", "bytes 7-9/10")
        assert await read(range="bytes=7-") == (206, "789", "bytes 7-9/10")
        assert await read(range="bytes=0-1,5-6") == (200, "0123456789", None)
        status, said, at = await read(range="bytes=10-")
        assert (status, at) == (416, "bytes */10")
        assert "there are 10 bytes" in said
        for query in ("?offset=-1", "?limit=x", "?nonsense=1", f"?offset={2**63}"):
            assert (await read(query))[0] == 422
        assert (await read("?follow=1", **{"Last-Event-ID": "x"}))[0] == 422
        assert (await client.get(f"{BASE}/task-instances/999/log")).status_code == 404


async def test_a_log_is_followed_until_its_task_ends_and_from_where_a_reader_stood(
    api_: Serving, cluster: Cluster, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    script = (
        f"printf 'a\\303'; sleep 0.2; printf '\\244\\n\\n'; until [ -e {go} ]; do sleep 0.05; done; printf 'b\\377'"
    )
    task = await run_of(cluster, script, ended=False)
    path = f"{BASE}/task-instances/{task}/log?follow=1"
    token = await token_of(api_.backend, "ada", is_admin=True)
    async with api_.client(token) as client, api_.client(token, Accept="text/plain") as plain:
        following = [
            asyncio.create_task(events_of(client, path)),
            asyncio.create_task(events_of(client, path, **{"Last-Event-ID": "1"})),
        ]
        raw = asyncio.create_task(plain.get(path))
        size = await eventually(lambda: client.get(f"{BASE}/task-instances/{task}/log"))
        assert size.headers["x-shoal-log-complete"] == "false"
        assert "content-length" not in size.headers
        go.touch()
        whole, rest = await asyncio.gather(*following)
        assert "".join(each["data"] for each in whole[:-1]) == "aä\n\nb\ufffd"
        assert "".join(each["data"] for each in rest[:-1]) == "ä\n\nb\ufffd"
        assert (whole[-1]["event"], whole[-1]["id"], whole[-2]["id"]) == ("end", "7", "7")
        assert (await raw).content == b"a\xc3\xa4\n\nb\xff"
        assert await events_of(client, path, **{"Last-Event-ID": "7"}) == [{"event": "end", "id": "7", "data": "ended"}]


async def test_of_the_log_of_a_stream_the_oldest_part_is_discarded_and_readers_go_on_with_the_rest(
    api_: Serving, cluster: Cluster, tmp_path: Path
) -> None:
    """Goal: what is new can always be read, where it would be in the whole log. Judge: the numbers in the lines."""
    go = tmp_path / "go"
    script = (
        f"seq -f 'line %014.0f' 1 200000; until [ -e {go} ]; do sleep 0.05; done; echo 'line 00000000200001'; exit 0"
    )
    id_ = await rolling(cluster, script)
    path, size = f"{BASE}/task-instances/{id_}/log", 20 * 200_000
    token = await token_of(api_.backend, "ada", is_admin=True)
    async with api_.client(token) as client, api_.client(token, Accept="text/plain") as plain:

        async def written() -> bool:
            return bool((await client.get(f"{path}?limit=0")).headers["x-shoal-log-size"] == str(size))

        await eventually(written, within_s=20)
        whole = await client.get(path)
        first = int(whole.headers["x-shoal-log-first"])
        assert size - (1 << 20) - (1 << 16) <= first < size
        numbers = [int(line.removeprefix("line ")) for line in whole.text.splitlines()]
        assert numbers == list(range(first // 20 + 1, 200_001))

        async def read(query: str = "", **headers: str) -> tuple[int, str, str | None]:
            answer = await client.get(path + query, headers=headers)
            return answer.status_code, answer.text, answer.headers.get("content-range")

        line = f"line {first // 20 + 1:014}\n"
        assert await read("?offset=0&limit=1000") == (200, "", None)
        assert await read(f"?offset={first - 50}&limit=70") == (200, line, None)
        assert await read(f"?offset={first}&limit=20") == (200, line, None)
        assert await read(range=f"bytes={first - 50}-{first + 19}") == (206, line, f"bytes {first}-{first + 19}/*")
        assert (await read(range="bytes=0-9"))[0] == 416
        assert await read(range="bytes=-20") == (206, "line 00000000200000\n", f"bytes {size - 20}-{size - 1}/*")
        found = (await client.get(f"{path}:search?text=00000000199999")).json()
        assert [each["offset"] for each in found["found"]] == [size - 40]
        assert (found["searched_to"], found["is_done"]) == (size, True)
        following = asyncio.create_task(events_of(client, f"{path}?follow=1"))
        raw = asyncio.create_task(plain.get(f"{path}?follow=1"))
        direct = asyncio.create_task(CommandLine.at(**cluster.environment)("log", str(id_)))
        async with RemoteClient(api_.url, token) as remote:
            parts = [part async for part in remote.stream(read_log, id_, StreamQuery())]
        assert b"".join(parts).decode() == whole.text
        assert (await direct).out == whole.text
        go.touch()
        events = await following
        rest = whole.text + "line 00000000200001\n"
        assert int(events[0]["id"]) - len(events[0]["data"].encode()) == first
        assert "".join(each["data"] for each in events[:-1]) == rest
        assert (await raw).text == rest
        whole = await client.get(path)
        assert (whole.text, whole.headers["content-length"]) == (rest, str(len(rest)))


async def test_a_follower_that_is_too_slow_is_told_how_much_it_missed_and_is_shown_nothing_twice(
    api_: Serving, cluster: Cluster, tmp_path: Path
) -> None:
    more, go = tmp_path / "more", tmp_path / "go"
    wait = "until [ -e {} ]; do sleep 0.05; done"
    line = "seq -f 'line %014.0f'"
    script = f"{line} 1 1000; {wait.format(more)}; {line} 1001 1500000; {wait.format(go)}; {line} 1500001 1500001"
    id_ = await rolling(cluster, script)
    token = await token_of(api_.backend, "ada", is_admin=True)
    direct = DirectClient(api_.backend, Caller.of_system_user("ada"))
    async with RemoteClient(api_.url, token) as remote, api_.client(token) as client:
        followers = [each.stream(read_log, id_, StreamQuery(follow=True)) for each in (direct, remote)]
        begun = [await anext(each) for each in followers]
        more.touch()
        written = 20 * 1_500_000

        async def all_written() -> bool:
            answer = await client.get(f"{BASE}/task-instances/{id_}/log?limit=0")
            return int(answer.headers["x-shoal-log-size"]) >= written

        await eventually(all_written, within_s=60)
        go.touch()
        for first, follower in zip(begun, followers, strict=True):
            shown = (first + b"".join([part async for part in follower])).decode().splitlines()
            gaps = [int(text[1:].split()[0]) for text in shown if text.endswith("discarded before they were read]")]
            numbers = [int(text[5:]) for text in shown if text.startswith("line ") and len(text) == 19]
            assert gaps
            assert numbers == sorted(set(numbers))
            assert (numbers[0], numbers[-1]) == (1, 1_500_001)
            shown_bytes = sum(len(text) + 1 for text in shown if not text.startswith("["))
            assert written + 20 <= sum(gaps) + shown_bytes <= written + 20 + len(gaps), (
                "a line that was cut gets an end"
            )


async def test_events_name_what_was_missed() -> None:
    told = b"".join(
        [part async for part in api.byte_streams._events(Rolling(0, 60), StreamQuery(follow=True))]
    ).decode()
    kinds = re.findall(r"event: (\w+)\nid: (\d+)\ndata: (.*)\n", told)
    assert kinds == [("missed", "60", "20"), ("end", "100", "ended")]


def until_closed(reader: socket.socket) -> int:
    """How many bytes still come."""
    count = 0
    while part := reader.recv(1 << 16):
        count += len(part)
    return count


async def test_a_right_that_is_taken_away_ends_a_stream(
    api_: Serving, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.sending, "CHECK_EVERY_S", 0.1)
    monkeypatch.setattr(api.byte_streams, "PING_EVERY_S", 0.1)
    task = await run_of(cluster, "echo begun; sleep 60", ended=False)
    path = f"{BASE}/task-instances/{task}/log?follow=1"
    token = await token_of(api_.backend, "ada")
    async with api_.client(token) as client:
        refused = await client.get(path)
        assert (refused.status_code, refused.json()["code"]) == (404, "SH-1003")
        cluster.rows(
            "INSERT INTO project_member (project, account_id, role) SELECT 'default', id, 'VIEWER' FROM account"
        )
        async with client.stream("GET", path) as answer:
            lines = answer.aiter_lines()
            assert await anext(lines) == "id: 6"
            while await anext(lines) != ": ping":
                pass
            cluster.rows("DELETE FROM project_member")
            with pytest.raises(httpx.RemoteProtocolError):
                async with asyncio.timeout(30):
                    async for _line in lines:
                        pass
        assert (await client.get(path)).status_code == 404


async def test_a_reader_that_reads_nothing_is_dropped(
    api_: Serving, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(api.sending, "STALLED_S_MAX", 0.5)
    task = await run_of(cluster, "head -c 33554432 /dev/zero")
    token = await token_of(api_.backend, "ada", is_admin=True)
    url = httpx.URL(api_.url)
    with socket.create_connection((url.host, url.port or 80)) as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        request = (
            f"GET {BASE}/task-instances/{task}/log HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n"
        )
        reader.sendall(request.encode())
        await eventually(lambda: "its reader took nothing for 0.5 s" in capsys.readouterr().out, within_s=10)
        assert await asyncio.to_thread(until_closed, reader) < 1 << 25


async def test_a_log_whose_worker_is_gone_says_so(api_: Serving, cluster: Cluster) -> None:
    task = await run_of(cluster, "echo hello")
    cluster.nodes[1].signal(signal.SIGTERM)
    await cluster.nodes[1].ended()
    async with api_.client(await token_of(api_.backend, "ada", is_admin=True)) as client:
        for query in ("", "?follow=1"):
            gone = await client.get(f"{BASE}/task-instances/{task}/log{query}")
            assert (gone.status_code, gone.json()["code"]) == (503, "SH-1008")
            assert "which is gone since" in gone.json()["detail"]


@asynccontextmanager
async def cutting(url: str, after: int, times: int) -> AsyncIterator[str]:
    """A way to an API on which the first connections are cut after so many bytes of its answers."""
    target, cut = httpx.URL(url), 0

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal cut
        its_reader, its_writer = await asyncio.open_connection(target.host, target.port)
        left = after if cut < times else 1 << 40

        async def requests() -> None:
            while data := await reader.read(1 << 16):
                its_writer.write(data)

        asking = asyncio.create_task(requests())
        while left > 0 and (data := await its_reader.read(min(left, 1 << 16))):
            writer.write(data)
            await writer.drain()
            left -= len(data)
        cut += left <= 0
        asking.cancel()
        its_writer.close()
        writer.close()

    server = await asyncio.start_server(forward, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_a_reader_whose_connection_breaks_goes_on_where_it_stood(api_: Serving, cluster: Cluster) -> None:
    task = await run_of(cluster, "seq 1 50000")
    wanted = "".join(f"{number}\n" for number in range(1, 50_001)).encode()
    token = await token_of(api_.backend, "ada", is_admin=True)
    for query in (StreamQuery(), StreamQuery(follow=True), StreamQuery(offset=10, limit=250_000)):
        async with cutting(api_.url, 100_000, 2) as url, RemoteClient(url, token) as client:
            found = b"".join([part async for part in client.stream(read_log, task, query)])
        first = query.offset or 0
        assert found == wanted[first : first + (query.limit or len(wanted))]


async def test_the_verb_prints_the_same_on_the_database_and_through_the_api(
    api_: Serving, cluster: Cluster, database_url: str
) -> None:
    task = await run_of(cluster, "printf 'one\\ntwo \\303\\244\\n'; head -c 3000000 /dev/zero | tr '\\0' x")
    token = await token_of(api_.backend, "ada", is_admin=True)
    direct = CommandLine.at(database_url)
    remote = CommandLine.at(None, SHOAL_SERVER=api_.url, SHOAL_TOKEN=token)
    for words in ((str(task),), ("w/a", "-f"), ("w/a", "--json"), ("w/b",), ("77",), ("w/a", "--project", "p")):
        one, other = await direct("log", *words), await remote("log", *words)
        assert (one.code, one.out, one.err) == (other.code, other.out, other.err)
    assert len((await remote("log", "w/a")).out.encode("utf-8", "surrogateescape")) > 3_000_000


async def test_while_a_task_waits_for_its_next_attempt_its_log_is_that_of_the_last(
    database_url: str, cluster: Cluster
) -> None:
    task = {"name": "a", "type": "SHELL", "params": {"script": "echo failed; exit 3"}}
    cluster.define(7, "w", tasks=[{**task, "retry_times": 1, "retry_interval": "1h"}])
    await cluster.master()
    await cluster.worker(**QUICK)
    cluster.start(7)
    find = "SELECT coalesce(min(id), 0) FROM task_instance WHERE state = 'DELAY_EXECUTION'"
    await eventually(lambda: cluster.one(find), within_s=20)
    log = await CommandLine.at(database_url)("log", "w/a")
    assert (log.code, log.out) == (0, "failed\n")
    said = 'attempt 2 of task "a" has not begun (DELAY_EXECUTION); this is the log of attempt 1 ('
    assert said in log.err


async def test_the_log_of_a_task_that_stands_for_another_run_is_that_of_its_task(
    api_: Serving, cluster: Cluster
) -> None:
    cluster.define(8, "above", tasks=[{"name": "below", "type": "SUB_PROCESS", "params": {"workflow": "w"}}])
    await run_of(cluster, "echo deep")
    cluster.start(8)
    find = "SELECT coalesce(min(id), 0) FROM task_instance WHERE task_name = 'below' AND state = 'SUCCESS'"
    above = await eventually(lambda: cluster.one(find), within_s=20)
    async with api_.client(await token_of(api_.backend, "ada", is_admin=True)) as client:
        found = await client.get(f"{BASE}/task-instances/{above}/log")
        assert found.text == "deep\n"
        where = (await client.get(f"{BASE}/task-instances/{above}/log-source")).json()
        assert found.headers["content-location"] == f"{BASE}/task-instances/{where['task_instance_id']}/log"
        assert "stands for run" in where["way"][0]


@every(
    ("header", "size", "wanted"),
    [
        (None, 10, None),
        ("bytes=0-0", 10, (0, 1)),
        ("bytes=0-99", 10, (0, 10)),
        ("Bytes=5-", 10, (5, 10)),
        ("bytes=-99", 10, (0, 10)),
        ("bytes=-0", 10, NotThatLong),
        ("bytes=10-12", 10, NotThatLong),
        ("bytes=0-", 0, NotThatLong),
        ("bytes=-1", 0, NotThatLong),
        ("bytes=5-4", 10, None),
        ("bytes=-", 10, None),
        ("bytes=1-2,4-5", 10, None),
        ("lines=1-2", 10, None),
        ("bytes=٣-٤", 10, None),
        (f"bytes={'9' * 40}-", 10, None),
    ],
)
def test_a_range_is_read_as_http_says(header: str | None, size: int, wanted: object) -> None:
    if wanted is NotThatLong:
        with pytest.raises(NotThatLong):
            read_range(header, size)
        return
    found = read_range(header, size)
    assert (None if found is None else (found.first, found.end)) == wanted


@pytest.mark.parametrize("whole", [b"a\xc3\xa4\r\n\xf0\x9f\x90\x9f\rb", b"\xff\xfe\xc3\r", b"\r\n\r\n", b"\xf0\x9f"])
def test_text_that_is_cut_anywhere_is_the_same_text(whole: bytes) -> None:
    wanted = whole.decode(errors="replace")
    for at in range(len(whole) + 1):
        first, used = whole_characters(whole[:at], is_end=False)
        rest, last = whole_characters(whole[used:], is_end=True)
        assert (first + rest, used + last) == (wanted, len(whole))


def test_an_event_carries_any_line_end_as_one_line() -> None:
    assert event("a\r\nb\rc\n", id=7, kind="k") == b"event: k\nid: 7\ndata: a\ndata: b\ndata: c\ndata: \n\n"
