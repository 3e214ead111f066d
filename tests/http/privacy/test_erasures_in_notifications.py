"""Test that erasures and purges reach what webhooks and channels store besides their records."""

import pytest

from chalicelib.features.privacy.erasures import tasks
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.channels import create_channel
from tests.harness.erasures import keys_of_items_containing
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import SOPHIE_EMAIL
from tests.harness.receiver import Reply
from tests.harness.webhooks import create_webhook, get_webhook, list_deliveries, rename_organization, update_webhook

UPDATED = "organization.updated"
CHILD_PREFIXES = ("V#", "N#", "F#")
"""The prefixes of the partitions with child items of webhooks and channels."""

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


def list_response_bodies(api, webhook):
    """Return the stored responses to all delivery attempts, the oldest first."""
    deliveries = list_deliveries(api, webhook)
    return [attempt["responseBody"] for delivery in deliveries for attempt in delivery["attempts"]]


def items_with_prefixes(prefixes):
    return [item for item in memory_aws.all_items() if item["pk"][:2] in prefixes]


def interrupt(workers, call_number):
    """Let all transactions from the given one on fail."""
    call_name = "dynamodb:TransactWriteItems"
    with inject_fault(Fault.TIMED_OUT, call_name=call_name, first_call=call_number, times=None) as injected_fault:
        workers.try_deliver()
    assert injected_fault.failed_call


class TestErasure:
    def test_removes_a_person_from_stored_responses(self, api, organization, workers, receiver, erase):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        for body in (f"Who is {SOPHIE_EMAIL.upper()}?", "Fine."):
            receiver.default_reply = Reply(status=200, body=body.encode())
            rename_organization(api, organization, "After")
            rename_organization(api, organization, "Before")
            workers.deliver()
        deliveries_before = list_deliveries(api, webhook)
        record_count, _ = erase(email=SOPHIE_EMAIL)
        assert list_response_bodies(api, webhook) == ["Who is …?"] * 2 + ["Fine."] * 2
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        assert record_count == 2
        deliveries_after = list_deliveries(api, webhook)
        assert deliveries_after[2:] == deliveries_before[2:]
        assert [delivery["status"] for delivery in deliveries_after] == ["succeeded"] * 4

    def test_removes_a_person_from_the_webhook_itself(self, api, organization, workers, receiver, erase):
        personal_url, redacted_url, other_url = (
            receiver.url_at("127.0.0.1", path) for path in (f"/?for={SOPHIE_EMAIL}", "/?for=…", "/other")
        )
        described = create_webhook(api, organization, receiver, events=[UPDATED], description=f"Ask {SOPHIE_EMAIL}.")
        with_person_in_url = create_webhook(api, organization, personal_url, events=[UPDATED])
        workers.deliver()
        erase(email=SOPHIE_EMAIL)
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        record = get_webhook(api, described)
        assert (record["description"], record["status"]) == ("Ask ….", "active")
        record = get_webhook(api, with_person_in_url)
        assert (record["url"], record["status"]) == (redacted_url, "disabled")
        assert "erased" in record["disabledReason"]
        rename_organization(api, organization, "After")
        workers.deliver()
        assert [request.path for request in receiver.requests] == ["/"]
        reenabled = update_webhook(api, with_person_in_url, url=other_url, enabled=True).json
        assert (reenabled["status"], reenabled["disabledReason"]) == ("active", None)

    def test_continues_after_interruptions(self, api, organization, workers, receiver, clock, monkeypatch, erase):
        receiver.default_reply = Reply(status=200, body=f"Hello, {SOPHIE_EMAIL}!".encode())
        webhooks = [create_webhook(api, organization, receiver, events=[UPDATED]) for _ in range(3)]
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        path = erase.begin(email=SOPHIE_EMAIL)
        for call_number in (12, 18, 24):
            interrupt(workers, call_number)
            clock.shift(minutes=4)
            workers.run_sweep()
        erase.finish()
        record = erase.get(path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 15)
        for webhook in webhooks:
            assert list_response_bodies(api, webhook) == ["Hello, …!"] * 5
        assert keys_of_items_containing(SOPHIE_EMAIL) == []

    def test_leaves_later_responses(self, api, organization, workers, receiver, clock, erase):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        erase.begin(email=SOPHIE_EMAIL)
        workers.deliver()
        receiver.default_reply = Reply(status=200, body=SOPHIE_EMAIL.encode())
        clock.shift(seconds=1)
        rename_organization(api, organization, "After")
        erase.finish()
        assert list_response_bodies(api, webhook) == [SOPHIE_EMAIL]


class TestPurge:
    @pytest.mark.parametrize("is_interrupted", [False, True])
    def test_removes_pending_work_too_and_continues_after_an_interruption(
        self, api, organization, workers, receiver, clock, monkeypatch, *, is_interrupted
    ):
        create_webhook(api, organization, receiver)
        create_webhook(api, organization, receiver, enabled=False)
        create_channel(api, organization, receiver)
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        assert len({item["pk"] for item in items_with_prefixes(CHILD_PREFIXES)}) == 4
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        if is_interrupted:
            monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 3)
            workers.run_sweep()
            interrupt(workers, 2)
            assert items_with_prefixes(["V#"])
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 50)
        for _ in range(3):
            workers.run_until_idle()
            clock.shift(minutes=10)
        assert items_with_prefixes((*CHILD_PREFIXES, "O#")) == []
