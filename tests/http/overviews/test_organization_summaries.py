"""The summary of an organization: its numbers, who sees which of them, and its constant cost."""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.overviews.organization_summaries import logic
from chalicelib.features.overviews.organization_summaries.logic import RIGHTS_BY_PART
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness.audit_logs import get_last_entry, verify_integrity
from tests.harness.domains import set_domain_state
from tests.harness.invitations import accept_invitation, create_declined, create_invitation
from tests.harness.organizations import add_organization_member, create_api_key, create_organization, remove_member
from tests.harness.platforms import create_platform
from tests.harness.stored_records import load_item
from tests.harness.webhooks import create_webhook, rename_organization

URL: Final = "https://hooks.example.org/atrium"
LIST_BY_PART: Final = {
    "members": "list_organization_members",
    "pending_invitations": "list_invitations",
    "webhooks": "list_webhooks",
    "domains": "list_domain_inventory",
    "log": "list_audit_log",
}


@pytest.fixture
def get_summary(api, organization):
    """A function that returns the summary of the organization, by default as its owner sees it."""
    return lambda caller=None: api.get(f"{organization.path}/summary", caller=caller or organization.owner)


def store_webhook_fields(organization, webhook, fields):
    key = Webhook.make_item_key(organization_id=organization.id, id=webhook.id)
    changes = UnitOfWork(now())
    changes.update_untracked(Webhook.from_item(load_item(key)), **fields)
    changes.commit()


def test_members_are_counted_up_to_a_maximum(api, organization, stranger, edith, get_summary, monkeypatch):
    total = len(api.get_items(f"{organization.path}/members", caller=organization.owner))
    assert get_summary().json["members"] == {"total": total, "isAtLeast": False}
    accept_invitation(api, create_invitation(api, organization, stranger), stranger)
    assert get_summary().json["members"]["total"] == total + 1
    remove_member(api, organization, edith)
    assert get_summary().json["members"]["total"] == total
    monkeypatch.setattr(logic, "MAX_COUNTED", 2)
    assert get_summary().json["members"] == {"total": 2, "isAtLeast": True}


def test_pending_invitations_are_counted_without_those_that_have_ended(api, organization, platform, ada, get_summary):
    assert get_summary().json["pendingInvitations"] == 0
    invitation = create_invitation(api, organization, "sophie@example.org")
    create_invitation(api, platform, "emmy@example.org")
    create_invitation(api, create_organization(api, ada), "other@example.org")
    assert get_summary().json["pendingInvitations"] == 2
    api.delete(invitation.path, caller=ada).expect(204)
    assert get_summary().json["pendingInvitations"] == 1


def test_a_declined_invitation_is_not_counted(api, organization, stranger, get_summary):
    create_declined(api, organization, stranger)
    assert get_summary().json["pendingInvitations"] == 0


def test_webhooks_fail_if_they_are_disabled_or_active_without_success(api, organization, get_summary):
    assert get_summary().json["webhooks"] == {"total": 0, "failing": 0}
    _healthy, failing, paused, disabled = (create_webhook(api, organization, f"{URL}/{n}") for n in range(4))
    assert get_summary().json["webhooks"] == {"total": 4, "failing": 0}
    store_webhook_fields(organization, failing, {"failing_since": now()})
    assert get_summary().json["webhooks"] == {"total": 4, "failing": 1}
    store_webhook_fields(organization, paused, {"failing_since": now(), "enabled": False})
    assert get_summary().json["webhooks"] == {"total": 4, "failing": 1}
    store_webhook_fields(organization, disabled, {"disabled_reason": "It did not respond.", "enabled": False})
    assert get_summary().json["webhooks"] == {"total": 4, "failing": 2}


def test_domains_are_counted_by_whether_they_are_verified(api, organization, platform, get_summary):
    assert get_summary().json["domains"] == {"total": 0, "unverified": 0, "isAtLeast": False}
    for number, status in enumerate(("verified", "pending", "failed", "lapsed")):
        set_domain_state(create_platform(api, organization), status, f"shop-{number}.example.com")
    assert get_summary().json["domains"] == {"total": 4, "unverified": 3, "isAtLeast": False}
    set_domain_state(platform, "verified", "shop-4.example.com")
    assert get_summary().json["domains"] == {"total": 5, "unverified": 3, "isAtLeast": False}


def test_the_log_is_described_by_its_last_checkpoint(api, organization, workers, get_summary):
    workers.run_until_idle()
    report = verify_integrity(api, organization)
    log = get_summary().json["log"]
    assert (log["size"], log["checkpoint"]) == (report["treeSize"], report["checkpoint"])
    assert (log["latestEntryAt"], log["pendingEntries"]) == (get_last_entry(api, organization)["occurredAt"], 0)
    rename_organization(api, organization, "Looms")
    assert get_summary().json["log"] == log | {"pendingEntries": 1}
    ledger.append_pending_and_return_longest_wait_ms(organization.id)
    grown = get_summary().json["log"]
    assert (grown["size"], grown["pendingEntries"]) == (log["size"] + 1, 0)
    assert grown["latestEntryAt"] == get_last_entry(api, organization)["occurredAt"]


def test_a_log_without_a_checkpoint_has_only_pending_entries(api, ada):
    organization = create_organization(api, ada)
    log = api.get(f"{organization.path}/summary", caller=ada).json["log"]
    assert log == {"size": 0, "checkpoint": None, "latestEntryAt": None, "pendingEntries": 1}


class TestRights:
    @pytest.mark.parametrize("part", RIGHTS_BY_PART)
    def test_a_part_requires_what_the_list_of_its_records_requires(self, part):
        (listing,) = (each for each in all_operations() if each.id == LIST_BY_PART[part])
        assert isinstance(listing.access, RequireRole)
        assert RIGHTS_BY_PART[part] == (listing.access.role, listing.scope)

    def test_members_and_editors_see_only_members_and_domains(self, get_summary, mary, edith, grace):
        for caller in (mary, edith):
            hidden = {name for name, value in get_summary(caller).json.items() if value is None}
            assert hidden == {"pendingInvitations", "webhooks", "log"}
        assert None not in get_summary(grace).json.values()

    @pytest.mark.parametrize(
        ("scopes", "visible"),
        [
            (("organizations:read",), set()),
            (("read",), {"members", "domains"}),
            (("write",), {"members", "domains"}),
            (("organizations:read", "members:read"), {"members", "pendingInvitations"}),
            (("organizations:read", "webhooks:read"), {"webhooks"}),
            (("organizations:read", "domains:write"), {"domains"}),
            (("organizations:read", "audit-log:read"), {"log"}),
            (("admin",), {"members", "pendingInvitations", "webhooks", "domains", "log"}),
        ],
    )
    def test_a_key_sees_the_parts_of_its_scopes(self, api, organization, get_summary, scopes, visible):
        summary = get_summary(create_api_key(api, organization, *scopes)).expect(200).json
        assert {name for name, value in summary.items() if value is not None} == visible

    def test_strangers_and_keys_without_the_scope_see_nothing(self, api, organization, get_summary, stranger):
        assert get_summary(stranger).status_and_code == "404 not_found"
        key = create_api_key(api, organization, "webhooks:read")
        assert get_summary(key).status_and_code == "403 insufficient_scope"


def test_it_takes_two_round_trips_whatever_the_size_of_the_organization(api, organization, get_summary, issuer):
    reads = ["dynamodb:BatchGetItem"] + ["dynamodb:Query"] * 8
    assert sorted(get_summary().calls.call_names) == reads
    for number in range(30):
        add_organization_member(organization, issuer.create_person(f"m{number}", f"M {number}"), "member")
        create_invitation(api, organization, f"{number}@example.org")
    assert sorted(get_summary().calls.call_names) == reads
