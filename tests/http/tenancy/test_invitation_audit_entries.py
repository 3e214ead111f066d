import base64
import json
import logging
from collections import Counter

from tests.harness import memory_aws
from tests.harness.api import CLIENT_IP, USER_AGENT, ApiClient, Json
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import (
    ACCEPTANCE_PATH,
    CreatedInvitation,
    accept_invitation,
    create_invitation,
    decline_invitation,
    open_invitation,
    resend_invitation,
)
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.workers import queued_bodies

ADA = "Ada Lovelace"


def get_last_entry(api: ApiClient, organization: CreatedOrganization) -> Json:
    return list_entries(api, organization, limit=1)[0]


def summarize_entry(entry: Json) -> tuple[str, str | None, dict[str, tuple[object, object]]]:
    """Return the event, the actor's name and the changed fields."""
    changed_fields = {change["field"]: (change["from"], change["to"]) for change in entry["changes"]}
    return entry["type"].removeprefix("organization."), entry["actor"]["name"], changed_fields


class TestEntries:
    def test_the_entry_of_a_creation_names_the_inviter_and_the_invited_address(self, api, organization, stranger, ada):
        invitation = create_invitation(api, organization, stranger, role="editor", message="Come.")
        entry = get_last_entry(api, organization)
        assert summarize_entry(entry) == ("invitation.created", ADA, {})
        assert entry["actor"] == {"type": "user", "id": ada.id, "name": ADA}
        assert entry["target"] == {"type": "organization.invitation", "id": invitation.id, "name": stranger.email}
        assert entry["data"] == {**invitation.record, "acceptUrl": None}
        context = {name: value for name, value in entry["context"].items() if name != "requestId"}
        assert context == {"operationId": "invite_to_organization", "ipAddress": CLIENT_IP, "userAgent": USER_AGENT}

    def test_the_entry_of_an_invitation_by_a_key_names_the_key(self, api, organization, stranger):
        key = create_api_key(api, organization, "members:write", name="Directory")
        create_invitation(api, organization, stranger, caller=key)
        assert get_last_entry(api, organization)["actor"] == {"type": "api_key", "id": key.id, "name": "Directory"}

    def test_the_entry_of_a_resend_shows_the_new_expiry(self, api, organization, stranger, clock):
        first = create_invitation(api, organization, stranger).record
        clock.shift(days=1)
        second = resend_invitation(
            api, organization, CreatedInvitation(first, f"{organization.path}/invitations/{first['id']}")
        ).record
        entry = get_last_entry(api, organization)
        assert summarize_entry(entry) == (
            "invitation.resent",
            ADA,
            {
                "sentAt": (first["sentAt"], second["sentAt"]),
                "expiresAt": (first["expiresAt"], second["expiresAt"]),
            },
        )
        assert entry["data"] == {**second, "acceptUrl": None}

    def test_the_entry_of_a_final_status_names_the_actor(self, api, organization, ada, stranger, operator):
        accept_invitation(api, create_invitation(api, organization, stranger), stranger)
        acceptance = get_last_entry(api, organization)
        decline_invitation(api, create_invitation(api, organization, operator), operator)
        decline = get_last_entry(api, organization)
        revoked_invitation = create_invitation(api, organization, "x@example.org")
        api.delete(revoked_invitation.path, caller=ada)
        revocation = get_last_entry(api, organization)
        assert [summarize_entry(entry) for entry in (acceptance, decline, revocation)] == [
            ("invitation.accepted", stranger.name, {"status": ("pending", "accepted")}),
            ("invitation.declined", operator.name, {"status": ("pending", "declined")}),
            ("invitation.revoked", ADA, {"status": ("pending", "revoked")}),
        ]
        assert acceptance["actor"] == {"type": "user", "id": stranger.id, "name": stranger.name}
        assert acceptance["context"]["operationId"] == "accept_invitation"
        for entry in (acceptance, decline, revocation):
            record = api.get(f"{organization.path}/invitations/{entry['target']['id']}", caller=ada).json
            assert entry["data"] == record
            assert entry["target"]["type"] == "organization.invitation"

    def test_the_entry_of_an_acceptance_by_post_names_its_own_operation(self, api, organization, stranger):
        invitation = create_invitation(api, organization, stranger)
        api.post(ACCEPTANCE_PATH, caller=stranger, json={"token": invitation.token})
        entry = get_last_entry(api, organization)
        assert (entry["type"], entry["context"]["operationId"]) == (
            "organization.invitation.accepted",
            "respond_to_invitation",
        )

    def test_the_service_is_the_actor_of_an_expiry(self, api, organization, stranger, ada, clock, workers):
        invitation = create_invitation(api, organization, stranger)
        clock.shift(days=8)
        workers.run_until_idle()
        entry = get_last_entry(api, organization)
        assert entry["target"]["id"] == invitation.id
        assert entry["type"] == "organization.invitation.expired"
        assert entry["changes"] == [{"field": "status", "from": "pending", "to": "expired"}]
        assert entry["actor"] == {"type": "system", "id": None, "name": None}
        assert entry["context"] == {
            "operationId": "invitations.expire",
            "requestId": None,
            "ipAddress": None,
            "userAgent": None,
        }
        assert entry["data"] == api.get(invitation.path, caller=ada).json

    def test_every_change_has_one_entry_and_the_log_is_valid(
        self, api, organization, ada, grace, stranger, operator, clock, workers
    ):
        create_invitation(api, organization, "late@example.org", expiresInDays=1)
        clock.shift(days=2)
        first = create_invitation(api, organization, stranger)
        clock.shift(minutes=2)
        accept_invitation(api, resend_invitation(api, organization, first), stranger)
        decline_invitation(api, create_invitation(api, organization, operator), operator)
        api.delete(create_invitation(api, organization, "gone@example.org").path, caller=ada)
        create_invitation(api, organization, "left@example.org", caller=grace)
        api.post(f"{organization.path}/leave", caller=grace)
        clock.shift(minutes=2)
        workers.run_until_idle()
        entries = [e for e in list_entries(api, organization) if e["target"]["type"] == "organization.invitation"]
        assert Counter(summarize_entry(entry)[0] for entry in entries) == {
            "invitation.created": 5,
            "invitation.expired": 1,
            "invitation.resent": 1,
            "invitation.accepted": 1,
            "invitation.declined": 1,
            "invitation.revoked": 1,
        }
        assert verify_integrity(api, organization)["valid"]


class TestSecrets:
    def use_tokens(
        self, api: ApiClient, organization: CreatedOrganization, stranger: Person, clock: Clock
    ) -> list[str]:
        """Create, use and reject tokens in every way, and return them."""
        idempotency = {"Idempotency-Key": "once"}
        body = {"email": stranger.email}
        response = api.post(f"{organization.path}/invite", caller=organization.owner, json=body, headers=idempotency)
        first = CreatedInvitation(response.json, f"{organization.path}/invitations/{response.json['id']}")
        clock.shift(minutes=2)
        resent = api.post(
            f"{first.path}/resend", caller=organization.owner, headers=idempotency | {"Idempotency-Key": "2"}
        )
        second = CreatedInvitation(resent.json, first.path)
        for invitation in (first, second):
            open_invitation(api, invitation)
            open_invitation(api, invitation, organization.owner)
            open_invitation(api, invitation.token[:-1], stranger)
        body = {"token": second.token}
        assert api.post(ACCEPTANCE_PATH, caller=stranger, json=body, headers=idempotency).status == 200
        return [first.token, second.token]

    def test_no_token_is_in_the_table_or_in_a_queue(self, api, organization, stranger, clock, workers, configure):
        configure(mail_from="Engines <engines@example.com>")
        tokens = self.use_tokens(api, organization, stranger, clock)
        for sweep_count in range(2):
            if sweep_count:
                workers.run_sweep()
            everything = json.dumps(memory_aws.all_items(), default=repr)
            for queue in ("events.fifo", "jobs"):
                everything += json.dumps(queued_bodies(queue))
            assert "organization.invitation" in everything
            for token in tokens:
                token_bytes = base64.urlsafe_b64decode(f"{token}==")
                claim_and_key_id, tag = token_bytes[:40], token_bytes[40:]
                assert (len(claim_and_key_id), len(tag)) == (40, 16)
                for secret in (token, token[-20:], tag.hex(), repr(tag)[2:-1], base64.b64encode(token_bytes).decode()):
                    assert secret not in everything

    def test_no_token_is_in_an_entry(self, api, organization, stranger, clock):
        tokens = self.use_tokens(api, organization, stranger, clock)
        entries = json.dumps(list_entries(api, organization))
        assert "organization.invitation.resent" in entries
        for token in tokens:
            assert token[-20:] not in entries
        assert {entry["data"].get("acceptUrl") for entry in list_entries(api, organization)} == {None}

    def test_no_token_is_in_the_logs(self, api, organization, stranger, clock, workers, caplog, capfd):
        caplog.set_level(logging.DEBUG, logger="atrium")
        tokens = self.use_tokens(api, organization, stranger, clock)
        workers.run_until_idle()
        printed = capfd.readouterr()
        records = [vars(record) for record in caplog.records if record.name == "atrium"]
        logged = json.dumps(records, default=repr) + printed.out + printed.err
        assert "accept_invitation" in logged
        for token in tokens:
            assert token[-20:] not in logged

    def test_no_token_is_in_a_response_to_its_use(self, api, organization, ada, stranger):
        invitation = create_invitation(api, organization, stranger)
        for caller in (None, ada, stranger, stranger, create_api_key(api, organization, "admin")):
            answer = open_invitation(api, invitation, caller)
            assert invitation.token[-20:] not in answer.text + str(answer.headers)
