"""Test the lifecycle of an organization: from its creation to its deletion, with every operation."""

import json
from collections.abc import Iterator
from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import operation_of
from chalicelib.kernel.core.encoding import to_base64url
from chalicelib.kernel.operations.operation import Operation
from tests.harness.api import Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.exports import lines
from tests.harness.invitations import accepts, decides, declines, invite, opens, resend, token_of
from tests.harness.mailbox import Mailbox
from tests.harness.organizations import Founded, found, make_key
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
        operation = operation_of(target)
        called_operation_ids.add(operation.id)
        return operation

    monkeypatch.setattr("chalicelib.entrypoints.http.operation_of", record_operation)
    yield
    assert called_operation_ids >= EXPECTED_OPERATION_IDS


def test_lifecycle_of_an_organization(
    api: Api,
    workers: Workers,
    clock: Clock,
    mailbox: Mailbox,
    ada: Person,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    organization = _create_organization(api, ada)
    _invite_members(api, organization, workers, clock, mailbox, grace, edith, mary)
    api_key = _create_api_key(api, organization, grace)
    checkpoint = _verify_and_export_log(api, organization, workers, api_key)
    _replace_members(api, organization, ada, grace, edith, mary)
    _verify_against_checkpoint(api, organization, workers, grace, checkpoint)
    _delete(api, organization, workers, clock, grace)


def _create_organization(api: Api, ada: Person) -> Founded:
    """Create an organization as Ada; after a change of its slug, the former slug redirects."""
    organization = found(api, ada, name="Analytical Engines")
    assert [listed_organization["name"] for listed_organization in api.items("/organizations", as_=ada)] == [
        "Analytical Engines"
    ]
    assert api.get(organization.path, as_=ada).json == organization.record
    assert api.patch(organization.path, as_=ada, json={"slug": "engines", "companyCountry": "GB"}).status == 200
    redirect = api.get("/organizations/by-slug/analytical-engines", as_=ada)
    assert redirect.status == 301
    assert api.get(redirect.location, as_=ada).json["companyCountry"] == "GB"
    assert api.get(f"{organization.path}/domains/inventory", as_=ada).json == {"items": [], "nextCursor": None}
    return organization


def _invite_members(
    api: Api,
    organization: Founded,
    workers: Workers,
    clock: Clock,
    mailbox: Mailbox,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    """Invite three people: Grace follows her link, Edith's link is sent again, and Mary declines at first."""
    invite(api, organization, grace, role="admin", message="Bring the compiler.")
    workers.deliver()
    (mail,) = mailbox.received
    assert mail.to == [grace.email]
    # E-mails of organizations younger than a day omit the message.
    assert "Bring the compiler." not in mail.letter.text
    link = next(line for line in mail.letter.text.splitlines() if "?token=" in line)
    description = opens(api, token_of(link)).json
    assert (description["organization"]["name"], description["status"]) == ("Analytical Engines", "pending")
    assert decides(api, token_of(link), grace).json["membership"]["role"] == "admin"

    first = invite(api, organization, edith, as_=grace, role="editor")
    clock.shift(minutes=1)
    second = resend(api, organization, first)
    assert opens(api, first, edith).code == "410 invitation_revoked"
    assert accepts(api, second, edith)["membership"]["role"] == "editor"

    assert declines(api, invite(api, organization, mary), mary)["status"] == "declined"
    assert accepts(api, invite(api, organization, mary), mary)["membership"]["role"] == "member"

    mistaken_invitation = invite(api, organization, "nobody@example.com")
    assert api.delete(mistaken_invitation.path, as_=grace).status == 204
    invitations = api.items(f"{organization.path}/invitations", as_=grace)
    assert [each["status"] for each in invitations] == ["accepted", "accepted", "declined", "accepted", "revoked"]


def _create_api_key(api: Api, organization: Founded, grace: Person) -> Caller:
    """Create a key for the log as Grace, and revoke another."""
    api_key = make_key(api, organization, "audit-log:read", as_=grace, name="Archive")
    lost_key = make_key(api, organization, "read", as_=grace, name="Lost")
    assert api.delete(f"{organization.keys}/{lost_key.id}", as_=grace).status == 204
    assert [key["status"] for key in api.items(organization.keys, as_=grace)] == ["active", "revoked"]
    assert api.get(organization.path, as_=lost_key).code == "401 api_key_revoked"
    return api_key


def _verify_and_export_log(api: Api, organization: Founded, workers: Workers, api_key: Caller) -> str:
    """Read the log in three ways with the same result, and return a checkpoint."""
    workers.settle()
    log = f"{organization.path}/audit-log"
    entries = api.items(log, as_=api_key)
    ndjson = api.get(f"{log}/export", as_=api_key, query={"format": "ndjson"}).text
    assert [json.loads(line) for line in ndjson.splitlines()] == entries[::-1]

    export_answer = api.post(f"{log}/export-async", as_=api_key)
    assert (export_answer.status, export_answer.json["status"]) == (202, "queued")
    workers.settle()
    export = api.get(export_answer.location, as_=api_key).json
    assert (export["status"], export["entryCount"]) == ("completed", len(entries) + 1)
    assert lines(export)[:-1] == entries[::-1]

    report = api.get(f"{log}/verify-integrity", as_=api_key).json
    assert (report["valid"], report["checkpoint"][:6]) == (True, "atrium")
    return to_base64url(report["checkpoint"].encode())


def _replace_members(api: Api, organization: Founded, ada: Person, grace: Person, edith: Person, mary: Person) -> None:
    """Transfer the ownership to Grace; Ada leaves, and Edith is removed together with her invitation."""
    members = f"{organization.path}/members"
    transfer = api.post(f"{organization.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
    assert transfer.json["ownerId"] == grace.id
    assert api.patch(f"{members}/{edith.id}", as_=grace, json={"role": "admin"}).json["role"] == "admin"
    pending_invitation = invite(api, organization, "friend@example.com", as_=edith)
    assert api.delete(f"{members}/{edith.id}", as_=grace).status == 204
    assert opens(api, pending_invitation).code == "410 invitation_revoked"
    assert api.patch(f"{members}/{mary.id}", as_=grace, json={"role": "editor"}).status == 200
    assert api.post(f"{organization.path}/leave", as_=ada).status == 204
    assert api.get(organization.path, as_=ada).code == "404 not_found"
    roles = {member["userId"]: member["role"] for member in api.items(members, as_=grace)}
    assert roles == {grace.id: "owner", mary.id: "editor"}


def _verify_against_checkpoint(
    api: Api, organization: Founded, workers: Workers, grace: Person, checkpoint: str
) -> None:
    """Verify that the log contains everything and still extends the checkpoint."""
    workers.settle()
    log = f"{organization.path}/audit-log"
    report: Json = api.get(f"{log}/verify-integrity", as_=grace, query={"checkpoint": checkpoint}).json
    assert (report["valid"], report["pendingEntries"]) == (True, 0)
    newest_types = [entry["type"] for entry in api.get(log, as_=grace, query={"limit": 6}).json["items"]]
    assert newest_types[::-1] == [
        "organization.ownership_transferred",
        "organization.member.updated",
        "organization.invitation.created",
        "organization.member.removed",
        "organization.member.updated",
        "organization.member.removed",
    ]


def _delete(api: Api, organization: Founded, workers: Workers, clock: Clock, grace: Person) -> None:
    """Delete the organization, restore it, and delete it for good."""
    assert api.delete(organization.path, as_=grace).status == 204
    assert api.get(organization.path, as_=grace).code == "404 not_found"
    assert api.patch(organization.path, as_=grace, json={"status": "active"}).json["status"] == "active"
    assert api.delete(organization.path, as_=grace).status == 204
    clock.shift(days=31)
    workers.settle()
    assert api.patch(organization.path, as_=grace, json={"status": "active"}).code == "404 not_found"
    assert api.items("/organizations", as_=grace, query={"status": "pending_deletion"}) == []
