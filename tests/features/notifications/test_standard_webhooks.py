"""Webhook messages are signed as Standard Webhooks specifies."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.notifications.webhooks.models.standard_webhooks import (
    decode_secret,
    generate_secret,
    signed_headers,
)
from chalicelib.kernel.core.encoding import to_base64
from tests.kernel.vectors import VECTORS

VECTOR = VECTORS["webhook"]
SECRET = VECTOR["secret"]
BODY = VECTOR["body"].encode()
TIMESTAMP = int(VECTOR["timestamp"])
SIMILAR_TEXTS = ["", "whsec_", SECRET[6:], SECRET.upper(), f" {SECRET}", f"{SECRET}\n", f"whsec_{SECRET}", SECRET[:-1]]


def sign(*secrets: bytes, body: bytes = BODY, identifier: str = VECTOR["id"], timestamp: int = TIMESTAMP) -> list[str]:
    return signed_headers(secrets, identifier, timestamp, body)["webhook-signature"].split(" ")


def test_the_message_of_the_vectors_has_their_signature():
    assert signed_headers([decode_secret(SECRET)], VECTOR["id"], TIMESTAMP, BODY) == {
        "webhook-id": VECTOR["id"],
        "webhook-timestamp": VECTOR["timestamp"],
        "webhook-signature": VECTOR["signature"],
    }


def test_each_secret_adds_a_signature_in_order():
    first, second = decode_secret(generate_secret()), decode_secret(SECRET)
    assert sign(first, second) == [*sign(first), VECTOR["signature"]]


def test_generated_secrets_have_32_distinct_bytes():
    secrets = {generate_secret() for _ in range(100)}
    assert len(secrets) == 100
    assert {len(decode_secret(secret)) for secret in secrets} == {32}
    assert {len(secret) for secret in secrets} == {50}


@settings(max_examples=40)
@given(st.binary(min_size=24, max_size=64))
def test_a_secret_encodes_its_bytes(key):
    assert decode_secret(f"whsec_{to_base64(key)}") == key


@pytest.mark.parametrize("size", [0, 1, 23, 65, 100])
def test_a_secret_has_24_to_64_bytes(size):
    with pytest.raises(ValueError, match="24 to 64 random bytes"):
        decode_secret(f"whsec_{to_base64(bytes(size))}")


@pytest.mark.parametrize("text", [*SIMILAR_TEXTS, "whsec_" + "-_" * 20, "whsec_" + "ö" * 40])
def test_text_similar_to_a_secret_is_rejected(text):
    with pytest.raises(ValueError, match="must be whsec_ and the base64"):
        decode_secret(text)


@settings(max_examples=40)
@given(st.binary(min_size=24, max_size=64), st.binary(max_size=50), st.binary(max_size=50))
def test_another_body_or_secret_has_another_signature(key, body, other):
    assert (sign(key, body=body) == sign(key, body=other)) == (body == other)
    assert sign(key, body=body) != sign(key + b"x", body=body)


def test_another_id_or_timestamp_has_another_signature():
    key = decode_secret(SECRET)
    assert sign(key, identifier="msg_other") != sign(key)
    assert sign(key, timestamp=TIMESTAMP + 1) != sign(key)
