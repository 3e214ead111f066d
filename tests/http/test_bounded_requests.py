"""How many requests reach a host in a second, whatever leads there; and targets that can't be right, for a day."""

from collections import Counter
from typing import Any

import pytest

from chalicelib.features.notifications.webhooks.logic import host_rate_limit
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import WebhookResponse
from tests.conftest import Configure
from tests.harness.api import Api
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown
from tests.harness.workers import Workers

UPDATED = "organization.updated"
URL = "https://hooks.example.com/all"
NO_NAME = WebhookResponse(None, "The name cannot be resolved.", "", 3, misconfigured=True)
TIMED_OUT = WebhookResponse(None, "The server did not respond within 15 s.", "", 3, timed_out=True)
REFUSED = WebhookResponse(None, "The connection was refused.", "", 3)


class Targets:
    """Strangers' servers: what they were sent, in which second, and what they answer."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sent: list[tuple[str, str, str]] = []
        self.answer = WebhookResponse(204, None, "", 1)

    def post(self, url: str, _body: bytes, headers: dict[str, str], *_: Any) -> WebhookResponse:
        """Take a request."""
        self.sent.append((now()[:19], url, headers["webhook-id"]))
        return self.answer

    @property
    def most_in_a_second(self) -> int:
        """How many requests came in the second in which most did."""
        return max(Counter(second for second, *_ in self.sent).values())


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> Targets:
    """Servers that take everything."""
    targets = Targets(clock)
    monkeypatch.setattr(webhook_client, "post_webhook", targets.post)
    return targets


def drain(workers: Workers, clock: Clock, seconds: int) -> None:
    """Let so many seconds pass, and do what comes in each."""
    for _ in range(seconds):
        workers.deliver(delayed=True)
        workers.sweep()
        workers.deliver(delayed=True)
        clock.shift(seconds=1)


class TestRequestsToOneHost:
    @pytest.fixture(autouse=True)
    def _rate(self, configure: Configure, clock: Clock) -> None:
        configure(webhook_requests_per_second="10")
        clock.freeze()

    def test_are_bounded_and_none_is_dropped(
        self, api: Api, organization: Founded, workers: Workers, targets: Targets, clock: Clock
    ) -> None:
        hooks = [hook(api, organization, URL, events=[UPDATED]) for _ in range(6)]
        clock.shift(seconds=1)  # Entries of one moment have no order.
        for n in range(12):
            rename(api, organization, f"Name {n}")
        drain(workers, clock, 150)
        assert len(targets.sent) == 6 * 12
        assert targets.most_in_a_second <= 10
        assert {one["status"] for each in hooks for one in deliveries(api, each)} == {"succeeded"}

    def test_come_in_the_order_of_the_log(
        self, api: Api, organization: Founded, workers: Workers, targets: Targets, clock: Clock
    ) -> None:
        made = hook(api, organization, URL, events=[UPDATED])
        clock.shift(seconds=1)
        for n in range(40):
            rename(api, organization, f"Name {n}")
            if n in (15, 30):
                drain(workers, clock, 2)
        drain(workers, clock, 90)
        assert [name for _, _, name in targets.sent] == [one["eventId"] for one in deliveries(api, made)]

    def test_are_bounded_for_replays_too(
        self, api: Api, organization: Founded, workers: Workers, targets: Targets, clock: Clock
    ) -> None:
        made = hook(api, organization, URL, events=[UPDATED])
        clock.shift(seconds=1)
        for n in range(30):
            rename(api, organization, f"Name {n}")
        drain(workers, clock, 90)
        body = {"from": organization.record["createdAt"], "status": "succeeded"}
        assert api.post(f"{made.path}/replay", as_=organization.owner, json=body).status == 202
        targets.sent.clear()
        drain(workers, clock, 90)
        assert len(targets.sent) == 30
        assert targets.most_in_a_second <= 10

    def test_count_a_trial(
        self, api: Api, organization: Founded, workers: Workers, targets: Targets, clock: Clock
    ) -> None:
        made = hook(api, organization, URL, events=[UPDATED])
        drain(workers, clock, 2)
        rename(api, organization, "First")
        drain(workers, clock, 2)
        targets.sent.clear()
        for _ in range(4):
            assert api.post(f"{made.path}/test", as_=organization.owner).json["delivered"] is True
        for n in range(9):
            rename(api, organization, f"Name {n}")
        workers.deliver(delayed=True)
        assert targets.most_in_a_second == 10
        drain(workers, clock, 70)
        assert len(targets.sent) == 4 + 9

    @pytest.mark.usefixtures("targets")
    def test_of_another_organization_are_counted_apart(self, api: Api, organization: Founded) -> None:
        other = found(api, organization.owner)
        turns = [
            host_rate_limit.acquire_slots(each.id, url, 10)
            for each in (organization, other)
            for url in (URL, URL + "?again")
        ]
        assert [each.granted for each in turns] == [10, 0, 10, 0]
        assert host_rate_limit.acquire_slots(organization.id, "https://elsewhere.example.com", 10).granted == 10


class TestATargetThatCanNotBeRight:
    @pytest.fixture
    def made(self, api: Api, organization: Founded, workers: Workers, targets: Targets) -> Hook:
        """A webhook whose target's name does not exist, as was seen once."""
        made = hook(api, organization, URL, events=[UPDATED])
        targets.answer = NO_NAME
        rename(api, organization, "Unheard")
        workers.deliver()
        return made

    def again(self, api: Api, organization: Founded, workers: Workers, clock: Clock, **later: float) -> None:
        """Let something happen later, and be sent."""
        clock.shift(**later)
        rename(api, organization, f"Name {later}")
        workers.deliver()

    def test_for_a_day_disables_its_webhook(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, clock: Clock
    ) -> None:
        self.again(api, organization, workers, clock, hours=23)
        assert shown(api, made)["status"] == "active"
        self.again(api, organization, workers, clock, hours=2)
        disabled = shown(api, made)
        assert disabled["status"] == "disabled"
        assert "cannot be resolved" in disabled["disabledReason"]
        assert "organization.webhook.disabled" in [entry["type"] for entry in log_of(api, organization)]

    @pytest.mark.parametrize("answer", [TIMED_OUT, REFUSED])
    def test_is_not_what_times_out_or_refuses(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        targets: Targets,
        clock: Clock,
        answer: WebhookResponse,
    ) -> None:
        targets.answer = answer
        self.again(api, organization, workers, clock, hours=25)
        assert shown(api, made)["status"] == "active"
        targets.answer = NO_NAME
        for _ in range(2):  # One that timed out is probed first.
            clock.shift(hours=1)
            workers.settle()
        assert shown(api, made)["status"] == "disabled"

    def test_begins_anew_after_any_answer(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, targets: Targets, clock: Clock
    ) -> None:
        targets.answer = WebhookResponse(500, None, "", 1)
        self.again(api, organization, workers, clock, hours=12)
        targets.answer = NO_NAME
        self.again(api, organization, workers, clock, hours=13)
        assert shown(api, made)["status"] == "active"

    def test_begins_anew_once_it_leads_elsewhere(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, clock: Clock
    ) -> None:
        change(api, made, url="https://elsewhere.example.com")
        self.again(api, organization, workers, clock, hours=25)
        assert shown(api, made)["status"] == "active"
