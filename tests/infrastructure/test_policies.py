"""Each function's policy allows what its handler asks of AWS, and nothing else.

Both are seen while every operation, worker and task runs. Nothing is unused only over all tests of this module: they
run in one process, and the last of them needs the others.
"""

import fnmatch
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import pytest
from chalice.app import SQSEventConfig

from app import app
from chalicelib.entrypoints import workers as entrypoint
from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.admin.migrations.logic.steps import load_reference_data
from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.notifications.logic.retry_schedule import JITTER_FRACTION, RETRY_SECONDS
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity import email_hashes
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.storage import files
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.work import jobs, queues
from infrastructure.models import CALLS
from infrastructure.policies import GRANTS
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import People, TenantFixture
from tests.conftest import SettingsOverride
from tests.faults import task_examples
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import anchored_sizes, run_anchoring
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import add_entries
from tests.harness.aws_calls import Call
from tests.harness.clock import Clock
from tests.harness.data_keys import create_wrapped_key_settings, reset_key_cache
from tests.harness.exports import create_completed_export, read_ndjson_entries
from tests.harness.invitations import create_invitation
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import create_api_key
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Receiver, Reply
from tests.harness.webhooks import create_webhook, get_delivery, get_webhook, rename_organization, update_webhook
from tests.harness.workers import Workers, get_queue
from tests.http.audit.test_forged_entries import forge_entry
from tests.infrastructure.permissions import (
    ASKED,
    MADE,
    WROTE,
    by_lambda,
    leading_keys,
    may_write,
    note,
    permissions,
    refused,
)

pytestmark = pytest.mark.xdist_group("policies")
UPDATED = "organization.updated"
GONE = "gone@example.org"


class WatchedApi(ApiClient):
    """The API, in a process that has just begun, of which is noted what it asks of AWS."""

    def request(self, method: str, path: str, **words: Any) -> ApiResponse:
        """Send a request and return its answer."""
        reset_key_cache()
        answer = super().request(method, path, **words)
        note("api_handler", answer.calls.call_list)
        return answer


class WatchedWorkers(Workers):
    """Handlers, each in a process that has just begun, of which is noted what they ask of AWS.

    Those that are `held` are not called at all; the next batch of those that are `late` has no time left.
    """

    def __init__(self) -> None:
        super().__init__(app)
        self.held = set[str]()
        self.late = set[str]()

    def _call(self, handler: str, event: dict[str, Any]) -> Any:
        reset_key_cache()
        with patch.object(entrypoint, "_MAX_BATCH_MS", -1 if handler in self.late else entrypoint._MAX_BATCH_MS):  # noqa: SLF001
            answer = super()._call(handler, event)
        self.late.discard(handler)
        note(handler, self.last_calls.call_list)
        return answer

    def _batches(self, hidden: set[str], *, delayed: bool) -> Iterator[tuple[SQSEventConfig, Any, list[Any]]]:
        return (batch for batch in super()._batches(hidden, delayed=delayed) if batch[0].name not in self.held)


@pytest.fixture
def api(_aws: None) -> ApiClient:
    """The service at its HTTP boundary, watched."""
    return WatchedApi(app)


@pytest.fixture
def workers(_aws: None) -> WatchedWorkers:
    """The service's queue and schedule handlers, watched."""
    return WatchedWorkers()


@pytest.fixture(scope="module")
def secrets(_aws_in_memory: None) -> Mapping[str, str]:
    """A secret of each purpose, by its setting: wrapped, as on a deployed stage."""
    return create_wrapped_key_settings()


@pytest.fixture
def world(
    api: ApiClient, workers: WatchedWorkers, people: People, configure: SettingsOverride, secrets: Mapping[str, str]
) -> TenantFixture:
    """What the examples are about, made with these secrets."""
    configure(**secrets, webhook_allow_private="1")
    made = snapshots.create_or_restore(("world", *secrets.values()), lambda: TenantFixture.create(api, workers, people))
    return replace(made, api=api, workers=workers)


def test_the_api_may_do_what_its_operations_do(world: TenantFixture) -> None:
    snapshot = snapshots.take_snapshot()
    for operation in operations():
        snapshots.restore_snapshot(snapshot)
        once = {"Idempotency-Key": operation.id} if operation.method == "POST" else None
        call_operation(operation, world, headers=once)
    world.api.get(world.organization.path, caller=world.api_key)
    log = f"{world.organization.path}/audit-log"
    assert world.api.get_items(log, caller=world.people.owner, query={"type": "organization.created"})
    assert refused() == {}


def test_the_api_may_count_requests(world: TenantFixture, configure: SettingsOverride) -> None:
    configure(requests_per_minute="600")
    for _ in range(20):
        world.api.get(world.organization.path, caller=world.people.owner)
    assert "dynamodb:UpdateItem" in MADE
    assert refused() == {}


def test_the_workers_may_do_what_they_do_from_the_first_entry_to_the_purge(
    world: TenantFixture, workers: WatchedWorkers, clock: Clock
) -> None:
    create_api_key(world.api, world.organization, expiresAt="2099-01-01T00:00:00Z")
    clock.shift(days=366 * 80)
    workers.run_until_idle()
    clock.shift(days=-366 * 80)
    world.api.delete(world.organization.path, caller=world.people.owner)
    clock.shift(days=31)
    workers.run_until_idle()
    assert world.organization.id not in {item.get("id") for item in snapshots.items_by_key().values()}
    assert refused() == {}


@pytest.mark.usefixtures("mailbox", "external_servers")
@pytest.mark.parametrize("name", task_examples.list_task_names())
def test_the_workers_may_do_every_task(name: str, world: TenantFixture, workers: WatchedWorkers, clock: Clock) -> None:
    record = task_examples.EXAMPLES[name].prepare(world)
    clock.shift(**task_examples.EXAMPLES[name].due_after)
    before = snapshots.items_by_key()
    queues.enqueue(name, record)
    assert len(workers.deliver()) >= 1
    assert snapshots.items_by_key() != before
    assert refused() == {}


def test_the_workers_may_send_mail(world: TenantFixture, workers: WatchedWorkers, mailbox: Mailbox) -> None:
    create_invitation(world.api, world.organization, "sophie@example.org")
    workers.run_until_idle()
    assert len(mailbox.emails) == 1
    assert refused() == {}


def test_the_api_may_make_the_key_that_hashes_addresses_and_commit_a_long_entry(world: TenantFixture) -> None:
    email_hashes.reset()
    create_invitation(world.api, world.organization, "sophie@example.org")
    change = {"name": "Engines", "companyAddress": "x" * 3000}
    assert world.api.patch(world.organization.path, caller=world.people.owner, json=change).status == 200
    assert {"ADDRESS-HASH-KEY", f"B#{world.id}"} <= {item["pk"] for item in memory_aws.all_items()}
    assert refused() == {}


@pytest.mark.usefixtures("mailbox", "external_servers")
@pytest.mark.parametrize("name", ["domains.check", "pages.turn", "purges.purge", "research.work"])
def test_the_sweep_may_claim_what_is_due(
    name: str, world: TenantFixture, workers: WatchedWorkers, clock: Clock
) -> None:
    pk, sk = task_examples.EXAMPLES[name].prepare(world)
    clock.shift(days=400)
    before = memory_aws.get_item(pk, sk) or {}
    workers.run_sweep()
    assert (memory_aws.get_item(pk, sk) or {})["duesk"] > before["duesk"]
    assert refused() == {}


@pytest.mark.usefixtures("mailbox")
def test_the_workers_may_deliver_to_webhooks_well_slow_and_gone(
    world: TenantFixture, workers: WatchedWorkers, receiver: Receiver, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)
    made = create_webhook(world.api, world.organization, receiver)
    for answer in (Reply(), Reply(status=500), NO_REPLY, Reply(), Reply(status=410)):
        receiver.default_reply = answer
        rename_organization(world.api, world.organization, f"Name {len(receiver.requests)}")
        for _ in range(2):
            workers.run_until_idle()
            clock.shift(minutes=10)
    assert get_webhook(world.api, made)["status"] == "disabled"
    assert refused() == {}


def test_the_workers_may_give_a_delivery_up(
    world: TenantFixture, workers: WatchedWorkers, receiver: Receiver, clock: Clock
) -> None:
    receiver.default_reply = Reply(status=500)
    made = create_webhook(world.api, world.organization, receiver, events=[UPDATED])
    rename_organization(world.api, world.organization, "Engines")
    for pause in (*RETRY_SECONDS, 0):
        workers.run_until_idle()
        clock.shift(seconds=round(pause * (1 + JITTER_FRACTION)) + 1)
    assert get_delivery(world.api, made, UPDATED)["status"] == "failed"
    assert refused() == {}


def test_the_workers_may_go_on_with_a_webhook_that_is_changed_while_it_is_sent_to(
    world: TenantFixture, workers: WatchedWorkers, receiver: Receiver, clock: Clock
) -> None:
    made = create_webhook(world.api, world.organization, receiver, events=[UPDATED])

    def meanwhile(_: ReceivedRequest) -> Reply:
        update_webhook(world.api, made, description=f"Changed {len(receiver.requests)}")
        return Reply()

    receiver.default_reply = meanwhile
    workers.late = {"deliveries", "deliveries_slow"}
    for name in ("While nothing is known of it", "While it is well"):
        rename_organization(world.api, world.organization, name)
        workers.deliver()
        clock.shift(minutes=6)
        workers.run_until_idle()
    assert workers.late == set()
    assert len(receiver.requests) == 2
    assert refused() == {}


@pytest.mark.parametrize("handler", ["deliveries", "deliveries_slow"])
def test_the_workers_may_drop_what_waits_for_a_webhook_that_is_gone(
    handler: str, world: TenantFixture, workers: WatchedWorkers, receiver: Receiver
) -> None:
    made = create_webhook(world.api, world.organization, receiver, events=[UPDATED])
    workers.held = {handler}
    rename_organization(world.api, world.organization, "Unheard")
    workers.deliver()
    world.api.delete(made.path, caller=world.people.owner)
    workers.held = {"jobs"}
    workers.deliver()
    assert receiver.requests == []
    assert refused() == {}


def test_the_sweep_may_wake_a_log_whose_message_was_lost(
    world: TenantFixture, workers: WatchedWorkers, clock: Clock
) -> None:
    rename_organization(world.api, world.organization, "Engines")
    get_queue("events.fifo")._messages.clear()  # noqa: SLF001
    clock.shift(minutes=1)
    workers.run_sweep()
    assert len(workers.deliver()) >= 1
    assert refused() == {}


def test_the_workers_may_anchor_and_the_api_may_look_at_what_they_anchored(
    world: TenantFixture, workers: WatchedWorkers
) -> None:
    workers.run_until_idle()
    for _ in range(2):
        run_anchoring(workers)
        add_entries(world.api, workers, world.organization)
    run_anchoring(workers)
    assert len(anchored_sizes(world.id)) == 3
    world.api.get(f"{world.organization.path}/audit-log/verify-integrity", caller=world.people.owner)
    assert refused() == {}


@pytest.mark.parametrize("appending", ["events", "jobs"])
def test_the_workers_may_set_aside_what_nobody_has_committed(
    appending: str, world: TenantFixture, workers: WatchedWorkers
) -> None:
    workers.held = {"events"} if appending == "jobs" else set()
    rename_organization(world.api, world.organization, "Taken away")
    (gone,) = [item for item in memory_aws.all_items() if item["pk"] == f"A#{world.id}" and "sequence" not in item]
    memory_aws.delete_item(gone)
    forge_entry(world.organization)
    if appending == "jobs":
        asked = world.api.post(f"{world.organization.path}/erasures", caller=world.people.owner, json={"email": GONE})
        assert asked.status == 202
    workers.run_until_idle()  # The sweep queues the erasure where no log's worker does.
    reasons = {item["reason"] for item in memory_aws.all_items() if item["pk"] == f"QUARANTINE#{world.id}"}
    assert reasons == {"not_authentic", "no_entry"}
    assert refused() == {}


def test_the_function_that_migrates_may_do_so_also_beside_others_who_write(
    workers: WatchedWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = load_reference_data.step

    def contended(*_: Any) -> None:
        monkeypatch.setattr(load_reference_data, "step", step)
        raise ConcurrentModification

    monkeypatch.setattr(load_reference_data, "step", contended)
    assert [outcome["state"] for outcome in workers.run_migrations()] == ["applied"]
    assert refused() == {}


def test_the_workers_may_make_exports_that_the_api_hands_out_and_let_them_go(
    world: TenantFixture, workers: WatchedWorkers, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        async_export, "CHECKPOINT_INTERVAL_SECONDS", -1
    )  # What is not enough for a part is put beside the file.
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    made = create_completed_export(world.api, workers, world.organization)
    assert len(read_ndjson_entries(made)) == made["entryCount"]
    address = urlsplit(made["downloadUrl"])
    # Who follows the address may do what the function may that has signed it, and no more.
    bucket, key = str(address.hostname).partition(".")[0], unquote(address.path[1:])
    note("api_handler", [Call("s3:GetObject", {"Bucket": bucket, "Key": key})])
    files.start_upload(settings().exports_bucket, f"{world.id}/of-a-worker-that-died", "application/gzip")
    world.api.delete(world.organization.path, caller=world.people.owner)
    clock.shift(days=31)
    workers.run_until_idle()
    assert refused() == {}


@pytest.mark.parametrize("function", GRANTS)
def test_nothing_is_allowed_that_is_not_needed(function: str) -> None:
    """Needs the other tests of this module."""
    needed = ASKED[function] | by_lambda(function)
    assert [found for found in permissions(function) if not any(found.covers(need) for need in needed)] == []
    assert not [need for need in needed if not any(found.covers(need) for found in permissions(function))]


@pytest.mark.parametrize("function", GRANTS)
def test_no_function_may_write_where_it_does_not(function: str) -> None:
    """Needs the other tests of this module."""
    unused = [pattern for pattern in leading_keys(function) if not fnmatch.filter(WROTE[function], pattern)]
    assert unused == []
    assert [key for key in WROTE[function] if not may_write(function, key)] == []


def test_the_package_has_models_of_the_calls_that_are_made_and_of_no_other() -> None:
    """Needs the other tests of this module."""
    made = {tuple(name.split(":")) for name in MADE}
    assert {(service, call) for service, call in made if service in CALLS} == {
        (service, call) for service, calls in CALLS.items() for call in calls
    }
