"""Targets of webhooks that do not respond, or not in time, or are misconfigured; and the request rate to one host."""

from collections import Counter
from typing import Any

import pytest

from chalicelib.features.notifications.logic import batches
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.features.notifications.webhooks.models.circuit import Circuit, CircuitState
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from chalicelib.kernel.work import queues
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_organization
from tests.harness.receiver import ReceivedRequest, Reply
from tests.harness.webhooks import parse_event, received_names, start_replay

pytestmark = pytest.mark.usefixtures("private_targets_allowed")


def count_probes(messages: list[str]) -> int:
    return len([body for body in messages if '"probe": true' in body])


@pytest.mark.usefixtures("lag")
@pytest.mark.parametrize("lag", [0, 2.5, 60], indirect=True)
class TestLaggingIndexes:
    def test_a_new_webhook_is_probed_once_and_receives_all_events_in_order(
        self, new_webhook, rename, emit, workers, receiver, monkeypatch
    ):
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 3)
        webhook, names = new_webhook(receiver), [f"Name {n}" for n in range(8)]
        rename(*names)
        assert count_probes(workers.deliver()) == 1
        assert [len(delivery["attempts"]) for delivery in webhook.list_deliveries()] == [1] * 8
        emit("Afterwards")
        assert received_names(receiver) == [*names, "Afterwards"]
        keys = [item["sk"] for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}"]
        assert not any(key.startswith("!") for key in keys), "no item about waiting deliveries remains"

    @pytest.mark.parametrize(
        ("status", "outcomes"), [(200, ["succeeded"] * 4), (410, ["failed", "skipped", "skipped", "skipped"])]
    )
    def test_no_event_waits_once_the_webhook_responds_or_is_gone(
        self, webhook, silence, emit_each, workers, receiver, clock, status, outcomes
    ):
        names = [f"Name {n}" for n in range(4)]
        with silence():
            emit_each(*names)
        receiver.replies_by_path["/"] = Reply(status)
        clock.shift(seconds=10)
        workers.deliver(include_delayed=True)
        assert webhook.delivery_statuses() == outcomes
        assert received_names(receiver)[1:] == (names if status == 200 else names[:1])
        assert webhook.read()["status"] == ("active" if status == 200 else "disabled")


class TestNewWebhook:
    def test_receives_events_that_occur_during_the_probe_in_order(
        self, new_webhook, rename, emit, workers, receiver, monkeypatch
    ):
        def rename_and_reply(_request: ReceivedRequest) -> Reply:
            if len(receiver.requests) <= 3:
                rename(f"During {len(receiver.requests)}")
                workers.try_deliver()
            return Reply()

        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 3)
        receiver.default_reply = rename_and_reply
        webhook = new_webhook(receiver)
        emit(*(f"Name {n}" for n in range(8)))
        emit("Afterwards")
        sequences = [parse_event(request)["sequence"] for request in receiver.requests]
        assert sequences == sorted(sequences)
        assert len(sequences) == len(webhook.list_deliveries()) == 12

    def test_receives_its_backlog_in_order_although_each_chain_of_messages_is_shorter(
        self, new_webhook, rename, workers, receiver, monkeypatch
    ):
        monkeypatch.setattr(batches, "MAX_BATCH_SIZE", 3)
        monkeypatch.setattr(queues, "MAX_CHAIN_TURNS", 4)
        webhook, names = new_webhook(receiver), [f"Name {n}" for n in range(20)]
        rename(*names)
        received = list[int]()
        while workers.deliver():
            received.append(len(receiver.requests))
            workers.run_sweep()
        assert 0 < received[0] < received[1] < len(names), "a chain ended twice before the backlog did"
        assert received_names(receiver) == names
        assert webhook.delivery_statuses() == ["succeeded"] * len(names)

    def test_any_response_makes_it_responsive(self, new_webhook, rename, workers, receiver):
        receiver.default_reply = Reply(status=500)
        new_webhook(receiver)
        for name in ("First", "Second"):
            rename(name)
            messages = workers.deliver()
        assert (len(receiver.requests), count_probes(messages)) == (2, 0)

    def test_a_deleted_webhook_is_not_probed(self, new_webhook, rename, workers, receiver):
        webhook = new_webhook(receiver)
        rename("Unheard")
        webhook.delete()
        workers.deliver()
        assert receiver.requests == []


class TestUnresponsiveWebhook:
    def test_is_probed_by_the_next_sweep_if_a_chain_ended_before_its_probe(
        self, webhook, silence, emit_each, workers, receiver, clock, monkeypatch
    ):
        with silence():
            emit_each("First")
        clock.shift(minutes=45)
        with monkeypatch.context() as with_short_chains:
            with_short_chains.setattr(queues, "MAX_CHAIN_TURNS", 1)
            workers.run_sweep()
            workers.deliver()
        assert len(receiver.requests) == 1, "the message that leads to the probe was the last of its chain"
        workers.run_sweep()
        workers.deliver()
        assert webhook.delivery_statuses() == ["succeeded"]

    def test_is_probed_with_one_delivery_at_a_time_and_receives_all_events_when_it_responds(
        self, webhook, new_webhook, silence, emit_each, workers, receiver, run_tasks_after
    ):
        healthy, names = new_webhook(f"{receiver.url}healthy"), ["First", "Second", "Third", "Fourth"]
        with silence():
            emit_each(*names)
            assert [request.path for request in receiver.requests].count("/") == 1
            for probes in (2, 3):
                run_tasks_after(minutes=45)
                assert [request.path for request in receiver.requests].count("/") == probes
        assert healthy.delivery_statuses() == ["succeeded"] * 4, "other webhooks are not delayed"
        assert webhook.delivery_statuses() == ["pending"] * 4
        attempts = [attempt for delivery in webhook.list_deliveries() for attempt in delivery["attempts"]]
        assert [(attempt["statusCode"], attempt["responseBody"]) for attempt in attempts] == [(None, None)] * 3
        assert all("did not respond" in attempt["error"] for attempt in attempts)
        receiver.requests.clear()
        run_tasks_after(minutes=45)
        workers.run_until_idle()
        assert webhook.delivery_statuses() == ["succeeded"] * 4
        assert sorted(received_names(receiver)) == sorted(names)

    def test_is_not_probed_once_disabled(self, webhook, silence, emit_each, receiver, run_tasks_after):
        with silence():
            emit_each("After")
        webhook.update(enabled=False)
        run_tasks_after(minutes=10)
        assert len(receiver.requests) == 1
        assert webhook.get_delivery()["status"] == "skipped"


class TestRecoveredWebhook:
    """A webhook that did not respond to the first of two events but would respond now."""

    @pytest.fixture(autouse=True)
    def first_event_without_response(self, webhook, silence, emit_each):
        with silence():
            emit_each("First", "Second")

    @pytest.mark.parametrize("index", [0, 1])
    def test_receives_all_waiting_events_after_a_manual_retry(self, webhook, workers, receiver, index):
        assert webhook.retry(webhook.list_deliveries()[index]).status == 202
        workers.deliver()
        assert sorted({*received_names(receiver)[1:], "First"}) == ["First", "Second"]
        assert webhook.delivery_statuses()[1] == "succeeded"

    def test_receives_all_due_events_after_a_test_delivery(self, webhook, workers):
        assert webhook.send_test()["delivered"] is True
        workers.deliver()
        assert webhook.delivery_statuses()[1] == "succeeded"


URL = "https://hooks.example.com/all"
NAME_NOT_RESOLVED = WebhookResponse(None, "The name cannot be resolved.", "", 3, misconfigured=True)
TIMED_OUT = WebhookResponse(None, "The server did not respond within 15 s.", "", 3, timed_out=True)
CONNECTION_REFUSED = WebhookResponse(None, "The connection was refused.", "", 3)


class FakeTargets:
    """Webhook targets that record the second, URL and event of each request, and return `response`."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.response = WebhookResponse(204, None, "", 1)

    def post(self, url, _body, headers, _timeout=None):
        self.sent.append((now()[:19], url, headers["webhook-id"]))
        return self.response

    def max_requests_per_second(self):
        """Return the number of requests in the second with the most requests."""
        return max(Counter(second for second, *_ in self.sent).values())


@pytest.fixture
def targets(monkeypatch):
    """Targets that accept every request."""
    targets = FakeTargets()
    monkeypatch.setattr(webhook_client, "post_webhook", targets.post)
    return targets


def run_each_second(workers, clock, seconds):
    """Let the workers do what is due in each of the next seconds."""
    for _ in range(seconds):
        workers.deliver(include_delayed=True)
        workers.run_sweep()
        workers.deliver(include_delayed=True)
        clock.shift(seconds=1)


class TestChangeDuringAnAttempt:
    """The circuit breaker of a new webhook, whose stored state another worker changes before the attempt ends."""

    @pytest.fixture
    def circuit_after_attempt(self, organization, new_webhook, rename, workers, targets, monkeypatch):
        """Return the circuit after an attempt with a response, during which these attributes are stored."""

        def attempt(response: WebhookResponse, **attributes: Any) -> Circuit:
            webhook = new_webhook(URL)
            key = Webhook.make_item_key(organization_id=organization.id, id=webhook.id)

            def change_and_respond(*_: Any) -> WebhookResponse:
                if not targets.sent:
                    targets.sent.append(key)
                    memory_aws.put_item({**(memory_aws.get_item(*key) or {}), **attributes})
                return response

            monkeypatch.setattr(webhook_client, "post_webhook", change_and_respond)
            rename("First")
            workers.deliver()
            assert targets.sent
            return Webhook.from_item(memory_aws.get_item(*key) or {}).circuit

        return attempt

    def test_concurrent_timeouts_count_as_one(self, circuit_after_attempt):
        circuit = circuit_after_attempt(TIMED_OUT, silences=3, parked_until="2026-01-01T00:00:00.000Z")
        assert (circuit.state, circuit.consecutive_timeouts) == (CircuitState.OPEN, 1)

    def test_a_response_starts_the_backlog_although_other_attempts_timed_out(self, circuit_after_attempt):
        opened = {"answers": False, "caught_up": False, "silences": 3, "parked_until": "2999-01-01T00:00:00.000Z"}
        circuit = circuit_after_attempt(WebhookResponse(204, None, "", 1), **opened)
        assert circuit.responsive
        assert (circuit.consecutive_timeouts, circuit.failing_since) == (0, None)
        assert circuit.probe_at is None or circuit.probe_at < "2999"


class TestHostRateLimit:
    @pytest.fixture(autouse=True)
    def three_requests_per_second(self, configure, clock):
        configure(webhook_requests_per_second="3")
        clock.freeze()

    def test_requests_of_events_and_replays_are_limited_and_none_is_dropped_or_overtaken(
        self, api, new_webhook, rename, workers, targets, clock
    ):
        webhooks = [new_webhook(f"{URL}/{n}") for n in range(2)]
        clock.shift(seconds=1)  # Entries with the same timestamp have no order.
        for start in (0, 5, 10):
            rename(*(f"Name {n}" for n in range(start, start + 5)))
            run_each_second(workers, clock, 2)
        run_each_second(workers, clock, 12)
        for webhook in webhooks:
            sent_ids = [event_id for _, url, event_id in targets.sent if url == webhook.record["url"]]
            assert sent_ids == [delivery["eventId"] for delivery in webhook.list_deliveries()]
            assert webhook.delivery_statuses() == ["succeeded"] * 15
        assert targets.max_requests_per_second() == 3
        targets.sent.clear()
        for webhook in webhooks:
            start_replay(api, webhook, status="succeeded")
        run_each_second(workers, clock, 30)
        assert (len(targets.sent), targets.max_requests_per_second()) == (2 * 15, 3)

    def test_test_deliveries_count(self, new_webhook, rename, workers, targets, clock):
        webhook = new_webhook(URL)
        run_each_second(workers, clock, 2)
        rename("First")
        run_each_second(workers, clock, 2)
        targets.sent.clear()
        assert [webhook.send_test()["delivered"] for _ in range(2)] == [True, True]
        rename(*(f"Name {n}" for n in range(4)))
        workers.deliver(include_delayed=True)
        assert targets.max_requests_per_second() == 3
        run_each_second(workers, clock, 12)
        assert len(targets.sent) == 2 + 4

    def test_each_organization_and_host_has_its_own_limit(self, api, organization):
        other = create_organization(api, organization.owner)
        requests = [(each.id, url) for each in (organization, other) for url in (URL, URL + "?again")]
        requests.append((organization.id, "https://elsewhere.example.com"))
        slots = [host_rate_limit.acquire_send_slots_and_retry_at(*request, 3) for request in requests]
        assert [each.granted for each in slots] == [3, 0, 3, 0, 3]

    def test_requests_without_a_slot_wait_for_those_before_them_at_most_a_minute(self, organization, clock):
        clock.freeze("2026-11-20T09:30:00.500Z")
        slots = [host_rate_limit.acquire_send_slots_and_retry_at(organization.id, URL, count) for count in (2, 2, 1, 1)]
        assert [each.granted for each in slots] == [2, 1, 0, 0]
        assert [each.retry_at[17:] for each in slots] == ["01.000Z", "01.000Z", "01.000Z", "02.000Z"]
        late = host_rate_limit.acquire_send_slots_and_retry_at(organization.id, URL, 1_000)
        assert late.retry_at == "2026-11-20T09:31:00.000Z"


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
        self, webhook, status_after, targets, run_tasks_after, response
    ):
        targets.response = response
        assert status_after(25) == "active"
        targets.response = NAME_NOT_RESOLVED
        for _ in range(2):  # A webhook that timed out is probed first.
            run_tasks_after(hours=1)
        assert webhook.read()["status"] == "disabled"

    def test_any_response_and_another_url_restart_the_period(self, webhook, status_after, targets):
        targets.response = WebhookResponse(500, None, "", 1)
        status_after(12)
        targets.response = NAME_NOT_RESOLVED
        assert [status_after(13), status_after(10)] == ["active", "active"]
        webhook.update(url="https://elsewhere.example.com")
        assert status_after(25) == "active"
