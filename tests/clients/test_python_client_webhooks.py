"""Verification of webhooks by the Python client in `clients/python`."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook

from atrium_client import models
from atrium_client.webhooks import WebhookVerificationError, verify_webhook
from tests.clients.recorded_requests import example_of
from tests.harness.conformance import openapi_document

SECRET = "whsec_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
FORMER = "whsec_AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
CONTENTS = {
    name: each["post"]["requestBody"]["content"]["application/json"]
    for name, each in openapi_document()["webhooks"].items()
}
"""The schema and the example of each message."""
MEMBER_UPDATED = CONTENTS["organization.member.updated"]["example"]
BODY = json.dumps(MEMBER_UPDATED, ensure_ascii=False)


def headers_of(*secrets: str, body: str = BODY, seconds_ago: int = 0) -> dict[str, str]:
    time = datetime.now(UTC) - timedelta(seconds=seconds_ago)
    return {
        "Webhook-Id": "m1",
        "Webhook-Timestamp": str(int(time.timestamp())),
        "Webhook-Signature": " ".join(Webhook(secret).sign("m1", time, body) for secret in secrets),
    }


def test_the_signature_is_that_of_the_specification():
    """The example of Standard Webhooks, whose time has passed."""
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", '{"test": 2432232314}'
    headers = {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }
    with pytest.raises(WebhookVerificationError, match="too old"):
        verify_webhook(body, headers, secret)
    time = datetime.fromtimestamp(1614265330, UTC)
    assert Webhook(secret).sign(headers["webhook-id"], time, body) == headers["webhook-signature"]


def test_the_event_of_a_signed_message_is_returned():
    event = verify_webhook(BODY, headers_of(SECRET), SECRET)
    assert event.type == "organization.member.updated"
    assert isinstance(event.data, models.Member)
    assert isinstance(event.actor, models.ActorReference)
    assert event.organization_id == MEMBER_UPDATED["organizationId"]


def test_each_built_in_event_has_its_record():
    assert len(CONTENTS) > 100
    for type_, content in CONTENTS.items():
        schema = content["schema"]["properties"]["data"].get("$ref", "").rpartition("/")[2]
        data = example_of(schema) if schema else {"id": "r1"}
        body = json.dumps({**MEMBER_UPDATED, "type": type_, "data": data})
        event = verify_webhook(body, headers_of(SECRET, body=body), SECRET)
        assert type(event.data).__name__ == (schema or "dict"), type_


def test_events_of_other_types_have_dictionaries():
    body = json.dumps({**MEMBER_UPDATED, "type": "order.shipped", "data": {"order": 3}})
    event = verify_webhook(body, headers_of(SECRET, body=body), SECRET)
    assert (event.type, event.data) == ("order.shipped", {"order": 3})


def test_bodies_can_be_bytes_and_during_a_rotation_both_secrets_verify_a_message():
    rotated = headers_of(FORMER, SECRET)
    expected = MEMBER_UPDATED["sequence"]
    assert verify_webhook(BODY.encode(), rotated, SECRET).sequence == expected
    assert verify_webhook(BODY, rotated, FORMER).sequence == expected
    assert verify_webhook(BODY, headers_of(FORMER), [SECRET, FORMER]).sequence == expected


@pytest.mark.parametrize(
    ("body", "seconds_ago", "headers", "secret"),
    [
        pytest.param(BODY, 0, {}, FORMER, id="another secret"),
        pytest.param(BODY, 0, {}, [], id="no secret"),
        pytest.param(BODY.replace("member", "admin"), 0, {}, SECRET, id="another body"),
        pytest.param(BODY, 0, {"Webhook-Id": "m2"}, SECRET, id="another id"),
        pytest.param(BODY, 310, {}, SECRET, id="too old"),
        pytest.param(BODY, -400, {}, SECRET, id="of the future"),
        pytest.param(BODY, 0, {"Webhook-Signature": "v1"}, SECRET, id="an incomplete signature"),
        pytest.param(BODY, 0, {"Webhook-Signature": "v1,ä"}, SECRET, id="a malformed signature"),
        pytest.param(BODY, 0, {"Webhook-Timestamp": "soon"}, SECRET, id="a malformed time"),
        pytest.param(b"\xff", 0, {}, SECRET, id="bytes that are no text"),
    ],
)
def test_other_messages_are_rejected(body, seconds_ago, headers, secret):
    # The message is signed now, because a worker can collect its tests minutes before it runs them.
    with pytest.raises(WebhookVerificationError):
        verify_webhook(body, headers_of(SECRET, seconds_ago=seconds_ago) | headers, secret)


def test_messages_without_signature_are_rejected():
    with pytest.raises(WebhookVerificationError):
        verify_webhook(BODY, {}, SECRET)
