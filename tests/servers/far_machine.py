"""A machine behind one cable: a network namespace with a link to ours, which can be cut and mended.

Its address is of 198.18.0.0/15, which is for tests of networks. It needs root, and is gone with its processes.
"""

from __future__ import annotations

import random
import subprocess
from ipaddress import IPv4Network
from pathlib import Path

from tests.servers.child import Child, ServerFailed

_NETWORKS = list(IPv4Network("198.18.0.0/15").subnets(new_prefix=30))


class FarMachine:
    """Made on construction. Use it as a context or `close` it. Raises `ServerFailed` where none may be made."""

    def __init__(self) -> None:
        self._child = Child.of(["unshare", "--net", "sleep", "infinity"], cwd=Path("/"), log=Path("/dev/null"))
        network = random.choice(_NETWORKS)
        self.here, self.there = map(str, network.hosts())
        """Our end of the cable and its own."""
        try:
            self._child.wait_until(self._is_apart, 10)
            # Named after the network, so that one that somebody has is found here.
            link = f"shoal{int(network.network_address) & 0x1FFFF:x}"
            _run("ip", "link", "add", link, "type", "veth", "peer", "name", "cable", "netns", str(self._child.pid))
            _run("ip", "address", "add", f"{self.here}/30", "dev", link)
            _run("ip", "link", "set", link, "up")
            for words in (f"address add {self.there}/30 dev cable", "link set lo up", "link set cable up"):
                _run(*self.within, "ip", *words.split())
        except BaseException:
            self.close()
            raise

    @property
    def within(self) -> list[str]:
        """The beginning of a command that runs there."""
        return ["nsenter", f"--net=/proc/{self._child.pid}/ns/net", "--"]

    def cut(self) -> None:
        """Cut the cable; nobody is told."""
        _run(*self.within, "ip", "link", "set", "cable", "down")

    def mend(self) -> None:
        """Restore it."""
        _run(*self.within, "ip", "link", "set", "cable", "up")

    def _is_apart(self) -> bool:
        return Path(f"/proc/{self._child.pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()

    def close(self) -> None:
        """Leave nothing behind; its processes have ended."""
        self._child.kill()


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ServerFailed(f"{' '.join(command)}: {done.stderr.strip()}; a network namespace needs root and iproute2")
