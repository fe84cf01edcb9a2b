"""Who asks too often is answered 429 with the time after which there is room again; nobody else is held up."""

from __future__ import annotations

import pytest

from api import rate_limits
from api.rate_limits import RateLimit
from api.settings import ApiSettings
from model.errors import TooMany
from tests.api.serving import BASE, serving, token_of


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def taken(limit: RateLimit, name: str, times: int) -> int:
    """How many of so many requests are let through."""
    done = 0
    for _ in range(times):
        try:
            limit.take(name)
            done += 1
        except TooMany:
            pass
    return done


def test_a_burst_is_two_seconds_of_requests_and_then_only_the_rate() -> None:
    clock = Clock()
    limit = RateLimit(10, "an account", clock)
    assert taken(limit, "ada", 100) == 20
    assert taken(limit, "olga", 5) == 5
    clock.now_s += 1
    assert taken(limit, "ada", 100) == 10
    clock.now_s += 60
    assert taken(limit, "ada", 100) == 20


def test_the_time_to_wait_is_said_and_is_enough() -> None:
    clock = Clock()
    limit = RateLimit(1, "an address", clock)
    assert taken(limit, "a", 9) == 2
    with pytest.raises(TooMany, match="an address may send 1 requests a second") as refused:
        limit.take("a")
    clock.now_s += refused.value.after_s
    limit.take("a")


def test_without_a_limit_any_number_is_let_through_and_of_the_names_not_all_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert taken(RateLimit(0, "an account"), "ada", 100_000) == 100_000
    monkeypatch.setattr(rate_limits, "KNOWN_MAX", 3)
    limit = RateLimit(1, "an address", Clock())
    assert [taken(limit, name, 2) for name in "abcd"] == [2, 2, 2, 2]
    assert [taken(limit, name, 1) for name in "bcd"] == [0, 0, 0]
    assert taken(limit, "a", 1) == 1


def test_what_is_allowed_without_settings_hinders_no_program_that_starts_a_thousand_runs_a_second() -> None:
    found = ApiSettings()
    assert min(found.account_requests_per_s, found.address_requests_per_s) >= 2 * 1_000


async def test_an_account_that_asks_too_often_is_refused_and_others_are_not(database_url: str) -> None:
    async with serving(database_url, account_requests_per_s=1) as api:
        ada, olga = [await token_of(api.backend, name, is_admin=True) for name in ("ada", "olga")]
        async with api.client(ada) as client:
            answers = [await client.get(f"{BASE}/workflow-instances") for _ in range(4)]
        async with api.client(olga) as client:
            assert (await client.get(f"{BASE}/workflow-instances")).status_code == 200
    assert answers[0].status_code == 200
    refused = answers[-1]
    assert (refused.status_code, refused.json()["code"], refused.headers["Retry-After"]) == (429, "SH-1006", "1")


async def test_an_address_that_asks_too_often_is_refused_whoever_asks_but_for_health(database_url: str) -> None:
    async with serving(database_url, address_requests_per_s=1) as api, api.client() as client:
        answers = [await client.get(f"{BASE}/version") for _ in range(4)]
        health = [(await client.get("/healthz")).status_code for _ in range(9)]
    assert (answers[0].status_code, answers[-1].status_code) == (200, 429)
    assert set(health) == {200}
