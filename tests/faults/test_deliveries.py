"""Deliveries whose worker fails at any AWS call: each event arrives, or fails after its last attempt."""

from contextlib import suppress

import pytest

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.catalogue.tenant_fixture import TenantFixture
from tests.conftest import SettingsOverride
from tests.harness import memory_aws
from tests.harness.api import Json
from tests.harness.clock import Clock
from tests.harness.faults import Fault, ProcessDied, inject_fault
from tests.harness.organizations import CreatedOrganization
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import CreatedWebhook, create_webhook, list_deliveries, parse_event, rename_organization
from tests.harness.workers import Workers

UPDATED = "organization.updated"
EVENTS = 2
FAULTS = (Fault.THROTTLED, Fault.RESPONSE_LOST, Fault.DIED_BEFORE, Fault.DIED_AFTER)


@pytest.fixture
def webhooks(
    tenant: TenantFixture, configure: SettingsOverride, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> list[CreatedWebhook]:
    """Two webhooks of an organization, whose deliveries are sent to a real receiver."""
    configure(webhook_allow_private="1")
    original_post = webhook_client.post_webhook
    monkeypatch.setattr(
        webhook_client,
        "post_webhook",
        lambda url, *arguments: (post_webhook if receiver.url in url else original_post)(url, *arguments),
    )
    urls = [receiver.url_at("127.0.0.1", f"/{n}") for n in range(2)]
    webhooks_created = [create_webhook(tenant.api, tenant.organization, url, events=[UPDATED]) for url in urls]
    tenant.workers.deliver()
    return webhooks_created


def run_workers_with_fault(workers: Workers, fault: Fault, at: int) -> str | None:
    """Run the workers with a fault at one AWS call, and return the name of the call."""
    with inject_fault(fault, first_call=at) as injected, suppress(ProcessDied):
        workers.try_deliver()
    return injected.failed_call


def run_recovery(workers: Workers, clock: Clock) -> None:
    """Move the clock forward and run the sweep and the workers."""
    for _ in range(2):
        clock.shift(minutes=7)
        workers.run_until_idle()


def received_names(receiver: Receiver, path: str) -> list[str]:
    """Return the distinct names in the events that a path received, in order of arrival."""
    requests = [parse_event(request)["data"]["name"] for request in receiver.requests if request.path == path]
    return list(dict.fromkeys(requests))


def received_ids(receiver: Receiver, path: str) -> set[tuple[str, str]]:
    """Return the names that a path received, with the ids of their messages."""
    requests = [request for request in receiver.requests if request.path == path]
    return {(parse_event(request)["data"]["name"], request.headers["webhook-id"]) for request in requests}


def completed_deliveries(tenant: TenantFixture, webhook: CreatedWebhook) -> list[Json]:
    """Return the deliveries of a webhook, and assert that all are finished and each attempt was counted once."""
    webhook_deliveries = list_deliveries(tenant.api, webhook)
    assert {delivery["status"] for delivery in webhook_deliveries} <= {"succeeded", "failed", "skipped"}, (
        webhook_deliveries
    )
    assert all(delivery["attempts"] for delivery in webhook_deliveries if delivery["status"] != "skipped")
    codes = [attempt["statusCode"] for delivery in webhook_deliveries for attempt in delivery["attempts"]]
    counts = tenant.api.get(f"{webhook.path}/statistics", caller=webhook.organization.owner).json["lastWeek"]
    assert (counts["delivered"], counts["failed"]) == (codes.count(200), len(codes) - codes.count(200))
    return webhook_deliveries


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
class TestFailedWorker:
    def test_loses_no_event_and_keeps_message_ids(self, fault, tenant, webhooks, receiver, clock):
        hit: str | None = ""
        at = 0
        while hit is not None:
            at += 1
            receiver.requests.clear()
            expected_names = [f"Name {at} {n}" for n in range(EVENTS)]
            for name in expected_names:
                rename_organization(tenant.api, tenant.organization, name)
            hit = run_workers_with_fault(tenant.workers, fault, at)
            run_recovery(tenant.workers, clock)
            for number, webhook in enumerate(webhooks):
                assert sorted(received_names(receiver, f"/{number}")) == expected_names, (at, hit)
                assert len(received_ids(receiver, f"/{number}")) == EVENTS
                assert len(completed_deliveries(tenant, webhook)) == EVENTS * at
        assert at > EVENTS

    def test_gives_up_only_after_the_last_attempt(self, fault, tenant, webhooks, receiver, clock):
        receiver.replies_by_path["/0"] = Reply(status=500)
        organization: CreatedOrganization = tenant.organization
        rename_organization(tenant.api, organization, "Refused")
        run_workers_with_fault(tenant.workers, fault, 6)
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=1.2 * seconds + 1)
            tenant.workers.run_sweep()
            run_workers_with_fault(tenant.workers, fault, 2)
            run_recovery(tenant.workers, clock)
        (delivery,) = completed_deliveries(tenant, webhooks[0])
        assert delivery["status"] == "failed"
        assert len(delivery["attempts"]) == 10
        assert len(receiver.requests) >= 11
        assert not [item for item in memory_aws.all_items() if item.get("task") == "deliveries.queue"]
