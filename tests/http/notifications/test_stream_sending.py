"""Test what log streams send: order, batches, failures, restarts and concurrent workers."""

from base64 import b64encode
from unittest.mock import patch

import pytest

from chalicelib.entrypoints import workers as entrypoint
from chalicelib.features.notifications.log_streams.logic import stream_worker
from chalicelib.kernel.audit_log.entries import entry_key
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.work import queues
from tests.harness import memory_aws
from tests.harness.audit_logs import add_entries
from tests.harness.erasures import create_erasure
from tests.harness.log_streams import (
    create_log_stream,
    decode_https_batch,
    listed_entries,
    received_entries,
    received_sequences,
)
from tests.harness.organizations import create_api_key
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Reply
from tests.harness.webhooks import rename_organization


class TestOrder:
    def test_each_entry_is_sent_once_and_in_order(self, api, organization, stream, receiver, send):
        for name in ("Looms", "Engines", "Mills"):
            rename_organization(api, organization, name)
            send(1)
        send()
        assert received_sequences(receiver) == [*range(1, len(listed_entries(api, organization)) + 1)]

    def test_an_entry_waits_30_seconds_for_others(self, api, organization, stream, receiver, send, workers, clock):
        send()
        receiver.requests.clear()
        rename_organization(api, organization, "Looms")
        workers.deliver()
        clock.shift(seconds=20)
        rename_organization(api, organization, "Engines")
        workers.deliver()
        assert receiver.requests == []
        clock.shift(seconds=11)
        workers.run_until_idle()
        assert [len(decode_https_batch(request)) for request in receiver.requests] == [2]

    def test_the_sweep_starts_a_stream_whose_message_was_lost(
        self, api, organization, stream, receiver, send, workers, clock
    ):
        send()
        receiver.requests.clear()
        rename_organization(api, organization, "Looms")
        workers.deliver()
        memory_aws.discard_queued_messages()
        clock.shift(seconds=31)
        workers.run_until_idle()
        assert len(receiver.requests) == 1

    def test_a_stream_that_is_up_to_date_is_not_scheduled(self, stream, send):
        send(6)
        assert stream.progress.due_at is None

    def test_batches_have_a_limited_number_of_entries(
        self, api, organization, new_stream, receiver, send, workers, small_batches
    ):
        workers.deliver()
        add_entries(api, workers, organization, 25)
        new_stream({"type": "https", "url": receiver.url}, startAt=1)
        send()
        lengths = [len(decode_https_batch(request)) for request in receiver.requests]
        assert lengths[:2] == [small_batches, small_batches]
        assert received_sequences(receiver) == [*range(1, sum(lengths) + 1)]

    @pytest.mark.usefixtures("small_batches")
    def test_a_full_batch_is_sent_at_once(self, api, organization, stream, receiver, send, workers, clock):
        """One entry each second. The scale is that of 100 each second and batches of 1,000 entries."""
        send()
        receiver.requests.clear()
        lags = []
        for _ in range(45):
            add_entries(api, workers, organization)
            clock.shift(seconds=1)
            lags.append(stream.read()["lagEntries"])
        assert max(lags) <= 12
        assert all(len(batch) >= 9 for batch in map(decode_https_batch, receiver.requests))
        send()
        assert received_sequences(receiver)[-1] == len(listed_entries(api, organization))

    @pytest.mark.usefixtures("small_batches")
    def test_all_that_waits_is_sent_in_one_run(self, api, organization, stream, receiver, send, workers):
        send()
        receiver.requests.clear()
        for number in range(35):
            rename_organization(api, organization, f"Looms {number}")
        workers.deliver()
        assert [len(decode_https_batch(request)) for request in receiver.requests] == [10, 10, 10, 5]
        assert stream.read()["lagEntries"] == 0

    def test_other_events_are_skipped(self, api, organization, new_stream, receiver, send):
        stream = new_stream({"type": "https", "url": receiver.url}, events=["organization.updated"])
        send()
        assert receiver.requests == []
        assert stream.read()["lagEntries"] == 0
        rename_organization(api, organization, "Looms")
        send()
        assert [entry["type"] for entry in received_entries(receiver)] == ["organization.updated"]

    def test_a_stream_of_an_api_key_sends_only_what_the_key_may_read(
        self, api, organization, new_stream, receiver, send
    ):
        key = create_api_key(api, organization, "log-streams:write", "members:read")
        new_stream({"type": "https", "url": receiver.url}, caller=key, startAt=1)
        rename_organization(api, organization, "Looms")
        send()
        types = {entry["type"] for entry in received_entries(receiver)}
        assert types == {"organization.log_stream.created", "organization.invitation.accepted"}

    def test_an_erased_entry_is_sent_as_erased(self, api, organization, stream, receiver, send, workers, mary):
        del stream
        api.patch(organization.path, caller=organization.owner, json={"supportEmail": mary.email}).expect(200)
        workers.deliver()
        create_erasure(api, organization, email=mary.email)
        workers.run_until_idle()
        receiver.requests.clear()
        create_log_stream(
            api, organization, {"type": "https", "url": receiver.url_at("127.0.0.1", "/second")}, startAt=1
        )
        send()
        second = [request for request in receiver.requests if request.path == "/second"]
        entries = [entry for request in second for entry in decode_https_batch(request)]
        assert [entry["sequence"] for entry in entries] == [*range(1, len(entries) + 1)]
        erased = [entry for entry in entries if entry.get("erased")]
        assert erased
        assert all(entry["data"] is None and entry["integrity"]["erasureSignature"] for entry in erased)
        assert mary.email not in str(entries)


class TestFailures:
    def test_the_same_batch_is_repeated_until_it_is_accepted(
        self, api, organization, stream, receiver, send, workers, clock
    ):
        receiver.default_reply = Reply(status=503, headers={"Retry-After": "1"})
        send(1)
        rename_organization(api, organization, "Looms")
        workers.deliver()
        state = stream.read()
        assert state["status"] == "failing"
        assert state["failingSince"]
        assert (state["position"], state["lagEntries"] > 0) == (0, True)
        assert state["lastError"] == {
            **state["lastError"],
            "statusCode": 503,
            "message": "It answered 503 instead of 2xx.",
        }
        receiver.default_reply = Reply()
        failed, attempts = receiver.requests[0], len(receiver.requests)
        clock.shift(hours=1)
        workers.run_until_idle()
        repeated, following = receiver.requests[attempts:]
        assert (repeated.body, repeated.headers["webhook-id"]) == (failed.body, failed.headers["webhook-id"])
        assert decode_https_batch(following)[0]["sequence"] == decode_https_batch(repeated)[-1]["sequence"] + 1
        send()
        assert (stream.read()["status"], stream.read()["lagEntries"]) == ("active", 0)
        assert stream.read()["lastError"]["statusCode"] == 503

    def test_pauses_grow_to_half_an_hour(self, stream, receiver, workers, clock):
        receiver.default_reply = Reply(status=500)
        workers.deliver()
        for expected in (5, 30, 60, 300, 900, 1_800, 1_800):
            due_at = stream.progress.due_at
            assert due_at is not None
            earliest, latest = (after(now(), seconds=expected * factor) for factor in (0.75, 1.25))
            assert earliest <= due_at <= latest
            clock.shift(seconds=expected * 1.3)
            workers.run_until_idle()

    def test_it_is_disabled_after_five_days_and_the_admins_are_notified(
        self, api, organization, grace, stream, receiver, workers, clock, mailbox
    ):
        receiver.default_reply = Reply(status=500)
        workers.deliver()
        since = stream.read()["failingSince"]
        for _ in range(6):
            clock.shift(days=1)
            workers.run_until_idle()
        state = stream.read()
        assert (state["status"], state["enabled"]) == ("disabled", False)
        assert state["disabledReason"] == "Every attempt has failed for 5 days."
        assert stream.progress.due_at is None
        workers.run_until_idle()
        newest = api.get_items(f"{organization.path}/audit-log", caller=organization.owner)[0]
        assert newest["type"] == "organization.log_stream.disabled"
        assert sorted(letter.recipients[0] for letter in mailbox.received_emails) == [
            organization.owner.email,
            grace.email,
        ]
        assert mailbox.emails[0].subject == f"A log stream of {organization.record['name']} is disabled"
        assert all(text in mailbox.emails[0].text for text in (receiver.url, since[:4], "for 5 days"))
        receiver.default_reply = Reply()
        receiver.requests.clear()
        assert stream.update(enabled=True)["disabledReason"] is None
        workers.run_until_idle()
        assert received_sequences(receiver)[0] == 1

    def test_a_time_out_is_a_failure(self, stream, receiver, workers, monkeypatch):
        monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.2)
        receiver.default_reply = NO_REPLY
        workers.deliver()
        error = stream.read()["lastError"]
        assert (error["statusCode"], error["message"]) == (None, "The server did not respond within 0.2 s.")

    @pytest.mark.usefixtures("small_batches")
    @pytest.mark.parametrize("max_bytes", [1_200, 2_500])
    def test_batches_that_are_too_large_are_split_and_grow_slowly(
        self, api, organization, stream, receiver, send, max_bytes
    ):
        receiver.default_reply = lambda request: Reply(status=413 if len(request.body) > max_bytes else 200)
        for number in range(30):
            rename_organization(api, organization, f"Looms {number}")
        send()
        assert stream.read()["status"] == "active"
        accepted = [request for request in receiver.requests if len(request.body) <= max_bytes]
        assert len(receiver.requests) - len(accepted) <= 3 + len(accepted) / 10
        receiver.requests[:] = accepted
        assert received_sequences(receiver) == [*range(1, len(listed_entries(api, organization)) + 1)]

    @pytest.mark.usefixtures("small_batches")
    def test_batches_reach_their_full_size_again(self, stream, receiver, workers, clock, rename, monkeypatch):
        monkeypatch.setattr(stream_worker, "_BATCHES_BEFORE_GROWTH", 2)
        receiver.default_reply = Reply(status=413)
        workers.deliver()
        assert stream.progress.max_entries == 1
        receiver.default_reply = Reply()
        receiver.requests.clear()
        rename(*(f"Looms {number}" for number in range(36)))
        clock.shift(seconds=60)
        workers.run_until_idle()
        lengths = [len(decode_https_batch(request)) for request in receiver.requests]
        assert lengths[:9] == [1, 1, 2, 2, 4, 4, 8, 8, 10]

    def test_an_unreadable_credential_is_shown_until_it_is_restored(self, stream, receiver, workers, clock, configure):
        former_key = settings().data_key
        configure(data_key=b64encode(b"n" * 32).decode())
        workers.deliver()
        test_error = stream.send_test()["error"]
        assert receiver.requests == []
        configure(data_key=former_key)
        state = stream.read()
        assert (state["status"], state["position"], state["lastError"]["statusCode"]) == ("failing", 0, None)
        assert state["lastError"]["message"] == test_error
        assert "cannot be decrypted. Set it again" in test_error
        clock.shift(seconds=7)
        workers.run_until_idle()
        assert (stream.read()["status"], received_sequences(receiver)[0]) == ("active", 1)

    @pytest.mark.parametrize("damage", [dict.clear, lambda item: item.pop("body"), lambda item: item.pop("actor")])
    def test_an_unreadable_entry_is_shown_until_it_is_restored(
        self, api, organization, stream, receiver, workers, clock, damage
    ):
        stream.update(enabled=False)
        workers.deliver()
        unreadable = listed_entries(api, organization)[2]
        item = memory_aws.get_item(*entry_key(organization.id, unreadable["id"]))
        assert item is not None
        damaged = {**item}
        damage(damaged)
        memory_aws.delete_item(item)
        if damaged:
            memory_aws.put_item(damaged)
        stream.update(enabled=True)
        workers.deliver()
        state = stream.read()
        assert (state["status"], state["position"], received_sequences(receiver)) == ("failing", 2, [1, 2])
        assert state["lastError"]["message"].startswith("The entry with sequence 3 is missing from the log, or")
        memory_aws.put_item(item)
        clock.shift(seconds=7)
        workers.run_until_idle()
        assert stream.read()["status"] == "active"
        assert received_sequences(receiver) == [*range(1, len(listed_entries(api, organization)) + 1)]

    def test_a_successful_test_ends_the_pause(self, stream, receiver, workers):
        receiver.default_reply = Reply(status=500)
        for _ in range(4):
            workers.deliver()
        receiver.default_reply = Reply()
        receiver.requests.clear()
        assert stream.send_test()["delivered"]
        workers.deliver()
        assert (stream.read()["status"], stream.read()["lagEntries"]) == ("active", 0)

    def test_private_addresses_are_refused(self, api, organization, receiver, configure, workers):
        configure(webhook_allow_private="1")
        stream = create_log_stream(api, organization, {"type": "https", "url": receiver.url}, startAt=1)
        configure(webhook_allow_private="0")
        workers.deliver()
        assert receiver.requests == []
        assert stream.read()["lastError"]["message"] == "The host has no public address."


class TestChanges:
    def test_a_paused_stream_continues_where_it_stopped(self, api, organization, stream, receiver, send):
        send()
        receiver.requests.clear()
        stream.update(enabled=False)
        rename_organization(api, organization, "Looms")
        send()
        assert receiver.requests == []
        waiting = stream.read()["lagEntries"]
        assert waiting == 2
        stream.update(enabled=True)
        send()
        assert len(received_sequences(receiver)) == 3
        assert received_sequences(receiver)[-1] == len(listed_entries(api, organization))

    def test_a_restart_sends_entries_again(self, stream, receiver, send):
        send()
        receiver.requests.clear()
        stream.update(startAt=2)
        send()
        assert received_sequences(receiver)[:2] == [2, 3]

    def test_a_restart_while_a_batch_is_sent_wins(self, api, organization, stream, receiver, send):
        def restart_once(_request: ReceivedRequest) -> Reply:
            receiver.default_reply = Reply()
            stream.update(startAt=3)
            return Reply()

        receiver.default_reply = restart_once
        send()
        assert received_sequences(receiver)[0] == 1
        restarted = [entry["sequence"] for request in receiver.requests[1:] for entry in decode_https_batch(request)]
        assert restarted == [*range(3, len(listed_entries(api, organization)) + 1)]

    def test_a_second_worker_stops(self, stream, receiver, workers, send):
        def start_second_worker(_request: ReceivedRequest) -> Reply:
            queues.enqueue_delivery_to_slow_recipient(stream_worker.build_message(stream.progress))
            workers.deliver()
            return Reply()

        receiver.default_reply = start_second_worker
        workers.deliver()
        assert len(receiver.requests) == 1
        assert stream.progress.position == received_sequences(receiver)[-1]

    def test_a_worker_that_died_is_replaced_and_only_its_last_batch_is_repeated(
        self, api, organization, stream, receiver, workers, clock, send
    ):
        with patch.object(stream_worker, "_store_success", side_effect=SystemExit), pytest.raises(SystemExit):
            workers.deliver()
        memory_aws.discard_queued_messages()
        rename_organization(api, organization, "Looms")
        clock.shift(seconds=stream_worker.LEASE_SECONDS + 1)
        workers.run_until_idle()
        assert receiver.requests[1].body == receiver.requests[0].body
        send()
        first = len(decode_https_batch(receiver.requests[0]))
        assert received_sequences(receiver) == [
            *range(1, first + 1),
            *range(1, len(listed_entries(api, organization)) + 1),
        ]

    @pytest.mark.usefixtures("small_batches")
    def test_a_long_backlog_takes_several_messages(self, api, organization, new_stream, receiver, workers, monkeypatch):
        workers.deliver()
        add_entries(api, workers, organization, 35)
        new_stream({"type": "https", "url": receiver.url}, startAt=1)
        workers.deliver()
        monkeypatch.setattr(entrypoint, "_MAX_BATCH_MS", -1)
        workers.run_until_idle()
        assert len(receiver.requests) > 3
        assert received_sequences(receiver) == [*range(1, len(received_sequences(receiver)) + 1)]
