"""Each function's policy grants the permissions that its handler uses, and no others.

The tests record the AWS calls of every operation, worker and task. The last tests look for unused permissions in these
records, so all tests of this module run in one process.
"""

import fnmatch
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import pytest
from chalice.app import SQSEventConfig

from app import app
from chalicelib.entrypoints import workers as entrypoint
from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.admin.dead_letters.entities import DeadLetterRedrive
from chalicelib.features.admin.migrations.logic.steps import list_records_by_name, load_reference_data
from chalicelib.features.audit.exports.logic import async_export
from chalicelib.features.notifications.logic.retry_schedule import JITTER_FRACTION, RETRY_SECONDS
from chalicelib.features.tenancy.invitations.entities import address_partition
from chalicelib.features.tenancy.logic import email_hashes
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.outbound import customer_buckets, webhook_client
from chalicelib.kernel.storage import files
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.work import jobs, queues
from infrastructure.botocore_models import API_ACTIONS
from infrastructure.policies import GRANTS
from tests.catalogue.examples.registry import call_operation
from tests.catalogue.tenant_fixture import TenantFixture
from tests.faults import task_examples
from tests.harness import memory_aws, snapshots
from tests.harness.anchors import anchored_sizes, run_anchoring
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import add_entries
from tests.harness.aws_calls import Call
from tests.harness.data_keys import create_wrapped_key_settings, reset_key_cache
from tests.harness.dead_letters import put_dead_letter, start_redrive
from tests.harness.exports import create_completed_export, read_ndjson_entries
from tests.harness.index_lag import lag_indexes
from tests.harness.invitations import create_invitation
from tests.harness.log_streams import CustomerBucket, create_log_stream
from tests.harness.organizations import create_api_key
from tests.harness.receiver import NO_REPLY, ReceivedRequest, Reply
from tests.harness.webhooks import create_webhook, get_delivery, get_webhook, rename_organization, update_webhook
from tests.harness.workers import Workers, get_queue
from tests.http.audit.test_forged_entries import forge_entry
from tests.infrastructure.permissions import (
    CALL_NAMES,
    REQUIRED_PERMISSIONS,
    WRITTEN_PARTITION_KEYS,
    granted_permissions,
    lambda_service_permissions,
    missing_permissions,
    record_calls,
    writable_key_patterns,
)

pytestmark = pytest.mark.xdist_group("policies")
UPDATED_EVENT = "organization.updated"


class RecordingApi(ApiClient):
    """The API with empty caches before each request. Records the AWS calls."""

    def request(self, method: str, path: str, **options: Any) -> ApiResponse:
        """Send a request and return the response."""
        reset_key_cache()
        answer = super().request(method, path, **options)
        record_calls("api_handler", answer.calls.call_list)
        return answer


class RecordingWorkers(Workers):
    """Workers with empty caches before each batch. Record their AWS calls.

    `paused_handlers` are not called. The next batch of each of the `timed_out_handlers` has no time left.
    """

    def __init__(self) -> None:
        super().__init__(app)
        self.paused_handlers = set[str]()
        self.timed_out_handlers = set[str]()

    def _call(self, handler: str, event: dict[str, Any]) -> Any:
        reset_key_cache()
        max_batch_ms = -1 if handler in self.timed_out_handlers else entrypoint._MAX_BATCH_MS  # noqa: SLF001
        with patch.object(entrypoint, "_MAX_BATCH_MS", max_batch_ms):
            answer = super()._call(handler, event)
        self.timed_out_handlers.discard(handler)
        record_calls(handler, self.last_calls.call_list)
        return answer

    def _batches(self, hidden: set[str], *, delayed: bool) -> Iterator[tuple[SQSEventConfig, Any, list[Any]]]:
        batches = super()._batches(hidden, delayed=delayed)
        return (batch for batch in batches if batch[0].name not in self.paused_handlers)


@pytest.fixture
def api(_aws):
    """A client of the API that records the AWS calls of the service."""
    return RecordingApi(app)


@pytest.fixture
def workers(_aws):
    """The service's queue and schedule handlers, whose AWS calls are recorded."""
    return RecordingWorkers()


@pytest.fixture(scope="module")
def secrets(_aws_in_memory):
    """A wrapped secret for each purpose, as on a deployed stage, by name of its setting."""
    return create_wrapped_key_settings()


@pytest.fixture
def tenant(api, workers, people, configure, secrets):
    """The tenant of the examples, created with these secrets."""
    configure(**secrets, webhook_allow_private="1")
    scenario = ("tenant", *secrets.values())
    tenant = snapshots.create_or_restore(scenario, lambda: TenantFixture.create(api, workers, people))
    return replace(tenant, api=api, workers=workers)


@pytest.fixture(autouse=True)
def no_permission_is_missing():
    """After each test, check that functions had all permissions that they required so far."""
    yield
    assert missing_permissions() == {}


def test_the_api_may_make_the_calls_of_all_operations(tenant):
    snapshot = snapshots.take_snapshot()
    for operation in all_operations():
        snapshots.restore_snapshot(snapshot)
        headers = {"Idempotency-Key": operation.id} if operation.method == "POST" else None
        call_operation(operation, tenant, headers=headers)
    tenant.api.get(tenant.organization.path, caller=tenant.api_key)
    log = f"{tenant.organization.path}/audit-log"
    assert tenant.api.get_items(log, caller=tenant.people.owner, query={"type": "organization.created"})


def test_the_api_may_count_requests(tenant, configure):
    configure(requests_per_minute="600")
    for _ in range(20):
        tenant.api.get(tenant.organization.path, caller=tenant.people.owner)
    assert "dynamodb:UpdateItem" in CALL_NAMES


def test_the_api_may_store_what_the_userinfo_endpoint_says(tenant, userinfo_profile):
    userinfo_profile(Profile("zoe"))
    zoe = replace(tenant.people.owner, credential=tenant.people.issuer.issue_token(sub="zoe"))
    tenant.api.post("/organizations", caller=zoe, json={"name": "Looms"}).expect(201)
    assert any(item["pk"].startswith("USERINFO#") for item in memory_aws.all_items())


def test_the_workers_may_process_an_organization_from_its_creation_to_its_purge(tenant, workers, clock):
    create_api_key(tenant.api, tenant.organization, expiresAt="2099-01-01T00:00:00Z")
    clock.shift(days=366 * 80)
    workers.run_until_idle()
    clock.shift(days=-366 * 80)
    tenant.api.delete(tenant.organization.path, caller=tenant.people.owner)
    clock.shift(days=31)
    workers.run_until_idle()
    assert tenant.organization.id not in {item.get("id") for item in snapshots.items_by_key().values()}


@pytest.mark.usefixtures("mailbox", "external_servers")
@pytest.mark.parametrize("name", task_examples.list_task_names())
def test_the_workers_may_run_every_task(name, tenant, workers, clock):
    record = task_examples.EXAMPLES[name].prepare(tenant)
    clock.shift(**task_examples.EXAMPLES[name].due_after)
    before = snapshots.items_by_key()
    queues.enqueue(name, record)
    assert len(workers.deliver()) >= 1
    assert snapshots.items_by_key() != before


@pytest.mark.parametrize("queue", ["events", "jobs", "deliveries", "deliveries-slow"])
def test_the_workers_may_redrive_the_dead_letters_of_each_queue(queue, tenant, workers):
    for task in ("erasures.run", "of.another.release"):  # The second one is skipped, and released.
        put_dead_letter(queue, {"task": task, "pk": "O#gone", "sk": "#"}, group=task)
    redrive = start_redrive(tenant.api, tenant.people.operator, queue)
    workers.paused_handlers = {"events", "deliveries", "deliveries_slow"}
    queues.enqueue("dead_letters.redrive", DeadLetterRedrive.make_item_key(id=redrive.json["id"]))
    workers.deliver()
    done = tenant.api.get(redrive.location, caller=tenant.people.operator).json
    assert (done["status"], done["sent"], done["skipped"]) == ("completed", 1, 1)


def test_the_workers_may_send_mail(tenant, workers, mailbox):
    create_invitation(tenant.api, tenant.organization, "sophie@example.org")
    workers.run_until_idle()
    assert len(mailbox.emails) == 1


def test_the_api_may_create_the_key_for_email_hashes_and_commit_a_long_entry(tenant):
    email_hashes.reset()
    create_invitation(tenant.api, tenant.organization, "sophie@example.org")
    fields = {"name": "Engines", "companyAddress": "x" * 3000}
    assert tenant.api.patch(tenant.organization.path, caller=tenant.people.owner, json=fields).status == 200
    assert {"ADDRESS-HASH-KEY", f"B#{tenant.id}"} <= {item["pk"] for item in memory_aws.all_items()}


@pytest.mark.usefixtures("mailbox", "external_servers")
@pytest.mark.parametrize(
    "name",
    [
        *("dead_letters.redrive", "domains.check", "log_verifications.run", "pages.turn", "purges.purge"),
        *("research.work", "witnesses.submit"),
    ],
)
def test_the_sweep_may_claim_due_tasks(name, tenant, workers, clock):
    pk, sk = task_examples.EXAMPLES[name].prepare(tenant)
    clock.shift(days=400)
    before = memory_aws.get_item(pk, sk) or {}
    workers.run_sweep()
    assert (memory_aws.get_item(pk, sk) or {})["duesk"] > before["duesk"]


@pytest.mark.usefixtures("mailbox")
def test_the_workers_may_deliver_to_responsive_failing_hanging_and_removed_endpoints(
    tenant, workers, receiver, clock, monkeypatch
):
    monkeypatch.setattr(webhook_client, "TOTAL_SECONDS", 0.3)
    webhook = create_webhook(tenant.api, tenant.organization, receiver)
    for answer in (Reply(), Reply(status=500), NO_REPLY, Reply(), Reply(status=410)):
        receiver.default_reply = answer
        rename_organization(tenant.api, tenant.organization, f"Name {len(receiver.requests)}")
        for _ in range(2):
            workers.run_until_idle()
            clock.shift(minutes=10)
    assert get_webhook(tenant.api, webhook)["status"] == "disabled"


def test_the_workers_may_abandon_a_delivery_after_its_last_retry(tenant, workers, receiver, clock):
    receiver.default_reply = Reply(status=500)
    webhook = create_webhook(tenant.api, tenant.organization, receiver, events=[UPDATED_EVENT])
    rename_organization(tenant.api, tenant.organization, "Engines")
    for pause in (*RETRY_SECONDS, 0):
        workers.run_until_idle()
        clock.shift(seconds=round(pause * (1 + JITTER_FRACTION)) + 1)
    assert get_delivery(tenant.api, webhook, UPDATED_EVENT)["status"] == "failed"


def test_the_workers_may_deliver_to_a_webhook_that_is_changed_during_the_delivery(tenant, workers, receiver, clock):
    webhook = create_webhook(tenant.api, tenant.organization, receiver, events=[UPDATED_EVENT])

    def change_webhook_before_reply(_: ReceivedRequest) -> Reply:
        update_webhook(tenant.api, webhook, description=f"Changed {len(receiver.requests)}")
        return Reply()

    receiver.default_reply = change_webhook_before_reply
    workers.timed_out_handlers = {"deliveries", "deliveries_slow"}
    for name in ("While nothing is known of it", "While it is well"):
        rename_organization(tenant.api, tenant.organization, name)
        workers.deliver()
        clock.shift(minutes=6)
        workers.run_until_idle()
    assert workers.timed_out_handlers == set()
    assert len(receiver.requests) == 2


@pytest.mark.parametrize("handler", ["deliveries", "deliveries_slow"])
def test_the_workers_may_drop_the_pending_deliveries_of_a_deleted_webhook(handler, tenant, workers, receiver):
    webhook = create_webhook(tenant.api, tenant.organization, receiver, events=[UPDATED_EVENT])
    workers.paused_handlers = {handler}
    rename_organization(tenant.api, tenant.organization, "Unheard")
    workers.deliver()
    tenant.api.delete(webhook.path, caller=tenant.people.owner)
    workers.paused_handlers = {"jobs"}
    workers.deliver()
    assert receiver.requests == []


def test_the_workers_and_the_api_may_write_to_a_bucket_of_a_customer(tenant, workers, clock):
    customer_buckets.forget_all_sessions()
    bucket = CustomerBucket()
    stream = create_log_stream(tenant.api, tenant.organization, bucket.destination, startAt=1)
    workers.run_until_idle()
    with lag_indexes(60):  # The worker then finds the entries by the batches of the ledger.
        rename_organization(tenant.api, tenant.organization, "Engines")
        workers.deliver()
        clock.shift(seconds=40)
        workers.run_until_idle()
    customer_buckets.forget_all_sessions()
    assert stream.send_test()["delivered"]
    assert len(bucket.keys()) >= 2
    bucket.remove()


def test_the_workers_may_repeat_a_batch_that_a_log_stream_rejects(tenant, workers, receiver, clock):
    receiver.default_reply = Reply(status=500)
    create_log_stream(tenant.api, tenant.organization, {"type": "https", "url": receiver.url}, startAt=1)
    workers.deliver()
    receiver.default_reply = Reply()
    clock.shift(minutes=10)
    workers.run_until_idle()
    assert len(receiver.requests) >= 2


def test_the_sweep_may_enqueue_a_log_whose_message_was_lost(tenant, workers, clock):
    rename_organization(tenant.api, tenant.organization, "Engines")
    get_queue("events.fifo")._messages.clear()  # noqa: SLF001
    clock.shift(minutes=1)
    workers.run_sweep()
    assert len(workers.deliver()) >= 1


def test_the_workers_may_write_anchors_and_the_api_may_read_them(tenant, workers):
    workers.run_until_idle()
    for _ in range(2):
        run_anchoring(workers)
        add_entries(tenant.api, workers, tenant.organization)
    run_anchoring(workers)
    assert len(anchored_sizes(tenant.id)) == 3
    tenant.api.get(f"{tenant.organization.path}/audit-log/verify-integrity", caller=tenant.people.owner)


@pytest.mark.parametrize("appending_handler", ["events", "jobs"])
def test_the_workers_may_quarantine_forged_items(appending_handler, tenant, workers):
    workers.paused_handlers = {"events"} if appending_handler == "jobs" else set()
    rename_organization(tenant.api, tenant.organization, "Taken away")
    entries = [item for item in memory_aws.all_items() if item["pk"] == f"A#{tenant.id}"]
    (deleted_item,) = [entry for entry in entries if "sequence" not in entry]
    memory_aws.delete_item(deleted_item)
    forge_entry(tenant.organization)
    if appending_handler == "jobs":
        path, body = f"{tenant.organization.path}/erasures", {"email": "gone@example.org"}
        assert tenant.api.post(path, caller=tenant.people.owner, json=body).status == 202
    workers.run_until_idle()  # Enqueues the erasure by the sweep if the worker of the log is paused.
    reasons = {item["reason"] for item in memory_aws.all_items() if item["pk"] == f"QUARANTINE#{tenant.id}"}
    assert reasons == {"not_authentic", "no_entry"}


def test_migrate_may_run_migrations_and_repeat_a_step_after_a_conflict(tenant, workers, monkeypatch):
    step = load_reference_data.step

    def fail_once(*_: Any) -> None:
        monkeypatch.setattr(load_reference_data, "step", step)
        raise ConcurrentModification

    platform = memory_aws.get_item(f"P#{tenant.platform.id}", "#")
    assert platform

    def rename_platform(_deadline: float) -> bool:
        memory_aws.put_item({**platform, "name": "Renamed", "version": platform["version"] + 1})
        return True

    monkeypatch.setattr(list_records_by_name, "_is_before", rename_platform)
    for item in memory_aws.all_items():
        if "#NAMES#" in item["pk"]:
            memory_aws.delete_item(item)
    monkeypatch.setattr(load_reference_data, "step", fail_once)
    pk = address_partition(tenant.invitation.record["email"])
    memory_aws.delete_item({"pk": pk, "sk": tenant.invitation.id})
    assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
    assert memory_aws.get_item(pk, tenant.invitation.id)
    assert [row for row in memory_aws.all_items() if "#NAMES#P" in row["pk"] and "renamed" in row["sk"]]


def test_the_workers_may_create_and_delete_exports_and_the_api_may_sign_their_urls(tenant, workers, clock, monkeypatch):
    # A checkpoint stores what is too small for a part in a file of its own.
    monkeypatch.setattr(async_export, "CHECKPOINT_INTERVAL_SECONDS", -1)
    monkeypatch.setattr(jobs, "_SLICE_SECONDS", -1)
    export = create_completed_export(tenant.api, workers, tenant.organization)
    assert len(read_ndjson_entries(export)) == export["entryCount"]
    url = urlsplit(export["downloadUrl"])
    # A request with the signed URL has the permissions of the function that signed it.
    bucket, key = str(url.hostname).partition(".")[0], unquote(url.path[1:])
    record_calls("api_handler", [Call("s3:GetObject", {"Bucket": bucket, "Key": key})])
    files.start_upload(settings().exports_bucket, f"{tenant.id}/of-a-worker-that-died", "application/gzip")
    tenant.api.delete(tenant.organization.path, caller=tenant.people.owner)
    clock.shift(days=31)
    workers.run_until_idle()


@pytest.mark.parametrize("function", GRANTS)
def test_each_function_has_exactly_the_permissions_and_writable_partitions_that_it_uses(function):
    """Depends on the calls that the other tests of this module recorded."""
    required = REQUIRED_PERMISSIONS[function] | lambda_service_permissions(function)
    granted = granted_permissions(function)
    assert [permission for permission in granted if not any(permission.covers(need) for need in required)] == []
    assert not [need for need in required if not any(permission.covers(need) for permission in granted)]
    patterns, keys = writable_key_patterns(function), WRITTEN_PARTITION_KEYS[function]
    assert [pattern for pattern in patterns if not fnmatch.filter(keys, pattern)] == []


def test_the_package_contains_the_models_of_exactly_the_calls_that_functions_make():
    """Depends on the calls that the other tests of this module recorded."""
    calls_made = {tuple(name.split(":")) for name in CALL_NAMES}
    packaged = {(service, call) for service, calls in API_ACTIONS.items() for call in calls}
    assert {(service, call) for service, call in calls_made if service in API_ACTIONS} == packaged
