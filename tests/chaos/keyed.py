"""Starts through the API, each under an idempotency key, and asked for again and again, from a separate thread."""

from __future__ import annotations

import os
import random
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence

import httpx

from model.accounts.tokens import RANDOM_BYTES, make
from tests.chaos.workflows import KEYED
from tests.cluster.cluster import Cluster

EVERY_S = 0.3
ANSWER_WITHIN_S = 5.0
LAST_KEYS = 5
"""A repeated request uses one of this many latest keys."""
KEPT_WAITING = {409, 503}
"""What an API may answer under faults instead of 202."""
_TOKEN = """
    WITH made AS (INSERT INTO account (name, is_admin) VALUES ('chaos', true) RETURNING id)
    INSERT INTO token (account_id, name, secret_hash, scopes, expires_at)
    SELECT id, 'chaos', %s, '{admin}', clock_timestamp() + interval '1 day' FROM made
"""


class KeyedStarts:
    """The stream. `start` and `stop` it once; with no addresses it asks for nothing.

    Args:
        cluster: of which the API is asked; for an account.
        urls: of its API processes.
        seed: of keys and processes.
    """

    def __init__(self, cluster: Cluster, urls: Sequence[str], seed: int) -> None:
        self.answered: dict[str, set[int]] = defaultdict(set)
        """Key -> the commands in the answers."""
        self.heard: Counter[str] = Counter()
        """Statuses and errors."""
        token = make(os.urandom(RANDOM_BYTES))
        cluster.rows(_TOKEN, token.hash)
        self._headers = {"Authorization": f"Bearer {token.text}"}
        self._urls = urls
        self._chance = random.Random(f"keyed {seed}")
        self._keys = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="keyed starts", daemon=True)

    def start(self) -> None:
        """Begin."""
        if self._urls:
            self._thread.start()

    def stop(self) -> None:
        """No more starts."""
        self._stop.set()
        if self._urls:
            self._thread.join()

    def unforeseen(self) -> set[str]:
        """What was answered that no fault excuses."""
        return {status for status in self.heard if status.isdecimal()} - {"202", *map(str, KEPT_WAITING)}

    def _run(self) -> None:
        with httpx.Client(headers=self._headers, timeout=ANSWER_WITHIN_S, trust_env=False) as client:
            while not self._stop.wait(EVERY_S):
                self._keys += self._chance.random() < 0.4 or not self._keys
                key = f"key {max(1, self._keys - self._chance.randrange(LAST_KEYS))}"
                self._ask(client, self._chance.choice(self._urls), key)

    def _ask(self, client: httpx.Client, url: str, key: str) -> None:
        path = f"{url}/api/v1/workflow-definitions/{KEYED}/runs"
        try:
            answer = client.post(path, json={"params": {"key": key}}, headers={"Idempotency-Key": key})
        except httpx.TransportError as error:
            self.heard[type(error).__name__] += 1
            return
        self.heard[str(answer.status_code)] += 1
        if answer.status_code == httpx.codes.ACCEPTED:
            self.answered[key].add(int(answer.json()["command_id"]))
