"""Each event becomes one delivery to each webhook that wants it, whatever happens meanwhile."""

from typing import Any

import pytest

from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.faults import Fault, failing
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.receiver import Receiver
from tests.harness.webhooks import change, deliveries, delivery, hook, rename, told, types
from tests.harness.workers import Workers, bodies

pytestmark = pytest.mark.usefixtures("private_targets")

UPDATED = "organization.updated"


def of_type(found: list[dict[str, Any]], event_type: str) -> list[dict[str, Any]]:
    return [one for one in found if one["eventType"] == event_type]


class TestWhoIsTold:
    def test_every_event_after_its_creation_reaches_a_webhook_and_none_before(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        rename(api, organization, "Before")
        made = hook(api, organization, receiver)
        rename(api, organization, "After")
        workers.deliver()
        entries = log_of(api, organization)[::-1]
        since = [entry["type"] for entry in entries].index("organization.webhook.created")
        assert (
            types(receiver) == [entry["type"] for entry in entries[since:]] == ["organization.webhook.created", UPDATED]
        )
        assert told(receiver.requests[-1])["data"]["name"] == "After"
        assert {one["status"] for one in deliveries(api, made)} == {"succeeded"}

    @pytest.mark.parametrize(
        ("events", "reached"),
        [
            (["*"], True),
            ([UPDATED], True),
            (["organization.*"], True),
            (["organization.api_key.*"], False),
            (["organization.api_key.created", UPDATED], True),
            (["organization.deleted"], False),
        ],
    )
    def test_a_webhook_is_told_what_it_wants(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, events: list[str], *, reached: bool
    ) -> None:
        hook(api, organization, receiver, events=events)
        rename(api, organization, "After")
        workers.deliver()
        assert (UPDATED in types(receiver)) == reached

    @pytest.mark.parametrize(
        ("given", "meant"),
        [("organization", "organization.*"), ("organization.", "organization.*"), ("ORGANIZATION.*", "organization.*")],
    )
    def test_what_is_no_pattern_is_answered_with_the_one_that_was_meant(
        self, api: Api, organization: Founded, given: str, meant: str
    ) -> None:
        body = {"url": "https://receiver.example/", "events": [given]}
        answer = api.post(f"{organization.path}/webhooks", as_=organization.owner, json=body)
        assert f"did you mean '{meant}'?" in answer.json["errors"][0]["detail"]

    def test_what_there_are_no_events_of_yet_can_be_wanted(self, api: Api, organization: Founded) -> None:
        made = hook(api, organization, "https://receiver.example/", events=["page.*"])
        assert made.record["events"] == ["page.*"]

    def test_each_webhook_gets_its_own(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = [hook(api, organization, receiver.at("127.0.0.1", f"/{n}"), events=[UPDATED]) for n in range(3)]
        rename(api, organization, "After")
        workers.deliver()
        assert sorted(request.path for request in receiver.requests) == ["/0", "/1", "/2"]
        (event_id,) = {request.headers["webhook-id"] for request in receiver.requests}
        assert [delivery(api, one, UPDATED)["eventId"] for one in made] == [event_id] * 3

    def test_another_organizations_events_stay_its_own(
        self, api: Api, organization: Founded, stranger: Person, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        rename(api, found(api, stranger), "Rival Engines")
        workers.deliver()
        assert receiver.requests == []

    def test_a_change_holds_from_its_own_entry_on_however_late_that_is_read(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "First")
        change(api, made, events=["organization.deleted"])
        rename(api, organization, "Second")
        change(api, made, events=[UPDATED])
        rename(api, organization, "Third")
        workers.deliver()
        assert [told(request)["data"]["name"] for request in receiver.requests] == ["First", "Third"]

    def test_one_that_is_deleted_is_told_nothing_more(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver)
        workers.deliver()
        api.delete(made.path, as_=organization.owner)
        rename(api, organization, "After")
        workers.deliver()
        assert types(receiver) == ["organization.webhook.created"]

    def test_what_a_paused_one_misses_is_recorded_as_skipped(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        change(api, made, enabled=False)
        rename(api, organization, "Unheard")
        change(api, made, enabled=True)
        rename(api, organization, "Heard")
        workers.deliver()
        assert [told(request)["data"]["name"] for request in receiver.requests] == ["Heard"]
        assert [one["status"] for one in deliveries(api, made)] == ["skipped", "succeeded"]
        skipped = deliveries(api, made)[0]
        assert (skipped["attempts"], skipped["nextAttemptAt"]) == ([], None)
        assert skipped["completedAt"] is not None


class TestWhateverHappens:
    def test_a_log_that_grew_to_many_entries_is_delivered_whole_and_in_order(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        urls = [receiver.at("127.0.0.1", f"/{n}") for n in range(3)]
        for url in urls:
            hook(api, organization, url, events=[UPDATED])
        for n in range(60):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        for n in range(3):
            heard = [told(request) for request in receiver.requests if request.path == f"/{n}"]
            assert [one["data"]["name"] for one in heard] == [f"Name {n}" for n in range(60)]
            sequences = [one["sequence"] for one in heard]
            assert sequences == sorted(sequences)

    def test_a_lost_message_is_made_up_for_by_the_sweep(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        made = hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "After")
        with failing(Fault.TIMED_OUT, name="sqs:SendMessageBatch", times=None):
            workers.deliver()
        assert receiver.requests == []
        assert bodies("deliveries.fifo") == []
        assert delivery(api, made, UPDATED)["status"] == "pending"
        clock.shift(minutes=6)
        workers.settle()
        assert types(receiver) == [UPDATED]
        assert delivery(api, made, UPDATED)["status"] == "succeeded"

    def test_a_message_that_comes_twice_sends_nothing_twice(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        rename(api, organization, "After")
        workers.deliver()
        cursors = [item for item in cloud.stored() if item["sk"] == "!"]
        workers.deliver()
        workers.sweep()
        workers.deliver()
        assert types(receiver) == [UPDATED]
        assert [item for item in cloud.stored() if item["sk"] == "!"] == cursors

    def test_an_entry_that_somebody_removed_stops_what_is_behind_it(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hook(api, organization, receiver, events=[UPDATED])
        workers.deliver()
        rename(api, organization, "Gone")
        rename(api, organization, "Behind")
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            workers.deliver()
        entries = [item for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]
        gone = next(item for item in entries if b"Gone" in item["body"] and item["type"] == UPDATED)
        cloud.remove(gone)
        rename(api, organization, "Last")
        assert workers.attempt().failed
        assert types(receiver) == []
