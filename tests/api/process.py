"""An API in a process: `python -m tests.api.process DATABASE_URL` prints its address, and serves until SIGTERM."""

from __future__ import annotations

import asyncio
import signal
import sys

from tests.api.serving import serving


async def main() -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    async with serving(sys.argv[1]) as api:
        sys.stdout.write(f"{api.url}\n")
        sys.stdout.flush()
        await ended.wait()


if __name__ == "__main__":
    asyncio.run(main())
