"""An OpenID Connect provider: where a browser is sent to log in, and who came back.

Authorization code flow with PKCE. All that a login needs later comes from one secret, which only its browser has: no
other browser can go on with it, and any API process can. Source: OpenID Connect Core 1.0, RFC 7636, RFC 9207.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus, urlencode

import httpx

from dao.secrets.kept import kept_secret
from model.errors import Unauthenticated, Unavailable
from service.oidc.id_token import Claims, UnknownKey, checked_claims
from service.oidc.settings import OidcSettings, checked_url

CALLBACK = "/login/oidc/callback"
DISCOVERY = "/.well-known/openid-configuration"
TIMEOUT_S = 10.0
BYTES_MAX = 1 << 20
DISCOVERY_S_MAX, KEYS_S_MAX = 3600.0, 300.0
"""Seconds after which they are asked for again: a key that the provider has taken back counts no longer than that."""
GROUPS_MAX = 10_000

_CODE = re.compile(r"[A-Za-z0-9_]{1,60}")


@dataclass(frozen=True, slots=True)
class Identity:
    """Whom the provider names; `groups` None: it does not say."""

    issuer: str
    subject: str
    name: str
    groups: frozenset[str] | None


def derived(secret: str, what: str) -> str:
    """State, nonce or verifier of the login with this secret; none of them reveals another."""
    return _base64(hmac.digest(secret.encode(), f"shoal oidc {what}".encode(), "sha256"))


class Provider:
    """That of the settings, which name one."""

    def __init__(self, settings: OidcSettings) -> None:
        assert settings.issuer and settings.label
        self._settings = settings
        self._issuer = settings.issuer
        self._name = settings.label
        self._asking = asyncio.Lock()
        self._found: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, Sequence[Mapping[str, Any]]] | None = None
        self._client: httpx.AsyncClient | None = None
        path = settings.client_secret_file
        self._secret = None if path is None else kept_secret(path, "api.oidc.client_secret_file")

    async def login_url(self, secret: str) -> str:
        """Where the browser with this secret logs in. Raises `Unavailable`."""
        there = await self._discovered()
        challenge = _base64(hashlib.sha256(derived(secret, "verifier").encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": self._settings.url + CALLBACK,
            "scope": " ".join(self._settings.scopes),
            "state": derived(secret, "state"),
            "nonce": derived(secret, "nonce"),
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        endpoint = there["authorization_endpoint"]
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    async def identity(self, secret: str, answer: Mapping[str, str]) -> Identity:
        """Whom the provider's `answer`, the parameters with which the browser came back, is about.

        Raises:
            Unauthenticated: it is no answer to the login with this secret, or proves nothing.
            Unavailable: the provider does not answer, or does not know us.
        """
        if not hmac.compare_digest(answer.get("state", "").encode(), derived(secret, "state").encode()):
            raise Unauthenticated("this is the answer to another login; log in again")
        there = await self._discovered()
        said = answer.get("iss")
        if said != self._issuer and (said or there.get("authorization_response_iss_parameter_supported") is True):
            raise Unauthenticated(f"this answer is not of {self._issuer}; log in again")
        if "error" in answer or not answer.get("code"):
            raise Unauthenticated(f"{self._name} refused the login: {_code(answer.get('error'))}; ask its admin")
        given = await self._tokens(there, answer["code"], secret)
        claims = await self._claims(there, str(given.get("id_token", "")), derived(secret, "nonce"))
        return await self._named(there, claims, given.get("access_token"))

    async def _named(self, there: Mapping[str, Any], claims: Claims, access: object) -> Identity:
        """The identity of the claims; what the id token does not say, the provider is asked for once more."""
        settings, known = self._settings, claims
        wanted = [settings.name_claim, *([settings.groups_claim] if settings.uses_groups else [])]
        is_missing = any(_claim(claims, each) is None for each in wanted)
        if is_missing and "userinfo_endpoint" in there and isinstance(access, str):
            request = self._http().build_request(
                "GET", there["userinfo_endpoint"], headers={"Authorization": f"Bearer {access}"}
            )
            status, more = await self._json(request)
            if status == httpx.codes.OK and more.get("sub") == claims["sub"]:
                known = {**more, **claims}
        name = _claim(known, settings.name_claim)
        if not isinstance(name, str):
            raise Unauthenticated(
                f"{self._name} sends no claim {settings.name_claim} with the account's name; set api.oidc.name_claim"
            )
        if settings.name_claim == "email" and known.get("email_verified") is False:
            raise Unauthenticated(f"the e-mail address is not verified at {self._name}; verify it there")
        return Identity(self._issuer, claims["sub"], name, _groups(_claim(known, settings.groups_claim)))

    async def _tokens(self, there: Mapping[str, Any], code: str, secret: str) -> Mapping[str, Any]:
        settings = self._settings
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.url + CALLBACK,
            "code_verifier": derived(secret, "verifier"),
        }
        headers = {"Accept": "application/json"}
        ways = there.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        password = None if self._secret is None else await asyncio.to_thread(self._secret.now)
        if password is None:
            form["client_id"] = settings.client_id
        elif "client_secret_basic" in ways:
            both = f"{quote_plus(settings.client_id)}:{quote_plus(password)}"
            headers["Authorization"] = "Basic " + b64encode(both.encode()).decode()
        else:
            form |= {"client_id": settings.client_id, "client_secret": password}
        request = self._http().build_request("POST", there["token_endpoint"], data=form, headers=headers)
        status, given = await self._json(request)
        if status == httpx.codes.OK:
            return given
        problem = _code(given.get("error"))
        if problem in ("invalid_client", "unauthorized_client"):
            raise Unavailable(f"{self._name} does not let Shoal in: {problem}; check api.oidc.client_id and its secret")
        if status >= httpx.codes.INTERNAL_SERVER_ERROR:
            raise Unavailable(f"{self._name} answered {status}; try again, or log in by password")
        raise Unauthenticated(f"{self._name} refused the login: {problem}; log in again")

    async def _claims(self, there: Mapping[str, Any], token: str, nonce: str) -> Claims:
        for is_last in (False, True):
            keys = await self._keys_of(there, anew=is_last)
            try:
                return checked_claims(
                    token,
                    keys,
                    issuer=self._issuer,
                    client=self._settings.client_id,
                    nonce=nonce,
                    provider=self._name,
                )
            except UnknownKey:
                if is_last:
                    raise
        raise AssertionError

    async def _discovered(self) -> Mapping[str, Any]:
        """What the provider says about itself. Raises `Unavailable`."""
        async with self._asking:
            if self._found is None or time.monotonic() - self._found[0] > DISCOVERY_S_MAX:
                found = await self._document(self._issuer.rstrip("/") + DISCOVERY)
                if found.get("issuer") != self._issuer:
                    raise Unavailable(f"{self._name} has another issuer than {self._issuer}; check api.oidc.issuer")
                for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"):
                    try:
                        if name in found or name != "userinfo_endpoint":
                            checked_url(str(found.get(name, "")))
                    except ValueError:
                        raise Unavailable(f"{self._name} has no {name} with https; ask its admin") from None
                self._found = (time.monotonic(), found)
            return self._found[1]

    async def _keys_of(self, there: Mapping[str, Any], *, anew: bool) -> Sequence[Mapping[str, Any]]:
        """The keys of the provider; `anew`: as they are now."""
        async with self._asking:
            if anew or self._keys is None or time.monotonic() - self._keys[0] > KEYS_S_MAX:
                found = (await self._document(there["jwks_uri"])).get("keys")
                keys = [key for key in found if isinstance(key, dict)] if isinstance(found, list) else []
                self._keys = (time.monotonic(), keys)
            return self._keys[1]

    async def _document(self, url: str) -> Mapping[str, Any]:
        status, found = await self._json(self._http().build_request("GET", url))
        if status != httpx.codes.OK:
            raise Unavailable(f"{self._name} answered {status} at {url}; check api.oidc.issuer")
        return found

    async def _json(self, request: httpx.Request) -> tuple[int, Mapping[str, Any]]:
        """Status and JSON object of an answer; no object counts as an empty one. Raises `Unavailable`."""
        body = b""
        try:
            async with asyncio.timeout(TIMEOUT_S):
                response = await self._http().send(request, stream=True)
                try:
                    async for chunk in response.aiter_bytes():
                        body += chunk
                        if len(body) > BYTES_MAX:
                            raise Unavailable(f"{self._name} answers more than {BYTES_MAX:,} bytes; ask its admin")
                finally:
                    await response.aclose()
        except (httpx.HTTPError, TimeoutError) as error:
            said = str(error) or type(error).__name__
            raise Unavailable(f"{self._name} does not answer ({said}); try again, or log in by password") from None
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        return response.status_code, found if isinstance(found, dict) else {}

    def _http(self) -> httpx.AsyncClient:
        self._client = self._client or httpx.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False)
        return self._client


def _claim(claims: Claims, name: str) -> object:
    """A claim by its name, or by the names on the way to it: `realm_access.roles`."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _groups(claim: object) -> frozenset[str] | None:
    """Groups are mostly a list, with one value sometimes only that."""
    if isinstance(claim, str):
        return frozenset({claim})
    return frozenset(map(str, claim[:GROUPS_MAX])) if isinstance(claim, list) else None


def _code(error: object) -> str:
    """The code of an error, if it is one: else it could be any text, such as a secret."""
    return error if isinstance(error, str) and _CODE.fullmatch(error) else "it does not say why"


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).decode().rstrip("=")
