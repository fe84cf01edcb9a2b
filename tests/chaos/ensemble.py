"""Three ZooKeeper servers of our own with a real quorum, each in a folder of its own, on loopback."""

from __future__ import annotations

import signal
import socket
import time

from tests.servers.child import Child, PrivateFolder, ServerFailed, free_port
from tests.servers.zookeeper import CLASSPATH, JVM

SERVERS = 3
READY_WITHIN_S = 40.0


class Member:
    """One server of the ensemble."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.port, self.quorum_port, self.election_port = free_port(), free_port(), free_port()
        self._folder = PrivateFolder(f"shoal-zk{number}-")
        self._child: Child | None = None

    @property
    def line(self) -> str:
        """Its line in the configuration of all servers."""
        return f"server.{self.number}=127.0.0.1:{self.quorum_port}:{self.election_port}\n"

    def configure(self, servers: str) -> None:
        """Write its configuration; `servers` are the lines of all."""
        data = self._folder.path / "data"
        data.mkdir()
        (data / "myid").write_text(str(self.number))
        (self._folder.path / "zoo.cfg").write_text(
            "tickTime=500\ninitLimit=10\nsyncLimit=4\nmaxSessionTimeout=60000\n"
            f"dataDir={data}\nclientPort={self.port}\nclientPortAddress=127.0.0.1\n"
            "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\nstandaloneEnabled=false\n"
            f"{servers}"
        )

    def start(self) -> None:
        """Start the process and return at once."""
        if self._child is None:
            self._child = Child.of(
                ["java", *JVM, "-cp", CLASSPATH, "org.apache.zookeeper.server.quorum.QuorumPeerMain", "zoo.cfg"],
                cwd=self._folder.path,
                log=self._folder.path / "log",
            )

    def stop(self) -> None:
        """End it gently."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it by SIGKILL."""
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> None:
        if self._child is not None:
            self._child.end(number, timeout_s=10)
            self._child = None

    def mode(self) -> str | None:
        """`leader` or `follower`; None when it does not serve."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"srvr")
                answer = b""
                while data := connection.recv(4096):
                    answer += data
        except OSError:
            return None
        for line in answer.decode().splitlines():
            if line.startswith("Mode: "):
                return line.removeprefix("Mode: ")
        return None

    def log_tail(self) -> str:
        """The last lines of its log."""
        return self._child.log_tail() if self._child is not None else "it does not run"

    def close(self) -> None:
        """Leave nothing behind."""
        self.kill()
        self._folder.close()


class Ensemble:
    """Starts on construction. Use it as a context or `close` it."""

    def __init__(self) -> None:
        self.members = [Member(number) for number in range(1, SERVERS + 1)]
        servers = "".join(member.line for member in self.members)
        try:
            for member in self.members:
                member.configure(servers)
            self.start()
            self.wait_ready()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Start those that do not run, and return at once."""
        for member in self.members:
            member.start()

    def stop(self) -> None:
        """End all of them, gently; sessions stay on their disks."""
        for member in self.members:
            member.stop()

    def leader(self) -> Member | None:
        """The leader; None while there is no quorum."""
        return next((member for member in self.members if member.mode() == "leader"), None)

    def wait_ready(self, timeout_s: float = READY_WITHIN_S) -> None:
        """Wait until all serve. Raises `ServerFailed`."""
        deadline_s = time.monotonic() + timeout_s
        while sorted(str(member.mode()) for member in self.members) != ["follower", "follower", "leader"]:
            if time.monotonic() > deadline_s:
                tails = "\n".join(f"server {member.number}:\n{member.log_tail()}" for member in self.members)
                raise ServerFailed(f"the ZooKeeper ensemble was not ready within {timeout_s} s:\n{tails}")
            time.sleep(0.1)

    def close(self) -> None:
        """Leave nothing behind."""
        for member in self.members:
            member.close()

    def __enter__(self) -> Ensemble:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
