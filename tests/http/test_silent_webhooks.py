"""What a webhook is sent that never answered yet, or gives no answer: one event at a time, and then all in order."""

import pytest

from tests.harness.api import Api
from tests.harness.clock import Clock
from tests.harness.organizations import Founded
from tests.harness.receiver import HANG, Receiver, Reply, Request
from tests.harness.webhooks import Hook, change, deliveries, delivery, hook, rename, shown, told
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"


class TestOneThatWasNeverAsked:
    def test_is_asked_where_it_keeps_nobody_waiting_and_then_gets_all_in_order(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        for n in range(5):
            rename(api, organization, f"Name {n}")
        done = workers.deliver()
        assert len([body for body in done if '"probe": true' in body]) == 1
        assert [told(request)["data"]["name"] for request in receiver.requests] == [f"Name {n}" for n in range(5)]
        assert [len(one["attempts"]) for one in deliveries(api, made)] == [1] * 5

    def test_gets_what_happens_meanwhile_in_order_too(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        def answer(_: Request) -> Reply:
            if len(receiver.requests) <= 3:
                rename(api, organization, f"During {len(receiver.requests)}")
                workers.attempt()
            return Reply()

        receiver.answer = answer
        made = hook(api, organization, receiver, events=[UPDATED])
        for n in range(30):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        rename(api, organization, "Afterwards")
        workers.deliver()
        sequences = [told(request)["sequence"] for request in receiver.requests]
        assert sequences == sorted(sequences)
        assert len(sequences) == len(deliveries(api, made)) == 34

    def test_is_known_from_then_on_if_only_by_a_bad_answer(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=500)
        hook(api, organization, receiver, events=[UPDATED])
        for n in range(2):
            rename(api, organization, f"Name {n}")
            done = workers.deliver()
        assert len(receiver.requests) == 2
        assert not [body for body in done if '"probe": true' in body]

    def test_that_is_gone_before_it_is_asked_is_asked_nothing(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "Unheard")
        api.delete(made.path, as_=organization.owner)
        workers.deliver()
        assert receiver.requests == []


@pytest.mark.usefixtures("brisk")
class TestOneThatGivesNoAnswer:
    def test_is_left_alone_until_its_next_attempt_and_gets_all_when_it_answers(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "First")
        workers.attempt()
        assert len(receiver.requests) == 1
        for n in range(5):
            rename(api, organization, f"Waiting {n}")
            workers.attempt()
        assert len(receiver.requests) == 1, "nothing else is tried meanwhile"
        assert {one["status"] for one in deliveries(api, made)} == {"pending"}
        receiver.answer = Reply()
        clock.shift(seconds=10)
        workers.settle()
        workers.settle()
        assert {one["status"] for one in deliveries(api, made)} == {"succeeded"}
        names = [told(request)["data"]["name"] for request in receiver.requests]
        assert names == ["First", "First", *(f"Waiting {n}" for n in range(5))]

    def test_is_probed_with_one_delivery_at_a_time(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        for n in range(5):
            rename(api, organization, f"Name {n}")
        workers.attempt()
        for probes in range(2, 6):
            clock.shift(minutes=45)
            workers.settle()
            assert len(receiver.requests) == probes
        assert max(len(one["attempts"]) for one in deliveries(api, made)) >= 2
        first = deliveries(api, made)[0]["attempts"][0]
        assert (first["statusCode"], first["responseBody"]) == (None, None)
        assert "answer" in first["error"]

    def test_does_not_keep_the_others_waiting(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answers["/"] = HANG
        healthy = hook(api, organization, receiver.at("127.0.0.1", "/healthy"), events=[UPDATED])
        for n in range(4):
            rename(api, organization, f"Name {n}")
            workers.attempt()
        assert [one["status"] for one in deliveries(api, healthy)] == ["succeeded"] * 4
        assert [one["status"] for one in deliveries(api, made)] == ["pending"] * 4

    def test_that_is_paused_meanwhile_is_probed_no_more(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = HANG
        rename(api, organization, "After")
        workers.attempt()
        change(api, made, enabled=False)
        clock.shift(minutes=10)
        workers.settle()
        assert len(receiver.requests) == 1
        assert delivery(api, made, UPDATED)["status"] == "skipped"


@pytest.mark.usefixtures("brisk")
class TestOneThatIsMended:
    @pytest.fixture
    def parked(self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver) -> Hook:
        """A webhook that was silent when it was told of two events, and that would answer now."""
        receiver.answer = HANG
        for name in ("First", "Second"):
            rename(api, organization, name)
            workers.attempt()
        receiver.answer = Reply()
        return made

    @pytest.mark.parametrize("number", [0, 1])
    def test_gets_all_that_waits_when_one_delivery_is_asked_for(
        self, api: Api, organization: Founded, parked: Hook, workers: Workers, receiver: Receiver, number: int
    ) -> None:
        asked = deliveries(api, parked)[number]["id"]
        assert api.post(f"{parked.path}/deliveries/{asked}/retry", as_=organization.owner).status == 202
        workers.deliver()
        assert sorted({told(request)["data"]["name"] for request in receiver.requests[1:]} | {"First"}) == [
            "First",
            "Second",
        ]
        assert deliveries(api, parked)[1]["status"] == "succeeded"

    def test_gets_all_that_is_due_once_a_trial_arrives(
        self, api: Api, organization: Founded, parked: Hook, workers: Workers
    ) -> None:
        assert api.post(f"{parked.path}/test", as_=organization.owner).json["delivered"] is True
        workers.deliver()
        assert deliveries(api, parked)[1]["status"] == "succeeded"

    def test_that_is_disabled_skips_what_waited(
        self, api: Api, parked: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=410)
        clock.shift(seconds=10)
        workers.settle()
        assert shown(api, parked)["status"] == "disabled"
        assert [one["status"] for one in deliveries(api, parked)] == ["failed", "skipped"]
