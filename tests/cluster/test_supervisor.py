"""What real processes report to a supervisor by sd_notify."""

from __future__ import annotations

import secrets
import signal

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.test_hung_loops import hanging
from tests.eventually import eventually
from tests.metrics.scraping import started_sender
from tests.servers.notify_socket import notify_socket


@pytest.mark.parametrize("role", ["master", "worker"])
async def test_a_node_says_that_it_is_ready_lives_and_stops(cluster: Cluster, role: str) -> None:
    with notify_socket(cluster.folder / "notify") as supervisor:
        node = await (cluster.master if role == "master" else cluster.worker)(
            NOTIFY_SOCKET=supervisor.address, WATCHDOG_USEC="600000"
        )
        await eventually(lambda: {"READY=1", "STATUS=ready"} <= set(supervisor.heard()), within_s=10)
        assert supervisor.heard().count("READY=1") == 1
        supervisor.forget()
        await eventually(lambda: supervisor.heard().count("WATCHDOG=1") >= 3)
        assert "STOPPING=1" not in supervisor.heard()
        node.signal(signal.SIGTERM)
        assert await node.ended() == 0
        assert supervisor.heard().count("STOPPING=1") == 1


async def test_the_status_names_what_is_missing(cluster: Cluster) -> None:
    with notify_socket(f"@shoal-test-{secrets.token_hex(8)}") as supervisor:
        await cluster.master(NOTIFY_SOCKET=supervisor.address, SHOAL_NAME="m1")
        await eventually(lambda: "STATUS=ready" in supervisor.heard(), within_s=10)
        assert "STATUS=not ready: it has not begun its work" in supervisor.heard()
        assert "WATCHDOG=1" not in supervisor.heard()  # nobody asked for it
        cluster.shoal("master", "drain", "m1")
        await eventually(lambda: any("it is drained" in line for line in supervisor.heard()), within_s=10)


async def test_no_watchdog_hears_of_a_loop_that_hangs(cluster: Cluster) -> None:
    with notify_socket(cluster.folder / "notify") as supervisor:
        sender = await started_sender(
            cluster, NOTIFY_SOCKET=supervisor.address, WATCHDOG_USEC="300000", **hanging(cluster.folder)
        )
        await eventually(lambda: "READY=1" in supervisor.heard(), within_s=10)
        sender.signal(signal.SIGUSR1)

        def is_silent() -> bool:
            silent = not supervisor.heard()
            supervisor.forget()
            return silent

        await eventually(is_silent, every_s=1)
        assert sender.is_alive


async def test_the_socket_of_another_process_and_a_lost_one_change_nothing(cluster: Cluster) -> None:
    """WATCHDOG_PID names who is watched; what a task inherits is none of its business."""
    with notify_socket(cluster.folder / "notify") as supervisor:
        worker = await cluster.worker(NOTIFY_SOCKET=supervisor.address, WATCHDOG_USEC="300000", WATCHDOG_PID="1")
        await cluster.master(NOTIFY_SOCKET=str(cluster.folder / "nobody"))
        await eventually(lambda: "READY=1" in supervisor.heard(), within_s=10)
        assert "WATCHDOG=1" not in supervisor.heard()
    script = "env | grep -c -e NOTIFY -e WATCHDOG"
    cluster.define(1, "w", tasks=[{"name": "a", "type": "SHELL", "params": {"script": script}}])
    cluster.start(1)
    await cluster.all_ends()
    assert cluster.one("SELECT reason FROM task_instance") == "exit code 1: 0"
    assert worker.is_alive
