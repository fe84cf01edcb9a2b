"""Passwords: hashed by argon2id in threads, a few at once, since each takes 64 MiB and tens of milliseconds."""

from __future__ import annotations

import asyncio
import secrets
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from model.accounts.accounts import check_password, fits
from model.errors import Unavailable

_Result = TypeVar("_Result")

AT_ONCE = 2
WAITING_MAX = 100
"""More logins than this at once are refused for now: the last would wait too long."""


class Passwords:
    """Hashes and checks passwords. One for a process.

    Args:
        hasher: with its costs.
        at_once: how many threads.
        waiting_max: how many may be under way or wait.
    """

    def __init__(
        self, hasher: PasswordHasher | None = None, at_once: int = AT_ONCE, waiting_max: int = WAITING_MAX
    ) -> None:
        self._hasher = hasher or PasswordHasher()
        self._threads = ThreadPoolExecutor(at_once, "passwords")
        self._waiting_max = waiting_max
        self._waiting = 0
        self._nobodys = _hash_of_nobody(self._hasher)

    def close(self) -> None:
        """End the threads, once they are idle."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def hash(self, password: str) -> str:
        """What is stored of a password. Raises `Refused` for one that may not be chosen, `Unavailable`."""
        return await self._in_thread(self._hash, check_password(password))

    async def verify(self, password_hash: str | None, password: str) -> bool:
        """Whether this is the password. Without a hash it takes as long, and it is not. Raises `Unavailable`."""
        right = await self._in_thread(self._verify, password_hash or self._nobodys, password if fits(password) else "")
        return right and password_hash is not None

    def is_outdated(self, password_hash: str) -> bool:
        """Whether it was hashed with other costs than now: then it is hashed again at the next login."""
        return self._hasher.check_needs_rehash(password_hash)

    def _hash(self, password: str) -> str:
        return self._hasher.hash(password)

    def _verify(self, password_hash: str, password: str) -> bool:
        try:
            return self._hasher.verify(password_hash, password)
        except (VerificationError, InvalidHashError):
            return False

    async def _in_thread(self, work: Callable[..., _Result], *given: str) -> _Result:
        if self._waiting >= self._waiting_max:
            raise Unavailable("too many logins are being checked; try again in a few seconds")
        future = self._threads.submit(work, *given)
        self._waiting += 1
        # Counted until its thread is done, though nobody may still wait for it.
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(self._done))
        return await asyncio.wrap_future(future)

    def _done(self) -> None:
        self._waiting -= 1


def _hash_of_nobody(hasher: PasswordHasher) -> str:
    """A hash with the same costs that no password has."""
    salt, digest = (
        b64encode(secrets.token_bytes(size)).rstrip(b"=").decode() for size in (hasher.salt_len, hasher.hash_len)
    )
    return f"$argon2id$v=19$m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}${salt}${digest}"
