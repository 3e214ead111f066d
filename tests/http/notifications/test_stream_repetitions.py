"""Which messages of log streams have one id: repetitions of a batch, and no others."""

import pytest

from tests.harness.erasures import create_erasure
from tests.harness.log_streams import (
    decode_message_contents,
)
from tests.harness.receiver import Reply
from tests.harness.webhooks import rename_organization


@pytest.mark.parametrize(
    "change", [{"events": ["organization.updated"]}, {"startAt": 1}, {"destination": {"format": "json"}}]
)
def test_a_changed_stream_sends_another_message(api, organization, stream, receiver, send, change):
    rename_organization(api, organization, "Looms")
    receiver.default_reply = Reply(status=503)
    send(1)
    failed_ids = {message_id for message_id, _ in decode_message_contents(receiver)}
    receiver.default_reply = Reply()
    receiver.requests.clear()
    stream.update(**change)
    send()
    assert len(failed_ids) == 1
    assert receiver.requests
    assert not failed_ids & {message_id for message_id, _ in decode_message_contents(receiver)}
    assert stream.read()["lagEntries"] == 0


def test_an_entry_that_was_erased_meanwhile_is_repeated_as_erased(
    api, organization, stream, receiver, send, workers, mary
):
    api.patch(organization.path, caller=organization.owner, json={"supportEmail": mary.email}).expect(200)
    receiver.default_reply = Reply(status=503)
    send(1)
    create_erasure(api, organization, email=mary.email)
    workers.run_until_idle()
    receiver.default_reply = Reply()
    send()
    (first_id, sent), *others = decode_message_contents(receiver)
    repeated = [entries for message_id, entries in others if message_id == first_id][-1]
    assert [entry["sequence"] for entry in repeated] == [entry["sequence"] for entry in sent]
    assert mary.email in str(sent)
    assert mary.email not in str(repeated)
    assert stream.read()["lagEntries"] == 0


def test_each_test_is_another_message(stream, receiver):
    assert stream.send_test()["delivered"]
    assert stream.send_test()["delivered"]
    assert len({message_id for message_id, _ in decode_message_contents(receiver)}) == 2
