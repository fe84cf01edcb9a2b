"""How long the next login by password must wait after failed ones, for each name and for each address.

Both counts cover the last 15 minutes. Each failure beyond the free ones doubles the wait. Unknown names are limited
like known ones, so a limit reveals nothing.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import AddressValueError, IPv4Address, IPv6Address

WINDOW = timedelta(minutes=15)
FREE_OF_NAME = 5
FREE_OF_ADDRESS = 30
FIRST_WAIT = timedelta(seconds=30)
WAIT_MAX = WINDOW

_DOUBLED_MAX = 16


def wait(failures: int, since_last: timedelta, free: int) -> timedelta:
    """The time left until the next attempt is allowed; zero or less = now.

    Args:
        failures: in the last 15 minutes.
        since_last: time since the last failure, by the database's clock.
        free: how many failures cause no wait.
    """
    if failures < free:
        return timedelta(0)
    doubled = min(failures - free, _DOUBLED_MAX)
    return min(FIRST_WAIT * (1 << doubled), WAIT_MAX) - since_last


def counted_address(address: str) -> str:
    """The key that counts attempts and requests: an address, of IPv6 its /64 network, which one person may own."""
    try:
        return str(IPv4Address(address))
    except AddressValueError:
        pass
    try:
        long = IPv6Address(address)
    except AddressValueError:
        return address[:100]
    if long.ipv4_mapped is not None:
        return str(long.ipv4_mapped)
    return f"{IPv6Address(int(long) >> 64 << 64)}/64"
