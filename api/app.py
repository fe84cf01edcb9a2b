"""The application: every operation as a route below `/api/v1`, health, and errors as problem details."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from api import problems
from api.authentication import make_call
from api.byte_streams import add_stream
from api.denials import Denials
from api.events import add_events
from api.health import add_health
from api.heavy import HeavyRequests
from api.login import add_login
from api.login_page import add_login_page
from api.middleware import Entrance
from api.oidc_login import add_oidc_login
from api.open_streams import OpenStreams
from api.openapi import serve_document
from api.rate_limits import RateLimits
from api.routes import Route, Serving, add_route
from api.settings import ApiSettings
from api.web_page import Page, add_page
from api.webhooks import add_webhooks
from model.errors import ShoalError
from service import error_codes as kinds
from service.byte_stream import StreamOperation
from service.call import Backend, Call
from service.live.hub import Hub
from service.operation import Operation
from service.operations import ALL

BASE = "/api/v1"


def create_app(
    backend: Backend, hub: Hub, version: str, settings: ApiSettings, page: Page, heavy: HeavyRequests | None = None
) -> FastAPI:
    """The application.

    Args:
        backend: what its operations work on.
        hub: what changes; it runs beside the application.
        version: of Shoal.
        settings: of the process that it is part of.
        page: the web page, if it was built.
        heavy: answers heavy requests; None: this process does.
    """
    limits = RateLimits(settings.address_requests_per_s, settings.account_requests_per_s)
    streams = OpenStreams(settings.streams_max, settings.account_streams_max)
    app = FastAPI(
        title="Shoal",
        version=version,
        summary="A workflow scheduler without a leader.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        # Spans are those of runs, which masters send (docs/guides/metrics.md); it would make others of requests.
        telemetry={"auto_configure": False, "tracing": False, "metrics": False, "logs": False},
    )
    app.add_middleware(Entrance, hosts=settings.names, addresses=limits.addresses, root_path=settings.root_path)
    app.add_exception_handler(ShoalError, _shoal_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)

    async def call_of(request: Request, operation: Operation[Any, Any]) -> Call:
        call = await make_call(backend, request, operation)
        limits.accounts.take(call.caller.key)
        return call

    app.state.serving = Serving(call_of, Denials(), streams, heavy)
    login = APIRouter(prefix=BASE, route_class=Route)
    add_login(login, backend)
    add_webhooks(login, backend, limits.accounts.take)
    # `include_router` would make each a second time, at the first request.
    app.router.routes.extend([*_of_operations(ALL), *login.routes])
    provider = settings.oidc.label
    add_login_page(app, backend, is_shown=page.document is None, provider=provider)
    add_oidc_login(app, backend, settings.oidc)
    add_events(app, backend, hub, streams, BASE)
    add_health(app, backend, version, BASE)
    serve_document(app, f"{BASE}/openapi.json")
    add_page(app, page, provider or "")
    return app


@cache
def _of_operations(operations: tuple[Operation[Any, Any], ...]) -> Sequence[BaseRoute]:
    """The routes of these operations. Applications share them: to make them takes a fifth of a second."""
    router = APIRouter(prefix=BASE, route_class=Route)
    for operation in operations:
        if isinstance(operation, StreamOperation):
            add_stream(router, operation)
        else:
            add_route(router, operation)
    return router.routes


async def _shoal_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ShoalError)
    return problems.problem_of(error, request.state.request_id)


async def _validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    kind = kinds.MALFORMED if any(fault["type"] == "json_invalid" for fault in faults) else kinds.INVALID
    errors = problems.field_errors(faults)
    sentence = "; ".join(f"{each.pointer}: {each.detail}" for each in errors[:5])
    return problems.problem(kind, sentence, request.state.request_id, errors)


async def _http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    request_id = request.state.request_id
    match error.status_code:
        case 404:
            return problems.problem(kinds.NO_SUCH_ADDRESS, f"there is nothing at {request.url.path[:200]}", request_id)
        case 405:
            said = f"{request.method[:20]} does not exist at {request.url.path[:200]}"
            return problems.problem(kinds.NO_SUCH_METHOD, said, request_id, headers=dict(error.headers or {}))
        case _:
            return problems.problem(kinds.MALFORMED, str(error.detail)[:200], request_id)
