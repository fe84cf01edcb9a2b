"""How long the next login by password must wait after failed ones, for each name and for each address.

Both counts are of the last 15 minutes. After so many failures as are free, each further one doubles the wait. A name
that no account has is limited as any other, so a limit reveals nothing.
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
        failures: of the last 15 minutes.
        since_last: how long ago the last of them was, by the database's time.
        free: how many need no wait.
    """
    if failures < free:
        return timedelta(0)
    doubled = min(failures - free, _DOUBLED_MAX)
    return min(FIRST_WAIT * (1 << doubled), WAIT_MAX) - since_last


def counted_address(address: str) -> str:
    """What attempts, or requests, are counted by: of IPv6 the network of 64 bits, all of which one person may have."""
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
