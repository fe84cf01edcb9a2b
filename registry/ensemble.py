"""Parses a ZooKeeper URL: `zookeeper://[user:password@]host[:port][,host[:port]...]/root`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote

from model.errors import Refused

SCHEME = "zookeeper"
_FORM = "write it as zookeeper://host1:2181,host2:2181/shoal, with user:password@ before the hosts if there is one"
_HOST = re.compile(r"(?:[\w.-]+|\[[0-9A-Fa-f:.%]+\])(?::(?P<port>\d{1,5}))?")
_ROOT = re.compile(r"(?:/[\w.@-]+)+")


@dataclass(frozen=True)
class Credentials:
    """Our user in ZooKeeper. Only this user may read or write what we create."""

    user: str
    password: str = field(repr=False)


@dataclass(frozen=True)
class Ensemble:
    """The servers of one ZooKeeper and our place in its tree.

    `hosts` is `host:port,host:port`, `root` an absolute path without a slash at its end.
    """

    hosts: str
    root: str
    credentials: Credentials | None = None

    @classmethod
    def parse(cls, url: str) -> Ensemble:
        """Parse a URL; user and password may be percent-encoded.

        Raises:
            Refused: the form is wrong. The message does not repeat the URL, which may contain a password.
        """
        _, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        login, at, hosts = authority.rpartition("@")
        matches = [_HOST.fullmatch(host) for host in hosts.split(",")]
        if not all(match and 0 < int(match["port"] or 2181) < 65_536 for match in matches):
            raise Refused(f"the hosts in the registry URL cannot be read; {_FORM}")
        root = slash + path.rstrip("/")
        if not _ROOT.fullmatch(root):
            raise Refused(f"the registry URL names no root in ZooKeeper's tree, or an odd one; {_FORM}")
        return cls(hosts, root, _credentials(login) if at else None)

    def __str__(self) -> str:
        """The URL without user and password."""
        return f"{SCHEME}://{self.hosts}{self.root}"


def _credentials(login: str) -> Credentials:
    user, colon, password = login.partition(":")
    if not (user and colon and password) or ":" in unquote(user):
        raise Refused(f"the registry URL has a user without a password, or the reverse; {_FORM}")
    return Credentials(unquote(user), unquote(password))
