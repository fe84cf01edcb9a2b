"""Under which address a node is reached."""

from __future__ import annotations

import socket

from node.address import advertised, joined
from tests.every import every


@every("every", ["0.0.0.0", "::"])
def test_every_address_is_never_advertised(every: str) -> None:
    assert advertised(None, every) == socket.gethostname()
    assert advertised(every, every) == socket.gethostname()
    assert advertised("w1.example", every) == "w1.example"


@every("loopback", ["127.0.0.1", "::1", "localhost"])
def test_what_listens_on_loopback_is_reached_there_and_nowhere_else(loopback: str) -> None:
    assert advertised("w1.example", loopback) == loopback


def test_an_address_of_the_machine_is_advertised_unless_another_is_given() -> None:
    assert advertised(None, "10.0.0.7") == "10.0.0.7"
    assert advertised("w1.example", "10.0.0.7") == "w1.example"
    assert joined("::1", 80) == "[::1]:80"
