"""Test webhooks: creating, listing and reading them, and their secrets and limits."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.models.standard_webhooks import decode_secret
from chalicelib.kernel.core.encoding import to_base64
from tests.harness import memory_aws
from tests.harness.api import ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.webhooks import UPDATED

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"

INVALID_VALUES: dict[str, list[Any]] = {
    "url": [
        *(None, "", 7, "hooks.example.com", "ftp://example.com/", "https://user:pass@example.com/"),
        *("https://example.com/#here", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest"),
        *("https://localhost/", f"https://example.com/{'x' * 2000}"),
    ],
    "events": [[], "*", ["organization.exploded"], ["weather.*"], ["organization"], [""], [7], [UPDATED] * 41],
    "description": ["x" * 4001, "\x07"],
    "enabled": ["yes", 1],
    "secret": ["sesame", "whsec_c2hvcnQ=", f"whsec_{to_base64(bytes(65))}", ""],
    "status": ["active"],
    "failingSince": [None],
    "colour": ["green"],
}


@pytest.fixture
def post_webhook(api, organization):
    """A function that requests a webhook as the owner, and returns the response."""

    def post_webhook(of: CreatedOrganization = organization, **fields: Any) -> ApiResponse:
        return api.post(f"{of.path}/webhooks", caller=of.owner, json={"url": URL, **fields})

    return post_webhook


class TestCreateWebhook:
    def test_only_a_url_is_required_and_null_means_the_default(self, organization, post_webhook):
        answer = post_webhook()
        assert answer.status == 201
        record = answer.json
        assert (record["url"], record["events"], record["description"]) == (URL, ["*"], None)
        assert (record["enabled"], record["status"], record["version"]) == (True, "active", 1)
        assert (record["failingSince"], record["disabledReason"]) == (None, None)
        assert answer.location == f"{organization.path}/webhooks/{record['id']}"
        record = post_webhook(**dict.fromkeys(["events", "description", "secret", "enabled"])).json
        assert (record["events"], record["description"], record["enabled"]) == (["*"], None, True)

    def test_accepts_all_fields_and_merges_duplicate_event_types(self, post_webhook):
        fields = {"events": [UPDATED, "organization.member.*"], "description": "Feeds the lake.", "enabled": False}
        record = post_webhook(secret=SECRET, **fields).json
        assert {field: record[field] for field in fields} == fields
        assert (record["secret"], record["status"]) == (SECRET, "paused")
        assert post_webhook(events=["*", UPDATED, "*"]).json["events"] == ["*", UPDATED]

    def test_a_secret_is_random_shown_once_and_stored_encrypted(self, api, organization, post_webhook):
        answers = (post_webhook(), post_webhook(), post_webhook(secret=SECRET))
        secrets = [answer.json["secret"] for answer in answers]
        assert len(set(secrets)) == 3
        assert len(decode_secret(secrets[0])) == 32
        assert {answer.headers["Cache-Control"] for answer in answers} == {"no-store"}
        reread = api.get(answers[0].location, caller=organization.owner)
        assert reread.json == {**answers[0].json, "secret": None}
        assert "Cache-Control" not in reread.headers
        webhooks = api.get_items(f"{organization.path}/webhooks", caller=organization.owner)
        assert [webhook["secret"] for webhook in webhooks] == [None, None, None]
        log, stored_text = json.dumps(list_entries(api, organization)), repr(memory_aws.all_items())
        for secret in secrets:
            assert secret not in log
            assert secret[6:] not in stored_text
            assert repr(decode_secret(secret))[2:-1] not in stored_text

    @pytest.mark.parametrize("field", INVALID_VALUES)
    def test_invalid_values_of_a_field_are_rejected(self, post_webhook, field):
        for value in INVALID_VALUES[field]:
            answer = post_webhook(**{field: value})
            assert answer.status_and_code == "422 validation_failed", value
            assert all(pointer.startswith(f"/{field}") for pointer in answer.errors), value

    def test_an_unknown_event_type_is_named_in_the_error(self, post_webhook):
        answer = post_webhook(events=[UPDATED, "organization.exploded"])
        assert answer.errors == {"/events/1": "malformed"}
        detail = answer.json["errors"][0]["detail"]
        assert "'organization.exploded'" in detail
        assert "GET /event-types" in detail


class TestLimit:
    @pytest.fixture(autouse=True)
    def three_per_organization(self, monkeypatch):
        assert Webhook.quota.limit == 50
        monkeypatch.setattr(Webhook, "quota", replace(Webhook.quota, limit=3))

    def test_the_number_per_organization_is_limited_and_a_deletion_allows_another(
        self, api, organization, new_webhook, post_webhook, ada
    ):
        webhooks = [new_webhook(URL, enabled=False) for _ in range(3)]
        assert post_webhook().status_and_code == "409 limit_exceeded"
        assert post_webhook(of=create_organization(api, ada)).status == 201
        assert [webhooks[1].delete().status for _ in range(2)] == [204, 404]
        assert post_webhook().status == 201
        assert post_webhook().status_and_code == "409 limit_exceeded"

    def test_applies_to_concurrent_requests(self, post_webhook):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: post_webhook(), range(5)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409]


def test_webhooks_are_listed_in_order_of_creation(api, organization, new_webhook):
    webhooks = [new_webhook(f"{URL}/{name}") for name in "cab"]
    records = api.get_items(f"{organization.path}/webhooks", caller=organization.owner, query={"limit": 2})
    assert [webhook["id"] for webhook in records] == [webhook.id for webhook in webhooks]
