"""An OpenID Connect provider that does what a test says, above all the wrong things. No library of ours is in it."""

from __future__ import annotations

import json
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlencode

from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.hmac import HMAC

CLIENT, SECRET = "shoal", "a secret: with / and %"
Claims = dict[str, Any]


class Key:
    """A key that signs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    @property
    def jwk(self) -> dict[str, str]:
        """What the provider publishes of it."""
        numbers = self._private.public_key().public_numbers()
        parts = {"n": _base64(numbers.n.to_bytes(256, "big")), "e": _base64(numbers.e.to_bytes(3, "big"))}
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.name, **parts}

    def sign(self, claims: Claims) -> str:
        text = _head({"alg": "RS256", "kid": self.name}, claims)
        return f"{text}.{_base64(self._private.sign(text.encode(), padding.PKCS1v15(), SHA256()))}"


def unsigned(claims: Claims) -> str:
    return f"{_head({'alg': 'none'}, claims)}."


def signed_with_what_all_know(key: Key, claims: Claims) -> str:
    """By HMAC, whose key is the published one: who verifies by the header's algorithm accepts it."""
    text = _head({"alg": "HS256", "kid": key.name}, claims)
    mac = HMAC(json.dumps(key.jwk).encode(), SHA256())
    mac.update(text.encode())
    return f"{text}.{_base64(mac.finalize())}"


@dataclass
class HostileProvider:
    """Tests change what it says; `asked` has what it was sent."""

    url: str = ""
    nonce: str = ""
    claims: Claims = field(default_factory=lambda: {"preferred_username": "anna"})
    """What is put over the usual claims; None takes one away."""
    more: Claims = field(default_factory=dict)
    """The same of its document about itself."""
    userinfo: Claims = field(default_factory=dict)
    key: Key = field(default_factory=lambda: Key("first"))
    published: list[dict[str, Any]] | None = None
    sign: Callable[[Claims], str] | None = None
    refusal: tuple[int, Mapping[str, Any]] | None = None
    asked: list[dict[str, str]] = field(default_factory=list)

    def id_token(self) -> str:
        now = int(time.time())
        usual = {"iss": self.url, "aud": CLIENT, "sub": "4711", "iat": now, "exp": now + 300, "nonce": self.nonce}
        claims = {name: value for name, value in {**usual, **self.claims}.items() if value is not None}
        return (self.sign or self.key.sign)(claims)

    def answer(self, path: str) -> tuple[int, object]:
        match path.partition("?")[0]:
            case "/.well-known/openid-configuration":
                names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
                ends = {f"{name}_endpoint": f"{self.url}/{way}" for name, way in names.items()}
                return 200, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **ends, **self.more}
            case "/authorize":
                asked = {name: values[0] for name, values in parse_qs(path.partition("?")[2]).items()}
                self.nonce = asked["nonce"]
                return 303, f"{asked['redirect_uri']}?{urlencode({'code': 'c0de', 'state': asked['state']})}"
            case "/keys":
                return 200, {"keys": [self.key.jwk] if self.published is None else self.published}
            case "/token":
                return self.refusal or (200, {"id_token": self.id_token(), "access_token": "opens-userinfo"})
            case "/userinfo":
                return 200, self.userinfo
            case _:
                return 404, {}

    def __enter__(self) -> HostileProvider:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.asked.append({"path": self.path, "authorization": self.headers.get("Authorization", "")})
                status, content = provider.answer(self.path)
                body = json.dumps(content).encode()
                self.send_response(status)
                if status == 303:
                    self.send_header("Location", str(content))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                provider.asked.append({name: values[0] for name, values in form.items()})
                kind, _, both = self.headers.get("Authorization", "").partition(" ")
                if kind == "Basic":
                    provider.asked[-1]["basic"] = unquote_plus(b64decode(both).decode())
                self.do_GET()

            def log_message(self, format: str, *args: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _head(header: Mapping[str, str], claims: Claims) -> str:
    return ".".join(_base64(json.dumps(each).encode()) for each in (header, claims))


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
