"""An id token, checked: signed by a key of the provider, for us, now, and for this login.

Source: OpenID Connect Core 1.0, section 3.1.3.7.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import jwt

from model.errors import Unauthenticated

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a private key of the provider. Never `none`, and never HS*: the key would be one that others have."""
SKEW_S = 60
NEEDED = ["iss", "sub", "aud", "exp", "iat", "nonce"]

Claims = Mapping[str, Any]


class UnknownKey(Unauthenticated):
    """No key that is known has signed it; the provider may have a new one."""


def checked_claims(
    token: str, keys: Sequence[Mapping[str, Any]], *, issuer: str, client: str, nonce: str, provider: str
) -> Claims:
    """What the token says.

    Args:
        token: as the provider sent it.
        keys: those of the provider, as JSON Web Keys.
        issuer: the only one that counts.
        client: for whom it must be.
        nonce: that of this login.
        provider: its name, for sentences.

    Raises:
        UnknownKey: none of the keys has its id.
        Unauthenticated: it proves nothing. The sentence contains nothing of the token but names of claims.
    """
    try:
        key = _key(jwt.get_unverified_header(token), keys, provider)
        claims: Claims = jwt.decode(
            token,
            key,
            algorithms=ALGORITHMS,
            audience=client,
            issuer=issuer,
            leeway=SKEW_S,
            options={"require": NEEDED},
        )
    except (jwt.ExpiredSignatureError, jwt.ImmatureSignatureError):
        raise Unauthenticated(
            f"by this machine's clock the id token of {provider} is of another time; set both clocks right"
        ) from None
    except jwt.InvalidAudienceError:
        raise Unauthenticated(f"the id token of {provider} is for another client; check api.oidc.client_id") from None
    except jwt.InvalidIssuerError:
        raise Unauthenticated(f"the id token is of another issuer than {issuer}; check api.oidc.issuer") from None
    except jwt.MissingRequiredClaimError as error:
        raise Unauthenticated(f"the id token of {provider} has no claim {error.claim}; ask its admin") from None
    except (jwt.PyJWTError, ValueError, TypeError):
        raise Unauthenticated(f"the id token of {provider} is not signed by one of its keys; log in again") from None
    audience, party = claims["aud"], claims.get("azp")
    if (isinstance(audience, list) and len(audience) > 1 and party is None) or party not in (None, client):
        raise Unauthenticated(f"the id token of {provider} is for several clients; check api.oidc.client_id")
    if not hmac.compare_digest(str(claims["nonce"]).encode(errors="replace"), nonce.encode()):
        raise Unauthenticated(f"the id token of {provider} is of another login; log in again")
    if not isinstance(claims["sub"], str) or not 0 < len(claims["sub"]) <= 255:
        raise Unauthenticated(f"the id token of {provider} has no subject of 1 to 255 characters; ask its admin")
    return claims


def _key(header: Mapping[str, Any], keys: Sequence[Mapping[str, Any]], provider: str) -> jwt.PyJWK:
    algorithm, name = header.get("alg"), header.get("kid")
    if algorithm not in ALGORITHMS:
        raise jwt.InvalidAlgorithmError
    fitting = [
        key
        for key in keys
        if key.get("use", "sig") == "sig"
        and key.get("kty") != "oct"
        and key.get("alg", algorithm) == algorithm
        and (name is None or key.get("kid") == name)
    ]
    if len(fitting) != 1:
        raise UnknownKey(f"{provider} has no key with the id of the id token's; try again, or ask its admin")
    return jwt.PyJWK.from_dict(dict(fitting[0]), algorithm=algorithm)
