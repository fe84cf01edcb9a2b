"""The drill of `shoal up`: what its socket takes, refuses and survives."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused, Unavailable
from shoal.local.drill import DrillClient, DrillServer, socket_in
from tests.shoal.fake_masters import FakeCluster


async def test_it_kills_the_named_master_and_never_the_last_one(tmp_path: Path) -> None:
    cluster: Any = FakeCluster()
    server, socket = DrillServer(cluster), tmp_path / "drill.sock"
    async with server.serve(socket):
        client = DrillClient(socket)
        assert socket.stat().st_mode & 0o077 == 0, "for our user alone"
        assert await client.masters() == ["m1", "m2"]
        with pytest.raises(Refused, match="no master m9"):
            await client.kill("m9")
        assert await client.kill("m2") == 12
        assert (cluster.masters[1].sent, server.killed) == ([signal.SIGKILL], {"m2"})
        with pytest.raises(Refused, match="last master"):
            await client.kill("m1")
    assert not socket.exists()
    with pytest.raises(Unavailable):
        await client.masters()


@pytest.mark.parametrize(
    "sent", [b"", b"nonsense\n", b"[]\n", b"7\n", b'{"kill": 7}\n', b'{"kill": ["m1"]}\n', b"x" * 5_000]
)
async def test_nonsense_kills_nobody_and_leaves_it_serving(tmp_path: Path, sent: bytes) -> None:
    cluster: Any = FakeCluster()
    socket = tmp_path / "drill.sock"
    async with DrillServer(cluster).serve(socket):
        _, writer = await asyncio.open_unix_connection(socket)
        writer.write(sent)
        writer.close()
        assert await DrillClient(socket).masters() == ["m1", "m2"]
    assert [each.sent for each in cluster.masters] == [[], []]


def test_an_address_that_is_too_long_means_no_drill(tmp_path: Path) -> None:
    assert socket_in(Path("/short")) == Path("/short/drill.sock")
    assert socket_in(tmp_path / ("x" * 120)) is None
