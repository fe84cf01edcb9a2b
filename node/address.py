"""The address under which others reach a node; its identity is its name."""

from __future__ import annotations

import ipaddress
import socket


def host_name() -> str:
    return socket.gethostname() or "localhost"


def advertised(given: str | None, bound: str) -> str:
    """The host under which others reach a socket bound to `bound`.

    Args:
        given: as configured.
        bound: the address that a socket listens on. Loopback has no other name. Clients cannot connect to the wildcard
            addresses (`0.0.0.0`, `::`): the machine's name is used instead.
    """
    if _is(bound, "is_loopback"):
        return bound
    for host in (given, bound):
        if host and not _is(host, "is_unspecified"):
            return host
    return host_name()


def joined(host: str, port: int) -> str:
    """`host:port`, an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _is(host: str, what: str) -> bool:
    try:
        return bool(getattr(ipaddress.ip_address(host.strip("[]")), what))
    except ValueError:
        return what == "is_loopback" and host == "localhost"
