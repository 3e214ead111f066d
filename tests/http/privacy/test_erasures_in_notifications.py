"""Test that erasures and purges reach what webhooks and channels store besides their records."""

import pytest

from chalicelib.features.privacy.erasures import tasks
from chalicelib.kernel.storage import table
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.channels import create_channel
from tests.harness.erasures import (
    complete_erasure,
    create_erasure,
    finish_erasures,
    get_erasure,
    keys_of_items_containing,
)
from tests.harness.faults import Fault, inject_fault
from tests.harness.invitations import SOPHIE_EMAIL
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_webhook,
    list_deliveries,
    rename_organization,
    update_webhook,
)

UPDATED = "organization.updated"
CHILD_PREFIXES = ("V#", "N#", "F#")
"""The prefixes of the partitions with child items of webhooks and channels."""

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


def list_response_bodies(api: ApiClient, webhook: CreatedWebhook) -> list[str | None]:
    """Return the stored responses to all delivery attempts, the oldest first."""
    return [
        attempt["responseBody"]
        for event_delivery in list_deliveries(api, webhook)
        for attempt in event_delivery["attempts"]
    ]


class TestErasure:
    def test_removes_a_person_from_stored_responses(self, api, organization, workers, receiver, clock):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        for body in (f"Who is {SOPHIE_EMAIL.upper()}?", "Fine."):
            receiver.default_reply = Reply(status=200, body=body.encode())
            rename_organization(api, organization, "After")
            rename_organization(api, organization, "Before")
            workers.deliver()
        deliveries_before = list_deliveries(api, webhook)
        record = complete_erasure(api, workers, clock, organization, email=SOPHIE_EMAIL)
        assert list_response_bodies(api, webhook) == ["Who is …?"] * 2 + ["Fine."] * 2
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        assert record["erasedRecords"] == 2
        deliveries_after = list_deliveries(api, webhook)
        assert deliveries_after[2:] == deliveries_before[2:]
        assert [event_delivery["status"] for event_delivery in deliveries_after] == ["succeeded"] * 4

    def test_removes_a_person_from_the_webhook_itself(self, api, organization, workers, receiver, clock):
        described_webhook = create_webhook(
            api, organization, receiver, events=[UPDATED], description=f"Ask {SOPHIE_EMAIL}."
        )
        webhook_with_person_in_url = create_webhook(
            api, organization, receiver.url_at("127.0.0.1", f"/?for={SOPHIE_EMAIL}"), events=[UPDATED]
        )
        workers.deliver()
        complete_erasure(api, workers, clock, organization, email=SOPHIE_EMAIL)
        assert keys_of_items_containing(SOPHIE_EMAIL) == []
        assert (get_webhook(api, described_webhook)["description"], get_webhook(api, described_webhook)["status"]) == (
            "Ask ….",
            "active",
        )
        record = get_webhook(api, webhook_with_person_in_url)
        assert (record["url"], record["status"]) == (receiver.url_at("127.0.0.1", "/?for=…"), "disabled")
        assert "erased" in record["disabledReason"]
        rename_organization(api, organization, "After")
        workers.deliver()
        assert [request.path for request in receiver.requests] == ["/"]
        reenabled_webhook = update_webhook(
            api, webhook_with_person_in_url, url=receiver.url_at("127.0.0.1", "/other"), enabled=True
        ).json
        assert (reenabled_webhook["status"], reenabled_webhook["disabledReason"]) == ("active", None)

    def test_continues_after_interruptions(self, api, organization, workers, receiver, clock, monkeypatch):
        receiver.default_reply = Reply(status=200, body=f"Hello, {SOPHIE_EMAIL}!".encode())
        webhooks = [create_webhook(api, organization, receiver, events=[UPDATED]) for _ in range(3)]
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        path = create_erasure(api, organization, email=SOPHIE_EMAIL)
        for call_number in (12, 18, 24):
            with inject_fault(
                Fault.TIMED_OUT, call_name="dynamodb:TransactWriteItems", first_call=call_number, times=None
            ) as injected_fault:
                workers.try_deliver()
            assert injected_fault.failed_call
            clock.shift(minutes=4)
            workers.run_sweep()
        finish_erasures(workers, clock)
        record = get_erasure(api, organization, path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 15)
        for webhook in webhooks:
            assert list_response_bodies(api, webhook) == ["Hello, …!"] * 5
        assert keys_of_items_containing(SOPHIE_EMAIL) == []

    def test_leaves_later_responses(self, api, organization, workers, receiver, clock):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        create_erasure(api, organization, email=SOPHIE_EMAIL)
        workers.deliver()
        receiver.default_reply = Reply(status=200, body=SOPHIE_EMAIL.encode())
        clock.shift(seconds=1)
        rename_organization(api, organization, "After")
        finish_erasures(workers, clock)
        assert list_response_bodies(api, webhook) == [SOPHIE_EMAIL]


class TestPurge:
    def test_removes_pending_work_too(self, api, organization, workers, receiver, clock, monkeypatch):
        create_webhook(api, organization, receiver)
        create_webhook(api, organization, receiver, enabled=False)
        create_channel(api, organization, receiver)
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        partitions = [item["pk"] for item in memory_aws.all_items() if item["pk"][:2] in CHILD_PREFIXES]
        assert len(set(partitions)) == 4
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 50)
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        for _ in range(3):
            workers.run_until_idle()
            clock.shift(minutes=10)
        assert [item for item in memory_aws.all_items() if item["pk"][:2] in (*CHILD_PREFIXES, "O#")] == []

    def test_continues_after_an_interruption(self, api, organization, workers, receiver, clock, monkeypatch):
        create_webhook(api, organization, receiver)
        for n in range(5):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver()
        assert api.delete(organization.path, caller=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 3)
        workers.run_sweep()
        with inject_fault(
            Fault.TIMED_OUT, call_name="dynamodb:TransactWriteItems", first_call=2, times=None
        ) as injected_fault:
            workers.try_deliver()
        assert injected_fault.failed_call
        remaining = [item for item in memory_aws.all_items() if item["pk"].startswith("V#")]
        assert remaining
        for _ in range(3):
            clock.shift(minutes=10)
            workers.run_until_idle()
        assert [item for item in memory_aws.all_items() if item["pk"][:2] in (*CHILD_PREFIXES, "O#")] == []
