"""Webhooks that catch up while indexes lag: no waiting event is lost or late."""

import pytest

from tests.harness import memory_aws
from tests.harness.receiver import NO_REPLY, Receiver, Reply
from tests.harness.webhooks import (
    create_webhook,
    get_webhook,
    list_deliveries,
    parse_event,
    rename_organization,
)

pytestmark = pytest.mark.usefixtures("private_targets_allowed", "lag")

UPDATED = "organization.updated"


def received_names(receiver: Receiver) -> list[str]:
    """Return the organization's name in each event that reached the receiver."""
    return [parse_event(request)["data"]["name"] for request in receiver.requests]


def test_a_new_webhook_receives_all_events_at_once(api, organization, workers, receiver):
    webhook = create_webhook(api, organization, receiver, events=[UPDATED])
    for n in range(30):
        rename_organization(api, organization, f"Name {n}")
    workers.deliver()
    assert received_names(receiver) == [f"Name {n}" for n in range(30)]
    assert [len(delivery["attempts"]) for delivery in list_deliveries(api, webhook)] == [1] * 30
    rename_organization(api, organization, "Afterwards")
    workers.deliver()
    assert received_names(receiver)[30:] == ["Afterwards"]


@pytest.mark.usefixtures("short_webhook_timeout")
def test_a_webhook_receives_all_events_as_soon_as_it_responds_again(
    api, organization, webhook, workers, receiver, clock
):
    receiver.default_reply = NO_REPLY
    for n in range(4):
        rename_organization(api, organization, f"Name {n}")
        workers.try_deliver()
    receiver.default_reply = Reply()
    clock.shift(seconds=10)
    workers.deliver(include_delayed=True)
    assert {delivery["status"] for delivery in list_deliveries(api, webhook)} == {"succeeded"}
    assert received_names(receiver)[1:] == [f"Name {n}" for n in range(4)]


@pytest.mark.usefixtures("short_webhook_timeout")
def test_a_disabled_webhook_skips_the_waiting_events(api, organization, webhook, workers, receiver, clock):
    receiver.default_reply = NO_REPLY
    for n in range(3):
        rename_organization(api, organization, f"Name {n}")
        workers.try_deliver()
    receiver.default_reply = Reply(status=410)
    clock.shift(seconds=10)
    workers.deliver(include_delayed=True)
    assert get_webhook(api, webhook)["status"] == "disabled"
    assert [delivery["status"] for delivery in list_deliveries(api, webhook)] == ["failed", "skipped", "skipped"]


def test_no_waiting_item_remains_after_delivery(api, organization, workers, receiver):
    webhook = create_webhook(api, organization, receiver, events=[UPDATED])
    for n in range(3):
        rename_organization(api, organization, f"Name {n}")
    workers.deliver()
    assert [item for item in memory_aws.all_items() if item["pk"] == f"V#{webhook.id}" and "kind" not in item] == []
