"""The responder to scrapes: who may ask, and what bad, slow and many clients cost."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pydantic import SecretStr

from metrics import responder, serving
from metrics.declaring import Part
from metrics.serving import served
from metrics.settings import MetricsSettings
from model.errors import Refused
from tests.cluster.tls import certificate
from tests.eventually import eventually

TOKEN = "a-token-of-enough-characters"


@pytest.fixture
def url() -> Iterator[str]:
    with served(MetricsSettings(), [Part()], "master", "m1", "1.0") as found:
        assert found is not None
        yield found


def asked(url: str, **headers: str) -> tuple[int, str]:
    """Status and body."""
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def sent(url: str, data: bytes) -> bytes:
    """The answer to a raw request."""
    place = urlsplit(url)
    with socket.create_connection((place.hostname or "", place.port or 0), 20) as client:
        client.sendall(data)
        parts = []
        while part := client.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_it_shows_the_process_and_who_it_is(url: str) -> None:
    status, text = asked(url)
    assert status == 200
    assert 'shoal_info{name="m1",role="master",version="1.0"} 1.0' in text
    assert "process_cpu_seconds_total" in text


def test_a_head_request_has_the_length_and_no_body(url: str) -> None:
    answer = sent(url, b"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert int(re.findall(rb"content-length: (\d+)", answer)[0]) > 1000
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /metrics\r\n\r\n", 400),
        (b"GET  /metrics HTTP/1.1\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500 + b"\r\n\r\n", 400),
        (b"GET /metrics?format=\xff HTTP/1.1\r\n\r\n", 400),
        (b"GET /secrets HTTP/1.0\r\n\r\n", 404),
        (b"GET /metrics/../etc HTTP/1.0\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc", 405),
        (b"GET /metrics?format=text HTTP/1.0\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: evil.example.org:80\r\n\r\n", 421),
        (b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1.example.org\r\n\r\n", 421),
        (b"GET /metrics HTTP/1.1\r\nHost: LocalHost:9465\r\n\r\n", 200),
        (b"GET /metrics HTTP/1.1\r\nHost: [::1]:9465\r\n\r\n", 200),
    ],
)
def test_a_bad_request_gets_an_answer_and_harms_nobody(url: str, request_: bytes, status: int) -> None:
    assert sent(url, request_).startswith(f"HTTP/1.1 {status} ".encode())
    assert asked(url)[0] == 200


def test_a_head_that_is_too_long_gets_nothing(url: str) -> None:
    try:
        told = sent(url, b"GET /metrics HTTP/1.0\r\nX: " + b"y" * 20_000 + b"\r\n\r\n")
    except ConnectionError:  # closed before all of it was read
        told = b""
    assert told[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")
    assert asked(url)[0] == 200


def test_a_client_has_little_time_and_one_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = serving.LIMITS
    assert (limits.connections, limits.head_s, limits.connection_s, limits.head_bytes) == (100, 5.0, 15.0, 16_384)
    assert limits.one_request
    monkeypatch.setattr(serving, "LIMITS", replace(limits, head_s=0.2))
    with _serving() as url:
        assert url is not None
        assert sent(url, b"GET /metr") == b""


async def test_clients_that_say_nothing_take_no_place(url: str) -> None:
    place = urlsplit(url)
    silent = [await asyncio.open_connection(place.hostname, place.port) for _ in range(3 * serving.LIMITS.connections)]
    try:
        # One that comes while others come may be the oldest by the time it is read.
        await eventually(lambda: asked(url)[0] == 200)
    finally:
        for _, writer in silent:
            writer.close()


def test_a_thousand_clients_are_answered_with_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr("metrics.serving.generate_latest", lambda _registry: made.append(1) or b"up 1\n")
    with served(MetricsSettings(), [], "master", "m1", "1.0") as url, ThreadPoolExecutor(64) as pool:
        assert url is not None
        began_s = time.monotonic()
        answers = list(pool.map(lambda _: asked(url), range(1000)))
        took_s = time.monotonic() - began_s
    assert set(answers) == {(200, "up 1\n")}
    assert len(made) <= took_s / responder.MADE_EVERY_S + 1


def test_a_collector_that_fails_is_said_and_the_next_scrape_works(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_registry: object) -> bytes:
        raise RuntimeError("secret of a row")

    with served(MetricsSettings(), [], "master", "m1", "1.0") as url:
        assert url is not None
        assert asked(url)[0] == 200
    monkeypatch.setattr("metrics.serving.generate_latest", fail)
    with served(MetricsSettings(), [], "master", "m1", "1.0") as url:
        assert url is not None
        assert asked(url) == (500, "the metrics could not be made: RuntimeError\n")
        assert asked(url.replace("/metrics", "/healthz"))[0] == 200


def test_with_a_token_nobody_reads_without_it() -> None:
    settings = MetricsSettings(token=SecretStr(TOKEN))
    with served(settings, [], "api", "a1", "1.0") as url:
        assert url is not None
        assert asked(url)[0] == 401
        assert asked(url, Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert asked(url, Authorization=f"Basic {TOKEN}")[0] == 401
        assert asked(url, Authorization="Bearer \xfc")[0] == 401
        assert asked(url, Authorization=f"Bearer {TOKEN}")[0] == 200


def test_beyond_loopback_it_wants_a_token(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"reached from other machines.*metrics\.token_file"), _serving(host="0.0.0.0"):
        pass
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o640)
    with _serving(host="0.0.0.0", token_file=file) as url:
        assert url is not None
        assert asked(url.replace("0.0.0.0", "127.0.0.1"))[0] == 401
        assert asked(url.replace("0.0.0.0", "127.0.0.1"), Authorization=f"Bearer {TOKEN}")[0] == 200


def test_wrong_settings_are_one_sentence(tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("abc")
    short.chmod(0o600)
    opened = tmp_path / "open"
    opened.write_text(TOKEN)
    opened.chmod(0o644)
    for given, sentence in [
        ({"token_file": tmp_path / "none"}, "cannot be read: No such file"),
        ({"token_file": opened}, r"metrics\.token_file .+ is open to every user of this machine; chmod 600 it"),
        ({"token_file": short}, "at least 16 characters"),
        ({"token_file": short, "token": SecretStr(TOKEN)}, "both set"),
        ({"certificate": short}, "metrics.certificate"),
        ({"host": "192.0.2.1", "token": SecretStr(TOKEN)}, "cannot be served on 192.0.2.1"),
    ]:
        with pytest.raises(Refused, match=sentence), _serving(**given):
            pass
    with _serving() as url:
        assert url is not None
        with pytest.raises(Refused, match=r"another metrics\.port"), _serving(port=urlsplit(url).port):
            pass


def test_switched_off_it_serves_nothing() -> None:
    with _serving(enabled=False) as url:
        assert url is None


def test_with_a_certificate_it_speaks_tls_and_waits_for_no_handshake(tmp_path: Path) -> None:
    with _serving(certificate=certificate(tmp_path)) as url:
        assert url is not None
        assert url.startswith("https://")
        place = urlsplit(url)
        with socket.create_connection((place.hostname or "", place.port or 0), 20):  # says nothing
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with urllib.request.urlopen(url, timeout=60, context=context) as answer:
                assert "shoal_info" in answer.read().decode()


def _serving(**given: object) -> AbstractContextManager[str | None]:
    return served(MetricsSettings.model_validate(given), [], "master", "m1", "1.0")
