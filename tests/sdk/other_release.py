"""An API of another release: `python -m tests.sdk.other_release DATABASE_URL PATH`, as `tests.api.process`.

It is the API with more fields in every answer, other states of runs, and without the operations at that path.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api import server
from tests.api import process

STATES = {"RUNNING_EXECUTION": "MUSING", "SUBMITTED_SUCCESS": "MUSING", "FAILURE": "FORGOTTEN"}
"""States of this release -> of the other one."""
MORE = {"of_later": {"depth": [1]}}


class OtherAnswers:
    """Changes what the application answers as JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started: list[Message] = []

        async def changed(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.append(message)
                return
            if started:
                (start,), headers = started, dict(started[0]["headers"])
                if headers.get(b"content-type", b"").startswith(b"application/json") and not message.get("more_body"):
                    message["body"] = json.dumps(later(json.loads(message["body"]))).encode()
                    headers[b"content-length"] = str(len(message["body"])).encode()
                started.clear()
                await send({**start, "headers": list(headers.items())})
            await send(message)

        await self.app(scope, receive, changed)


def later(value: Any) -> Any:
    """An answer of the other release."""
    if isinstance(value, list):
        return [later(each) for each in value]
    if not isinstance(value, dict):
        return value
    more = MORE if "id" in value or "code" in value else {}
    return {
        **{name: STATES.get(each, each) if name == "state" else later(each) for name, each in value.items()},
        **more,
    }


def main() -> None:
    made = server.create_app

    def create_app(*given: Any) -> FastAPI:
        app = made(*given)
        app.router.routes[:] = [each for each in app.router.routes if getattr(each, "path", "") != sys.argv[2]]
        app.add_middleware(OtherAnswers)
        return app

    server.create_app = create_app
    asyncio.run(process.main())


if __name__ == "__main__":
    main()
