"""What somebody puts into the table as if the service had committed it: nothing shows it, and nothing signs it."""

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
    """Put an entry, and its pointer, by which Mallory would own an organization; return its id."""
    entry_id, moment = new_id(now()), now()
    actor = {"type": "user", "id": by, "name": "Ada"}
    body = canonical_json(
        {
            "id": entry_id,
            "type": "organization.ownership_transferred",
            "occurredAt": moment,
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
        cloud.put(build_pending_pointer(organization.id, entry_id, entry.leaf, {}, moment))
    return entry_id


class TestAForgedEntry:
    @pytest.mark.parametrize("with_pointer", [True, False])
    def test_is_neither_sealed_nor_shown(
        self, *, with_pointer: bool, api: Api, organization: Founded, workers: Workers
    ) -> None:
        workers.deliver()
        size = verify(api, organization)["treeSize"]
        forged = forge(organization, with_pointer=with_pointer)
        for query in ({}, {"type": "organization.ownership_transferred"}, {"targetId": organization.id}):
            assert forged not in [entry["id"] for entry in log_of(api, organization, **query)]
        rename(api, organization, "After")
        workers.settle()
        report = verify(api, organization)
        assert (report["valid"], report["treeSize"], report["pendingEntries"]) == (True, size + 1, 0)
        assert forged not in [entry["id"] for entry in log_of(api, organization)]

    def test_is_in_no_export(self, api: Api, organization: Founded, workers: Workers) -> None:
        workers.deliver()
        forged = forge(organization)
        answer = api.get(f"{organization.path}/audit-log/export", as_=organization.owner, query={"format": "ndjson"})
        assert answer.status == 200
        assert forged not in answer.text

    def test_does_not_hold_up_an_erasure(
        self, api: Api, organization: Founded, grace: Person, workers: Workers, clock: Clock
    ) -> None:
        workers.deliver()
        forge(organization, by=grace.id, with_pointer=False)
        erased(api, workers, clock, organization, userId=grace.id)


class TestAWebhookThatIsDisabled:
    """Functions that send can't authenticate entries: a task of the jobs function commits what they saw."""

    @pytest.fixture(autouse=True)
    def _private(self, configure: Configure) -> None:
        configure(webhook_allow_private="1")

    @pytest.fixture
    def made(self, api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
        made = hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        return made

    @pytest.fixture
    def without_jobs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The queue of jobs takes nothing: what is to be done is due all the same."""
        monkeypatch.setattr(queues, "enqueue", lambda *_: None)

    @pytest.mark.usefixtures("without_jobs")
    def test_is_sent_nothing_though_the_task_has_not_come_yet_and_is_disabled_when_the_sweep_finds_it(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        assert delivery(api, made, UPDATED)["status"] == "failed"
        assert log_of(api, organization, type=DISABLED) == []
        rename(api, organization, "Unheard")
        workers.deliver()
        assert len(receiver.requests) == 1
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.settle()
        workers.settle()
        assert shown(api, made)["status"] == "disabled"
        (entry,) = log_of(api, organization, type=DISABLED)
        assert entry["context"]["operationId"] == "webhooks.disable"
        assert {"field": "status", "from": "active", "to": "disabled"} in entry["changes"]

    @pytest.mark.usefixtures("without_jobs")
    def test_stays_active_if_it_leads_elsewhere_by_then(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        change(api, made, url=receiver.at("127.0.0.1", "/elsewhere"))
        receiver.answer = Reply()
        monkeypatch.undo()
        clock.shift(minutes=2)
        workers.settle()
        assert shown(api, made)["status"] == "active"
        assert log_of(api, organization, type=DISABLED) == []
        rename(api, organization, "Heard")
        workers.settle()
        assert receiver.requests[-1].path == "/elsewhere"

    @pytest.mark.usefixtures("made")
    def test_is_disabled_once_though_the_message_comes_twice(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        start = queues.enqueue
        with pytest.MonkeyPatch.context() as twice:
            twice.setattr(queues, "enqueue", lambda *words: (start(*words), start(*words)))
            workers.deliver()
        assert len(log_of(api, organization, type=DISABLED)) == 1


class TestADeliveryThatHasFailed:
    @pytest.fixture(autouse=True)
    def _private(self, configure: Configure) -> None:
        configure(webhook_allow_private="1")

    def test_is_told_as_it_was_though_somebody_asked_for_it_again_meanwhile(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        monkeypatch: pytest.MonkeyPatch,
        clock: Clock,
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        receiver.answer = Reply(status=500)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.notifications.webhooks.tasks.next_attempt_at", lambda *_: None)
        with monkeypatch.context() as lost:
            lost.setattr(queues, "enqueue", lambda *_: None)
            rename(api, organization, "Failing")
            workers.deliver()
        failed = delivery(api, made, UPDATED)
        assert failed["status"] == "failed"
        assert log_of(api, organization, type=EXHAUSTED) == []
        receiver.answer = Reply()
        path = f"{made.path}/deliveries/{failed['id']}/retry"
        assert api.post(path, as_=organization.owner).status in (200, 202)
        workers.settle()
        assert delivery(api, made, UPDATED)["status"] == "succeeded"
        clock.shift(minutes=2)
        workers.settle()
        (entry,) = log_of(api, organization, type=EXHAUSTED)
        assert (entry["data"]["status"], len(entry["data"]["attempts"])) == ("failed", 1)
        assert {"field": "status", "from": "pending", "to": "failed"} in entry["changes"]
        assert entry["context"]["operationId"] == "webhooks.exhaust"
