"""One S3-compatible server of our own: moto, as a process that can be killed, hung and started again.

Its packages are in a folder beside those of Shoal (`tests/servers/s3.in`). It has all in memory, so what it had is put
back when it starts again: as a server with a disk does.
"""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

import obstore
from obstore.store import S3Store

from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port

PACKAGES = Path(__file__).parents[2] / ".venv" / "s3"
KEY, SECRET = "the-key-of-the-tests", "the-secret-of-the-tests"


class S3Server:
    """Starts on construction. Use it as a context or `close` it."""

    def __init__(self) -> None:
        if not (PACKAGES / "moto").is_dir():
            raise ServerFailed(f"there is no moto in {PACKAGES}; make setup-dev installs it")
        self.port = free_port()
        self._folder = PrivateFolder("shoal-s3-")
        self._child: Child | None = None
        self._buckets: set[str] = set()
        self._kept: dict[str, dict[str, bytes]] = {}
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def bucket(self, name: str) -> str:
        """Make an empty bucket; returns its name."""
        if name in self._buckets:
            store = self.store(name)
            obstore.delete(store, list(self.objects(name)))
            return name
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            head = f"PUT /{name} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            connection.sendall(head.encode())
            answer = connection.recv(1000)
        assert b" 200 " in answer, answer
        self._buckets.add(name)
        return name

    def environment(self, bucket: str, prefix: str = "shoal/logs") -> dict[str, str]:
        """The settings of a log store in a bucket."""
        return {
            "SHOAL_LOG_STORE__URL": f"s3://{bucket}/{prefix}",
            "SHOAL_LOG_STORE__ENDPOINT": self.endpoint,
            "SHOAL_LOG_STORE__ACCESS_KEY_ID": KEY,
            "SHOAL_LOG_STORE__SECRET_ACCESS_KEY": SECRET,
        }

    def store(self, bucket: str) -> S3Store:
        """A client of a bucket."""
        return S3Store(
            bucket,
            endpoint=self.endpoint,
            region="us-east-1",
            access_key_id=KEY,
            secret_access_key=SECRET,
            client_options={"allow_http": True},
        )

    def objects(self, bucket: str) -> Mapping[str, bytes]:
        """All that is in a bucket."""
        store = self.store(bucket)
        paths = [each["path"] for part in obstore.list(store) for each in part]
        return {path: bytes(obstore.get(store, path).bytes()) for path in paths}

    def start(self) -> None:
        """Start it, with what it had when it was killed, and wait until it serves."""
        self._child = Child.of(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)],
            cwd=self._folder.path,
            log=self._folder.path / "log",
            environment={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(PACKAGES), "HOME": str(self._folder.path)},
        )
        self._child.wait_until(self.serves, 60)
        buckets, self._buckets = self._buckets, set()
        for bucket in buckets:
            store = self.store(self.bucket(bucket))
            for path, data in self._kept.get(bucket, {}).items():
                obstore.put(store, path, data)

    def kill(self) -> None:
        """End it by SIGKILL. What is put into it at this moment is lost, as with a disk that is not synced."""
        if self._child is not None:
            self._kept = {bucket: dict(self.objects(bucket)) for bucket in self._buckets}
            self._child.end(signal.SIGKILL, 10)
            self._child = None

    def pause(self) -> None:
        """Stop answering without closing connections."""
        assert self._child is not None
        self._child.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        if self._child is not None:
            self._child.resume()

    def serves(self) -> bool:
        """Whether it answers now."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return True
        except OSError:
            return False

    def close(self) -> None:
        """Leave nothing behind."""
        if self._child is not None:
            self._child.resume()
            self._child.kill()
            self._child = None
        self._folder.close()

    def __enter__(self) -> S3Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
