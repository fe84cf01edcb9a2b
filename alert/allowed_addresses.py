"""Limits where a courier may connect, checked at each connection, and what it may do at all.

A Python audit hook enforces it below every library: it checks the very address to which a socket is about to connect,
so a name that changes its address a moment later leads nowhere else. A hook cannot be removed, so it belongs into a
process that does nothing else.
"""

from __future__ import annotations

import socket
import sys
from collections import defaultdict
from collections.abc import Collection
from ipaddress import IPv4Network, IPv6Network, ip_address
from typing import Any

from service.cluster.reach import is_metadata, may_reach, meant_address, network_of

ANYWHERE = "*"

_FORBIDDEN = frozenset(
    {"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "pty.spawn"}
)
"""No channel needs to start a program."""


class Forbidden(OSError):
    """A connection or a program that is not allowed. Libraries treat it as a failed connection."""


class Places:
    """The addresses to which this process may connect."""

    def __init__(self) -> None:
        self._names: frozenset[str] = frozenset()
        self._networks: list[IPv4Network | IPv6Network] = []
        self._names_of: defaultdict[str, set[str]] = defaultdict(set)
        self.refused = ""
        """Why the last connection was refused; empty if none was."""

    def guard(self) -> None:
        """Check every connection of this process from now on. Irreversible."""
        resolve = socket.getaddrinfo

        def remember(host: Any, *given: Any, **named: Any) -> Any:
            found = resolve(host, *given, **named)
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
            for *_, address in found:
                self._names_of[str(address[0])].add(name.lower())
            return found

        socket.getaddrinfo = remember
        sys.addaudithook(self._check)

    def allow(self, reach: Collection[str]) -> None:
        """Allow these hosts and networks besides public addresses; `*` = all but cloud metadata addresses."""
        self.refused = ""
        self._names_of.clear()
        self._names = frozenset(each.lower() for each in reach)
        self._networks = [network for each in reach if (network := network_of(each)) is not None]

    def _check(self, event: str, given: tuple[Any, ...]) -> None:
        if event in _FORBIDDEN:
            self.refused = "it would start a program, which no channel may"
            raise Forbidden(self.refused)
        if event == "socket.connect":
            address = given[1]
            if not isinstance(address, tuple) or not self._may_connect(str(address[0])):
                self.refused = (
                    "it is not at a public address, and the sender connects to inside ones only if alert.reach "
                    "(SHOAL_ALERT__REACH) allows them"
                )
                raise Forbidden(self.refused)

    def _may_connect(self, host: str) -> bool:
        try:
            address = ip_address(host.partition("%")[0])
        except ValueError:
            return False  # an unresolved name: nobody knows where it would lead
        if may_reach(address, self._networks) or self._names & self._names_of[host]:
            return True
        meant = meant_address(address)
        return ANYWHERE in self._names and not is_metadata(address) and not meant.is_multicast
