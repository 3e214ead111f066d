"""The offset of a log's consumer, the URLs that channels accept, and the signatures of webhook messages."""

from typing import Final
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chalicelib.features.notifications.channels.logic.provider_rules import url_mismatch_reason
from chalicelib.features.notifications.channels.models import Provider
from chalicelib.features.notifications.logic.log_consumer import ConsumerOffset
from chalicelib.features.notifications.models.standard_webhooks import (
    decode_secret,
    generate_secret,
    signed_headers,
)
from chalicelib.features.notifications.models.webhook_urls import mask_path_and_query
from chalicelib.kernel.audit_log.ledger import append_pending_and_return_longest_wait_ms, head_key
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.table import TransactionCancelled
from tests.harness.sample_entity import LOG_ID, create_logged_parcel
from tests.kernel.vectors import VECTORS


def append_entries(size: int) -> None:
    for _ in range(size):
        create_logged_parcel(uuid4().hex)
    append_pending_and_return_longest_wait_ms(LOG_ID)


def stored_offset() -> ConsumerOffset:
    return ConsumerOffset.from_head_item(table.get(head_key(LOG_ID)))


@pytest.mark.usefixtures("aws")
class TestConsumerOffset:
    def test_the_offset_of_an_unconsumed_log_is_zero(self):
        assert ConsumerOffset.from_head_item(None) == ConsumerOffset(0, 0)
        append_entries(1)
        assert stored_offset() == ConsumerOffset(0, 0)

    def test_it_advances_by_entries_and_by_parts_of_an_entry(self):
        append_entries(3)
        for offset, next_offset in [
            (ConsumerOffset(), ConsumerOffset(0, 2)),
            (ConsumerOffset(0, 2), ConsumerOffset(2)),
            (ConsumerOffset(2), ConsumerOffset(3)),
        ]:
            table.write_transaction([offset.advance_write(LOG_ID, next_offset, 3)])
            assert stored_offset() == next_offset

    @pytest.mark.parametrize("offset", [ConsumerOffset(), ConsumerOffset(1), ConsumerOffset(2, 1), ConsumerOffset(3)])
    def test_only_the_first_of_two_advances_succeeds(self, offset):
        append_entries(4)
        table.write_transaction([ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(2), 4)])
        with pytest.raises(TransactionCancelled):
            table.write_transaction([offset.advance_write(LOG_ID, ConsumerOffset(4), 4)])
        assert stored_offset() == ConsumerOffset(2)

    def test_it_does_not_reach_an_end_that_has_moved(self):
        append_entries(2)
        move = ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(2), 2)
        append_entries(1)
        with pytest.raises(TransactionCancelled):
            table.write_transaction([move])

    def test_the_head_is_due_until_the_offset_reaches_its_end(self):
        append_entries(2)
        table.write_transaction([ConsumerOffset().advance_write(LOG_ID, ConsumerOffset(1), 2)])
        assert (table.get(head_key(LOG_ID)) or {}).get("task") == "ledger.wake"
        table.write_transaction([ConsumerOffset(1).advance_write(LOG_ID, ConsumerOffset(2), 2)])
        assert not {"task", "duepk", "duesk"} & set(table.get(head_key(LOG_ID)) or {})
        append_entries(1)
        assert (table.get(head_key(LOG_ID)) or {}).get("task") == "ledger.wake"


ACCEPTED_URLS: Final[list[tuple[Provider, str]]] = [
    ("slack", "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"),
    ("slack", "https://hooks.slack.com/workflows/T0/A0/1/x"),
    ("slack", "https://hooks.slack-gov.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"),
    ("discord", "https://discord.com/api/webhooks/1100000/to_ken-1"),
    ("discord", "https://discord.com/api/v10/webhooks/1100000/to_ken-1/"),
    ("discord", "https://discordapp.com/api/webhooks/1100000/to_ken-1?thread_id=7"),
    ("discord", "https://ptb.discord.com/api/webhooks/1100000/to_ken-1"),
    ("discord", "https://canary.discordapp.com/api/webhooks/1100000/to_ken-1"),
    ("teams", "https://prod-31.westus.logic.azure.com:443/workflows/1/triggers/manual/paths/invoke?sp=%2Frun&sig=x"),
    ("teams", "https://default12.57.environment.api.powerplatform.com/powerautomate/automations/direct/workflows/1"),
    ("teams", "https://example.webhook.office.com/webhookb2/1@2/IncomingWebhook/3/4"),
    ("webhook", "https://chat.example.com/hooks/1"),
    ("webhook", "https://hooks.slack.com/services/T0/B0/x"),
]

REJECTED_URLS: Final[list[tuple[Provider, str]]] = [
    ("slack", "https://slack.com/services/T0/B0/x"),
    ("slack", "https://hooks.slack.com.example.com/services/T0/B0/x"),
    ("slack", "https://evil-hooks.slack.com/services/T0/B0/x"),
    ("slack", "https://hooksxslack.com/services/T0/B0/x"),
    ("slack", "https://example.com/hooks.slack.com/services/T0/B0/x"),
    ("discord", "https://media.discord.com/api/webhooks/1/x"),
    ("discord", "https://discord.com.example.com/api/webhooks/1/x"),
    ("discord", "https://discord.com/api/webhooks/1/x/slack"),
    ("discord", "https://discord.com/api/webhooks/1/x/../../../users/@me"),
    ("discord", "https://discord.com/api/users"),
    ("discord", "https://discord.com/api/webhooks/name/x"),
    ("discord", "https://discord.gg/api/webhooks/1/x"),
    ("teams", "https://logic.azure.com/workflows/1"),
    ("teams", "https://evillogic.azure.com/workflows/1"),
    ("teams", "https://x.logic.azure.com.example.com/workflows/1"),
    ("teams", "https://x.office.com/webhookb2/1"),
    ("teams", "https://hooks.slack.com/services/T0/B0/x"),
]


@pytest.mark.parametrize(("provider", "url"), ACCEPTED_URLS)
def test_a_providers_own_url_is_accepted(provider, url):
    assert url_mismatch_reason(provider, url) is None


@pytest.mark.parametrize(("provider", "url"), REJECTED_URLS)
def test_another_url_is_rejected_with_an_example(provider, url):
    reason = url_mismatch_reason(provider, url)
    assert reason is not None
    assert "https://" in reason


@pytest.mark.parametrize(
    ("url", "masked_url"),
    [
        ("https://hooks.slack.com/services/T0/B0/XXXXwxyz", "https://hooks.slack.com/…wxyz"),
        ("https://chat.example.com:8443/hooks/0123456789", "https://chat.example.com:8443/…6789"),
        ("https://x.logic.azure.com:443/w?sp=1&sig=abcdefghij", "https://x.logic.azure.com:443/…ghij"),
        ("https://chat.example.com?token=0123456789", "https://chat.example.com/…6789"),
        ("https://chat.example.com/hooks/1234567", "https://chat.example.com/…"),
        ("https://chat.example.com", "https://chat.example.com/…"),
    ],
)
def test_a_masked_url_shows_the_host_and_the_end_of_a_long_secret(url, masked_url):
    assert mask_path_and_query(url) == masked_url


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
