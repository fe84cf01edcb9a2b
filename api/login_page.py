"""The page of a login link, without any script: a form, and the answer to it. A link alone logs nobody in.

It is asked for by POST, so that a program that only looks at addresses, such as a chat's preview, does not use it up.
"""

from __future__ import annotations

from html import escape
from http import HTTPStatus
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ValidationError

from api import languages
from api.login import LINK_LENGTH_MAX, LogIn, log_in, set_cookie
from api.problems import problem_of
from model.errors import Refused, ShoalError
from service.call import Backend

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; style-src 'none'"
    ),
    "Referrer-Policy": "same-origin",
}
FORM_BYTES_MAX = 10_000
START = "/login/oidc"
"""Where a login at an OpenID Connect provider begins."""

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shoal</title>
</head><body><h1>Shoal</h1>
{content}
</body></html>
"""
_LINK_FORM = """<form method="post"><input type="hidden" name="link" value="{link}"><button>Log in</button></form>"""
_FORM = """<form method="post">
<p><label>Name <input name="name" autocomplete="username" required autofocus></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password" required></label></p>
<button>Log in</button></form>"""
_PROVIDER = '<p><a href="{start}">Log in with {name}</a></p>'


def add_login_page(app: FastAPI, backend: Backend, *, is_shown: bool, provider: str | None) -> None:
    """Add `/login`; its form only if it `is_shown`: the web page has another one at the same address.

    It leads to the login at the OpenID Connect provider of this name too.
    """
    form = _FORM if provider is None else f"{_FORM}\n{_PROVIDER.format(start=START[1:], name=escape(provider))}"

    if is_shown:

        @app.get("/login", include_in_schema=False)
        async def show(link: str = "") -> Response:
            return _page(_LINK_FORM.format(link=escape(link[:LINK_LENGTH_MAX])) if link else form)

    @app.post("/login", include_in_schema=False)
    async def submit(request: Request) -> Response:
        try:
            begun = await log_in(backend, await _form(request), request)
        except ShoalError as error:
            return problem_page(error, request, form)
        page = _page(f"<p>You are logged in as {escape(begun.name)}.</p>")
        set_cookie(request, page, begun.secret)
        return page


def problem_page(error: ShoalError, request: Request, after: str) -> Response:
    """The page that says why a login failed, in the language that the browser prefers, and `after` it this."""
    found = problem_of(error, request.state.request_id)
    said, language = found.said(request.headers.get(languages.HEADER, ""))
    page = _page(f"<p>{escape(said)}</p>\n{after}", found.status_code)
    page.headers[languages.OF_ANSWER] = language
    if "Retry-After" in found.headers:
        page.headers["Retry-After"] = found.headers["Retry-After"]
    return page


async def _form(request: Request) -> LogIn:
    """What the form contains. Raises `Refused`."""
    body = await request.body()
    try:
        if len(body) > FORM_BYTES_MAX:
            raise ValueError("it is too long")
        given = parse_qs(body.decode(), strict_parsing=True, max_num_fields=3, errors="strict")
        return LogIn.model_validate({name: values[0] for name, values in given.items()})
    except (ValueError, ValidationError):
        raise Refused("the form cannot be read; load the page again") from None


def _page(content: str, status: int = HTTPStatus.OK) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(content=content), status, HEADERS)
