"""Log entries that were written to the table by somebody else: they are neither shown nor signed."""

import pytest

from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, canonical_json
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import queues
from tests.conftest import SettingsOverride
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_delivery,
    get_webhook,
    rename_organization,
    update_webhook,
)
from tests.harness.workers import Workers

UPDATED = "organization.updated"
DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def forge_entry(organization: CreatedOrganization, *, actor_id: str = "mallory", with_pointer: bool = True) -> str:
    """Write a forged entry that makes Mallory the owner of an organization, and its pointer. Return its id."""
    entry_id, timestamp = new_id(now()), now()
    actor = {"type": "user", "id": actor_id, "name": "Ada"}
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
    entry = EntryItem.from_canonical_bytes(organization.id, body)
    memory_aws.put_item(entry.item())
    if with_pointer:
        memory_aws.put_item(build_pending_pointer(organization.id, entry_id, entry.leaf, {}, timestamp))
    return entry_id


class TestForgedEntry:
    @pytest.mark.parametrize("with_pointer", [True, False])
    def test_a_forged_entry_is_neither_appended_nor_shown(self, *, with_pointer, api, organization, workers):
        workers.deliver()
        size = verify_integrity(api, organization)["treeSize"]
        forged_id = forge_entry(organization, with_pointer=with_pointer)
        for query in ({}, {"type": "organization.ownership_transferred"}, {"targetId": organization.id}):
            assert forged_id not in [entry["id"] for entry in list_entries(api, organization, **query)]
        rename_organization(api, organization, "After")
        workers.run_until_idle()
        report = verify_integrity(api, organization)
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, size + 1, 0)
        assert forged_id not in [entry["id"] for entry in list_entries(api, organization)]

    def test_a_forged_entry_is_not_exported(self, api, organization, workers):
        workers.deliver()
        forged_id = forge_entry(organization)
        response = api.get(
            f"{organization.path}/audit-log/export", caller=organization.owner, query={"format": "ndjson"}
        )
        assert response.status == 200
        assert forged_id not in response.text

    def test_a_forged_entry_does_not_block_an_erasure(self, api, organization, grace, workers, clock):
        workers.deliver()
        forge_entry(organization, actor_id=grace.id, with_pointer=False)
        complete_erasure(api, workers, clock, organization, userId=grace.id)


class TestDisabledWebhook:
    """Functions that send webhooks cannot authenticate entries, so a task of the jobs function commits the change."""

    @pytest.fixture(autouse=True)
    def _private_targets(self, configure: SettingsOverride) -> None:
        configure(webhook_allow_private="1")

    @pytest.fixture
    def webhook(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, receiver: Receiver
    ) -> CreatedWebhook:
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        return webhook

    @pytest.fixture
    def without_jobs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A queue of jobs that loses its messages. The sweep finds the due work later."""
        monkeypatch.setattr(queues, "enqueue", lambda *_: None)

    @pytest.mark.usefixtures("without_jobs")
    def test_nothing_is_sent_before_the_sweep_disables_the_webhook(
        self, api, organization, webhook, workers, receiver, monkeypatch, clock
    ):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        assert get_delivery(api, webhook, UPDATED)["status"] == "failed"
        assert list_entries(api, organization, type=DISABLED) == []
        rename_organization(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.run_until_idle()
        workers.run_until_idle()
        assert get_webhook(api, webhook)["status"] == "disabled"
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert entry["context"]["operationId"] == "webhooks.disable"
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]

    @pytest.mark.usefixtures("without_jobs")
    def test_a_webhook_with_a_new_url_stays_active(
        self, api, organization, webhook, workers, receiver, monkeypatch, clock
    ):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        workers.deliver()
        update_webhook(api, webhook, url=receiver.url_at("127.0.0.1", "/elsewhere"))
        receiver.default_reply = Reply()
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert get_webhook(api, webhook)["status"] == "active"
        assert list_entries(api, organization, type=DISABLED) == []
        rename_organization(api, organization, "Heard")
        workers.run_until_idle()
        assert receiver.requests[-1].path == "/elsewhere"

    @pytest.mark.usefixtures("webhook")
    def test_a_repeated_message_disables_the_webhook_once(self, api, organization, workers, receiver):
        receiver.default_reply = Reply(status=410)
        rename_organization(api, organization, "Gone")
        enqueue = queues.enqueue
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(queues, "enqueue", lambda *args: (enqueue(*args), enqueue(*args)))
            workers.deliver()
        assert len(list_entries(api, organization, type=DISABLED)) == 1


class TestExhaustedDelivery:
    @pytest.fixture(autouse=True)
    def _private_targets(self, configure: SettingsOverride) -> None:
        configure(webhook_allow_private="1")

    def test_the_entry_shows_the_failed_delivery_despite_a_later_retry(
        self, api, organization, workers, receiver, monkeypatch, clock
    ):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        receiver.default_reply = Reply(status=500)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
        with monkeypatch.context() as without_jobs:
            without_jobs.setattr(queues, "enqueue", lambda *_: None)
            rename_organization(api, organization, "Failing")
            workers.deliver()
        failed = get_delivery(api, webhook, UPDATED)
        assert failed["status"] == "failed"
        assert list_entries(api, organization, type=EXHAUSTED) == []
        receiver.default_reply = Reply()
        path = f"{webhook.path}/deliveries/{failed['id']}/retry"
        assert api.post(path, caller=organization.owner).status in (200, 202)
        workers.run_until_idle()
        assert get_delivery(api, webhook, UPDATED)["status"] == "succeeded"
        clock.shift(minutes=2)
        workers.run_until_idle()
        (entry,) = list_entries(api, organization, type=EXHAUSTED)
        assert (entry["data"]["status"], len(entry["data"]["attempts"])) == ("failed", 1)
        assert {"field": "status", "from": "pending", "to": "failed"} in entry["changes"]
        assert entry["context"]["operationId"] == "webhooks.exhaust"
