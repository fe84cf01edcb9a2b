"""The process that handles heavy requests: one at a time from its standard input, each answer on its standard output.

It runs the same application as its API, without a socket. A timer of the kernel ends it when a request has used its
processor time, however deep in a library that happens; a transaction that was open is rolled back then. The first
frame on its standard input opens the backend, so that no secret is in an argument or the environment.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from starlette.types import ASGIApp, Message

from api.app import create_app
from api.heavy_frames import HeavyAnswer, HeavyRequest, Opening, frame, read_frame
from api.settings import ApiSettings
from api.web_page import Page
from node import prctl
from service.live.hub import Hub
from service.live.watchers import recheck_in

BEHIND_API = ApiSettings(host="", address_requests_per_s=0, account_requests_per_s=0)
"""It listens nowhere. Its API has checked names, limited how often who may ask, and serves streams and the page."""
NICENESS = 5
"""Below the API and the nodes of the machine."""


async def answered(app: ASGIApp, request: HeavyRequest) -> HeavyAnswer:
    answer = HeavyAnswer()
    messages = [{"type": "http.request", "body": request.body, "more_body": False}]

    async def receive() -> Message:
        return messages.pop() if messages else await asyncio.Future()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status, answer.headers = message["status"], list(message.get("headers", ()))
        else:
            answer.body += message.get("body", b"")

    await app(request.scope, receive, send)
    return answer


async def _serve() -> None:
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # a library that prints must not write an answer
    requests = asyncio.StreamReader(limit=1 << 20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(requests), sys.stdin)
    opening: Opening = await read_frame(requests)
    backend = opening.open_backend()
    hub = Hub(backend.database, recheck_in(backend.database))
    app = create_app(backend, hub, opening.version, BEHIND_API, Page())
    while True:
        request = await read_frame(requests)
        signal.setitimer(signal.ITIMER_PROF, opening.cpu_s)
        content = frame(await answered(app, request))
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(content)
        answers.flush()


def main() -> None:
    """Answer requests until the standard input ends, or the API does."""
    prctl.hide_from_own_user()
    prctl.die_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the API, which lets a request end
    os.nice(NICENESS)
    try:
        asyncio.run(_serve())
    except asyncio.IncompleteReadError:
        os._exit(0)  # no request is in progress, and its connections end with it


if __name__ == "__main__":
    main()
