"""Trying a webhook out, and giving it another secret."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any

import pytest
from standardwebhooks import Webhook as Verifier

from chalicelib.features.notifications.webhooks.models.standard_webhooks import decode_secret
from chalicelib.kernel.outbound import egress
from chalicelib.kernel.storage import table
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.receiver import Receiver, Reply, Request
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown
from tests.harness.workers import Workers

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"


@pytest.mark.usefixtures("private_targets")
class TestTestWebhook:
    @pytest.fixture
    def made(self, api: Api, organization: Founded, receiver: Receiver) -> Hook:
        return hook(api, organization, receiver, events=[UPDATED])

    @staticmethod
    def trial(api: Api, made: Hook) -> Json:
        answer = api.post(f"{made.path}/test", as_=made.organization.owner)
        assert answer.status == 200
        return answer.json

    @staticmethod
    def verified(request: Request, secret: str) -> Json:
        headers = {name.lower(): value for name, value in request.headers.items()}
        message: Json = Verifier(secret).verify(request.body, headers)
        return message

    def test_it_sends_a_signed_message_now(
        self, api: Api, organization: Founded, made: Hook, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=202, body=b"thanks")
        result = self.trial(api, made)
        assert result | {"delivered": True, "statusCode": 202, "error": None} == result
        assert 0 <= result["durationMs"] < 15_000
        (request,) = receiver.requests
        message = self.verified(request, made.secret)
        assert (message["type"], message["organizationId"], message["sequence"]) == (
            "webhook.test",
            organization.id,
            None,
        )
        assert message["data"]["webhookId"] == made.id
        assert request.headers["Content-Type"] == "application/json"

    def test_each_is_another_message_and_no_delivery(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        for _ in range(2):
            self.trial(api, made)
        assert len({request.headers["webhook-id"] for request in receiver.requests}) == 2
        workers.deliver()
        assert deliveries(api, made) == []
        entries = log_of(api, organization, type="organization.webhook.tested")
        assert [entry["target"]["id"] for entry in entries] == [made.id] * 2
        assert [entry["changes"] for entry in entries] == [[], []]
        assert entries[0]["data"] == shown(api, made)

    def test_every_live_secret_signs_it(self, api: Api, made: Hook, receiver: Receiver) -> None:
        rotated = api.post(f"{made.path}/rotate-secret", as_=made.organization.owner).json
        self.trial(api, made)
        for secret in (made.secret, rotated["secret"]):
            self.verified(receiver.requests[0], secret)

    @pytest.mark.parametrize("status", [301, 400, 410, 500])
    def test_it_tells_what_was_answered_and_holds_nothing_against_it(
        self, api: Api, made: Hook, receiver: Receiver, status: int
    ) -> None:
        before = shown(api, made)
        receiver.answer = Reply(status=status, headers={"Location": receiver.url}, body=b"no")
        result = self.trial(api, made)
        assert result | {"delivered": False, "statusCode": status} == result
        assert str(status) in result["error"]
        assert shown(api, made) == before

    def test_it_tells_why_there_was_no_answer(self, api: Api, organization: Founded, unused_port: int) -> None:
        made = hook(api, organization, f"http://127.0.0.1:{unused_port}/")
        result = self.trial(api, made)
        assert result | {"delivered": False, "statusCode": None} == result
        assert result["error"] == "The connection was refused."

    def test_it_works_for_one_that_is_paused_or_disabled_too(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        change(api, made, enabled=False)
        assert self.trial(api, made)["delivered"]
        change(api, made, enabled=True)
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        assert shown(api, made)["status"] == "disabled"
        receiver.answer = Reply()
        assert self.trial(api, made)["delivered"]
        assert shown(api, made)["status"] == "disabled"

    def test_repeated_with_its_idempotency_key_it_sends_nothing_more(
        self, api: Api, made: Hook, receiver: Receiver
    ) -> None:
        once = {"Idempotency-Key": "try"}
        first, second = (api.post(f"{made.path}/test", as_=made.organization.owner, headers=once) for _ in range(2))
        assert first.text == second.text
        assert len(receiver.requests) == 1


@pytest.fixture
def unused_port() -> int:
    """A port of this machine where nobody listens."""
    with Receiver() as gone:
        return gone.port


class TestRotateWebhookSecret:
    @pytest.fixture
    def made(self, api: Api, organization: Founded) -> Hook:
        return hook(api, organization, URL)

    @staticmethod
    def rotate(api: Api, made: Hook, **body: int) -> Answer:
        return api.post(f"{made.path}/rotate-secret", as_=made.organization.owner, json=body)

    @staticmethod
    def kept(made: Hook) -> list[str | None]:
        item = table.get((f"O#{made.organization.id}", f"W#{made.id}"))
        assert item
        return [secret["until"] for secret in item["secrets"]]

    def test_it_is_shown_once(self, api: Api, organization: Founded, made: Hook) -> None:
        answer = self.rotate(api, made)
        record = answer.json
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"
        assert len(decode_secret(record["secret"])) == 32
        assert (record["secret"] != made.secret, record["version"]) == (True, 2)
        assert shown(api, made) == {**record, "secret": None}
        (entry,) = log_of(api, organization, type="organization.webhook.secret_rotated")
        assert record["secret"] not in json.dumps(entry)

    def test_the_former_one_signs_for_a_day_unless_told_otherwise(self, api: Api, made: Hook, clock: Clock) -> None:
        clock.freeze("2026-11-20T09:30:00Z")
        self.rotate(api, made)
        assert self.kept(made) == [None, "2026-11-21T09:30:00.000Z"]
        self.rotate(api, made, graceHours=168)
        assert self.kept(made) == [None, "2026-11-27T09:30:00.000Z", "2026-11-21T09:30:00.000Z"]

    def test_a_later_rotation_gives_no_secret_a_longer_grace_but_may_end_it_sooner(
        self, api: Api, made: Hook, clock: Clock
    ) -> None:
        clock.freeze("2026-11-20T09:30:00Z")
        self.rotate(api, made, graceHours=2)
        self.rotate(api, made, graceHours=1)
        assert self.kept(made) == [None, *["2026-11-20T10:30:00.000Z"] * 2]
        self.rotate(api, made, graceHours=0)
        assert self.kept(made) == [None]

    def test_at_most_five_sign_at_a_time(self, api: Api, made: Hook, clock: Clock) -> None:
        for _ in range(4):
            assert self.rotate(api, made, graceHours=1).status == 200
        assert self.rotate(api, made, graceHours=1).code == "409 limit_exceeded"
        assert self.rotate(api, made, graceHours=0).status == 200
        for _ in range(4):
            self.rotate(api, made, graceHours=1)
        clock.shift(minutes=61)
        assert self.rotate(api, made, graceHours=1).status == 200
        assert len(self.kept(made)) == 2

    @pytest.mark.parametrize("hours", [-1, 169, 1.5, "1"])
    def test_what_is_no_grace_is_refused(self, api: Api, made: Hook, hours: Any) -> None:
        answer = self.rotate(api, made, graceHours=hours)
        assert answer.code == "422 validation_failed"
        assert list(answer.faults) == ["/graceHours"]


@pytest.mark.usefixtures("private_targets")
class TestHowOften:
    def test_an_organization_may_try_ten_times_a_minute_whoever_asks_and_whatever_is_tried(
        self, api: Api, organization: Founded, receiver: Receiver, grace: Person, clock: Clock
    ) -> None:
        clock.freeze()
        webhook = hook(api, organization, receiver, events=[UPDATED])
        room = api.post(
            f"{organization.path}/integration-channels",
            as_=organization.owner,
            json={"provider": "webhook", "name": "Room", "config": {"webhookUrl": receiver.url}},
        )
        key = make_key(api, organization, "webhooks:write", "channels:write")
        callers = [organization.owner, grace, key]
        paths = [webhook.path, room.location]
        for number in range(10):
            clock.shift(seconds=2)
            tried = api.post(f"{paths[number % 2]}/test", as_=callers[number % 3])
            assert (tried.status, tried.json["delivered"]) == (200, True)
        assert len(receiver.requests) == 10
        for caller in callers:
            for path in paths:
                refused = api.post(f"{path}/test", as_=caller)
                assert refused.code == "429 rate_limited"
                assert refused.headers["RateLimit-Policy"].startswith('"tests";q=10;w=60')
        assert len(receiver.requests) == 10
        clock.shift(seconds=int(refused.headers["Retry-After"]))
        assert api.post(f"{webhook.path}/test", as_=grace).status == 200

    def test_another_organization_has_its_own(
        self, api: Api, organization: Founded, receiver: Receiver, clock: Clock
    ) -> None:
        clock.freeze()
        first, second = (hook(api, each, receiver) for each in (organization, found(api, organization.owner)))
        answers = [api.post(f"{first.path}/test", as_=organization.owner) for _ in range(11)]
        assert [answer.status for answer in answers] == [200] * 10 + [429]
        assert api.post(f"{second.path}/test", as_=organization.owner).status == 200

    def test_one_caller_with_many_organizations_holds_no_more_functions_than_with_three(
        self, api: Api, organization: Founded, receiver: Receiver, clock: Clock
    ) -> None:
        clock.freeze()
        places = [organization, *(found(api, organization.owner) for _ in range(3))]
        hooks = [hook(api, each, receiver) for each in places]
        answers = [api.post(f"{each.path}/test", as_=organization.owner) for each in hooks for _ in range(10)]
        assert [answer.status for answer in answers] == [200] * 30 + [429] * 10
        assert len(receiver.requests) == 30

    def test_many_at_once_send_no_more_than_there_is(self, api: Api, organization: Founded, receiver: Receiver) -> None:
        made = hook(api, organization, receiver)
        with ThreadPoolExecutor(8) as threads:
            statuses = list(threads.map(lambda _: self.tried(api, made), range(24)))
        # Who loses a race for the webhook's record has sent its message all the same, and sends no other.
        assert sorted(statuses) == [200] * 10 + [429] * 14
        assert len(receiver.requests) == 10

    @staticmethod
    def tried(api: Api, made: Hook) -> int:
        return api.post(f"{made.path}/test", as_=made.organization.owner).status


@pytest.mark.usefixtures("private_targets")
class TestHowLong:
    @pytest.mark.parametrize("kind", ["webhook", "channel"])
    def test_whoever_does_not_answer_is_waited_for_no_longer_than_five_seconds(
        self, api: Api, organization: Founded, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, kind: str
    ) -> None:
        asked: list[float] = []
        real = egress.guarded_exchange

        def noted(seconds: float) -> AbstractContextManager[egress.Exchange]:
            asked.append(seconds)
            return real(min(seconds, 0.3))

        monkeypatch.setattr(egress, "guarded_exchange", noted)
        receiver.answer = Reply(delay=1.0)
        if kind == "webhook":
            path = hook(api, organization, receiver).path
        else:
            config = {"webhookUrl": receiver.url}
            path = api.post(
                f"{organization.path}/integration-channels",
                as_=organization.owner,
                json={"provider": "webhook", "name": "Room", "config": config},
            ).location
        result = api.post(f"{path}/test", as_=organization.owner).json
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert asked == [5.0]
        assert result["error"] == "The server did not respond within 5 s."
