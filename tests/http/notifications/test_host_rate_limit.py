"""The request rate to one host, for all deliveries; and webhooks whose target is misconfigured for a day."""

from collections import Counter

import pytest

from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_organization
from tests.harness.webhooks import start_replay

URL = "https://hooks.example.com/all"
NAME_NOT_RESOLVED = WebhookResponse(None, "The name cannot be resolved.", "", 3, misconfigured=True)
TIMED_OUT = WebhookResponse(None, "The server did not respond within 15 s.", "", 3, timed_out=True)
CONNECTION_REFUSED = WebhookResponse(None, "The connection was refused.", "", 3)


class FakeTargets:
    """Webhook targets that record the second of each request and its event, and return `response`."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.response = WebhookResponse(204, None, "", 1)

    def post(self, _url, _body, headers, _timeout=None):
        self.sent.append((now()[:19], headers["webhook-id"]))
        return self.response

    @property
    def max_requests_per_second(self):
        """The number of requests in the second with the most requests."""
        return max(Counter(second for second, _ in self.sent).values())


@pytest.fixture
def targets(monkeypatch):
    """Targets that accept every request."""
    targets = FakeTargets()
    monkeypatch.setattr(webhook_client, "post_webhook", targets.post)
    return targets


class TestHostRateLimit:
    @pytest.fixture(autouse=True)
    def three_requests_per_second(self, configure, clock):
        configure(webhook_requests_per_second="3")
        clock.freeze()

    @pytest.fixture
    def run_each_second(self, workers, clock):
        """A function that lets the workers do what is due in each of the next seconds."""

        def run_each_second(seconds: int) -> None:
            for _ in range(seconds):
                workers.deliver(include_delayed=True)
                workers.run_sweep()
                workers.deliver(include_delayed=True)
                clock.shift(seconds=1)

        return run_each_second

    def test_requests_of_events_and_replays_are_limited_and_none_is_dropped(
        self, api, new_webhook, rename, targets, run_each_second, clock
    ):
        webhooks = [new_webhook(URL) for _ in range(3)]
        clock.shift(seconds=1)  # Entries with the same timestamp have no order.
        rename(*(f"Name {n}" for n in range(5)))
        run_each_second(12)
        assert len(targets.sent) == 3 * 5
        assert targets.max_requests_per_second <= 3
        assert {status for webhook in webhooks for status in webhook.delivery_statuses()} == {"succeeded"}
        targets.sent.clear()
        for webhook in webhooks:
            start_replay(api, webhook, status="succeeded")
        run_each_second(12)
        assert len(targets.sent) == 3 * 5
        assert targets.max_requests_per_second <= 3

    def test_requests_come_in_the_order_of_the_log(self, new_webhook, rename, targets, run_each_second, clock):
        webhook = new_webhook(URL)
        clock.shift(seconds=1)
        for start in (0, 5, 10):
            rename(*(f"Name {n}" for n in range(start, start + 5)))
            run_each_second(2)
        run_each_second(12)
        delivery_ids = [delivery["eventId"] for delivery in webhook.list_deliveries()]
        assert [event_id for _, event_id in targets.sent] == delivery_ids
        assert len(delivery_ids) == 15

    def test_test_deliveries_count(self, new_webhook, rename, workers, targets, run_each_second):
        webhook = new_webhook(URL)
        run_each_second(2)
        rename("First")
        run_each_second(2)
        targets.sent.clear()
        for _ in range(2):
            assert webhook.send_test()["delivered"] is True
        rename(*(f"Name {n}" for n in range(4)))
        workers.deliver(include_delayed=True)
        assert targets.max_requests_per_second == 3
        run_each_second(12)
        assert len(targets.sent) == 2 + 4

    def test_each_organization_and_host_has_its_own_limit(self, api, organization):
        other = create_organization(api, organization.owner)
        requests = [(each.id, url) for each in (organization, other) for url in (URL, URL + "?again")]
        requests.append((organization.id, "https://elsewhere.example.com"))
        slots = [host_rate_limit.acquire_send_slots_and_retry_at(*request, 3) for request in requests]
        assert [each.granted for each in slots] == [3, 0, 3, 0, 3]


class TestMisconfiguredTarget:
    @pytest.fixture
    def webhook(self, new_webhook, emit, targets):
        """A webhook whose target's name no longer resolves, with one failed delivery."""
        webhook = new_webhook(URL)
        targets.response = NAME_NOT_RESOLVED
        emit("Unheard")
        return webhook

    @pytest.fixture
    def status_after(self, webhook, emit, clock):
        """A function that shifts the clock, delivers an event and returns the status of the webhook."""

        def status_after(hours: int) -> str:
            clock.shift(hours=hours)
            emit(f"Name after {hours} hours")
            return webhook.read()["status"]

        return status_after

    def test_a_target_that_is_misconfigured_for_a_day_disables_its_webhook(
        self, api, organization, webhook, status_after
    ):
        assert [status_after(23), status_after(2)] == ["active", "disabled"]
        assert "cannot be resolved" in webhook.read()["disabledReason"]
        assert "organization.webhook.disabled" in [entry["type"] for entry in list_entries(api, organization)]

    @pytest.mark.parametrize("response", [TIMED_OUT, CONNECTION_REFUSED])
    def test_timeouts_and_refused_connections_are_not_misconfiguration(
        self, webhook, status_after, workers, targets, clock, response
    ):
        targets.response = response
        assert status_after(25) == "active"
        targets.response = NAME_NOT_RESOLVED
        for _ in range(2):  # A webhook that timed out is probed first.
            clock.shift(hours=1)
            workers.run_until_idle()
        assert webhook.read()["status"] == "disabled"

    def test_any_response_restarts_the_period(self, status_after, targets):
        targets.response = WebhookResponse(500, None, "", 1)
        status_after(12)
        targets.response = NAME_NOT_RESOLVED
        assert status_after(13) == "active"

    def test_another_url_restarts_the_period(self, webhook, status_after):
        webhook.update(url="https://elsewhere.example.com")
        assert status_after(25) == "active"
