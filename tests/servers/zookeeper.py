"""One ZooKeeper server of our own, small and quick: a single node, sessions from one second up."""

from __future__ import annotations

import shutil
import signal
import socket

from tests.servers.child import Child, PrivateFolder, free_port

CLASSPATH = "/etc/zookeeper/conf:/usr/share/java/zookeeper.jar:/usr/share/java/*"
JVM = (
    *("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"),
    "-Dzookeeper.preAllocSize=64",  # a transaction log is laid out with 64 kB at a time, not 64 MB
    "-Dzookeeper.forceSync=no",  # processes are killed here, never the machine: no answer waits for the disk
)


class ZooKeeperServer:
    """Starts on construction; sessions may last from 1 to 60 s. Use it as a context or `close` it."""

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = PrivateFolder("shoal-zk-")
        (self._folder.path / "zoo.cfg").write_text(
            "tickTime=500\n"
            "maxSessionTimeout=60000\n"
            f"dataDir={self._folder.path / 'data'}\n"
            f"clientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\n"
            "admin.enableServer=false\n"
            "4lw.commands.whitelist=srvr\n"
        )
        self._child: Child | None = None
        try:
            self.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    @property
    def hosts(self) -> str:
        """`host:port`, as kazoo wants it."""
        return f"127.0.0.1:{self.port}"

    def url(self, root: str = "/shoal", credentials: str = "") -> str:
        """A registry URL; `credentials` is `user:password` or empty."""
        return f"zookeeper://{credentials + '@' if credentials else ''}{self.hosts}{root}"

    def start(self) -> None:
        """Start the process, unless it runs, and return at once; the data of an earlier life is still there."""
        if self._child is not None and self._child.running:
            return
        self._child = Child.of(
            ["java", *JVM, "-cp", CLASSPATH, "org.apache.zookeeper.server.ZooKeeperServerMain", "zoo.cfg"],
            cwd=self._folder.path,
            log=self._folder.path / "log",
        )

    def wait_ready(self, timeout_s: float = 120) -> None:
        """Wait until the server serves. Raises `ServerFailed`."""
        assert self._child is not None
        self._child.wait_until(self.serves, timeout_s)

    def stop(self) -> None:
        """End the process gently; sessions stay on its disk. Nothing to do if it is not running."""
        if self._child is not None:
            self._child.end(signal.SIGTERM, timeout_s=10)
            self._child = None

    def wipe(self) -> None:
        """Delete what a server that does not run left on its disk: the next one knows nothing, not even a zxid."""
        assert self._child is None
        shutil.rmtree(self._folder.path / "data")

    def kill(self) -> None:
        """End the process by SIGKILL."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def restart(self) -> None:
        """Stop, start and wait until it serves again, on the same port."""
        self.stop()
        self.start()
        self.wait_ready()

    def pause(self) -> None:
        """Stop answering without closing connections, as a server cut off by the network does."""
        assert self._child is not None
        self._child.pause()

    def resume(self) -> None:
        """Go on after `pause`; nothing to do if it runs."""
        if self._child is not None:
            self._child.resume()

    def close(self) -> None:
        """Leave nothing behind: neither process nor folder."""
        self.kill()
        self._folder.close()

    def __enter__(self) -> ZooKeeperServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def serves(self) -> bool:
        """Whether it answers now."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(b"srvr")
                return connection.recv(64).startswith(b"Zookeeper version")
        except OSError:
            return False
