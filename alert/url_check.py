"""Checks the URL of a channel with the library that would send to it, in a separate process."""

from __future__ import annotations

import time

from alert.couriers import Couriers
from alert.letter import Letter, Outcome

WITHIN_S = 15.0


async def fault_of(url: str) -> str | None:
    """The fault of a URL, in a sentence without a secret; None if it is valid. Sends nothing."""
    couriers = Couriers()
    try:
        receipt = await couriers.deliver(
            Letter(url, "", "", "", "info", (), time.monotonic() + WITHIN_S, only_check=True)
        )
    finally:
        await couriers.close()
    return None if receipt.outcome is Outcome.SENT else receipt.reason
