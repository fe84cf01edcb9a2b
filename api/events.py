"""What changes, as it changes: server-sent events of the topics that a client names.

    GET /api/v1/events?topics=runs,run:1042,cluster

Each event has an id, so that a client whose connection broke gets what it missed (`Last-Event-ID`), or the event
`resync`: read everything again. A comment every 15 seconds shows that the connection works.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Annotated

from fastapi import FastAPI, Header, Query, Request, Response

from api.authentication import authenticate
from api.open_streams import OpenStreams
from api.routes import PROBLEMS
from api.sending import SentInParts
from model.accounts.rights import Right, Scope
from model.errors import Forbidden
from service.call import Backend
from service.callers import Caller
from service.live.hub import Hub
from service.live.topics import CLUSTER, DEFINITIONS, POOLS, QUEUE, checked_topics
from service.live.watchers import watcher_of

EVENTS = "text/event-stream"
TOPICS_LENGTH_MAX = 4_000
_SCOPES = {
    CLUSTER: Scope.CLUSTER_READ,
    QUEUE: Scope.CLUSTER_READ,
    POOLS: Scope.CLUSTER_READ,
    DEFINITIONS: Scope.DEFINITIONS_READ,
}
"""What a token must be for; all other topics are runs."""


class _Topics:
    """What the answer is made of: nothing that would have to be closed."""

    async def aclose(self) -> None:
        """Nothing is open."""


def add_events(app: FastAPI, backend: Backend, hub: Hub, streams: OpenStreams, base: str) -> None:
    @app.get(
        f"{base}/events",
        operation_id="watch_events",
        name="watch_events",
        tags=["events"],
        response_class=Response,
        responses={200: {"content": {EVENTS: {}}, "description": "events, until the client ends it"}, **PROBLEMS},
    )
    async def events(
        request: Request,
        topics: Annotated[
            str,
            Query(
                max_length=TOPICS_LENGTH_MAX,
                description="runs, run:ID, cluster, queue, pools, definitions, alerts; with commas",
            ),
        ],
        last_event_id: Annotated[str | None, Header(alias="Last-Event-ID", max_length=100)] = None,
    ) -> Response:
        """Watch what changes: runs, the tasks of a run, masters and workers, the queue, pools, definitions, alerts."""
        caller = await authenticate(backend, request, changes=False)
        wanted = checked_topics(topics.split(","))
        _check_scopes(caller, wanted)
        listening = hub.listen(wanted, last_event_id, caller.projects_with(Right.VIEW), watcher_of(caller))
        headers = {"Content-Type": EVENTS, "X-Accel-Buffering": "no"}

        async def parts() -> AsyncGenerator[bytes]:
            with listening as found:
                yield b": listening\n\n"
                async for event in found:
                    yield event.wire

        place = streams.another(caller.key)
        return SentInParts(_Topics(), parts(), headers, _unchecked, place=place)


async def _unchecked() -> None:
    """The hub checks the rights of all its listeners at once."""


def _check_scopes(caller: Caller, topics: frozenset[str]) -> None:
    for topic in topics:
        if not caller.may_in_scope(scope := _SCOPES.get(topic, Scope.RUNS_READ)):
            raise Forbidden(f'this token may not watch "{topic}": it needs the scope {scope}; make another token')
