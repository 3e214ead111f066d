"""Test the lifecycle of an organization: from its creation to its deletion, with every operation."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import load_operation
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.exports import read_ndjson_entries
from tests.harness.invitations import (
    accept_invitation,
    create_invitation,
    decide_on_invitation,
    decline_invitation,
    open_invitation,
    resend_invitation,
    token_from_link,
)
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import CreatedOrganization, create_api_key, create_organization
from tests.harness.workers import Workers

EXPECTED_OPERATION_IDS: Final = {
    "list_organizations",
    "create_organization",
    "get_organization",
    "update_organization",
    "delete_organization",
    "get_organization_by_slug",
    "accept_invitation",
    "list_api_keys",
    "create_api_key",
    "revoke_api_key",
    "list_audit_log",
    "export_audit_log",
    "start_audit_export",
    "get_audit_export",
    "verify_audit_integrity",
    "list_domain_inventory",
    "list_invitations",
    "revoke_invitation",
    "resend_invitation",
    "invite_to_organization",
    "leave_organization",
    "list_organization_members",
    "update_organization_member",
    "remove_organization_member",
    "transfer_ownership",
}
"""The operations of organizations, except those of webhooks and channels."""


@pytest.fixture(autouse=True)
def _every_operation_is_called(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    called_operation_ids: set[str] = set()

    def record_operation(target: str) -> Operation:
        operation = load_operation(target)
        called_operation_ids.add(operation.id)
        return operation

    monkeypatch.setattr("chalicelib.entrypoints.http.load_operation", record_operation)
    yield
    assert called_operation_ids >= EXPECTED_OPERATION_IDS


def test_lifecycle_of_an_organization(api, workers, clock, mailbox, ada, grace, edith, mary):
    organization = _create_organization(api, ada)
    _invite_members(api, organization, workers, clock, mailbox, grace, edith, mary)
    api_key = _create_api_key(api, organization, grace)
    checkpoint = _verify_and_export_log(api, organization, workers, api_key)
    _replace_members(api, organization, ada, grace, edith, mary)
    _verify_against_checkpoint(api, organization, workers, grace, checkpoint)
    _delete(api, organization, workers, clock, grace)


def _create_organization(api: ApiClient, ada: Person) -> CreatedOrganization:
    """Create an organization as Ada; after a change of its slug, the former slug redirects."""
    organization = create_organization(api, ada, name="Analytical Engines")
    assert [listed_organization["name"] for listed_organization in api.get_items("/organizations", caller=ada)] == [
        "Analytical Engines"
    ]
    assert api.get(organization.path, caller=ada).json == organization.record
    assert api.patch(organization.path, caller=ada, json={"slug": "engines", "companyCountry": "GB"}).status == 200
    redirect = api.get("/organizations/by-slug/analytical-engines", caller=ada)
    assert redirect.status == 301
    assert api.get(redirect.location, caller=ada).json["companyCountry"] == "GB"
    assert api.get(f"{organization.path}/domains/inventory", caller=ada).json == {"items": [], "nextCursor": None}
    return organization


def _invite_members(
    api: ApiClient,
    organization: CreatedOrganization,
    workers: Workers,
    clock: Clock,
    mailbox: Mailbox,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    """Invite three people: Grace follows her link, Edith's link is sent again, and Mary declines at first."""
    create_invitation(api, organization, grace, role="admin", message="Bring the compiler.")
    workers.deliver()
    (mail,) = mailbox.received_emails
    assert mail.recipients == [grace.email]
    # E-mails of organizations younger than a day omit the message.
    assert "Bring the compiler." not in mail.email.text
    link = next(line for line in mail.email.text.splitlines() if "?token=" in line)
    description = open_invitation(api, token_from_link(link)).json
    assert (description["organization"]["name"], description["status"]) == ("Analytical Engines", "pending")
    assert decide_on_invitation(api, token_from_link(link), grace).json["membership"]["role"] == "admin"

    first = create_invitation(api, organization, edith, caller=grace, role="editor")
    clock.shift(minutes=1)
    second = resend_invitation(api, organization, first)
    assert open_invitation(api, first, edith).status_and_code == "410 invitation_revoked"
    assert accept_invitation(api, second, edith)["membership"]["role"] == "editor"

    assert decline_invitation(api, create_invitation(api, organization, mary), mary)["status"] == "declined"
    assert accept_invitation(api, create_invitation(api, organization, mary), mary)["membership"]["role"] == "member"

    mistaken_invitation = create_invitation(api, organization, "nobody@example.com")
    assert api.delete(mistaken_invitation.path, caller=grace).status == 204
    invitations = api.get_items(f"{organization.path}/invitations", caller=grace)
    assert [each["status"] for each in invitations] == ["accepted", "accepted", "declined", "accepted", "revoked"]


def _create_api_key(api: ApiClient, organization: CreatedOrganization, grace: Person) -> Caller:
    """Create a key for the log as Grace, and revoke another."""
    api_key = create_api_key(api, organization, "audit-log:read", caller=grace, name="Archive")
    lost_key = create_api_key(api, organization, "read", caller=grace, name="Lost")
    assert api.delete(f"{organization.api_keys_path}/{lost_key.id}", caller=grace).status == 204
    assert [key["status"] for key in api.get_items(organization.api_keys_path, caller=grace)] == ["active", "revoked"]
    assert api.get(organization.path, caller=lost_key).status_and_code == "401 api_key_revoked"
    return api_key


def _verify_and_export_log(api: ApiClient, organization: CreatedOrganization, workers: Workers, api_key: Caller) -> str:
    """Read the log in three ways with the same result, and return a checkpoint."""
    workers.run_until_idle()
    log = f"{organization.path}/audit-log"
    entries = api.get_items(log, caller=api_key)
    ndjson = api.get(f"{log}/export", caller=api_key, query={"format": "ndjson"}).text
    assert [json.loads(line) for line in ndjson.splitlines()] == entries[::-1]

    export_answer = api.post(f"{log}/export-async", caller=api_key)
    assert (export_answer.status, export_answer.json["status"]) == (202, "queued")
    workers.run_until_idle()
    export = api.get(export_answer.location, caller=api_key).json
    assert (export["status"], export["entryCount"]) == ("completed", len(entries) + 1)
    assert read_ndjson_entries(export)[:-1] == entries[::-1]

    report = api.get(f"{log}/verify-integrity", caller=api_key).json
    assert (report["valid"], report["checkpoint"][:6]) == (True, "atrium")
    return to_base64url(report["checkpoint"].encode())


def _replace_members(
    api: ApiClient, organization: CreatedOrganization, ada: Person, grace: Person, edith: Person, mary: Person
) -> None:
    """Transfer the ownership to Grace; Ada leaves, and Edith is removed together with her invitation."""
    members = f"{organization.path}/members"
    transfer = api.post(f"{organization.path}/transfer-ownership", caller=ada, json={"newOwnerId": grace.id})
    assert transfer.json["ownerId"] == grace.id
    assert api.patch(f"{members}/{edith.id}", caller=grace, json={"role": "admin"}).json["role"] == "admin"
    pending_invitation = create_invitation(api, organization, "friend@example.com", caller=edith)
    assert api.delete(f"{members}/{edith.id}", caller=grace).status == 204
    assert open_invitation(api, pending_invitation).status_and_code == "410 invitation_revoked"
    assert api.patch(f"{members}/{mary.id}", caller=grace, json={"role": "editor"}).status == 200
    assert api.post(f"{organization.path}/leave", caller=ada).status == 204
    assert api.get(organization.path, caller=ada).status_and_code == "404 not_found"
    roles = {member["userId"]: member["role"] for member in api.get_items(members, caller=grace)}
    assert roles == {grace.id: "owner", mary.id: "editor"}


def _verify_against_checkpoint(
    api: ApiClient, organization: CreatedOrganization, workers: Workers, grace: Person, checkpoint: str
) -> None:
    """Verify that the log contains everything and still extends the checkpoint."""
    workers.run_until_idle()
    log = f"{organization.path}/audit-log"
    report: Json = api.get(f"{log}/verify-integrity", caller=grace, query={"checkpoint": checkpoint}).json
    assert (report["valid"], report["pendingEntries"]) == (True, 0)
    newest_types = [entry["type"] for entry in api.get(log, caller=grace, query={"limit": 6}).json["items"]]
    assert newest_types[::-1] == [
        "organization.ownership_transferred",
        "organization.member.updated",
        "organization.invitation.created",
        "organization.member.removed",
        "organization.member.updated",
        "organization.member.removed",
    ]


def _delete(api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock, grace: Person) -> None:
    """Delete the organization, restore it, and delete it for good."""
    assert api.delete(organization.path, caller=grace).status == 204
    assert api.get(organization.path, caller=grace).status_and_code == "404 not_found"
    assert api.patch(organization.path, caller=grace, json={"status": "active"}).json["status"] == "active"
    assert api.delete(organization.path, caller=grace).status == 204
    clock.shift(days=31)
    workers.run_until_idle()
    assert api.patch(organization.path, caller=grace, json={"status": "active"}).status_and_code == "404 not_found"
    assert api.get_items("/organizations", caller=grace, query={"status": "pending_deletion"}) == []
