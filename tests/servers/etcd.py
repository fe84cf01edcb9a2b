"""One etcd of our own, with a folder that others have made."""

from __future__ import annotations

import pwd
from pathlib import Path

import httpx

from tests.servers.child import Child, free_port, program


def started_etcd(folder: Path, host: str = "127.0.0.1", user: pwd.struct_passwd | None = None) -> tuple[Child, str]:
    """It, and where its clients find it. Raises `ServerFailed`."""
    clients, peers = (f"{host}:{free_port()}" for _ in range(2))
    child = Child.of(
        [
            *(program("etcd"), "--name", "e1", "--data-dir", str(folder / "etcd"), "--log-level", "warn"),
            *("--listen-client-urls", f"http://{clients}", "--advertise-client-urls", f"http://{clients}"),
            *("--listen-peer-urls", f"http://{peers}", "--initial-advertise-peer-urls", f"http://{peers}"),
            *("--initial-cluster", f"e1=http://{peers}"),
        ],
        cwd=folder,
        log=folder / "etcd.log",
        user=user,
    )
    try:
        child.wait_until(lambda: _is_healthy(clients), 30)
    except BaseException:
        child.kill()
        raise
    return child, clients


def _is_healthy(clients: str) -> bool:
    try:
        return httpx.get(f"http://{clients}/health", timeout=2, trust_env=False).is_success
    except httpx.HTTPError:
        return False
