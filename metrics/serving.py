"""Serves the metrics of a process within a block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from dao.secrets.certificate import Certificate
from dao.secrets.kept import Kept
from dao.secrets.secret_file import read_secret
from http_server.limits import Limits
from http_server.server import HttpServer, in_thread, listen
from metrics.declaring import Part
from metrics.health import Health
from metrics.responder import PROBES, Responder
from metrics.settings import MetricsSettings
from model.errors import InvalidSettings

TOKEN_LENGTH_MIN = 16
LIMITS = Limits(
    connections=100,
    head_s=5.0,
    body_s=5.0,
    connection_s=15.0,
    head_bytes=16_384,
    one_request=True,
    at_once=64,
    always=PROBES,
)
"""A client must have sent its request and read the answer within `connection_s`."""


@contextmanager
def served(
    settings: MetricsSettings, parts: Iterable[Part], role: str, name: str, version: str, health: Health | None = None
) -> Iterator[str | None]:
    """Serve `/metrics` of these parts and of the process, and its probes, during the block.

    Yields the URL of the metrics, None if it is switched off.

    Raises `Refused` if the address cannot be used, `InvalidSettings` if other machines reach it without a token, or a
    file in the settings cannot be read.
    """
    if not settings.enabled:
        yield None
        return
    token = _token(settings)
    tls = Certificate.named(settings.certificate, settings.private_key, what="/metrics", settings="metrics.")
    shown = list(parts)
    refreshing = [part.refresh for part in shown if part.refresh is not None]
    make = partial(generate_latest, _shown(shown, role, name, version))
    responder = Responder(make, health or Health(), token, refreshing)
    instead = "set another metrics.port"
    with listen(settings.host, settings.port, LIMITS, what="/metrics", instead=instead) as listener:
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"{'https' if tls else 'http'}://{host}:{listener.getsockname()[1]}/metrics"
        with in_thread(HttpServer(responder, listener, LIMITS, tls=tls), "metrics"):
            yield url


def _shown(parts: Iterable[Part], role: str, name: str, version: str) -> CollectorRegistry:
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


def _token(settings: MetricsSettings) -> Callable[[], str] | None:
    """Return a function that reads the current token."""
    if settings.token_file is not None:
        if settings.token is not None:
            raise InvalidSettings("metrics.token and metrics.token_file are both set; leave one of them out")
        path = settings.token_file
        return Kept([path], lambda: _read_token(path), what="metrics.token_file").now
    if settings.token is None and not settings.is_loopback:
        raise InvalidSettings(
            f"metrics.host {settings.host} is reached from other machines, so /metrics needs a token there; set "
            f"metrics.token_file, or serve it on 127.0.0.1"
        )
    return None if settings.token is None else settings.token.get_secret_value


def _read_token(path: Path) -> str:
    token = read_secret(path, "metrics.token_file")
    if len(token) < TOKEN_LENGTH_MIN or not (token.isascii() and token.isprintable()):
        raise InvalidSettings(
            f"metrics.token_file {path} must have one line of at least {TOKEN_LENGTH_MIN} "
            f"characters of ASCII; make one with: openssl rand -hex 32"
        )
    return token
