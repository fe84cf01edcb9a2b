"""Logging in at an OpenID Connect provider: the way there, and the answer with which a browser comes back.

The browser keeps one secret meanwhile, in a cookie that a page of another site cannot set or send along.
"""

from __future__ import annotations

import secrets
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from api.authentication import visitor_of
from api.login import is_of_another_site, set_cookie
from api.login_page import START, problem_page
from dao.logger import logger
from model.errors import Forbidden, InvalidSettings, ShoalError, Unauthenticated
from service.oidc.settings import OidcSettings

if TYPE_CHECKING:
    from service.call import Backend

SECRET_BYTES = 32
COOKIE_LENGTH_MAX = 1_500

log = logger()


def add_oidc_login(app: FastAPI, backend: Backend, settings: OidcSettings) -> None:
    """Add the two routes of a login at the provider of the settings; none without one. Raises `InvalidSettings`."""
    if settings.label is None:
        return
    try:
        from service.oidc.logins import LIVES, log_in
        from service.oidc.provider import CALLBACK, Provider
    except ImportError:
        raise InvalidSettings(
            "api.oidc.issuer needs a library; install it with the extra oidc: pip install 'shoal[oidc]'"
        ) from None
    provider = Provider(settings)
    is_tls = settings.url.startswith("https:")
    # Under this name browsers take it only from this very host: a neighbour's page could else begin a login for them.
    name = "__Host-shoal_oidc" if is_tls else "shoal_oidc"

    again = f'<p><a href="{escape(settings.url)}/login">Shoal</a></p>'

    @app.get(START, include_in_schema=False)
    async def begin(request: Request, back: str = "/") -> Response:
        try:
            if is_of_another_site(request):
                raise Forbidden("a page of another site asks for this login; open the address of Shoal itself")
            secret = secrets.token_urlsafe(SECRET_BYTES)
            answer = RedirectResponse(await provider.login_url(secret), 303)
        except ShoalError as error:
            return problem_page(error, request, again)
        if not back.startswith("/") or len(kept := f"{secret}.{quote(back)}") > COOKIE_LENGTH_MAX:
            kept = f"{secret}./"
        life = int(LIVES.total_seconds())
        # Lax: it must come along when the provider sends the browser back.
        answer.set_cookie(name, kept, max_age=life, path="/", secure=is_tls, httponly=True, samesite="lax")
        return answer

    @app.get(CALLBACK, include_in_schema=False)
    async def come_back(request: Request) -> Response:
        secret, _, back = request.cookies.get(name, "").partition(".")
        answer: Response
        try:
            if not secret or not back.startswith("/"):
                raise Unauthenticated(
                    f"no login was begun in this browser within 10 minutes; begin it at {settings.url}"
                )
            identity = await provider.identity(secret, dict(request.query_params))
            begun = await backend.database.write(log_in, settings, identity, secret, visitor_of(request))
        except ShoalError as error:
            log.warning("login_failed", by=settings.label, why=str(error), address=visitor_of(request).address)
            answer = problem_page(error, request, again)
        else:
            answer = RedirectResponse(f"{settings.url}{unquote(back)}", 303)
            set_cookie(request, answer, begun.secret)
        answer.delete_cookie(name, path="/", secure=is_tls, httponly=True, samesite="lax")
        return answer
