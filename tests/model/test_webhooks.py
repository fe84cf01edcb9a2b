"""The signatures of webhooks: those that others make, and what is none."""

from __future__ import annotations

from model.runs.webhooks import Delivery, signature

SECRET, ID, TIMESTAMP = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330"
BODY = b'{"test": 2432232314}'
SIGNED = "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
"""The signature by an independent library."""


def test_a_signature_is_the_one_that_other_libraries_make() -> None:
    assert signature(SECRET, ID, TIMESTAMP, BODY) == SIGNED
    assert Delivery.read(ID, TIMESTAMP, f"v1,{SIGNED}", BODY).is_signed_with(SECRET)
    assert not Delivery.read(ID, TIMESTAMP, f"v1,{SIGNED}", BODY + b" ").is_signed_with(SECRET)


def test_a_key_that_is_no_base64_is_taken_as_it_is() -> None:
    for secret in ("whsec_no Base64!", "a plain text", "whsec_"):
        sent = Delivery.read(ID, TIMESTAMP, f"v1,{signature(secret, ID, TIMESTAMP, BODY)}", BODY)
        assert sent.is_signed_with(secret)
        assert not sent.is_signed_with(SECRET)
