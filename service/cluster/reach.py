"""Where the API may connect on behalf of somebody who asks it over the network.

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

_NAT64 = ip_network("64:ff9b::/96")


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
    return meant.is_global and not meant.is_multicast


def meant_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address of version 4 that one of version 6 stands for, else the same. Pure."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
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
