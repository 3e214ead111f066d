"""Webhooks: who may have which, and what is shown of them."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.models.standard_webhooks import decode_secret
from chalicelib.kernel.core.encoding import to_base64
from tests.harness import cloud
from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found
from tests.harness.webhooks import hook

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"
UPDATED = "organization.updated"


def created(api: Api, organization: Founded, **fields: Any) -> Answer:
    """Return the answer to the owner's request for a webhook."""
    return api.post(f"{organization.path}/webhooks", as_=organization.owner, json=fields)


def refused(answer: Answer) -> dict[str, str]:
    """Return the faults of a request that is refused for them."""
    assert answer.code == "422 validation_failed"
    return answer.faults


class TestCreateWebhook:
    def test_a_url_is_enough_and_it_is_told_everything(self, api: Api, organization: Founded) -> None:
        answer = created(api, organization, url=URL)
        assert answer.status == 201
        record = answer.json
        assert (record["url"], record["events"], record["description"]) == (URL, ["*"], None)
        assert (record["enabled"], record["status"], record["version"]) == (True, "active", 1)
        assert (record["failingSince"], record["disabledReason"]) == (None, None)
        assert answer.location == f"{organization.path}/webhooks/{record['id']}"

    def test_everything_listed_is_accepted_and_null_is_what_was_left_out(self, api: Api, organization: Founded) -> None:
        fields = {"events": [UPDATED, "organization.member.*"], "description": "Feeds the lake.", "enabled": False}
        record = created(api, organization, url=URL, secret=SECRET, **fields).json
        assert {name: record[name] for name in fields} == fields
        assert (record["secret"], record["status"]) == (SECRET, "paused")
        nothing = dict.fromkeys(["events", "description", "secret", "enabled"])
        record = created(api, organization, url=URL, **nothing).json
        assert (record["events"], record["description"], record["enabled"]) == (["*"], None, True)

    def test_the_secret_is_one_of_32_random_bytes_and_shown_once(self, api: Api, organization: Founded) -> None:
        first, second = (created(api, organization, url=URL).json for _ in range(2))
        assert first["secret"] != second["secret"]
        assert len(decode_secret(first["secret"])) == 32
        read = api.get(f"{organization.path}/webhooks/{first['id']}", as_=organization.owner)
        assert read.json == {**first, "secret": None}
        listed = api.items(f"{organization.path}/webhooks", as_=organization.owner)
        assert [one["secret"] for one in listed] == [None, None]
        assert first["secret"] not in json.dumps(log_of(api, organization))

    def test_the_answer_with_a_secret_is_not_to_be_kept(self, api: Api, organization: Founded) -> None:
        answer = created(api, organization, url=URL, secret=SECRET)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Cache-Control" not in api.get(answer.location, as_=organization.owner).headers

    def test_the_table_holds_no_secret_that_can_be_read(self, api: Api, organization: Founded) -> None:
        made = [created(api, organization, url=URL, **more).json["secret"] for more in ({}, {"secret": SECRET})]
        kept = repr(cloud.stored())
        for secret in made:
            assert secret[6:] not in kept
            assert repr(decode_secret(secret))[2:-1] not in kept

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("url", None),
            ("url", ""),
            ("url", 7),
            ("url", "hooks.example.com"),
            ("url", "ftp://example.com/"),
            ("url", "https://user:pass@example.com/"),
            ("url", "https://example.com/#here"),
            ("url", "https://127.0.0.1/"),
            ("url", "https://[::1]/"),
            ("url", "https://169.254.169.254/latest"),
            ("url", "https://localhost/"),
            ("url", f"https://example.com/{'x' * 2000}"),
            ("events", []),
            ("events", "*"),
            ("events", ["organization.exploded"]),
            ("events", ["weather.*"]),
            ("events", ["organization"]),
            ("events", [""]),
            ("events", [7]),
            ("events", [UPDATED] * 41),
            ("description", "x" * 4001),
            ("description", "\x07"),
            ("enabled", "yes"),
            ("enabled", 1),
            ("secret", "sesame"),
            ("secret", "whsec_c2hvcnQ="),
            ("secret", f"whsec_{to_base64(bytes(65))}"),
            ("secret", ""),
            ("status", "active"),
            ("failingSince", None),
            ("colour", "green"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, api: Api, organization: Founded, field: str, value: object) -> None:
        faults = refused(created(api, organization, **{"url": URL, field: value}))
        assert all(pointer.startswith(f"/{field}") for pointer in faults)

    def test_an_event_that_there_is_not_is_named_and_where_to_look(self, api: Api, organization: Founded) -> None:
        answer = created(api, organization, url=URL, events=[UPDATED, "organization.exploded"])
        assert refused(answer) == {"/events/1": "malformed"}
        detail = answer.json["errors"][0]["detail"]
        assert "'organization.exploded'" in detail
        assert "GET /event-types" in detail

    def test_an_event_named_twice_is_there_once(self, api: Api, organization: Founded) -> None:
        assert created(api, organization, url=URL, events=["*", UPDATED, "*"]).json["events"] == ["*", UPDATED]

    def test_admins_may_and_lower_roles_may_not(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        path = f"{organization.path}/webhooks"
        assert api.post(path, as_=grace, json={"url": URL}).status == 201
        for person in (edith, mary):
            assert api.post(path, as_=person, json={"url": URL}).code == "403 insufficient_role"
        assert api.post(path, as_=stranger, json={"url": URL}).code == "404 not_found"


class TestLimit:
    @pytest.fixture(autouse=True)
    def _at_most_three(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert Webhook.quota.limit == 50
        monkeypatch.setattr(Webhook, "quota", replace(Webhook.quota, limit=3))

    def test_there_are_at_most_so_many_in_each_organization(self, api: Api, organization: Founded, ada: Person) -> None:
        for _ in range(3):
            assert created(api, organization, url=URL, enabled=False).status == 201
        assert created(api, organization, url=URL).code == "409 limit_exceeded"
        assert created(api, found(api, ada), url=URL).status == 201

    def test_removing_one_makes_room_for_one(self, api: Api, organization: Founded) -> None:
        made = [hook(api, organization, URL) for _ in range(3)]
        for status in (204, 404):
            assert api.delete(made[1].path, as_=organization.owner).status == status
        assert created(api, organization, url=URL).status == 201
        assert created(api, organization, url=URL).code == "409 limit_exceeded"

    def test_it_holds_when_many_are_made_at_once(self, api: Api, organization: Founded) -> None:
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: created(api, organization, url=URL), range(5)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409]


class TestListAndGet:
    def test_they_are_listed_in_the_order_they_were_made(self, api: Api, organization: Founded) -> None:
        made = [hook(api, organization, f"{URL}/{name}") for name in "cab"]
        listed = api.items(f"{organization.path}/webhooks", as_=organization.owner, query={"limit": 2})
        assert [one["id"] for one in listed] == [one.id for one in made]

    def test_one_of_another_organization_is_not_found(self, api: Api, organization: Founded, ada: Person) -> None:
        foreign = hook(api, found(api, ada), URL)
        path = f"{organization.path}/webhooks/{foreign.id}"
        assert api.get(path, as_=ada).code == "404 not_found"
        assert api.patch(path, as_=ada, json={"enabled": False}).code == "404 not_found"
        assert api.delete(path, as_=ada).code == "404 not_found"
        assert api.post(f"{path}/test", as_=ada).code == "404 not_found"
