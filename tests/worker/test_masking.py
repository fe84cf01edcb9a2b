"""Secrets in a stream, cut anywhere."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.masking import Masking

SECRETS = ("abcabd", "abcabdabcabd", "bdabca", "aaaaaaa")


def fed(masking: Masking, *pieces: bytes) -> bytes:
    return b"".join([*(masking.feed(piece) for piece in pieces), masking.finish()])


@given(st.lists(st.text("abcd", max_size=20)))
def test_the_pieces_of_a_stream_make_no_difference(pieces: list[str]) -> None:
    data = [piece.encode() for piece in pieces]
    assert fed(Masking(SECRETS), *data) == fed(Masking(SECRETS), b"".join(data))


@given(st.lists(st.sampled_from([*SECRETS, "a", "b", "x\n"])))
def test_byte_by_byte_no_secret_comes_through(words: list[str]) -> None:
    text = "".join(words).encode()
    shown = fed(Masking(SECRETS), *(text[i : i + 1] for i in range(len(text))))
    assert not any(secret.encode() in shown for secret in SECRETS)


def test_what_cannot_become_a_secret_is_shown_at_once() -> None:
    masking = Masking(["correct horse"])
    assert masking.feed(b"nothing of it\n") == b"nothing of it\n"
    assert masking.feed(b"it is corr") == b"it is "
    assert masking.feed(b"osion") == b"corrosion"


@pytest.mark.parametrize("shape", ["p&ss w/rd", "p%26ss%20w%2Frd", base64.b64encode(b"p&ss w/rd").decode()])
def test_a_secret_is_known_in_a_url_and_in_a_header_too(shape: str) -> None:
    assert fed(Masking(["p&ss w/rd"]), f"<{shape}>".encode()) == b"<******>"


def test_a_short_secret_is_left_because_it_is_in_every_word() -> None:
    assert fed(Masking(["e", ""]), b"every word") == b"every word"
