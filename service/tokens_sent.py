"""The tokens of requests that come at the same time, found by one statement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dao.accounts import tokens

if TYPE_CHECKING:
    from dao.accounts.tokens import FoundToken
    from dao.postgres.database import Database


@dataclass(frozen=True, slots=True)
class TokenSent:
    """The hash of a token, and the address from which it came."""

    database: Database
    hash: bytes = field(repr=False)
    address: str


async def find_tokens(sent: Sequence[TokenSent]) -> list[FoundToken | None]:
    """The tokens, which are of one database; None: unknown, expired, revoked, or of a disabled account."""
    async with sent[0].database.reading() as connection:
        found = await tokens.find_all(connection, {each.hash: each.address for each in sent})
    return [found.get(each.hash) for each in sent]
