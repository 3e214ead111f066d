"""An organization from its first day to its last, told as its people live it; every operation has its part."""

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

EVERY: Final = {
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
"""The operations of an organization's own, but for webhooks and channels."""


@pytest.fixture(autouse=True)
def _every_operation_has_its_part(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    asked: set[str] = set()

    def remembering(target: str) -> Operation:
        operation = operation_of(target)
        asked.add(operation.id)
        return operation

    monkeypatch.setattr("chalicelib.entrypoints.http.operation_of", remembering)
    yield
    assert asked >= EVERY


def test_the_life_of_an_organization(
    api: Api,
    workers: Workers,
    clock: Clock,
    mailbox: Mailbox,
    ada: Person,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    engines = _is_founded(api, ada)
    _gathers_its_people(api, engines, workers, clock, mailbox, grace, edith, mary)
    program = _lets_a_program_in(api, engines, grace)
    kept = _is_proven_and_exported(api, engines, workers, program)
    _loses_people(api, engines, ada, grace, edith, mary)
    _still_begins_with_what_was_kept(api, engines, workers, grace, kept)
    _ends(api, engines, workers, clock, grace)


def _is_founded(api: Api, ada: Person) -> Founded:
    """Ada founds it, and is its owner; a change of its slug leaves the former one leading to it."""
    engines = found(api, ada, name="Analytical Engines")
    assert [o["name"] for o in api.items("/organizations", as_=ada)] == ["Analytical Engines"]
    assert api.get(engines.path, as_=ada).json == engines.record
    assert api.patch(engines.path, as_=ada, json={"slug": "engines", "companyCountry": "GB"}).status == 200
    former = api.get("/organizations/by-slug/analytical-engines", as_=ada)
    assert former.status == 301
    assert api.get(former.location, as_=ada).json["companyCountry"] == "GB"
    assert api.get(f"{engines.path}/domains/inventory", as_=ada).json == {"items": [], "nextCursor": None}
    return engines


def _gathers_its_people(
    api: Api,
    engines: Founded,
    workers: Workers,
    clock: Clock,
    mailbox: Mailbox,
    grace: Person,
    edith: Person,
    mary: Person,
) -> None:
    """Grace follows the link in her mail; Edith's first link is replaced by a second; Mary hesitates once."""
    invite(api, engines, grace, role="admin", message="Bring the compiler.")
    workers.deliver()
    (mail,) = mailbox.received
    assert mail.to == [grace.email]
    assert "Bring the compiler." not in mail.letter.text  # The organization is younger than a day.
    link = next(line for line in mail.letter.text.splitlines() if "?token=" in line)
    described = opens(api, token_of(link)).json
    assert (described["organization"]["name"], described["status"]) == ("Analytical Engines", "pending")
    assert decides(api, token_of(link), grace).json["membership"]["role"] == "admin"

    first = invite(api, engines, edith, as_=grace, role="editor")
    clock.shift(minutes=1)
    second = resend(api, engines, first)
    assert opens(api, first, edith).code == "410 invitation_revoked"
    assert accepts(api, second, edith)["membership"]["role"] == "editor"

    assert declines(api, invite(api, engines, mary), mary)["status"] == "declined"
    assert accepts(api, invite(api, engines, mary), mary)["membership"]["role"] == "member"

    mistaken = invite(api, engines, "nobody@example.com")
    assert api.delete(mistaken.path, as_=grace).status == 204
    invitations = api.items(f"{engines.path}/invitations", as_=grace)
    assert [i["status"] for i in invitations] == ["accepted", "accepted", "declined", "accepted", "revoked"]


def _lets_a_program_in(api: Api, engines: Founded, grace: Person) -> Caller:
    """Grace gives a program a key to the log, and takes back another that was lost."""
    program = make_key(api, engines, "audit-log:read", as_=grace, name="Archive")
    lost = make_key(api, engines, "read", as_=grace, name="Lost")
    assert api.delete(f"{engines.keys}/{lost.id}", as_=grace).status == 204
    assert [key["status"] for key in api.items(engines.keys, as_=grace)] == ["active", "revoked"]
    assert api.get(engines.path, as_=lost).code == "401 api_key_revoked"
    return program


def _is_proven_and_exported(api: Api, engines: Founded, workers: Workers, program: Caller) -> str:
    """The program reads the log in three ways, finds the same in each, and keeps a checkpoint."""
    workers.settle()
    log = f"{engines.path}/audit-log"
    listed = api.items(log, as_=program)
    exported = api.get(f"{log}/export", as_=program, query={"format": "ndjson"}).text
    assert [json.loads(line) for line in exported.splitlines()] == listed[::-1]

    started = api.post(f"{log}/export-async", as_=program)
    assert (started.status, started.json["status"]) == (202, "queued")
    workers.settle()
    export = api.get(started.location, as_=program).json
    assert (export["status"], export["entryCount"]) == ("completed", len(listed) + 1)
    assert lines(export)[:-1] == listed[::-1]

    report = api.get(f"{log}/verify-integrity", as_=program).json
    assert (report["valid"], report["checkpoint"][:6]) == (True, "atrium")
    return to_base64url(report["checkpoint"].encode())


def _loses_people(api: Api, engines: Founded, ada: Person, grace: Person, edith: Person, mary: Person) -> None:
    """Ada hands over to Grace and leaves; Mary takes Edith's part, who has to go, and with her whom she invited."""
    members = f"{engines.path}/members"
    transferred = api.post(f"{engines.path}/transfer-ownership", as_=ada, json={"newOwnerId": grace.id})
    assert transferred.json["ownerId"] == grace.id
    assert api.patch(f"{members}/{edith.id}", as_=grace, json={"role": "admin"}).json["role"] == "admin"
    waiting = invite(api, engines, "friend@example.com", as_=edith)
    assert api.delete(f"{members}/{edith.id}", as_=grace).status == 204
    assert opens(api, waiting).code == "410 invitation_revoked"
    assert api.patch(f"{members}/{mary.id}", as_=grace, json={"role": "editor"}).status == 200
    assert api.post(f"{engines.path}/leave", as_=ada).status == 204
    assert api.get(engines.path, as_=ada).code == "404 not_found"
    there = {member["userId"]: member["role"] for member in api.items(members, as_=grace)}
    assert there == {grace.id: "owner", mary.id: "editor"}


def _still_begins_with_what_was_kept(api: Api, engines: Founded, workers: Workers, grace: Person, kept: str) -> None:
    """All of it is in the log, which still begins with what the program kept."""
    workers.settle()
    log = f"{engines.path}/audit-log"
    report: Json = api.get(f"{log}/verify-integrity", as_=grace, query={"checkpoint": kept}).json
    assert (report["valid"], report["pendingEntries"]) == (True, 0)
    last = [entry["type"] for entry in api.get(log, as_=grace, query={"limit": 6}).json["items"]]
    assert last[::-1] == [
        "organization.ownership_transferred",
        "organization.member.updated",
        "organization.invitation.created",
        "organization.member.removed",
        "organization.member.updated",
        "organization.member.removed",
    ]


def _ends(api: Api, engines: Founded, workers: Workers, clock: Clock, grace: Person) -> None:
    """Grace deletes it, restores it, and deletes it for good."""
    assert api.delete(engines.path, as_=grace).status == 204
    assert api.get(engines.path, as_=grace).code == "404 not_found"
    assert api.patch(engines.path, as_=grace, json={"status": "active"}).json["status"] == "active"
    assert api.delete(engines.path, as_=grace).status == 204
    clock.shift(days=31)
    workers.settle()
    assert api.patch(engines.path, as_=grace, json={"status": "active"}).code == "404 not_found"
    assert api.items("/organizations", as_=grace, query={"status": "pending_deletion"}) == []
