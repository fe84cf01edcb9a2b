"""The web page: files that `ui/page.py` built, served from memory. Where there are none, a plain page says why.

Every address that is no file and belongs to no route of the API is a page's: the same document, which finds its page by
the address. The document gets a new nonce each time: styles that the page makes while it runs carry it, others are
refused (Content-Security-Policy).
"""

from __future__ import annotations

import hashlib
import mimetypes
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

DOCUMENT = "index.html"
WHY_NOT = "why-not.txt"
PACKED = ".gz"
FOR_EVER = "public, max-age=31536000, immutable"
_BASE = '<base href="/" />'
_PROVIDER = '<meta name="login-provider" content="" />'
_NONCE = '<meta name="style-nonce" content="" />'
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_PLAIN = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shoal</title>
</head><body><h1>Shoal works; its web page was not built</h1>
<p>{why}</p>
<p>To build it: <code>make page</code> in Shoal's folder, then start the API again. The command line and the
<a href="{root}/api/v1/openapi.json">API</a> work without it.</p>
</body></html>
"""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the page. `packed` is it after gzip, None = it does not get smaller."""

    content: bytes
    packed: bytes | None
    media_type: str
    tag: str
    is_for_ever: bool
    """Its name changes with its content."""


class Page:
    """What was built: `document`, None if nothing was, and then `why_not`."""

    def __init__(self, folder: Traversable | None = None) -> None:
        self.files = {} if folder is None else dict(_files(folder, ""))
        document = self.files.pop(DOCUMENT, None)
        self.document = None if document is None else document.content.decode()
        told = self.files.pop(WHY_NOT, None)
        self.why_not = "It was not built yet." if told is None else told.content.decode().strip()

    @classmethod
    def installed(cls) -> Page:
        """The one beside this module."""
        return cls(files("api") / "page")


def add_page(app: FastAPI, page: Page, provider: str) -> None:
    """Add the page behind all other routes. It offers a login at an OpenID Connect `provider` of this name, if any."""

    @app.get("/", include_in_schema=False)
    async def first(request: Request) -> Response:
        return _document(page, request, provider)

    if page.document is None:
        return
    app.get("/login", include_in_schema=False)(first)
    missing = app.router.default

    async def of_the_page(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        path = request.url.path.removeprefix(scope.get("root_path") or "").removeprefix("/")
        is_read = request.method in ("GET", "HEAD")
        if is_read and (file := page.files.get(path)) is not None:
            await _file(file, request)(scope, receive, send)
        elif is_read and "text/html" in request.headers.get("Accept", "") and not path.startswith("api/"):
            await _document(page, request, provider)(scope, receive, send)
        else:
            await missing(scope, receive, send)

    # No route for every path: it would make an unknown method of the API an unknown address. And no route for each
    # file, of which there are hundreds: they would double the time that the application takes to start.
    app.router.default = of_the_page


def _file(file: File, request: Request) -> Response:
    headers = {
        "ETag": file.tag,
        "Vary": "Accept-Encoding",
        "Cache-Control": FOR_EVER if file.is_for_ever else "no-cache",
    }
    if request.headers.get("If-None-Match") == file.tag:
        return Response(status_code=304, headers=headers)
    if file.packed is not None and "gzip" in request.headers.get("Accept-Encoding", ""):
        return Response(file.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=file.media_type)
    return Response(file.content, headers=headers, media_type=file.media_type)


def _document(page: Page, request: Request, provider: str) -> Response:
    root = request.scope.get("root_path") or ""
    if page.document is None:
        return HTMLResponse(_PLAIN.format(why=escape(page.why_not), root=escape(root)))
    nonce = secrets.token_urlsafe(18)
    content = (
        page.document.replace(_BASE, f'<base href="{escape(root)}/" />')
        .replace(_NONCE, f'<meta name="style-nonce" content="{nonce}" />')
        .replace(_PROVIDER, f'<meta name="login-provider" content="{escape(provider)}" />')
    )
    headers = {"Content-Security-Policy": _POLICY.format(nonce=nonce), "Referrer-Policy": "same-origin"}
    return HTMLResponse(content, headers=headers)


def _files(folder: Traversable, path: str) -> Mapping[str, File]:
    """The files of a folder and those below it, by their path."""
    found: dict[str, File] = {}
    if not folder.is_dir():
        return found
    entries = {entry.name: entry for entry in folder.iterdir()}
    for name, entry in entries.items():
        if entry.is_dir():
            found |= _files(entry, f"{path}{name}/")
        elif not (name.endswith(PACKED) and name.removesuffix(PACKED) in entries):
            content = entry.read_bytes()
            packed = entries.get(f"{name}{PACKED}")
            found[f"{path}{name}"] = File(
                content,
                None if packed is None else packed.read_bytes(),
                mimetypes.guess_type(name)[0] or "application/octet-stream",
                f'"{hashlib.sha256(content).hexdigest()[:32]}"',
                path.startswith("assets/"),
            )
    return found
