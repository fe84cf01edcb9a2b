"""Real receivers on loopback: an SMTP server and an HTTP server, which can refuse, hang, and be stopped and started."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session

from tests.servers.child import free_port

HANG_S = 600.0


class MailServer:
    """An SMTP server. `refuses` answers 451 to each mail, `wants` to each without these words; `hangs` stops answering
    once a mail is there."""

    def __init__(self) -> None:
        self.port = free_port()
        self.mails: list[EmailMessage] = []
        self.refuses = False
        self.wants = ""
        self.hangs = False
        self.tried = 0
        self._over = threading.Event()
        self._controller: Controller | None = None

    def url(self, to: str = "ops@example.org", user: str = "") -> str:
        return f"mailto://{user}127.0.0.1:{self.port}?from=shoal@example.org&to={to}"

    @property
    def subjects(self) -> list[str]:
        return [str(mail["Subject"]) for mail in list(self.mails)]

    def start(self) -> None:
        self._over.clear()
        self._controller = Controller(self, hostname="127.0.0.1", port=self.port)
        self._controller.start()

    def stop(self) -> None:
        self._over.set()
        if self._controller is not None:
            self._controller.stop()
            self._controller = None

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's
        self.tried += 1
        began_s = time.monotonic()
        while self.hangs and not self._over.is_set() and time.monotonic() < began_s + HANG_S:
            await asyncio.sleep(0.05)
        content = envelope.content
        assert isinstance(content, bytes)
        mail = message_from_bytes(content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        text = mail.get_body(("plain", "html"))
        assert text is not None
        if self.refuses or self.wants not in text.get_content():
            return "451 try again later"
        self.mails.append(mail)
        return "250 OK"


@dataclass
class Post:
    """A request that an HTTP receiver got."""

    path: str
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class HttpReceiver:
    """An HTTP server; what it answers depends on the path: /500, /302, /refuse, /hang, /drip, else `status`."""

    posts: list[Post] = field(default_factory=list)
    status: int = 204
    hangs: bool = False
    hanging: int = 0
    refuses_containing: bytes | None = None
    port: int = field(default_factory=free_port)

    def url(self, path: str = "hook", user: str = "") -> str:
        return f"json://{user}127.0.0.1:{self.port}/{path}"

    @property
    def titles(self) -> list[str]:
        return [str(post.json["title"]) for post in list(self.posts)]


@contextmanager
def mail_server() -> Iterator[MailServer]:
    server = MailServer()
    server.start()
    try:
        yield server
    finally:
        server.hangs = False
        server.stop()


@contextmanager
def http_receiver() -> Iterator[HttpReceiver]:
    receiver = HttpReceiver()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.lstrip("/")
            while receiver.hangs and not over.is_set():
                time.sleep(0.05)
            if path.startswith("hang"):
                receiver.hanging += 1
                over.wait(HANG_S)
                return
            if path.startswith("drip"):
                self._drip()
                return
            status = {"500": 500, "302": 302, "refuse": 413}.get(path.split("/")[0], receiver.status)
            if receiver.refuses_containing is not None and receiver.refuses_containing in body:
                status = 422
            if status < 300:
                receiver.posts.append(Post(self.path, body))
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://elsewhere.invalid/steal?secret=1")
            self.end_headers()
            if path.startswith("500"):
                self.wfile.write(b"x" * 1_000_000)

        def _drip(self) -> None:
            """One byte now and then: no time-out of a socket ever ends this."""
            self.send_response(200)
            self.end_headers()
            try:
                while not over.wait(0.2):
                    self.wfile.write(b"x")
                    self.wfile.flush()
            except OSError:
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", receiver.port), Handler)
    server.daemon_threads = True
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    serving.start()
    try:
        yield receiver
    finally:
        over.set()
        server.shutdown()
        server.server_close()
