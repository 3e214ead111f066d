import base64
import json
import logging

from tests.harness import memory_aws
from tests.harness.audit_logs import get_last_entry, list_entries, verify_integrity
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    SOPHIE_EMAIL,
    CreatedInvitation,
    accept_invitation,
    create_declined,
    create_invitation,
    open_invitation,
    resend_invitation,
)
from tests.harness.organizations import create_api_key, leave_organization
from tests.harness.workers import queued_bodies


def summarize_entry(entry):
    """Return the event, the actor's name, the invited address and the new status."""
    assert entry["target"]["type"] == "organization.invitation"
    status = [change["to"] for change in entry["changes"] if change["field"] == "status"]
    return entry["type"].rpartition(".")[2], entry["actor"]["name"], entry["target"]["name"], *status


def test_every_change_has_one_entry(api, organization, ada, grace, stranger, operator, clock, workers):
    create_invitation(api, organization, "late@x.org", expiresInDays=1)
    clock.shift(days=2)
    invitation = create_invitation(api, organization, stranger)
    clock.shift(minutes=2)
    accept_invitation(api, resend_invitation(api, organization, invitation), stranger)
    create_declined(api, organization, operator)
    api.delete(create_invitation(api, organization, "gone@x.org").path, caller=ada)
    create_invitation(api, organization, "left@x.org", caller=grace)
    leave_organization(api, organization, grace)
    clock.shift(minutes=2)
    workers.run_until_idle()
    entries = [e for e in list_entries(api, organization) if e["target"]["type"] == "organization.invitation"]
    assert [summarize_entry(entry) for entry in entries[::-1]] == [
        ("created", "Ada Lovelace", "late@x.org"),
        ("created", "Ada Lovelace", stranger.email),
        ("resent", "Ada Lovelace", stranger.email),
        ("accepted", stranger.name, stranger.email, "accepted"),
        ("created", "Ada Lovelace", operator.email),
        ("declined", operator.name, operator.email, "declined"),
        ("created", "Ada Lovelace", "gone@x.org"),
        ("revoked", "Ada Lovelace", "gone@x.org", "revoked"),
        ("created", "Grace Hopper", "left@x.org"),
        ("expired", None, "late@x.org", "expired"),
    ]
    assert verify_integrity(api, organization)["valid"]


def test_the_service_is_the_actor_of_an_expiry(api, organization, stranger, ada, clock, workers):
    invitation = create_invitation(api, organization, stranger)
    clock.shift(days=8)
    workers.run_until_idle()
    entry, no_request = get_last_entry(api, organization), dict.fromkeys(("requestId", "ipAddress", "userAgent"))
    assert (entry["target"]["id"], entry["type"]) == (invitation.id, "organization.invitation.expired")
    assert entry["changes"] == [{"field": "status", "from": "pending", "to": "expired"}]
    assert entry["actor"] == {"type": "system", "id": None, "name": None}
    assert entry["context"] == {"operationId": "invitations.expire", **no_request}
    assert entry["data"] == api.get(invitation.path, caller=ada).json


class TestSecrets:
    def use_tokens(self, api, organization, stranger, clock):
        """Create, use and reject tokens in every way, and return them."""
        idempotency = [{"Idempotency-Key": key} for key in ("1", "2")]
        body = {"email": stranger.email}
        answer = api.post(f"{organization.path}/invite", caller=organization.owner, json=body, headers=idempotency[0])
        first = CreatedInvitation(answer.json, answer.location)
        clock.shift(minutes=2)
        resent = api.post(f"{first.path}/resend", caller=organization.owner, headers=idempotency[1])
        second = CreatedInvitation(resent.json, first.path)
        for invitation in (first, second):
            open_invitation(api, invitation)
            open_invitation(api, invitation, organization.owner)
            open_invitation(api, invitation.token[:-1], stranger)
        body = {"token": second.token}
        assert api.post(ACCEPTANCE_PATH, caller=stranger, json=body, headers=idempotency[0]).status == 200
        pending = create_invitation(api, organization, SOPHIE_EMAIL)
        return [first.token, second.token, pending.token]

    def test_no_token_is_in_the_table_or_a_queue(self, api, organization, stranger, clock, workers, mailbox):
        tokens = self.use_tokens(api, organization, stranger, clock)
        texts = []
        for step in (lambda: None, workers.run_sweep):
            step()
            texts.append(
                json.dumps([memory_aws.all_items(), *map(queued_bodies, ("events.fifo", "jobs"))], default=repr)
            )
        entries = list_entries(api, organization)
        assert {entry["data"].get("acceptUrl") for entry in entries} == {None}
        for text in (*texts, json.dumps(entries)):
            assert "organization.invitation" in text
            for token in tokens:
                token_bytes = base64.urlsafe_b64decode(f"{token}==")
                claim_and_key_id, tag = token_bytes[:40], token_bytes[40:]
                assert (len(claim_and_key_id), len(tag)) == (40, 16)
                for secret in (token, token[-20:], tag.hex(), repr(tag)[2:-1], base64.b64encode(token_bytes).decode()):
                    assert secret not in text

    def test_no_token_is_in_the_logs(self, api, organization, stranger, clock, workers, mailbox, caplog, capfd):
        caplog.set_level(logging.DEBUG, logger="atrium")
        tokens = self.use_tokens(api, organization, stranger, clock)
        workers.run_until_idle()
        printed = capfd.readouterr()
        records = [vars(record) for record in caplog.records if record.name == "atrium"]
        logged = json.dumps(records, default=repr) + printed.out + printed.err
        assert "accept_invitation" in logged
        assert tokens[-1] in mailbox.emails[0].text
        assert [token for token in tokens if token[-20:] in logged] == []

    def test_no_token_is_in_a_response_to_its_use(self, api, organization, ada, stranger):
        invitation = create_invitation(api, organization, stranger)
        for caller in (None, ada, stranger, stranger, create_api_key(api, organization, "admin")):
            answer = open_invitation(api, invitation, caller)
            assert invitation.token[-20:] not in answer.text + str(answer.headers)
