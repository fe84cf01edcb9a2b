"""Logging in and out: the session of a browser is a cookie, which is all that makes these routes no operations.

The cookie contains the session's secret. A page asks for the second secret, which each of its changing requests sends
in a header: no page of another site can read the answer.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from pydantic import Field

from api.authentication import COOKIE, authenticate, visitor_of
from api.routes import PROBLEMS
from dao.accounts.sessions import LIVES_MAX
from model.errors import Forbidden, Refused
from service.accounts import logins
from service.accounts.logins import LoggedIn, csrf_of
from service.accounts.people import Password
from service.call import Backend
from service.callers import Caller
from service.fields import Answer, Asked, Id

NAME_LENGTH_MAX = 1000
LINK_LENGTH_MAX = 200


class LogIn(Asked):
    """Name and password, or the secret of a login link."""

    name: Annotated[str | None, Field(max_length=NAME_LENGTH_MAX)] = None
    password: Password | None = Field(None, repr=False)
    link: str | None = Field(None, max_length=LINK_LENGTH_MAX, repr=False)


class SessionBegun(Answer):
    """The session of this browser. `csrf` is for the header X-CSRF-Token of its changing requests."""

    session: Id
    account: Id
    name: str
    csrf: str = Field(repr=False)


def add_login(router: APIRouter, backend: Backend) -> None:
    """Add the routes that begin, show and end the session of a browser."""

    @router.post(
        "/sessions",
        operation_id="log_in",
        tags=["sessions"],
        status_code=201,
        response_model=SessionBegun,
        responses=PROBLEMS,
    )
    async def post_session(body: LogIn, request: Request, response: Response) -> SessionBegun:
        """Log in with name and password, or with a login link. The answer sets the session's cookie."""
        begun = await log_in(backend, body, request)
        set_cookie(request, response, begun.secret)
        return SessionBegun(session=begun.session, account=begun.account, name=begun.name, csrf=begun.csrf)

    @router.get(
        "/sessions/current",
        operation_id="get_session",
        tags=["sessions"],
        response_model=SessionBegun,
        responses=PROBLEMS,
    )
    async def get_session(request: Request) -> SessionBegun:
        """Show the session of this browser, with the secret for its changing requests."""
        caller = await _of_session(backend, request, changes=False)
        csrf = csrf_of(request.cookies[COOKIE])
        return SessionBegun(session=caller.session or 0, account=caller.account or 0, name=caller.name, csrf=csrf)

    @router.delete("/sessions/current", operation_id="log_out", tags=["sessions"], status_code=204, responses=PROBLEMS)
    async def delete_session(request: Request) -> Response:
        """Log out: end the session of this browser."""
        caller = await _of_session(backend, request, changes=True)
        await backend.database.write(logins.log_out, caller)
        response = Response(status_code=204)
        response.delete_cookie(COOKIE, path=_path(request), httponly=True, samesite="strict", secure=_is_tls(request))
        return response


async def log_in(backend: Backend, body: LogIn, request: Request) -> LoggedIn:
    """Begin a session. Raises as `logins.log_in`, `Forbidden` for a page of another site, `Refused`: neither is given.

    A page of another site could otherwise log a browser in as somebody else, who then sees what is typed there.
    """
    if is_of_another_site(request):
        raise Forbidden("a page of another site asks for this login; open the address of Shoal itself")
    visitor = visitor_of(request)
    if body.link is not None and body.name is None and body.password is None:
        return await backend.database.write(logins.log_in_by_link, body.link, visitor)
    if body.link is None and body.name is not None and body.password is not None:
        return await logins.log_in(backend.database, backend.passwords, body.name, body.password, visitor)
    raise Refused("log in with `name` and `password`, or with `link`")


def set_cookie(request: Request, response: Response, secret: str) -> None:
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(LIVES_MAX.total_seconds()),
        path=_path(request),
        secure=_is_tls(request),
        httponly=True,
        samesite="strict",
    )


def is_of_another_site(request: Request) -> bool:
    """Whether a browser says that a page of another origin sends this. Programs say nothing of that kind."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc.lower() != request.headers.get("Host", "").lower()


async def _of_session(backend: Backend, request: Request, *, changes: bool) -> Caller:
    caller = await authenticate(backend, request, changes=changes)
    if caller.session is None:
        raise Refused("a token has no session; leave the header Authorization out, or revoke the token")
    return caller


def _path(request: Request) -> str:
    return request.scope.get("root_path") or "/"


def _is_tls(request: Request) -> bool:
    """Whether the browser came by TLS: to this process, or to a trusted proxy."""
    return request.url.scheme == "https"
