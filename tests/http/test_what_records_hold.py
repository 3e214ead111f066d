"""What webhooks and channels hold is reached by an erasure, and goes with the organization."""

import pytest

from chalicelib.features.privacy.erasures import tasks
from chalicelib.kernel.storage import table
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.channels import room
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, erased, finish, found_at, left_of
from tests.harness.faults import Fault, failing
from tests.harness.invitations import SOPHIE
from tests.harness.organizations import Founded
from tests.harness.receiver import Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown
from tests.harness.workers import Workers

UPDATED = "organization.updated"
HELD = ("V#", "N#", "F#")
"""What partitions begin with that records hold."""

pytestmark = pytest.mark.usefixtures("private_targets")


def answers(api: Api, made: Hook) -> list[str | None]:
    """Return what was answered to each attempt to deliver something, the oldest first."""
    return [attempt["responseBody"] for one in deliveries(api, made) for attempt in one["attempts"]]


class TestAnErasure:
    def test_takes_a_person_out_of_what_was_answered(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        for body in (f"Who is {SOPHIE.upper()}?", "Fine."):
            receiver.answer = Reply(status=200, body=body.encode())
            rename(api, organization, "After")
            rename(api, organization, "Before")
            workers.deliver()
        before = deliveries(api, made)
        record = erased(api, workers, clock, organization, email=SOPHIE)
        assert answers(api, made) == ["Who is …?"] * 2 + ["Fine."] * 2
        assert left_of(SOPHIE) == []
        assert record["erasedRecords"] == 2
        after_ = deliveries(api, made)
        assert after_[2:] == before[2:]
        assert [one["status"] for one in after_] == ["succeeded"] * 4

    def test_takes_a_person_out_of_what_a_webhook_says_of_itself(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        described = hook(api, organization, receiver, events=[UPDATED], description=f"Ask {SOPHIE}.")
        named = hook(api, organization, receiver.at("127.0.0.1", f"/?for={SOPHIE}"), events=[UPDATED])
        workers.deliver()
        erased(api, workers, clock, organization, email=SOPHIE)
        assert left_of(SOPHIE) == []
        assert (shown(api, described)["description"], shown(api, described)["status"]) == ("Ask ….", "active")
        record = shown(api, named)
        assert (record["url"], record["status"]) == (receiver.at("127.0.0.1", "/?for=…"), "disabled")
        assert "erased" in record["disabledReason"]
        rename(api, organization, "After")
        workers.deliver()
        assert [request.path for request in receiver.requests] == ["/"]
        again = change(api, named, url=receiver.at("127.0.0.1", "/other"), enabled=True).json
        assert (again["status"], again["disabledReason"]) == ("active", None)

    def test_goes_on_where_it_was_however_much_there_is(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        receiver.answer = Reply(status=200, body=f"Hello, {SOPHIE}!".encode())
        made = [hook(api, organization, receiver, events=[UPDATED]) for _ in range(3)]
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        monkeypatch.setattr(tasks, "_PAGE_SIZE", 2)
        path = begin_erasure(api, organization, email=SOPHIE)
        for at in (12, 18, 24):
            with failing(Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=at, times=None) as injected:
                workers.attempt()
            assert injected.hit
            clock.shift(minutes=4)
            workers.sweep()
        finish(workers, clock)
        record = found_at(api, organization, path)
        assert (record["status"], record["erasedRecords"]) == ("completed", 15)
        for one in made:
            assert answers(api, one) == ["Hello, …!"] * 5
        assert left_of(SOPHIE) == []

    def test_leaves_what_was_answered_later(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        begin_erasure(api, organization, email=SOPHIE)
        workers.deliver()
        receiver.answer = Reply(status=200, body=SOPHIE.encode())
        clock.shift(seconds=1)
        rename(api, organization, "After")
        finish(workers, clock)
        assert answers(api, made) == [SOPHIE]


class TestAPurge:
    def test_leaves_nothing_of_what_was_on_its_way(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hook(api, organization, receiver)
        hook(api, organization, receiver, enabled=False)
        room(api, organization, receiver)
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        held = [item["pk"] for item in cloud.stored() if item["pk"][:2] in HELD]
        assert len(set(held)) == 4
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 50)
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        for _ in range(3):
            workers.settle()
            clock.shift(minutes=10)
        assert [item for item in cloud.stored() if item["pk"][:2] in (*HELD, "O#")] == []

    def test_that_is_disturbed_goes_on_with_what_is_left(
        self,
        api: Api,
        organization: Founded,
        workers: Workers,
        receiver: Receiver,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        hook(api, organization, receiver)
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        assert api.delete(organization.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(days=30, minutes=3)
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 3)
        workers.sweep()
        with failing(Fault.TIMED_OUT, name="dynamodb:TransactWriteItems", at=2, times=None) as injected:
            workers.attempt()
        assert injected.hit
        left = [item for item in cloud.stored() if item["pk"].startswith("V#")]
        assert left
        for _ in range(3):
            clock.shift(minutes=10)
            workers.settle()
        assert [item for item in cloud.stored() if item["pk"][:2] in (*HELD, "O#")] == []
