"""What the clients of the SDK make of answers, and of none."""

from __future__ import annotations

import httpx

from shoal_sdk.exchange import Server


def test_a_failure_without_words_is_named_by_its_kind() -> None:
    said = Server("http://127.0.0.1:1", "shoal_x").answer(httpx.ReadTimeout(""))
    assert str(said) == "the server http://127.0.0.1:1 does not answer: ReadTimeout"
