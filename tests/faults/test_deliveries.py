"""Deliveries whose worker is broken off at any call to AWS: each event arrives, or is given up after its last try."""

from contextlib import suppress

import pytest

from chalicelib.features.notifications.logic.retry_schedule import RETRY_SECONDS
from chalicelib.kernel.outbound import webhook_client
from chalicelib.kernel.outbound.webhook_client import post_webhook
from tests.catalogue.tenant_fixture import World
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Json
from tests.harness.clock import Clock
from tests.harness.faults import Died, Fault, failing
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, deliveries, hook, rename, told
from tests.harness.workers import Workers

UPDATED = "organization.updated"
EVENTS = 2
FAULTS = (Fault.THROTTLED, Fault.UNANSWERED, Fault.DIED_BEFORE, Fault.DIED_AFTER)


@pytest.fixture
def hooks(world: World, configure: Configure, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> list[Hook]:
    """Two webhooks of an organization whose name is about to change; here they are really sent to."""
    configure(webhook_allow_private="1")
    elsewhere = webhook_client.post_webhook
    monkeypatch.setattr(
        webhook_client,
        "post_webhook",
        lambda url, *sent: (post_webhook if receiver.url in url else elsewhere)(url, *sent),
    )
    urls = [receiver.at("127.0.0.1", f"/{n}") for n in range(2)]
    made = [hook(world.api, world.organization, url, events=[UPDATED]) for url in urls]
    world.workers.deliver()
    return made


def break_off(workers: Workers, fault: Fault, at: int) -> str | None:
    """Let the workers do what is queued, spoil one call of theirs, and return which that was."""
    with failing(fault, at=at) as injected, suppress(Died):
        workers.attempt()
    return injected.hit


def recover(workers: Workers, clock: Clock) -> None:
    """Let time pass, and the sweep find what was left."""
    for _ in range(2):
        clock.shift(minutes=7)
        workers.settle()


def names(receiver: Receiver, path: str) -> list[str]:
    """Return the names that reached a path, each in the order it came first."""
    heard = [told(request)["data"]["name"] for request in receiver.requests if request.path == path]
    return list(dict.fromkeys(heard))


def ids(receiver: Receiver, path: str) -> set[tuple[str, str]]:
    """Return under which id each name reached a path."""
    heard = [request for request in receiver.requests if request.path == path]
    return {(told(request)["data"]["name"], request.headers["webhook-id"]) for request in heard}


def ended(world: World, made: Hook) -> list[Json]:
    """Return the deliveries of what is under test, all at an end."""
    found = deliveries(world.api, made)
    assert {one["status"] for one in found} <= {"succeeded", "failed", "skipped"}, found
    assert all(one["attempts"] for one in found if one["status"] != "skipped")
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name.lower())
class TestAWorkerThatIsBrokenOff:
    def test_loses_no_event_and_gives_none_a_second_id(
        self, fault: Fault, world: World, hooks: list[Hook], receiver: Receiver, clock: Clock
    ) -> None:
        hit: str | None = ""
        at = 0
        while hit is not None:
            at += 1
            receiver.requests.clear()
            wanted = [f"Name {at} {n}" for n in range(EVENTS)]
            for name in wanted:
                rename(world.api, world.organization, name)
            hit = break_off(world.workers, fault, at)
            recover(world.workers, clock)
            for number, made in enumerate(hooks):
                assert sorted(names(receiver, f"/{number}")) == wanted, (at, hit)
                assert len(ids(receiver, f"/{number}")) == EVENTS
                assert len(ended(world, made)) == EVENTS * at
        assert at > EVENTS

    def test_gives_up_after_the_last_try_and_not_before(
        self, fault: Fault, world: World, hooks: list[Hook], receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answers["/0"] = Reply(status=500)
        organization: Founded = world.organization
        rename(world.api, organization, "Refused")
        break_off(world.workers, fault, 6)
        for seconds in RETRY_SECONDS:
            clock.shift(seconds=1.2 * seconds + 1)
            world.workers.sweep()
            break_off(world.workers, fault, 2)
            recover(world.workers, clock)
        (one,) = ended(world, hooks[0])
        assert one["status"] == "failed"
        assert len(one["attempts"]) == 10
        assert len(receiver.requests) >= 11
        assert not [item for item in cloud.stored() if item.get("task") == "deliveries.queue"]
