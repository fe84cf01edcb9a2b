"""Where the API may connect on behalf of a client on the network.

An API stands inside a network that its users may not reach. Told to test a data source, it would tell them which hosts
and ports are there, and what answers. So it connects to public addresses only, and to those that `api.reach` allows by
name, address or network. It connects to the very address that was checked: a name that has another address a moment
later leads nowhere else.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from model.errors import Refused, Unavailable

RESOLVE_WITHIN_S = 5.0

_OF_VERSION_4 = [ip_network(each) for each in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96")]
"""Addresses whose last 32 bits are one of version 4: of NAT64, also of a network's own, and compatible ones."""
_PUBLIC_6 = ip_network("2000::/3")
_NOT_PUBLIC = [
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
        *("192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
        *("224.0.0.0/4", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "3fff::/20"),
    )
]
"""The registries of special addresses; here, since each version of Python knows another part of them."""
_METADATA = [
    ip_network(each)
    for each in (
        *("169.254.0.0/16", "fe80::/10", "fd00:ec2::/32", "fd20:ce::254", "100.100.100.200", "192.0.0.192"),
        "168.63.129.16",
    )
]
"""Where clouds tell a machine its secrets; the last one looks public."""


async def reachable_address(host: str, allowed: Collection[str]) -> str:
    """An address of a host to which the API may connect.

    Args:
        host: a name or an address.
        allowed: names, addresses and networks inside that are allowed besides public addresses.
    Raises:
        Refused: one of its addresses is inside and not allowed.
        Unavailable: it has no address.
    """
    addresses = await _addresses(host)
    if host.lower() not in {name.lower() for name in allowed}:
        networks = [network for name in allowed if (network := network_of(name)) is not None]
        if not all(may_reach(address, networks) for address in addresses):
            raise Refused(
                f"{host[:255]} is not at a public address, and the API connects to inside ones only if api.reach "
                f"(SHOAL_API__REACH) allows them; add it there, or test from a machine of the cluster on its database"
            )
    return str(addresses[0])


def may_reach(address: IPv4Address | IPv6Address, networks: Collection[IPv4Network | IPv6Network]) -> bool:
    """Whether an address is public, or in one of these networks. Pure."""
    meant = meant_address(address)
    if any(meant in network for network in networks if network.version == meant.version):
        return True
    if is_metadata(address) or any(meant in each for each in _NOT_PUBLIC if each.version == meant.version):
        return False
    return isinstance(meant, IPv4Address) or meant in _PUBLIC_6


def is_metadata(address: IPv4Address | IPv6Address) -> bool:
    """Whether a cloud may answer there with the secrets of the machine that asks, as at link-local addresses. Pure."""
    meant = meant_address(address)
    return any(meant in each for each in _METADATA if each.version == meant.version)


def meant_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address of version 4 that one of version 6 stands for, else the same. Pure."""
    if isinstance(address, IPv4Address):
        return address
    if any(address in each for each in _OF_VERSION_4) and int(address) > 1:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def network_of(name: str) -> IPv4Network | IPv6Network | None:
    """The network, or single address, that a text is; None for a name. Pure."""
    try:
        return ip_network(name, strict=False)
    except ValueError:
        return None


async def _addresses(host: str) -> list[IPv4Address | IPv6Address]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(RESOLVE_WITHIN_S):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        raise Unavailable(f"the host {host[:255]} has no address; check its name") from None
    return [ip_address(str(each[4][0]).partition("%")[0]) for each in found]
