"""Webhooks that catch up while indexes lag: no waiting event is lost or late."""

from collections.abc import Iterator

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.clock import Clock
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.organizations import Founded
from tests.harness.receiver import HANG, Receiver, Reply
from tests.harness.webhooks import Hook, deliveries, hook, rename, shown, told
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"


@pytest.fixture(params=LAGS, autouse=True)
def lag(request: pytest.FixtureRequest, organization: Founded) -> Iterator[Lag]:
    """Indexes that lag."""
    assert organization.id
    with lagging(request.param) as lag:
        yield lag


def received_names(receiver: Receiver) -> list[str]:
    """Return the organization's name in each event that reached the receiver."""
    return [told(request)["data"]["name"] for request in receiver.requests]


def test_a_new_webhook_receives_all_events_at_once(
    api: Api, organization: Founded, workers: Workers, receiver: Receiver
) -> None:
    webhook = hook(api, organization, receiver, events=[UPDATED])
    for n in range(30):
        rename(api, organization, f"Name {n}")
    workers.deliver()
    assert received_names(receiver) == [f"Name {n}" for n in range(30)]
    assert [len(delivery["attempts"]) for delivery in deliveries(api, webhook)] == [1] * 30
    rename(api, organization, "Afterwards")
    workers.deliver()
    assert received_names(receiver)[30:] == ["Afterwards"]


@pytest.mark.usefixtures("brisk")
def test_a_webhook_receives_all_events_as_soon_as_it_responds_again(
    api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
) -> None:
    receiver.answer = HANG
    for n in range(4):
        rename(api, organization, f"Name {n}")
        workers.attempt()
    receiver.answer = Reply()
    clock.shift(seconds=10)
    workers.deliver(delayed=True)
    assert {delivery["status"] for delivery in deliveries(api, made)} == {"succeeded"}
    assert received_names(receiver)[1:] == [f"Name {n}" for n in range(4)]


@pytest.mark.usefixtures("brisk")
def test_a_disabled_webhook_skips_the_waiting_events(
    api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
) -> None:
    receiver.answer = HANG
    for n in range(3):
        rename(api, organization, f"Name {n}")
        workers.attempt()
    receiver.answer = Reply(status=410)
    clock.shift(seconds=10)
    workers.deliver(delayed=True)
    assert shown(api, made)["status"] == "disabled"
    assert [delivery["status"] for delivery in deliveries(api, made)] == ["failed", "skipped", "skipped"]


def test_no_waiting_item_remains_after_delivery(
    api: Api, organization: Founded, workers: Workers, receiver: Receiver
) -> None:
    webhook = hook(api, organization, receiver, events=[UPDATED])
    for n in range(3):
        rename(api, organization, f"Name {n}")
    workers.deliver()
    assert [item for item in cloud.stored() if item["pk"] == f"V#{webhook.id}" and "kind" not in item] == []
