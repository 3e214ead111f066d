"""Webhooks that catch up while indexes are behind: nothing that waited for them is left behind or late."""

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


def names(receiver: Receiver) -> list[str]:
    """Return what the organization was called in the events that reached a receiver."""
    return [told(request)["data"]["name"] for request in receiver.requests]


def test_one_that_is_new_gets_all_at_once(
    api: Api, organization: Founded, workers: Workers, receiver: Receiver
) -> None:
    made = hook(api, organization, receiver, events=[UPDATED])
    for n in range(30):
        rename(api, organization, f"Name {n}")
    workers.deliver()
    assert names(receiver) == [f"Name {n}" for n in range(30)]
    assert [len(one["attempts"]) for one in deliveries(api, made)] == [1] * 30
    rename(api, organization, "Afterwards")
    workers.deliver()
    assert names(receiver)[30:] == ["Afterwards"]


@pytest.mark.usefixtures("brisk")
def test_one_that_was_silent_gets_all_as_soon_as_it_answers(
    api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
) -> None:
    receiver.answer = HANG
    for n in range(4):
        rename(api, organization, f"Name {n}")
        workers.attempt()
    receiver.answer = Reply()
    clock.shift(seconds=10)
    workers.deliver(delayed=True)
    assert {one["status"] for one in deliveries(api, made)} == {"succeeded"}
    assert names(receiver)[1:] == [f"Name {n}" for n in range(4)]


@pytest.mark.usefixtures("brisk")
def test_one_that_is_disabled_skips_what_waited(
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
    assert [one["status"] for one in deliveries(api, made)] == ["failed", "skipped", "skipped"]


def test_nothing_waits_any_more_once_all_was_sent(
    api: Api, organization: Founded, workers: Workers, receiver: Receiver
) -> None:
    made = hook(api, organization, receiver, events=[UPDATED])
    for n in range(3):
        rename(api, organization, f"Name {n}")
    workers.deliver()
    assert [item for item in cloud.stored() if item["pk"] == f"V#{made.id}" and "kind" not in item] == []
