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
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.webhooks import create_webhook

URL = "https://hooks.example.com/atrium"
SECRET = f"whsec_{to_base64(bytes(range(24)))}"
UPDATED = "organization.updated"


def post_webhook(api: ApiClient, organization: CreatedOrganization, **fields: Any) -> ApiResponse:
    """Request a webhook as the owner, and return the answer."""
    return api.post(f"{organization.path}/webhooks", caller=organization.owner, json=fields)


def get_errors(answer: ApiResponse) -> dict[str, str]:
    """Return the errors of a request that failed its validation."""
    assert answer.status_and_code == "422 validation_failed"
    return answer.errors


class TestCreateWebhook:
    def test_only_a_url_is_required(self, api, organization):
        answer = post_webhook(api, organization, url=URL)
        assert answer.status == 201
        record = answer.json
        assert (record["url"], record["events"], record["description"]) == (URL, ["*"], None)
        assert (record["enabled"], record["status"], record["version"]) == (True, "active", 1)
        assert (record["failingSince"], record["disabledReason"]) == (None, None)
        assert answer.location == f"{organization.path}/webhooks/{record['id']}"

    def test_accepts_all_fields_and_null_means_the_default(self, api, organization):
        fields = {"events": [UPDATED, "organization.member.*"], "description": "Feeds the lake.", "enabled": False}
        record = post_webhook(api, organization, url=URL, secret=SECRET, **fields).json
        assert {field: record[field] for field in fields} == fields
        assert (record["secret"], record["status"]) == (SECRET, "paused")
        null_fields = dict.fromkeys(["events", "description", "secret", "enabled"])
        record = post_webhook(api, organization, url=URL, **null_fields).json
        assert (record["events"], record["description"], record["enabled"]) == (["*"], None, True)

    def test_a_generated_secret_has_32_random_bytes_and_is_shown_once(self, api, organization):
        first, second = (post_webhook(api, organization, url=URL).json for _ in range(2))
        assert first["secret"] != second["secret"]
        assert len(decode_secret(first["secret"])) == 32
        reread = api.get(f"{organization.path}/webhooks/{first['id']}", caller=organization.owner)
        assert reread.json == {**first, "secret": None}
        webhooks = api.get_items(f"{organization.path}/webhooks", caller=organization.owner)
        assert [webhook["secret"] for webhook in webhooks] == [None, None]
        assert first["secret"] not in json.dumps(list_entries(api, organization))

    def test_the_answer_with_the_secret_is_not_cacheable(self, api, organization):
        answer = post_webhook(api, organization, url=URL, secret=SECRET)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Cache-Control" not in api.get(answer.location, caller=organization.owner).headers

    def test_secrets_are_stored_encrypted(self, api, organization):
        secrets = [
            post_webhook(api, organization, url=URL, **fields).json["secret"] for fields in ({}, {"secret": SECRET})
        ]
        stored_text = repr(memory_aws.all_items())
        for secret in secrets:
            assert secret[6:] not in stored_text
            assert repr(decode_secret(secret))[2:-1] not in stored_text

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
    def test_an_invalid_field_is_rejected(self, api, organization, field, value):
        errors = get_errors(post_webhook(api, organization, **{"url": URL, field: value}))
        assert all(pointer.startswith(f"/{field}") for pointer in errors)

    def test_an_unknown_event_type_is_named_in_the_error(self, api, organization):
        answer = post_webhook(api, organization, url=URL, events=[UPDATED, "organization.exploded"])
        assert get_errors(answer) == {"/events/1": "malformed"}
        detail = answer.json["errors"][0]["detail"]
        assert "'organization.exploded'" in detail
        assert "GET /event-types" in detail

    def test_duplicate_event_types_are_merged(self, api, organization):
        assert post_webhook(api, organization, url=URL, events=["*", UPDATED, "*"]).json["events"] == ["*", UPDATED]

    def test_admins_create_webhooks_and_lower_roles_do_not(self, api, organization, grace, edith, mary, stranger):
        path = f"{organization.path}/webhooks"
        assert api.post(path, caller=grace, json={"url": URL}).status == 201
        for person in (edith, mary):
            assert api.post(path, caller=person, json={"url": URL}).status_and_code == "403 insufficient_role"
        assert api.post(path, caller=stranger, json={"url": URL}).status_and_code == "404 not_found"


class TestLimit:
    @pytest.fixture(autouse=True)
    def _three_per_organization(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert Webhook.quota.limit == 50
        monkeypatch.setattr(Webhook, "quota", replace(Webhook.quota, limit=3))

    def test_the_number_per_organization_is_limited(self, api, organization, ada):
        for _ in range(3):
            assert post_webhook(api, organization, url=URL, enabled=False).status == 201
        assert post_webhook(api, organization, url=URL).status_and_code == "409 limit_exceeded"
        assert post_webhook(api, create_organization(api, ada), url=URL).status == 201

    def test_a_deletion_allows_another_webhook(self, api, organization):
        webhooks = [create_webhook(api, organization, URL) for _ in range(3)]
        for status in (204, 404):
            assert api.delete(webhooks[1].path, caller=organization.owner).status == status
        assert post_webhook(api, organization, url=URL).status == 201
        assert post_webhook(api, organization, url=URL).status_and_code == "409 limit_exceeded"

    def test_applies_to_concurrent_requests(self, api, organization):
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: post_webhook(api, organization, url=URL), range(5)))
        assert sorted(answer.status for answer in answers) == [201, 201, 201, 409, 409]


class TestListAndGet:
    def test_webhooks_are_listed_in_order_of_creation(self, api, organization):
        webhooks = [create_webhook(api, organization, f"{URL}/{name}") for name in "cab"]
        records = api.get_items(f"{organization.path}/webhooks", caller=organization.owner, query={"limit": 2})
        assert [webhook["id"] for webhook in records] == [webhook.id for webhook in webhooks]

    def test_a_webhook_of_another_organization_is_not_found(self, api, organization, ada):
        foreign_webhook = create_webhook(api, create_organization(api, ada), URL)
        path = f"{organization.path}/webhooks/{foreign_webhook.id}"
        assert api.get(path, caller=ada).status_and_code == "404 not_found"
        assert api.patch(path, caller=ada, json={"enabled": False}).status_and_code == "404 not_found"
        assert api.delete(path, caller=ada).status_and_code == "404 not_found"
        assert api.post(f"{path}/test", caller=ada).status_and_code == "404 not_found"
