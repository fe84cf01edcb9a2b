"""The metrics of a process, served for as long as a block lasts."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from metrics.declaring import Part
from metrics.responder import BACKLOG, Responder
from metrics.settings import MetricsSettings
from model.errors import Refused

TOKEN_LENGTH_MIN = 16


@contextmanager
def served(
    settings: MetricsSettings, parts: Iterable[Part], role: str, name: str, version: str
) -> Iterator[str | None]:
    """Serve `/metrics` of these parts and of the process during the block; yields its URL, None if it is switched off.

    Raises `Refused`: the address cannot be used, it is reached from other machines and there is no token, or a file
    that the settings name cannot be read.
    """
    if not settings.enabled:
        yield None
        return
    token, tls = _token(settings), _tls(settings)
    listener = _listen(settings)
    shown = list(parts)
    refreshing = [part.refresh for part in shown if part.refresh is not None]
    text = partial(generate_latest, _shown(shown, role, name, version))
    responder = Responder(listener, text, token, tls, refreshing)
    try:
        responder.start()
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        yield f"{'https' if tls else 'http'}://{host}:{listener.getsockname()[1]}/metrics"
    finally:
        responder.stop()


def _shown(parts: Iterable[Part], role: str, name: str, version: str) -> CollectorRegistry:
    """All that this process shows."""
    shown = CollectorRegistry()
    info = Gauge(
        "shoal_info",
        "1, with the role, the name and the version of this process.",
        ("role", "name", "version"),
        registry=shown,
    )
    info.labels(role, name, version).set(1)
    for part in parts:
        shown.register(part.registry)
    for collector in (ProcessCollector, PlatformCollector, GCCollector):
        collector(registry=shown)
    return shown


def _token(settings: MetricsSettings) -> str | None:
    token = settings.token.get_secret_value() if settings.token is not None else None
    if settings.token_file is not None:
        if token is not None:
            raise Refused("metrics.token and metrics.token_file are both set; leave one of them out")
        try:
            token = settings.token_file.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise Refused(f"metrics.token_file {settings.token_file} cannot be read: {why}; fix that") from None
        if len(token) < TOKEN_LENGTH_MIN or not (token.isascii() and token.isprintable()):
            raise Refused(
                f"metrics.token_file {settings.token_file} must have one line of at least {TOKEN_LENGTH_MIN} "
                f"characters of ASCII; make one with: openssl rand -hex 32"
            )
    if token is None and not settings.is_loopback:
        raise Refused(
            f"metrics.host {settings.host} is reached from other machines, so /metrics needs a token there; set "
            f"metrics.token_file, or serve it on 127.0.0.1"
        )
    return token


def _tls(settings: MetricsSettings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(settings.certificate, settings.private_key)
    except OSError as error:
        raise Refused(
            f"/metrics cannot be served by TLS with metrics.certificate {settings.certificate}: {error}; it must "
            f"contain a certificate in PEM, and metrics.private_key its key"
        ) from None
    return context


def _listen(settings: MetricsSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise Refused(
            f"/metrics cannot be served on {settings.host}:{settings.port} ({error.strerror}); stop what has that "
            f"address, or set another metrics.port"
        ) from None
    return listener
