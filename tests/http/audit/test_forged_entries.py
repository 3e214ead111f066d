"""Log entries that were written to the table by somebody else: they are neither shown nor signed."""

import pytest

from chalicelib.kernel.audit_log.entries import EntryItem, build_pending_pointer, canonical_json
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.work import queues
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.erasures import complete_erasure
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Reply
from tests.harness.webhooks import create_webhook, get_delivery, get_webhook, rename_organization, update_webhook

UPDATED = "organization.updated"
DISABLED = "organization.webhook.disabled"
EXHAUSTED = "organization.webhook.delivery_exhausted"


def forge_entry(organization: CreatedOrganization, *, actor_id: str = "mallory", with_pointer: bool = True) -> str:
    """Write a forged entry that makes Mallory the owner of an organization, and its pointer. Return its id."""
    entry_id, timestamp = new_id(now()), now()
    event = {"id": entry_id, "type": "organization.ownership_transferred", "occurredAt": timestamp}
    subjects = {
        "organizationId": organization.id,
        "actor": {"type": "user", "id": actor_id, "name": "Ada"},
        "target": {"type": "organization", "id": organization.id, "name": "Engines"},
    }
    context = {"operationId": "transfer_ownership", "requestId": None, "ipAddress": None, "userAgent": None}
    changes = [{"field": "ownerId", "from": organization.owner.id, "to": "mallory"}]
    body = canonical_json({**event, **subjects, "context": context, "changes": changes, "data": {}})
    entry = EntryItem.from_canonical_bytes(organization.id, body)
    memory_aws.put_item(entry.item())
    if with_pointer:
        memory_aws.put_item(build_pending_pointer(organization.id, entry_id, entry.leaf, {}, timestamp))
    return entry_id


@pytest.mark.parametrize("with_pointer", [True, False])
def test_a_forged_entry_is_neither_appended_nor_shown_nor_exported(new_log, workers, *, with_pointer):
    workers.deliver()
    size = new_log.verify()["treeSize"]
    forged_id = forge_entry(new_log.organization, with_pointer=with_pointer)
    for query in ({}, {"type": "organization.ownership_transferred"}, {"targetId": new_log.id}):
        assert forged_id not in [entry["id"] for entry in new_log.entries(**query)]
    response = new_log.get("/export", format="ndjson").expect(200)
    assert forged_id not in response.text
    new_log.rename("After")
    workers.run_until_idle()
    report = new_log.verify()
    assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, size + 1, 0)
    assert forged_id not in [entry["id"] for entry in new_log.entries()]


def test_a_forged_entry_does_not_block_an_erasure(api, organization, grace, workers, clock):
    workers.deliver()
    forge_entry(organization, actor_id=grace.id, with_pointer=False)
    complete_erasure(api, workers, clock, organization, userId=grace.id)


@pytest.mark.usefixtures("private_targets_allowed")
class TestChangesThatFollowADelivery:
    """Functions that send webhooks cannot authenticate entries, so a task of the jobs function commits the change."""

    @pytest.fixture
    def without_jobs(self, monkeypatch):
        """A queue of jobs that loses its messages, until the end of the context. The sweep finds the due work later."""
        with monkeypatch.context() as context:
            context.setattr(queues, "enqueue", lambda *_: None)
            yield context

    @pytest.fixture
    def webhook(self, webhook, receiver):
        receiver.default_reply = Reply(status=410)
        return webhook

    def test_nothing_is_sent_before_the_sweep_disables_the_webhook(
        self, api, organization, webhook, workers, receiver, without_jobs, run_tasks_after
    ):
        rename_organization(api, organization, "Gone")
        workers.deliver()
        assert get_delivery(api, webhook, UPDATED)["status"] == "failed"
        assert list_entries(api, organization, type=DISABLED) == []
        rename_organization(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        without_jobs.undo()
        run_tasks_after(minutes=2)
        workers.run_until_idle()
        assert get_webhook(api, webhook)["status"] == "disabled"
        (entry,) = list_entries(api, organization, type=DISABLED)
        assert entry["context"]["operationId"] == "webhooks.disable"
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]

    def test_a_webhook_with_a_new_url_stays_active(
        self, api, organization, webhook, workers, receiver, without_jobs, run_tasks_after
    ):
        rename_organization(api, organization, "Gone")
        workers.deliver()
        update_webhook(api, webhook, url=receiver.url_at("127.0.0.1", "/elsewhere"))
        receiver.default_reply = Reply()
        without_jobs.undo()
        run_tasks_after(minutes=2)
        assert get_webhook(api, webhook)["status"] == "active"
        assert list_entries(api, organization, type=DISABLED) == []
        rename_organization(api, organization, "Heard")
        workers.run_until_idle()
        assert receiver.requests[-1].path == "/elsewhere"

    def test_the_entry_shows_the_failed_delivery_despite_a_later_retry(
        self, api, organization, workers, receiver, monkeypatch, run_tasks_after, without_jobs
    ):
        webhook = create_webhook(api, organization, receiver, events=[UPDATED])
        receiver.default_reply = Reply(status=500)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
        rename_organization(api, organization, "Failing")
        workers.deliver()
        without_jobs.undo()
        failed = get_delivery(api, webhook, UPDATED)
        assert failed["status"] == "failed"
        assert list_entries(api, organization, type=EXHAUSTED) == []
        receiver.default_reply = Reply()
        path = f"{webhook.path}/deliveries/{failed['id']}/retry"
        assert api.post(path, caller=organization.owner).status in (200, 202)
        workers.run_until_idle()
        assert get_delivery(api, webhook, UPDATED)["status"] == "succeeded"
        run_tasks_after(minutes=2)
        (entry,) = list_entries(api, organization, type=EXHAUSTED)
        assert (entry["data"]["status"], len(entry["data"]["attempts"])) == ("failed", 1)
        assert {"field": "status", "from": "pending", "to": "failed"} in entry["changes"]
        assert entry["context"]["operationId"] == "webhooks.exhaust"
