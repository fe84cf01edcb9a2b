"""The address to which others send events that start a workflow.

The signature proves the sender, so this is no operation, which needs an account or a token.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, Request, Response

from api.authentication import visitor_of
from api.routes import PROBLEMS, refuse_larger
from model.ids import WorkflowCode
from model.runs.webhooks import BODY_BYTES_MAX, PATH, Delivery
from service.answered import json_of
from service.call import Backend, Replayed
from service.fields import Id
from service.runs.command_asked import CommandAsked
from service.runs.webhooks import sender_of, start_by_webhook


def add_webhooks(router: APIRouter, backend: Backend, counted: Callable[[str], None]) -> None:
    """Add the route. `counted` is called with the sender of each event; it may refuse it."""

    async def post_webhook(code: Id, request: Request) -> Response:
        """Start the workflow by a webhook that is signed as one of its triggers says, once for each event."""
        headers = request.headers
        delivery = Delivery.read(
            headers.get("webhook-id", ""),
            headers.get("webhook-timestamp", ""),
            headers.get("webhook-signature", ""),
            await request.body(),
        )
        sender = await sender_of(backend, WorkflowCode(code), delivery, visitor_of(request))
        counted(sender.key)
        try:
            answer = await start_by_webhook(backend, sender, WorkflowCode(code), delivery)
        except Replayed as before:
            return Response(before.answer.body, before.answer.status, media_type="application/json")
        return Response(json_of(answer), 202, media_type="application/json")

    post_webhook.__dict__["elsewhere"] = refuse_larger(BODY_BYTES_MAX)
    router.post(
        PATH,
        operation_id="receive_webhook",
        tags=["workflow-instances"],
        status_code=202,
        response_model=CommandAsked,
        responses=PROBLEMS,
    )(post_webhook)
