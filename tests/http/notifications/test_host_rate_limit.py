"""The request rate to one host, for all deliveries; and webhooks whose target is misconfigured for a day."""

from collections import Counter
from typing import Any

import pytest

from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from tests.conftest import SettingsOverride
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_webhook,
    list_deliveries,
    rename_organization,
    update_webhook,
)
from tests.harness.workers import Workers

UPDATED = "organization.updated"
URL = "https://hooks.example.com/all"
NAME_NOT_RESOLVED = WebhookResponse(None, "The name cannot be resolved.", "", 3, misconfigured=True)
TIMED_OUT = WebhookResponse(None, "The server did not respond within 15 s.", "", 3, timed_out=True)
CONNECTION_REFUSED = WebhookResponse(None, "The connection was refused.", "", 3)


class FakeTargets:
    """Webhook targets that record the second of each request and return `response`."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sent: list[tuple[str, str, str]] = []
        self.response = WebhookResponse(204, None, "", 1)

    def post(self, url: str, _body: bytes, headers: dict[str, str], *_: Any) -> WebhookResponse:
        """Record a request."""
        self.sent.append((now()[:19], url, headers["webhook-id"]))
        return self.response

    @property
    def max_requests_per_second(self) -> int:
        """The number of requests in the second with the most requests."""
        return max(Counter(second for second, *_ in self.sent).values())


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> FakeTargets:
    """Targets that accept every request."""
    targets = FakeTargets(clock)
    monkeypatch.setattr(webhook_client, "post_webhook", targets.post)
    return targets


def run_workers_each_second(workers: Workers, clock: Clock, seconds: int) -> None:
    """Let the workers do what is due in each of the next seconds."""
    for _ in range(seconds):
        workers.deliver(include_delayed=True)
        workers.run_sweep()
        workers.deliver(include_delayed=True)
        clock.shift(seconds=1)


class TestHostRateLimit:
    @pytest.fixture(autouse=True)
    def _host_rate_limit(self, configure: SettingsOverride, clock: Clock) -> None:
        configure(webhook_requests_per_second="10")
        clock.freeze()

    def test_requests_are_limited_and_none_is_dropped(self, api, organization, workers, targets, clock):
        hooks = [create_webhook(api, organization, URL, events=[UPDATED]) for _ in range(6)]
        clock.shift(seconds=1)  # Entries with the same timestamp have no order.
        for n in range(12):
            rename_organization(api, organization, f"Name {n}")
        run_workers_each_second(workers, clock, 150)
        assert len(targets.sent) == 6 * 12
        assert targets.max_requests_per_second <= 10
        assert {delivery["status"] for each in hooks for delivery in list_deliveries(api, each)} == {"succeeded"}

    def test_requests_come_in_the_order_of_the_log(self, api, organization, workers, targets, clock):
        webhook = create_webhook(api, organization, URL, events=[UPDATED])
        clock.shift(seconds=1)
        for n in range(40):
            rename_organization(api, organization, f"Name {n}")
            if n in (15, 30):
                run_workers_each_second(workers, clock, 2)
        run_workers_each_second(workers, clock, 90)
        assert [event_id for _, _, event_id in targets.sent] == [
            each["eventId"] for each in list_deliveries(api, webhook)
        ]

    def test_replays_are_limited_too(self, api, organization, workers, targets, clock):
        webhook = create_webhook(api, organization, URL, events=[UPDATED])
        clock.shift(seconds=1)
        for n in range(30):
            rename_organization(api, organization, f"Name {n}")
        run_workers_each_second(workers, clock, 90)
        body = {"from": organization.record["createdAt"], "status": "succeeded"}
        assert api.post(f"{webhook.path}/replay", caller=organization.owner, json=body).status == 202
        targets.sent.clear()
        run_workers_each_second(workers, clock, 90)
        assert len(targets.sent) == 30
        assert targets.max_requests_per_second <= 10

    def test_test_deliveries_count(self, api, organization, workers, targets, clock):
        webhook = create_webhook(api, organization, URL, events=[UPDATED])
        run_workers_each_second(workers, clock, 2)
        rename_organization(api, organization, "First")
        run_workers_each_second(workers, clock, 2)
        targets.sent.clear()
        for _ in range(4):
            assert api.post(f"{webhook.path}/test", caller=organization.owner).json["delivered"] is True
        for n in range(9):
            rename_organization(api, organization, f"Name {n}")
        workers.deliver(include_delayed=True)
        assert targets.max_requests_per_second == 10
        run_workers_each_second(workers, clock, 70)
        assert len(targets.sent) == 4 + 9

    @pytest.mark.usefixtures("targets")
    def test_each_organization_has_its_own_limit(self, api, organization):
        other_organization = create_organization(api, organization.owner)
        granted_slots = [
            host_rate_limit.acquire_send_slots_and_retry_at(each.id, url, 10)
            for each in (organization, other_organization)
            for url in (URL, URL + "?again")
        ]
        assert [each.granted for each in granted_slots] == [10, 0, 10, 0]
        assert (
            host_rate_limit.acquire_send_slots_and_retry_at(
                organization.id, "https://elsewhere.example.com", 10
            ).granted
            == 10
        )


class TestMisconfiguredTarget:
    @pytest.fixture
    def webhook(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, targets: FakeTargets
    ) -> CreatedWebhook:
        """A webhook whose target's name no longer resolves, with one failed delivery."""
        webhook = create_webhook(api, organization, URL, events=[UPDATED])
        targets.response = NAME_NOT_RESOLVED
        rename_organization(api, organization, "Unheard")
        workers.deliver()
        return webhook

    def trigger_event_after(
        self, api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock, **delay: float
    ) -> None:
        """Shift the clock, trigger an event and deliver it."""
        clock.shift(**delay)
        rename_organization(api, organization, f"Name {delay}")
        workers.deliver()

    def test_a_target_that_is_misconfigured_for_a_day_disables_its_webhook(
        self, api, organization, webhook, workers, clock
    ):
        self.trigger_event_after(api, organization, workers, clock, hours=23)
        assert get_webhook(api, webhook)["status"] == "active"
        self.trigger_event_after(api, organization, workers, clock, hours=2)
        disabled = get_webhook(api, webhook)
        assert disabled["status"] == "disabled"
        assert "cannot be resolved" in disabled["disabledReason"]
        assert "organization.webhook.disabled" in [entry["type"] for entry in list_entries(api, organization)]

    @pytest.mark.parametrize("response", [TIMED_OUT, CONNECTION_REFUSED])
    def test_timeouts_and_refused_connections_are_not_misconfiguration(
        self, api, organization, webhook, workers, targets, clock, response
    ):
        targets.response = response
        self.trigger_event_after(api, organization, workers, clock, hours=25)
        assert get_webhook(api, webhook)["status"] == "active"
        targets.response = NAME_NOT_RESOLVED
        for _ in range(2):  # A webhook that timed out is probed first.
            clock.shift(hours=1)
            workers.run_until_idle()
        assert get_webhook(api, webhook)["status"] == "disabled"

    def test_any_response_restarts_the_period(self, api, organization, webhook, workers, targets, clock):
        targets.response = WebhookResponse(500, None, "", 1)
        self.trigger_event_after(api, organization, workers, clock, hours=12)
        targets.response = NAME_NOT_RESOLVED
        self.trigger_event_after(api, organization, workers, clock, hours=13)
        assert get_webhook(api, webhook)["status"] == "active"

    def test_another_url_restarts_the_period(self, api, organization, webhook, workers, clock):
        update_webhook(api, webhook, url="https://elsewhere.example.com")
        self.trigger_event_after(api, organization, workers, clock, hours=25)
        assert get_webhook(api, webhook)["status"] == "active"
