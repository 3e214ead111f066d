import json
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.channels.entities import IntegrationChannel
from chalicelib.kernel.core.clock import after, now
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.channels import change, created_room, messages, room, shown, stored, texts, trial
from tests.harness.clock import Clock
from tests.harness.data_keys import all_wrapped
from tests.harness.erasures import erased
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.receiver import Receiver, Reply
from tests.harness.workers import Workers

pytestmark = pytest.mark.usefixtures("private_targets")

SLACK = "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXwxyz"
MASKED = "https://hooks.slack.com/…wxyz"
DISCORD = "https://discord.com/api/webhooks/110000000000000000/token-of-the-room-0123456789"
TEAMS = "https://default1.57.environment.api.powerplatform.com:443/powerautomate/workflows/1/triggers?sig=signature1"


@pytest.fixture
def deployed(private_targets: None, configure: Configure) -> None:  # noqa: ARG001 - which it takes back
    """A stage that is not this machine."""
    configure(stage="dev", **all_wrapped(), webhook_allow_private="0")


class TestCreateIntegrationChannel:
    def test_what_the_interface_lists_is_enough(self, api: Api, organization: Founded) -> None:
        answer = created_room(api, organization, SLACK)
        assert answer.status == 201
        record = answer.json
        assert (record["provider"], record["name"], record["events"]) == ("slack", "#engines", ["*"])
        assert (record["enabled"], record["status"], record["lastError"]) == (True, "active", None)
        assert answer.location == f"{organization.path}/integration-channels/{record['id']}"

    def test_its_url_is_masked_at_once_and_ever_after(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK)
        assert made.record["config"] == {"webhookUrl": MASKED}
        assert shown(api, made) == made.record
        assert api.items(f"{organization.path}/integration-channels", as_=organization.owner) == [made.record]
        (entry,) = log_of(api, organization, type="organization.integration_channel.created")
        assert entry["data"] == made.record
        assert entry["target"] == {"type": "organization.integration_channel", "id": made.id, "name": "#engines"}

    def test_its_url_stands_nowhere_in_the_table(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK)
        assert stored(made).url == SLACK
        assert b"XXXXwxyz" not in repr(cloud.stored()).encode()

    def test_of_a_short_url_only_the_host_is_shown(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, "http://127.0.0.1:9999/hook", provider="webhook")
        assert made.record["config"] == {"webhookUrl": "http://127.0.0.1:9999/…"}

    @pytest.mark.parametrize(
        ("fields", "fault"),
        [
            ({"provider": "irc"}, {"/provider": "not_one_of"}),
            ({"provider": None}, {"/provider": "required"}),
            ({"name": " "}, {"/name": "too_short"}),
            ({"name": None}, {"/name": "required"}),
            ({"config": None}, {"/config": "required"}),
            ({"config": {}}, {"/config/webhookUrl": "required"}),
            ({"config": SLACK}, {"/config": "not_an_object"}),
            ({"config": {"webhookUrl": 7}}, {"/config/webhookUrl": "wrong_type"}),
            ({"config": {"webhookUrl": "no url"}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": MASKED}}, {"/config/webhookUrl": "malformed"}),
            ({"config": {"webhookUrl": SLACK, "token": "x"}}, {"/config/token": "unknown_field"}),
            ({"events": []}, {"/events": "too_few"}),
            ({"events": ["organization.*", "x.*"]}, {"/events/1": "malformed"}),
            ({"status": "active"}, {"/status": "unknown_field"}),
            ({"enabled": "yes"}, {"/enabled": "wrong_type"}),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, api: Api, organization: Founded, fields: dict[str, Any], fault: dict[str, str]
    ) -> None:
        answer = created_room(api, organization, SLACK, **fields)
        assert (answer.code, answer.faults) == ("422 validation_failed", fault)

    def test_an_unknown_event_is_named_with_where_the_known_ones_are(self, api: Api, organization: Founded) -> None:
        (fault,) = created_room(api, organization, SLACK, events=["weather.*"]).json["errors"]
        assert "'weather.*'" in fault["detail"]
        assert "GET /event-types" in fault["detail"]

    def test_only_admins_may_and_keys_with_the_scope(
        self, api: Api, organization: Founded, grace: Person, edith: Person, stranger: Person
    ) -> None:
        path = f"{organization.path}/integration-channels"
        body = {"provider": "slack", "name": "#engines", "config": {"webhookUrl": SLACK}}
        writes, reads = (make_key(api, organization, f"channels:{scope}") for scope in ("write", "read"))
        answers = [api.post(path, as_=who, json=body) for who in (grace, writes, reads, edith, stranger)]
        assert [answer.status for answer in answers] == [201, 201, 403, 403, 404]
        assert len(api.items(path, as_=reads)) == 2

    def test_there_are_at_most_50(self, api: Api, organization: Founded, monkeypatch: pytest.MonkeyPatch) -> None:
        limit = IntegrationChannel.quota
        assert limit is not None
        assert limit.limit == 50
        monkeypatch.setattr(IntegrationChannel, "quota", replace(limit, limit=2))
        made = [room(api, organization, SLACK) for _ in range(2)]
        assert created_room(api, organization, SLACK).code == "409 limit_exceeded"
        assert api.delete(made[0].path, as_=organization.owner).status == 204
        assert created_room(api, organization, SLACK).status == 201


@pytest.mark.usefixtures("deployed")
class TestProvidersHosts:
    @pytest.mark.parametrize(
        ("provider", "url"),
        [("slack", SLACK), ("discord", DISCORD), ("teams", TEAMS), ("webhook", "https://chat.example.com/hooks/1")],
    )
    def test_are_taken(self, api: Api, organization: Founded, provider: str, url: str) -> None:
        assert created_room(api, organization, url, provider=provider).status == 201

    @pytest.mark.parametrize(
        ("provider", "url", "advice"),
        [
            ("slack", "https://hooks.slack.com.evil.example/services/1", "hooks.slack.com"),
            ("slack", DISCORD, "hooks.slack.com"),
            ("discord", "https://discord.com/channels/1/2", "api/webhooks"),
            ("teams", "https://logic.azure.com.evil.example/", "logic.azure.com"),
            ("webhook", "http://chat.example.com/hooks/1", "https"),
            ("webhook", "https://127.0.0.1/hooks/1", "public"),
        ],
    )
    def test_are_the_only_ones(self, api: Api, organization: Founded, provider: str, url: str, advice: str) -> None:
        answer = created_room(api, organization, url, provider=provider)
        assert answer.faults == {"/config/webhookUrl": "malformed"}
        assert advice in answer.json["errors"][0]["detail"]

    def test_fit_to_a_provider_that_changes(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK)
        for config in ({}, {"config": {"webhookUrl": MASKED}}):
            answer = api.patch(made.path, as_=organization.owner, json={"provider": "discord", **config})
            assert answer.faults == {"/config/webhookUrl": "malformed"}
        changed = change(api, made, provider="discord", config={"webhookUrl": DISCORD}).json
        assert (changed["provider"], changed["config"]) == ("discord", {"webhookUrl": "https://discord.com/…6789"})


class TestUpdateIntegrationChannel:
    def test_what_is_left_out_stays(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK, events=["organization.updated"])
        changed = change(api, made, name="#looms").json
        told = {**made.record, "name": "#looms", "version": 2, "updatedAt": changed["updatedAt"]}
        assert changed == told == shown(api, made)
        assert stored(made).url == SLACK

    @pytest.mark.parametrize("config", [{}, {"webhookUrl": MASKED}, {"webhookUrl": SLACK}])
    def test_its_url_sent_back_is_unchanged(self, api: Api, organization: Founded, config: dict[str, str]) -> None:
        made = room(api, organization, SLACK)
        assert change(api, made, config=config).json == made.record
        assert change(api, made, **{**made.record, "config": config}).json == made.record
        assert log_of(api, organization, type="organization.integration_channel.updated") == []
        assert stored(made).url == SLACK

    def test_another_masked_url_is_refused(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK)
        body = {"config": {"webhookUrl": "https://hooks.slack.com/…abcd"}}
        answer = api.patch(made.path, as_=organization.owner, json=body)
        assert answer.faults == {"/config/webhookUrl": "malformed"}
        assert "masked" in answer.json["errors"][0]["detail"]
        assert stored(made).url == SLACK

    def test_null_returns_to_what_is_usual(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK, events=["organization.updated"], enabled=False)
        changed = change(api, made, events=None, enabled=None).json
        assert (changed["events"], changed["enabled"]) == (["*"], True)
        for name in ("name", "provider", "config"):
            answer = api.patch(made.path, as_=organization.owner, json={name: None})
            assert answer.faults == {f"/{name}": "required"}

    def test_its_entry_tells_of_a_new_url_without_telling_it(self, api: Api, organization: Founded) -> None:
        made = room(api, organization, SLACK)
        url = SLACK.replace("wxyz", "abcd")
        change(api, made, config={"webhookUrl": url})
        (entry,) = log_of(api, organization, type="organization.integration_channel.updated")
        masked = {"webhookUrl": "https://hooks.slack.com/…abcd"}
        assert entry["changes"] == [{"field": "config", "from": {"webhookUrl": MASKED}, "to": masked}]
        assert "XXXX" not in json.dumps(entry)
        assert stored(made).url == url

    def test_another_place_owes_the_former_one_no_peace(
        self, api: Api, organization: Founded, receiver: Receiver
    ) -> None:
        made = room(api, organization, receiver)
        receiver.answer = Reply(status=429, headers={"Retry-After": "600"})
        trial(api, made)
        change(api, made, name="#looms")
        assert str(stored(made).free_at) > after(now(), seconds=500)
        change(api, made, config={"webhookUrl": receiver.at("127.0.0.1", "/services/T0/B0/another-room")})
        assert stored(made).free_at is None


class TestDeleteIntegrationChannel:
    def test_nothing_is_left_of_it(self, api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> None:
        made = room(api, organization, receiver)
        workers.deliver()
        assert messages(made)
        assert api.delete(made.path, as_=organization.owner).status == 204
        assert api.get(made.path, as_=organization.owner).code == "404 not_found"
        workers.settle()
        assert messages(made) == []
        assert log_of(api, organization)[0]["type"] == "organization.integration_channel.deleted"
        assert len(receiver.requests) == 1


class TestTestIntegrationChannel:
    def test_a_message_is_sent_at_once(self, api: Api, organization: Founded, receiver: Receiver) -> None:
        made = room(api, organization, receiver)
        result = trial(api, made)
        assert (result["delivered"], result["statusCode"], result["error"]) == (True, 200, None)
        assert result["durationMs"] >= 0
        assert texts(receiver) == ["Ada Lovelace sends a test: the messages of #engines arrive here."]
        (request,) = receiver.requests
        assert (request.path, request.headers["Content-Type"]) == (
            "/services/T0/B0/secret-of-the-room",
            "application/json",
        )

    def test_it_is_an_entry_of_the_log(self, api: Api, organization: Founded, receiver: Receiver) -> None:
        made = room(api, organization, receiver)
        for _ in range(2):
            trial(api, made)
        entries = log_of(api, organization, type="organization.integration_channel.tested")
        assert [(entry["data"], entry["changes"]) for entry in entries] == [(made.record, [])] * 2
        assert shown(api, made) == made.record

    def test_also_of_one_that_is_switched_off(self, api: Api, organization: Founded, receiver: Receiver) -> None:
        made = room(api, organization, receiver, enabled=False)
        assert trial(api, made)["delivered"]
        assert shown(api, made)["enabled"] is False

    def test_a_permanent_answer_shows_that_attention_is_needed_until_it_arrives(
        self, api: Api, organization: Founded, receiver: Receiver
    ) -> None:
        made = room(api, organization, receiver)
        receiver.answer = Reply(status=404, body=b"no_service")
        result = trial(api, made)
        assert (result["delivered"], result["statusCode"]) == (False, 404)
        needing = shown(api, made)
        assert (needing["status"], needing["version"]) == ("needs_attention", 2)
        assert (
            needing["lastError"]
            == result["error"]
            == ("Slack takes nothing at this URL any more (404). Give the channel another.")
        )
        (entry,) = log_of(api, organization, type="organization.integration_channel.tested")
        assert [change["field"] for change in entry["changes"]] == ["status", "lastError"]
        receiver.answer = Reply()
        assert trial(api, made)["delivered"]
        assert shown(api, made) == {**made.record, "version": 3, "updatedAt": shown(api, made)["updatedAt"]}

    @pytest.mark.parametrize("status", [408, 413, 425, 429, 500, 503])
    def test_an_answer_that_may_change_says_nothing_of_the_channel(
        self, api: Api, organization: Founded, receiver: Receiver, status: int
    ) -> None:
        made = room(api, organization, receiver)
        receiver.answer = Reply(status=status)
        assert trial(api, made)["error"] == f"Slack answered {status}."
        assert shown(api, made) == made.record

    def test_no_answer_is_told_as_such(self, api: Api, organization: Founded, receiver: Receiver) -> None:
        made = room(api, organization, receiver)
        receiver.answer = Reply(raw=b"", closes=True)
        result = trial(api, made)
        assert (result["delivered"], result["statusCode"]) == (False, None)
        assert result["error"]
        assert shown(api, made) == made.record

    def test_nothing_of_a_blocked_address_is_shown(
        self, api: Api, organization: Founded, receiver: Receiver, configure: Configure
    ) -> None:
        made = room(api, organization, receiver)
        receiver.answer = Reply(body=b"inner secret")
        configure(webhook_allow_private="0")
        answer = api.post(f"{made.path}/test", as_=organization.owner)
        assert (answer.json["delivered"], answer.json["statusCode"]) == (False, None)
        assert answer.json["error"] == "The host has no public address."
        assert receiver.requests == []


class TestAttention:
    @pytest.fixture
    def needing(self, api: Api, organization: Founded, receiver: Receiver) -> Any:
        """A channel whose provider has answered that it knows no such room."""
        made = room(api, organization, receiver)
        receiver.answer = Reply(status=410)
        trial(api, made)
        assert shown(api, made)["status"] == "needs_attention"
        return made

    @pytest.mark.parametrize(
        "fields", [{"name": "#looms"}, {"events": ["organization.*"]}, {"enabled": True}, {"enabled": False}]
    )
    def test_is_needed_still_after_a_change_of_something_else(
        self, api: Api, needing: Any, fields: dict[str, Any]
    ) -> None:
        assert change(api, needing, **fields).json["status"] == "needs_attention"

    @pytest.mark.parametrize("fields", [{"config": {"webhookUrl": SLACK}}, {"provider": "webhook"}])
    def test_is_needed_no_more_with_another_place(self, api: Api, needing: Any, fields: dict[str, Any]) -> None:
        changed = change(api, needing, **fields).json
        assert (changed["status"], changed["lastError"]) == ("active", None)

    def test_is_needed_no_more_once_it_was_switched_off_and_on(self, api: Api, needing: Any) -> None:
        assert change(api, needing, enabled=False).json["lastError"] is not None
        changed = change(api, needing, enabled=True).json
        assert (changed["status"], changed["lastError"]) == ("active", None)


class TestErasure:
    def test_takes_a_person_out_of_names_and_urls(
        self, api: Api, organization: Founded, edith: Person, workers: Workers, clock: Clock, receiver: Receiver
    ) -> None:
        url = receiver.at("127.0.0.1", f"/hooks?for={edith.email}&token=0123456789")
        named = room(api, organization, SLACK, name=f"Mail to {edith.email}")
        led = room(api, organization, url, provider="webhook")
        erased(api, workers, clock, organization, email=edith.email)
        assert (shown(api, named)["name"], shown(api, named)["status"]) == ("Mail to …", "active")
        assert stored(named).url == SLACK
        assert stored(led).url == receiver.url
        assert shown(api, led)["config"] == {"webhookUrl": f"{receiver.url}…"}
        assert shown(api, led)["status"] == "needs_attention"
        assert "erased" in shown(api, led)["lastError"]

    def test_takes_a_person_out_of_what_was_answered(
        self, api: Api, organization: Founded, edith: Person, workers: Workers, clock: Clock, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(body=f"thanks, {edith.email}".encode())
        made = room(api, organization, receiver, events=["organization.integration_channel.created"])
        workers.deliver()
        assert messages(made)[0].attempts[0]["response_body"] == f"thanks, {edith.email}"
        erased(api, workers, clock, organization, email=edith.email)
        assert messages(made)[0].attempts[0]["response_body"] == "thanks, …"
