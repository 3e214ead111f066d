"""A request to a witness arrives as C2SP tlog-witness demands, and ends in time."""

import time

import pytest

from chalicelib.features.audit.witnesses.logic import witness_client
from chalicelib.features.audit.witnesses.logic.witness_client import WitnessUnreachable, add_checkpoint, build_body
from chalicelib.kernel.outbound import egress
from tests.harness.receiver import NO_REPLY, Reply


@pytest.fixture(autouse=True)
def without_pool(private_targets_allowed):
    egress.reset_pool()


def test_a_checkpoint_is_submitted_as_specified(receiver):
    receiver.default_reply = Reply(200, {"Content-Type": "text/plain; charset=utf-8"}, "— w x\n".encode())
    body = build_body(3, [bytes(32), b"\xff" * 32], "origin\n5\nroot\n\n— origin signature\n")
    response = add_checkpoint(f"{receiver.url}/prefix", body)
    assert (response.status, response.media_type, response.body) == (200, "text/plain", "— w x\n")
    (request,) = receiver.requests
    assert (request.method, request.path) == ("POST", "/prefix/add-checkpoint")
    assert request.body.decode() == (
        "old 3\n"
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"
        "//////////////////////////////////////////8=\n"
        "\n"
        "origin\n5\nroot\n\n— origin signature\n"
    )


def test_a_long_response_is_cut(receiver):
    receiver.default_reply = Reply(200, body=b"x" * 100_000)
    assert len(add_checkpoint(receiver.url, "").body) == witness_client.MAX_RESPONSE_BYTES


def test_a_witness_that_does_not_respond_is_given_up(receiver, monkeypatch):
    monkeypatch.setattr(witness_client, "REQUEST_SECONDS", 0.2)
    for reply in (NO_REPLY, Reply(body=b"x" * 100, byte_delay_seconds=0.05)):
        receiver.default_reply = reply
        began_at = time.monotonic()
        with pytest.raises(WitnessUnreachable, match="did not respond within"):
            add_checkpoint(receiver.url, "")
        assert time.monotonic() - began_at < 5


def test_an_address_that_is_not_public_is_not_connected_to(receiver, configure):
    configure(webhook_allow_private="false")
    with pytest.raises(WitnessUnreachable, match="no public address"):
        add_checkpoint(receiver.url, "")
    assert receiver.requests == []
