"""What becomes of a webhook that is changed or removed, and of what was on its way to it."""

import pytest

from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.storage import table
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.receiver import HANG, Receiver, Reply
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown, told
from tests.harness.workers import Workers

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"
UPDATED = "organization.updated"


class TestUpdateWebhook:
    @pytest.fixture
    def made(self, api: Api, organization: Founded) -> Hook:
        return hook(api, organization, URL, description="Feeds the lake.")

    @pytest.mark.parametrize(
        ("field", "value", "then"),
        [
            ("url", "https://EXAMPLE.com:8443/a", "https://example.com:8443/a"),
            ("events", [UPDATED], [UPDATED]),
            ("description", " Feeds  the sea. ", "Feeds  the sea."),
            ("description", None, None),
            ("enabled", False, False),
        ],
    )
    def test_each_field_can_be_changed(
        self, api: Api, organization: Founded, made: Hook, field: str, value: object, then: object
    ) -> None:
        answer = change(api, made, **{field: value})
        assert (answer.json[field], answer.json["version"]) == (then, 2)
        assert shown(api, made) == answer.json
        (entry,) = log_of(api, organization, type="organization.webhook.updated")
        changed = {one["field"]: one["to"] for one in entry["changes"]}
        assert changed == {field: then, **({"status": "paused"} if field == "enabled" else {})}

    def test_null_returns_what_has_a_default_to_it(self, api: Api, made: Hook) -> None:
        change(api, made, events=[UPDATED], enabled=False)
        record = change(api, made, events=None, enabled=None).json
        assert (record["events"], record["enabled"]) == (["*"], True)

    @pytest.mark.parametrize("patch", [{}, {"enabled": True}, {"url": URL, "status": "active", "secret": None}])
    def test_what_is_so_already_changes_nothing(self, api: Api, organization: Founded, made: Hook, patch: Json) -> None:
        before = shown(api, made)
        assert change(api, made, **patch).json == before
        assert log_of(api, organization, type="organization.webhook.updated") == []

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("url", None),
            ("url", "https://127.0.0.1/"),
            ("events", ["no.such"]),
            ("events", []),
            ("enabled", "no"),
            ("status", "paused"),
            ("secret", SECRET),
            ("failingSince", "2026-01-01T00:00:00.000Z"),
            ("disabledReason", "It was me."),
            ("organizationId", "x"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, api: Api, organization: Founded, made: Hook, field: str, value: object
    ) -> None:
        answer = api.patch(made.path, as_=organization.owner, json={field: value})
        assert answer.code == "422 validation_failed"
        assert all(pointer.startswith(f"/{field}") for pointer in answer.faults)


@pytest.mark.usefixtures("private_targets")
class TestOneThatFailed:
    @pytest.fixture
    def made(self, api: Api, organization: Founded, workers: Workers, receiver: Receiver) -> Hook:
        made = hook(api, organization, receiver.at("127.0.0.1", "/hook"), events=[UPDATED])
        workers.deliver()
        return made

    def test_works_again_once_it_is_enabled_and_nothing_is_held_against_it(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        assert shown(api, made)["status"] == "disabled"
        assert change(api, made, description="Is it?").json["status"] == "disabled"
        record = change(api, made, enabled=True).json
        assert (record["status"], record["enabled"]) == ("active", True)
        assert (record["disabledReason"], record["failingSince"]) == (None, None)
        receiver.answer = Reply()
        rename(api, organization, "Back")
        workers.deliver()
        assert told(receiver.requests[-1])["data"]["name"] == "Back"

    def test_is_not_well_by_another_url_alone_if_it_is_disabled(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=410)
        rename(api, organization, "Gone")
        workers.deliver()
        record = change(api, made, url=receiver.at("127.0.0.1", "/elsewhere")).json
        assert (record["status"], record["failingSince"]) == ("disabled", None)
        assert record["disabledReason"]
        workers.settle()
        assert len(receiver.requests) == 1

    def test_is_not_forgiven_by_a_change_of_anything_else(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver
    ) -> None:
        receiver.answer = Reply(status=500)
        rename(api, organization, "Failing")
        workers.attempt()
        since = shown(api, made)["failingSince"]
        assert since
        record = change(api, made, events=["*"], description="Failing", enabled=True).json
        assert record["failingSince"] == since

    @pytest.mark.usefixtures("brisk")
    def test_whose_answers_did_not_come_gets_what_waited_at_its_new_url_at_once(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answers["/hook"] = HANG
        for n in range(4):
            rename(api, organization, f"Waiting {n}")
            workers.attempt()
        assert len(receiver.requests) == 1
        change(api, made, url=receiver.at("127.0.0.1", "/new"))
        workers.deliver()
        assert [request.path for request in receiver.requests[1:]] == ["/new"] * 3
        names = [told(request)["data"]["name"] for request in receiver.requests]
        assert names == [f"Waiting {n}" for n in range(4)]
        clock.shift(seconds=10)
        workers.deliver()
        assert told(receiver.requests[-1])["data"]["name"] == "Waiting 0", "it is tried again when it would have been"


class TestDeleteWebhook:
    @pytest.fixture
    def made(self, api: Api, organization: Founded, workers: Workers) -> Hook:
        made = hook(api, organization, URL, events=[UPDATED], enabled=False)
        for n in range(3):
            rename(api, organization, f"Name {n}")
        workers.deliver()
        return made

    @staticmethod
    def kept(made: Hook) -> list[str]:
        return [item["sk"] for item in cloud.stored() if item["pk"] == f"V#{made.id}"]

    @staticmethod
    def clearings() -> list[cloud.Item]:
        return [item for item in cloud.stored() if item.get("kind") == "organization.clearing"]

    def test_it_and_its_deliveries_are_gone_at_once(
        self, api: Api, organization: Founded, made: Hook, ada: Person
    ) -> None:
        (one, *_) = deliveries(api, made)
        assert api.delete(made.path, as_=ada).status == 204
        assert api.get(made.path, as_=ada).code == "404 not_found"
        assert api.get(f"{made.path}/deliveries", as_=ada).code == "404 not_found"
        assert api.get(f"{made.path}/deliveries/{one['id']}", as_=ada).code == "404 not_found"
        assert api.post(f"{made.path}/deliveries/{one['id']}/retry", as_=ada).code == "404 not_found"
        assert api.items(f"{organization.path}/webhooks", as_=ada) == []
        (entry,) = log_of(api, organization, type="organization.webhook.deleted")
        assert (entry["target"]["id"], entry["data"]["url"]) == (made.id, URL)

    def test_nothing_of_it_stays_and_all_of_another_does(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, clock: Clock
    ) -> None:
        other = hook(api, organization, URL, events=[UPDATED], enabled=False)
        rename(api, organization, "For both")
        workers.deliver()
        assert (len(self.kept(made)), len(self.kept(other))) == (4, 1)
        assert api.delete(made.path, as_=organization.owner).status == 204
        workers.deliver()
        clock.shift(minutes=2)
        workers.settle()
        assert (self.kept(made), len(self.kept(other)), self.clearings()) == ([], 1, [])

    def test_what_the_log_brings_late_goes_too(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("chalicelib.features.notifications.logic.fan_out.fan_out", lambda *_: None)
            rename(api, organization, "On its way")
            assert api.delete(made.path, as_=organization.owner).status == 204
            for _ in range(3):
                workers.settle()
                clock.shift(minutes=2)
            assert self.kept(made) == []
            assert len(self.clearings()) == 1
        workers.settle()
        clock.shift(minutes=2)
        workers.settle()
        assert (self.kept(made), self.clearings()) == ([], [])

    def test_many_go_in_turns(
        self,
        api: Api,
        organization: Founded,
        made: Hook,
        workers: Workers,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(table, "MAX_TRANSACT_ITEMS", 2)
        monkeypatch.setattr("chalicelib.kernel.work.jobs._SLICE_SECONDS", 0)
        assert api.delete(made.path, as_=organization.owner).status == 204
        started = [body for body in workers.deliver() if "deliveries.clear" in body and "then" not in body]
        assert len(started) == 2
        clock.shift(minutes=2)
        workers.settle()
        assert (self.kept(made), self.clearings()) == ([], [])

    def test_a_log_that_can_not_be_followed_keeps_nothing_for_long(
        self, api: Api, organization: Founded, made: Hook, workers: Workers, clock: Clock
    ) -> None:
        assert api.delete(made.path, as_=organization.owner).status == 204
        for item in [item for item in cloud.stored() if item["pk"] == f"A#{organization.id}"]:
            cloud.remove(item)
        for _ in range(7):
            workers.attempt()
            clock.shift(minutes=4)
            workers.sweep()
        workers.attempt()
        assert (self.kept(made), self.clearings()) == ([], [])
