"""A member in a process of its own: `python -m tests.registry.member KIND EPOCH SECONDS`, the registry's URL in $URL.

Registers, says so, and does what it reads: "unregister". Ends, without a word to the registry, when its input ends.
"""

from __future__ import annotations

import asyncio
import os
import sys
from datetime import timedelta

import structlog

from model.cluster.nodes import Heartbeat, NodeKind
from model.ids import Epoch
from registry.connect import make_registry


async def main(kind: NodeKind, epoch: Epoch, session_timeout: timedelta) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    registry = make_registry(os.environ["URL"], session_timeout=session_timeout, application_name="shoal-test-member")
    await registry.open(60)
    await registry.register(Heartbeat(epoch=epoch, kind=kind, address="127.0.0.1:1"))
    say("registered")
    while line := await asyncio.to_thread(sys.stdin.readline):
        assert line == "unregister\n"
        await registry.unregister()
        say("unregistered")
    os._exit(0)


def say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(NodeKind(sys.argv[1]), Epoch(int(sys.argv[2])), timedelta(seconds=float(sys.argv[3]))))
