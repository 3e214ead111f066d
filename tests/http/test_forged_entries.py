"""Log entries that were written to the table by somebody else: they are neither shown nor signed."""

import pytest

from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, canonical_json
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import queues
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased
from tests.harness.logs import log_of, verify
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, delivery, hook, rename, shown
from tests.harness.workers import Workers

UPDATED = "organization.updated"
DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def forge(organization: Founded, *, by: str = "mallory", with_pointer: bool = True) -> str:
    """Write a forged entry that makes Mallory the owner of an organization, and its pointer. Return its id."""
    entry_id, timestamp = new_id(now()), now()
    actor = {"type": "user", "id": by, "name": "Ada"}
    body = canonical_json(
        {
            "id": entry_id,
            "type": "organization.ownership_transferred",
            "occurredAt": timestamp,
            "organizationId": organization.id,
            "actor": actor,
            "target": {"type": "organization", "id": organization.id, "name": "Engines"},
            "context": {"operationId": "transfer_ownership", "requestId": None, "ipAddress": None, "userAgent": None},
            "changes": [{"field": "ownerId", "from": organization.owner.id, "to": "mallory"}],
            "data": {},
        }
    )
    entry = EntryItem.create(organization.id, body)
    cloud.put(entry.item())
    if with_pointer:
        cloud.put(build_pending_pointer(organization.id, entry_id, entry.leaf, {}, timestamp))
    return entry_id


class TestForgedEntry:
    @pytest.mark.parametrize("with_pointer", [True, False])
    def test_a_forged_entry_is_neither_appended_nor_shown(
        self, *, with_pointer: bool, api: Api, organization: Founded, workers: Workers
    ) -> None:
        workers.deliver()
        size = verify(api, organization)["treeSize"]
        forged_id = forge(organization, with_pointer=with_pointer)
        for query in ({}, {"type": "organization.ownership_transferred"}, {"targetId": organization.id}):
            assert forged_id not in [entry["id"] for entry in log_of(api, organization, **query)]
        rename(api, organization, "After")
        workers.settle()
        report = verify(api, organization)
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, size + 1, 0)
        assert forged_id not in [entry["id"] for entry in log_of(api, organization)]

    def test_a_forged_entry_is_not_exported(self, api: Api, organization: Founded, workers: Workers) -> None:
        workers.deliver()
        forged_id = forge(organization)
        response = api.get(f"{organization.path}/audit-log/export", as_=organization.owner, query={"format": "ndjson"})
        assert response.status == 200
        assert forged_id not in response.text

    def test_a_forged_entry_does_not_block_an_erasure(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        workers.deliver()
        forge(organization, by=grace.id, with_pointer=False)
        erased(api, workers, clock, organization, userId=grace.id)


class TestDisabledWebhook:
    """Functions that send webhooks cannot authenticate entries, so a task of the jobs function commits the change."""

    @pytest.fixture(autouse=True)
    def _private_targets(self, configure: Configure) -> None:
        configure(webhook_allow_private="1")

    @pytest.fixture
    def webhook(self, api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        return webhook

    @pytest.fixture
    def without_jobs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A queue of jobs that loses its messages. The sweep finds the due work later."""
        monkeypatch.setattr(queues, "enqueue", lambda *_: None)

    @pytest.mark.usefixtures("without_jobs")
    def test_nothing_is_sent_before_the_sweep_disables_the_webhook(
        self,
        api: Api,
        organization: Founded,
        webhook: Hook,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        assert delivery(api, webhook, UPDATED)["status"] == "failed"
        assert log_of(api, organization, type=DISABLED) == []
        rename(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.settle()
        workers.settle()
        assert shown(api, webhook)["status"] == "disabled"
        (entry,) = log_of(api, organization, type=DISABLED)
        assert entry["context"]["operationId"] == "webhooks.disable"
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]

    @pytest.mark.usefixtures("without_jobs")
    def test_a_webhook_with_a_new_url_stays_active(
        self,
        api: Api,
        organization: Founded,
        webhook: Hook,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        change(api, webhook, url=receiver.at("127.0.0.1", "/elsewhere"))
        receiver.answer = Reply()
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.settle()
        assert shown(api, webhook)["status"] == "active"
        assert log_of(api, organization, type=DISABLED) == []
        rename(api, organization, "Heard")
        workers.settle()
        assert receiver.requests[-1].path == "/elsewhere"

    @pytest.mark.usefixtures("webhook")
    def test_a_repeated_message_disables_the_webhook_once(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        enqueue = queues.enqueue
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(queues, "enqueue", lambda *args: (enqueue(*args), enqueue(*args)))
            workers.deliver()
        assert len(log_of(api, organization, type=DISABLED)) == 1


class TestExhaustedDelivery:
    @pytest.fixture(autouse=True)
    def _private_targets(self, configure: Configure) -> None:
        configure(webhook_allow_private="1")

    def test_the_entry_shows_the_failed_delivery_despite_a_later_retry(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        webhook = hook(api, organization, receiver, events=[UPDATED])
        receiver.answer = Reply(status=500)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
        with monkeypatch.context() as without_jobs:
            without_jobs.setattr(queues, "enqueue", lambda *_: None)
            rename(api, organization, "Failing")
            workers.deliver()
        failed = delivery(api, webhook, UPDATED)
        assert failed["status"] == "failed"
        assert log_of(api, organization, type=EXHAUSTED) == []
        receiver.answer = Reply()
        path = f"{webhook.path}/deliveries/{failed['id']}/retry"
        assert api.post(path, as_=organization.owner).status in (200, 202)
        workers.settle()
        assert delivery(api, webhook, UPDATED)["status"] == "succeeded"
        clock.shift(minutes=2)
        workers.settle()
        (entry,) = log_of(api, organization, type=EXHAUSTED)
        assert (entry["data"]["status"], len(entry["data"]["attempts"])) == ("failed", 1)
        assert {"field": "status", "from": "pending", "to": "failed"} in entry["changes"]
        assert entry["context"]["operationId"] == "webhooks.exhaust"
