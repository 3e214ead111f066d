"""Test that erasures and purges reach what webhooks and channels store besides their records."""

import pytest

from chalicelib.features.privacy.erasures import tasks
from chalicelib.kernel.storage import table
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.channels import room
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown
from tests.harness.workers import Workers

UPDATED = "organization.updated"
CHILD_PREFIXES = ("V#", "N#", "F#")
"""The prefixes of the partitions with child items of webhooks and channels."""

pytestmark = pytest.mark.usefixtures("private_targets")


def list_response_bodies(api: Api, webhook: Hook) -> list[str | None]:
    """Return the stored responses to all delivery attempts, the oldest first."""
    return [
        attempt["responseBody"] for event_delivery in deliveries(api, webhook) for attempt in event_delivery["attempts"]
    ]


class TestErasure:
    def test_removes_a_person_from_stored_responses(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        for body in (f"Who is {SOPHIE.upper()}?", "Fine."):
            receiver.answer = Reply(status=200, body=body.encode())
            rename(api, organization, "After")
            rename(api, organization, "Before")
            workers.deliver()
        deliveries_before = deliveries(api, webhook)
        record = erased(api, workers, clock, organization, email=SOPHIE)
        assert list_response_bodies(api, webhook) == ["Who is …?"] * 2 + ["Fine."] * 2
        assert left_of(SOPHIE) == []
        assert record["erasedRecords"] == 2
        deliveries_after = deliveries(api, webhook)
        assert deliveries_after[2:] == deliveries_before[2:]
        assert [event_delivery["status"] for event_delivery in deliveries_after] == ["succeeded"] * 4

    def test_removes_a_person_from_the_webhook_itself(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        described_webhook = hook(api, organization, receiver, events=[UPDATED], description=f"Ask {SOPHIE}.")
        webhook_with_person_in_url = hook(
            api, organization, receiver.at("127.0.0.1", f"/?for={SOPHIE}"), events=[UPDATED]
        )
        workers.deliver()
        erased(api, workers, clock, organization, email=SOPHIE)
        assert left_of(SOPHIE) == []
        assert (shown(api, described_webhook)["description"], shown(api, described_webhook)["status"]) == (
            "Ask ….",
            "active",
        )
        record = shown(api, webhook_with_person_in_url)
        assert (record["url"], record["status"]) == (receiver.at("127.0.0.1", "/?for=…"), "disabled")
        assert "erased" in record["disabledReason"]
        rename(api, organization, "After")
        workers.deliver()
        assert [request.path for request in receiver.requests] == ["/"]
        reenabled_webhook = change(
            api, webhook_with_person_in_url, url=receiver.at("127.0.0.1", "/other"), enabled=True
        ).json
        assert (reenabled_webhook["status"], reenabled_webhook["disabledReason"]) == ("active", None)

    def test_continues_after_interruptions(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        receiver.answer = Reply(status=200, body=f"Hello, {SOPHIE}!".encode())
        webhooks = [hook(api, organization, receiver, events=[UPDATED]) for _ in range(3)]
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        path = begin_erasure(api, organization, email=SOPHIE)
        for call_number in (12, 18, 24):
            with failing(
                Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=call_number, times=None
            ) as injected_fault:
                workers.attempt()
            assert injected_fault.hit
            clock.shift(minutes=4)
            workers.sweep()
        finish(workers, clock)
        record = found_at(api, organization, path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 15)
        for webhook in webhooks:
            assert list_response_bodies(api, webhook) == ["Hello, …!"] * 5
        assert left_of(SOPHIE) == []

    def test_leaves_later_responses(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        begin_erasure(api, organization, email=SOPHIE)
        workers.deliver()
        receiver.answer = Reply(status=200, body=SOPHIE.encode())
        clock.shift(seconds=1)
        rename(api, organization, "After")
        finish(workers, clock)
        assert list_response_bodies(api, webhook) == [SOPHIE]


class TestPurge:
    def test_removes_pending_work_too(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hook(api, organization, receiver)
        hook(api, organization, receiver, enabled=False)
        room(api, organization, receiver)
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        partitions = [item["pk"] for item in cloud.stored() if item["pk"][:2] in CHILD_PREFIXES]
        assert len(set(partitions)) == 4
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 50)
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        for _ in range(3):
            workers.settle()
            clock.shift(minutes=10)
        assert [item for item in cloud.stored() if item["pk"][:2] in (*CHILD_PREFIXES, "O#")] == []

    def test_continues_after_an_interruption(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hook(api, organization, receiver)
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 3)
        workers.sweep()
        with failing(Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=2, times=None) as injected_fault:
            workers.attempt()
        assert injected_fault.hit
        remaining = [item for item in cloud.stored() if item["pk"].startswith("V#")]
        assert remaining
        for _ in range(3):
            clock.shift(minutes=10)
            workers.settle()
        assert [item for item in cloud.stored() if item["pk"][:2] in (*CHILD_PREFIXES, "O#")] == []
