"""Signed links: what creating one returns and records, what its page reads, and whose rights it has."""

import json
from typing import Any

import pytest

from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.encoding import to_base64
from chalicelib.kernel.identity.signed_links import LINK_SECONDS
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from tests.harness import erasures, snapshots
from tests.harness.audit_logs import get_last_entry, list_entries
from tests.harness.domains import claim_domain, custom_domain_path
from tests.harness.log_records import capture_log_records
from tests.harness.organizations import add_organization_member, remove_member, set_role
from tests.harness.platforms import add_platform_member, set_member_role
from tests.harness.receiver import Reply
from tests.harness.signed_links import LinkHolder, create_link
from tests.harness.webhooks import create_webhook

URL = "https://hooks.example.com/atrium"


@pytest.fixture
def webhook(api, organization):
    return create_webhook(api, organization, URL, events=["organization.updated"])


@pytest.fixture
def domain_path(api, platform):
    claim_domain(api, platform)
    return custom_domain_path(platform)


def describe(api, holder):
    return api.get("/signed-link", caller=holder)


class TestCreation:
    def test_the_url_contains_the_token_behind_the_number_sign(self, api, webhook, grace, configure):
        configure(public_url="https://atrium.example/base")
        answer = api.post(f"{webhook.path}/links", caller=grace).expect(201)
        page, _, token = answer.json["url"].partition("#token=")
        assert page == "https://atrium.example/base/webhook-portal"
        assert answer.headers["Cache-Control"] == "no-store"
        assert answer.location == "/signed-link"
        assert describe(api, LinkHolder("", token)).status == 200

    def test_the_page_of_a_domain_is_another_one(self, api, domain_path, grace):
        _, created = create_link(api, domain_path, grace)
        assert created["url"].startswith("http://127.0.0.1:8000/domain-setup#token=")
        assert set(created) == {"id", "url", "expiresAt"}

    def test_a_link_without_a_domain_is_refused(self, api, platform, grace):
        answer = api.post(f"{custom_domain_path(platform)}/links", caller=grace)
        answer.expect_problem("409 invalid_transition", "No domain is claimed")

    def test_its_entry_has_the_id_of_the_link_and_not_the_token(self, api, organization, webhook, grace):
        holder, created = create_link(api, webhook.path, grace)
        entry = get_last_entry(api, organization)
        assert (entry["id"], entry["type"]) == (holder.id, "organization.webhook.link_created")
        assert (entry["actor"]["id"], entry["target"]["id"], entry["changes"]) == (grace.id, webhook.id, [])
        assert created["expiresAt"] == after(entry["occurredAt"], seconds=LINK_SECONDS)
        assert holder.credential not in json.dumps(entry)

    def test_the_token_is_neither_stored_nor_logged(self, api, webhook, grace):
        with capture_log_records() as records:
            key = {"Idempotency-Key": "once"}
            first, second = (api.post(f"{webhook.path}/links", caller=grace, headers=key) for _ in range(2))
            assert first.text == second.text
            token = first.json["url"].partition("#token=")[2]
            describe(api, LinkHolder("", token)).expect(200)
            describe(api, LinkHolder("", f"{token}x")).expect(401)
        stored = json.dumps([str(item) for item in snapshots.items_by_key().values()])
        assert token not in stored
        assert token[:32] not in json.dumps(records)
        assert [each["principal"] for each in records if each.get("operation") == "get_signed_link"] == [
            *("link", "anonymous")
        ]

    def test_links_are_limited_for_each_user(self, api, webhook, grace, ada):
        answers = [api.post(f"{webhook.path}/links", caller=grace) for _ in range(61)]
        assert [each.status for each in answers] == [201] * 60 + [429]
        api.post(f"{webhook.path}/links", caller=ada).expect(201)


class TestDescription:
    def test_names_the_webhook_the_organization_and_the_creator(self, api, organization, webhook, grace):
        holder, created = create_link(api, webhook.path, grace)
        assert describe(api, holder).json == {
            "type": "webhook",
            "organizationId": organization.id,
            "platformId": None,
            "webhookId": webhook.id,
            "organization": {"id": organization.id, "name": organization.record["name"]},
            "createdBy": {"name": "Grace Hopper"},
            "expiresAt": created["expiresAt"],
        }

    @pytest.mark.parametrize("is_cached", [False, True])
    def test_names_the_platform_of_a_domain(self, api, organization, platform, domain_path, grace, is_cached):
        holder, _ = create_link(api, domain_path, grace)
        if not is_cached:
            ancestor_cache.reset()
        described = describe(api, holder).json
        found = [described[name] for name in ("type", "organizationId", "platformId", "webhookId")]
        assert found == ["custom_domain", organization.id, platform.id, None]
        assert described["organization"]["name"] == organization.record["name"]

    def test_callers_without_a_link_learn_which_credential_it_needs(self, api, grace):
        describe(api, None).expect_problem("401 unauthenticated", "`Link-Token`")
        describe(api, grace).expect_problem("403 forbidden", "`Link-Token`")


class TestCredential:
    def test_a_request_with_two_credentials_is_rejected(self, api, webhook, grace):
        holder, _ = create_link(api, webhook.path, grace)
        answer = api.get(webhook.path, caller=grace, headers=holder.headers)
        assert answer.problem_and_errors == ("400 invalid_header", {"header/Link-Token": "invalid_header"})

    def test_a_link_is_no_bearer_token(self, api, webhook, grace):
        holder, _ = create_link(api, webhook.path, grace)
        assert api.get(webhook.path, caller=holder.credential).status_and_code == "401 unauthenticated"

    def test_a_link_ends_with_its_key(self, api, webhook, grace, configure):
        holder, _ = create_link(api, webhook.path, grace)
        configure(token_key=to_base64(b"another key of thirty-two bytes."))
        assert describe(api, holder).status_and_code == "401 unauthenticated"

    def test_browsers_may_send_it_from_other_origins(self, api, webhook):
        preflight = api.request("OPTIONS", webhook.path)
        assert "Link-Token" in preflight.headers["Access-Control-Allow-Headers"]

    def test_requests_of_one_link_do_not_count_for_another(self, api, webhook, grace, configure):
        configure(requests_per_minute="5")
        first, _ = create_link(api, webhook.path, grace)
        second, _ = create_link(api, webhook.path, grace)
        assert [describe(api, first).status for _ in range(6)] == [200] * 5 + [429]
        assert describe(api, second).status == 200

    def test_idempotency_keys_belong_to_the_link(self, api, webhook, grace):
        holders = [create_link(api, webhook.path, grace)[0] for _ in range(2)]
        key = {"Idempotency-Key": "rotation"}
        path = f"{webhook.path}/rotate-secret"
        first, repeated, other = (
            api.post(path, caller=holder, json={}, headers=key).expect(200)
            for holder in (holders[0], holders[0], holders[1])
        )
        assert repeated.json == first.json
        assert other.json["secret"] != first.json["secret"]
        assert api.get(webhook.path, caller=holders[0]).json["secret"] is None

    def test_a_conditional_request_works_as_for_users(self, api, webhook, grace):
        holder, _ = create_link(api, webhook.path, grace)
        etag = api.get(webhook.path, caller=holder).etag
        path, headers = f"{webhook.path}/rotate-secret", {"If-Match": etag}
        api.post(path, caller=holder, json={}, headers=headers).expect(200)
        assert api.post(path, caller=holder, json={}, headers=headers).status_and_code == "412 precondition_failed"


class TestRights:
    def test_an_admin_of_the_platform_alone_can_delegate_its_domain(self, api, platform, domain_path, stranger):
        add_platform_member(platform, stranger, Role.ADMIN)
        holder, _ = create_link(api, domain_path, stranger)
        assert api.get(domain_path, caller=holder).status == 200
        assert describe(api, holder).json["createdBy"] == {"name": stranger.name}
        set_member_role(api, platform, stranger, Role.EDITOR)
        assert api.get(domain_path, caller=holder).status_and_code == "401 unauthenticated"
        set_member_role(api, platform, stranger, Role.ADMIN)
        assert api.get(domain_path, caller=holder).status == 200

    def test_a_member_who_leaves_and_returns_does_not_revive_their_links(
        self, api, organization, webhook, grace, clock
    ):
        holder, _ = create_link(api, webhook.path, grace)
        remove_member(api, organization, grace).expect(204)
        clock.shift(seconds=1)
        add_organization_member(organization, grace, Role.ADMIN)
        assert api.get(webhook.path, caller=grace).status == 200
        assert api.get(webhook.path, caller=holder).status_and_code == "401 unauthenticated"
        assert api.get(webhook.path, caller=create_link(api, webhook.path, grace)[0]).status == 200

    def test_another_membership_of_the_creator_keeps_the_link(self, api, organization, platform, domain_path, grace):
        add_platform_member(platform, grace, Role.ADMIN)
        holder, _ = create_link(api, domain_path, grace)
        set_role(api, organization, grace, "member").expect(200)
        assert api.get(domain_path, caller=holder).status == 200
        remove_member(api, organization, grace).expect(204)
        assert api.get(domain_path, caller=holder).status_and_code == "401 unauthenticated"

    def test_a_right_that_ends_before_the_commit_ends_the_request(self, api, organization, webhook, grace, monkeypatch):
        holder, _ = create_link(api, webhook.path, grace)
        write = table.write_transaction

        def write_after_removal(writes: Any) -> None:
            monkeypatch.setattr(table, "write_transaction", write)
            remove_member(api, organization, grace).expect(204)
            write(writes)

        monkeypatch.setattr(table, "write_transaction", write_after_removal)
        answer = api.post(f"{webhook.path}/rotate-secret", caller=holder, json={})
        assert answer.status_and_code == "401 unauthenticated"
        assert get_last_entry(api, organization)["type"] == "organization.member.removed"


class TestLog:
    def test_entries_are_found_by_the_link_and_erased_with_its_creator(
        self, api, organization, webhook, grace, workers, clock
    ):
        holder, _ = create_link(api, webhook.path, grace)
        api.post(f"{webhook.path}/rotate-secret", caller=holder, json={}).expect(200)
        (entry,) = list_entries(api, organization, actorId=holder.id)
        assert (entry["type"], entry["actor"]["createdBy"]["id"]) == ("organization.webhook.secret_rotated", grace.id)
        erasures.create_erasure(api, organization, userId=grace.id)
        erasures.finish_erasures(workers, clock)
        (erased,) = (each for each in list_entries(api, organization) if each["id"] == entry["id"])
        assert (erased["erased"], erased["actor"]) == (True, None)

    def test_a_test_message_and_its_delivery_name_the_link(
        self, api, organization, grace, receiver, private_targets_allowed, workers
    ):
        webhook = create_webhook(api, organization, receiver.url, events=["organization.webhook.tested"])
        holder, _ = create_link(api, webhook.path, grace)
        receiver.default_reply = Reply()
        assert api.post(f"{webhook.path}/test", caller=holder).json["delivered"]
        workers.deliver()
        sent, delivered = (json.loads(request.body) for request in receiver.requests)
        assert sent["actor"] == delivered["actor"] == {"type": "link", "id": holder.id}
