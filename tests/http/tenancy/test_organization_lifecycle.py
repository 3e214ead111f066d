"""The lifecycle of an organization, from its creation to its deletion, as its people see it."""

import json

from chalicelib.kernel.core.encoding import to_base64url
from tests.harness.exports import read_ndjson_entries
from tests.harness.invitations import (
    accept_invitation,
    create_accepted,
    create_declined,
    create_invitation,
    decide_on_invitation,
    open_invitation,
    resend_invitation,
    token_from_link,
)
from tests.harness.organizations import (
    create_api_key,
    create_organization,
    leave_organization,
    remove_member,
    revoke_api_key,
    set_role,
    transfer_ownership,
)


def test_people_join_by_mail_and_by_links(api, workers, clock, mailbox, ada, grace, edith, mary):
    organization = create_organization(api, ada)
    create_invitation(api, organization, grace, role="admin", message="Bring the compiler.")
    workers.deliver()
    (mail,) = mailbox.received_emails
    assert mail.recipients == [grace.email]
    token = token_from_link(next(line for line in mail.email.text.splitlines() if "?token=" in line))
    description = open_invitation(api, token).json
    assert (description["organization"]["name"], description["status"]) == ("Analytical Engines", "pending")
    assert decide_on_invitation(api, token, grace).json["membership"]["role"] == "admin"

    first = create_invitation(api, organization, edith, caller=grace, role="editor")
    clock.shift(minutes=1)
    second = resend_invitation(api, organization, first)
    assert open_invitation(api, first, edith).status_and_code == "410 invitation_revoked"
    assert accept_invitation(api, second, edith)["membership"]["role"] == "editor"

    create_declined(api, organization, mary)
    create_accepted(api, organization, mary)
    mistaken_invitation = create_invitation(api, organization, "nobody@example.com")
    assert api.delete(mistaken_invitation.path, caller=grace).status == 204
    invitations = api.get_items(f"{organization.path}/invitations", caller=grace)
    assert [each["status"] for each in invitations] == ["accepted", "accepted", "declined", "accepted", "revoked"]


def test_the_log_stays_verifiable_while_the_people_change(api, organization, workers, ada, grace, edith, mary):
    api_key, lost_key = (create_api_key(api, organization, scope) for scope in ("audit-log:read", "read"))
    revoke_api_key(api, organization, lost_key)
    assert api.get(organization.path, caller=lost_key).status_and_code == "401 api_key_revoked"
    workers.run_until_idle()
    log = f"{organization.path}/audit-log"
    entries = api.get_items(log, caller=api_key)
    ndjson = api.get(f"{log}/export", caller=api_key, query={"format": "ndjson"}).text
    assert [json.loads(line) for line in ndjson.splitlines()] == entries[::-1]
    requested_export = api.post(f"{log}/export-async", caller=api_key)
    workers.run_until_idle()
    export = api.get(requested_export.location, caller=api_key).json
    assert (export["status"], export["entryCount"]) == ("completed", len(entries) + 1)
    assert read_ndjson_entries(export)[:-1] == entries[::-1]
    report = api.get(f"{log}/verify-integrity", caller=api_key).json
    assert (report["valid"], report["checkpoint"][:6]) == (True, "atrium")

    transfer_ownership(api, organization, ada, grace.id)
    set_role(api, organization, edith, "admin", caller=grace)
    invitation = create_invitation(api, organization, "friend@example.com", caller=edith)
    remove_member(api, organization, edith, caller=grace)
    assert open_invitation(api, invitation).status_and_code == "410 invitation_revoked"
    set_role(api, organization, mary, "editor", caller=grace)
    leave_organization(api, organization, ada)
    roles = {each["userId"]: each["role"] for each in api.get_items(f"{organization.path}/members", caller=grace)}
    assert roles == {grace.id: "owner", mary.id: "editor"}
    workers.run_until_idle()
    query = {"checkpoint": to_base64url(report["checkpoint"].encode())}
    report = api.get(f"{log}/verify-integrity", caller=grace, query=query).json
    assert (report["valid"], report["pendingEntries"]) == (True, 0)
    newest_entries = api.get(log, caller=grace, query={"limit": 6}).json["items"]
    assert [entry["type"].removeprefix("organization.") for entry in newest_entries[::-1]] == [
        "ownership_transferred",
        "member.updated",
        "invitation.created",
        "member.removed",
        "member.updated",
        "member.removed",
    ]
