"""Invitations: creation, resending, revocation, responses and expiry."""

from typing import Final

from hypothesis import strategies as st

from tests.harness.api import ApiResponse
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link
from tests.model.action_groups.members import TOO_LOW, max_grantable_role, people
from tests.model.action_groups.organizations import add_membership
from tests.model.actions import action, record_index, roles
from tests.model.interface_operations import OPERATIONS, role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import NOT_FOUND, Caller, Json, ModelRecord

REVOKED: Final = "410 invitation_revoked"
_NOT_PENDING: Final = "409 invalid_transition"
_RESEND_SECONDS: Final = 60
_DAY: Final = 24 * 3600
_MAX_EMAILS_BY_WINDOW: Final = {3600: 5, _DAY: 20}
"""The maximum number of emails to an address, by window length in seconds."""


def status(run: ModelRun, invitation: ModelRecord) -> str:
    """Return the current status of an invitation."""
    is_expired = (
        invitation.fields["status"] == "pending" and invitation.internal["expires_at_seconds"] <= run.elapsed_seconds
    )
    return "expired" if is_expired else str(invitation.fields["status"])


@action(place=record_index, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_organization(
    run: ModelRun, by: Sender, organization: ModelRecord, whom: str, role: str, days: int
) -> None:
    create_invitation(run, by, "invite_to_organization", organization, whom, {"role": role, "expiresInDays": days})


def create_invitation(
    run: ModelRun, by: Sender, operation: str, container: ModelRecord, whom: str, fields: Json
) -> ModelRecord | None:
    """Invite a person to a container."""
    invitee, (caller, _) = run.people[whom], run.resolve_caller(by.caller_name)
    refusal = None
    if not role_suffices(max_grantable_role(run.model, caller, container), fields["role"]):
        refusal = TOO_LOW
    elif run.model.membership(container, invitee.id):
        refusal = "409 already_member"
    elif any(
        i.fields["email"] == invitee.email and status(run, i) == "pending" for i in invitations_to(run, container)
    ):
        refusal = "409 already_exists"
    body = {"email": invitee.email, **fields}
    response = run.request(by, operation, container, body=body, refusal=refusal)
    if response is None:
        return None
    organization = container.container_of_kind("organization")
    expected = {
        **body,
        "status": "pending",
        "invitedBy": caller.id,
        "platformId": None if container.kind != "platform" else container.id,
        "mailWithheld": not _count_email(run, invitee.email),
    }
    created = run.add_created_record("invitation", response, organization, expected, "acceptUrl")
    created.internal |= {
        "container": container,
        "inviter": caller,
        "inviter_membership": membership_of_inviter(run, caller, container),
    }
    _apply_sending(run, created)
    run.expect_entry(by, operation, created)
    return created


def membership_of_inviter(run: ModelRun, caller: Caller, container: ModelRecord) -> ModelRecord | None:
    """Return the membership that entitles an inviter: the outermost in which they are an admin."""
    own = [run.model.membership(each, caller.id) for each in [*container.self_and_containers][::-1]]
    return next((member for member in own if member and role_suffices(member.fields["role"], "admin")), None)


def invitations_to(run: ModelRun, container: ModelRecord) -> list[ModelRecord]:
    """Return the invitations to a container itself."""
    return [i for i in run.model.list_existing("invitation") if i.internal["container"] is container]


def _apply_sending(run: ModelRun, invitation: ModelRecord) -> None:
    invitation.internal["expires_at_seconds"] = run.elapsed_seconds + invitation.fields["expiresInDays"] * _DAY
    invitation.internal["sent_at_seconds"] = run.elapsed_seconds
    invitation.internal["tokens"] = [
        *invitation.internal.get("tokens", []),
        token_from_link(invitation.internal["acceptUrl"]),
    ]


def _count_email(run: ModelRun, email_address: str) -> bool:
    """Return whether an address may receive another email, and count it in that case."""
    email_counts = run.model.email_counts.setdefault(email_address, {})
    windows = {window: email_counts.get(window, (0.0, 0)) for window in _MAX_EMAILS_BY_WINDOW}
    windows = {
        window: window_state if window_state[0] > run.elapsed_seconds else (run.elapsed_seconds + window, 0)
        for window, window_state in windows.items()
    }
    if any(email_count >= _MAX_EMAILS_BY_WINDOW[window] for window, (_, email_count) in windows.items()):
        return False
    email_counts |= {window: (until, email_count + 1) for window, (until, email_count) in windows.items()}
    return True


def is_inviter_entitled(run: ModelRun, invitation: ModelRecord) -> bool:
    """Return whether the inviter could still create this invitation."""
    inviter, membership_of_inviter = invitation.internal["inviter"], invitation.internal["inviter_membership"]
    if inviter.key:
        return True
    role = run.model.effective_role(inviter, invitation.internal["container"])
    return (
        membership_of_inviter is not None
        and not membership_of_inviter.is_deleted
        and role_suffices(role, invitation.fields["role"])
    )


@action(invitation=record_index)
def resend_invitation(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    caller = run.resolve_caller(by.caller_name)[0]
    refusal = None
    if status(run, record) != "pending":
        refusal = _NOT_PENDING
    elif not role_suffices(max_grantable_role(run.model, caller, record.internal["container"]), record.fields["role"]):
        refusal = TOO_LOW
    elif not is_inviter_entitled(run, record):
        refusal = _NOT_PENDING
    elif run.elapsed_seconds - record.internal["sent_at_seconds"] < _RESEND_SECONDS:
        refusal = "429 rate_limited"
    response = run.request(
        by,
        "resend_invitation",
        record.container,
        record,
        refusal=refusal,
        alternative_container=record.internal["container"],
    )
    if response:
        withheld = not _count_email(run, record.fields["email"])
        new = {"expiresAt": response.json["expiresAt"], "sentAt": response.json["sentAt"], "mailWithheld": withheld}
        assert (new["sentAt"] is None) is withheld
        assert withheld or new["sentAt"] > (record.fields["sentAt"] or "")
        run.apply_change(record, response, new, acceptUrl=True)
        _apply_sending(run, record)
        run.expect_entry(by, "resend_invitation", record, f"{record.internal['container'].kind}.invitation.resent")


@action(weight=1, invitation=record_index)
def revoke_invitation(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    current_status = status(run, record)
    refusal = _NOT_PENDING if current_status not in ("pending", "revoked") else None
    container = record.internal["container"]
    response = run.request(
        by, "revoke_invitation", record.container, record, refusal=refusal, alternative_container=container
    )
    if response and current_status == "pending":
        record.fields["status"], record.has_unseen_version = "revoked", True
        run.expect_entry(by, "revoke_invitation", record, f"{container.kind}.invitation.revoked")


@action(
    invitation=record_index, decision=st.sampled_from(["accept", "accept", "decline"]), link_choice=st.integers(0, 4)
)
def respond_as_invitee(run: ModelRun, by: Sender, record: ModelRecord, decision: str, link_choice: int) -> None:
    """Let the invited person respond, mostly by the latest link."""
    whom = next(name for name, p in run.people.items() if p.email == record.fields["email"])
    submit_response(
        run,
        Sender(whom, idempotency_number=by.idempotency_number),
        record,
        decision,
        uses_latest_token=link_choice > 0,
    )


@action(invitation=record_index, decision=st.sampled_from(["accept", "decline"]))
def respond_to_invitation(run: ModelRun, by: Sender, record: ModelRecord, decision: str) -> None:
    submit_response(run, Sender(by.caller_name), record, decision, uses_latest_token=True)


def submit_response(run: ModelRun, by: Sender, record: ModelRecord, decision: str, *, uses_latest_token: bool) -> None:
    """Respond to an invitation and record the result."""
    caller, credential = run.resolve_caller(by.caller_name)
    token = record.internal["tokens"][-1 if uses_latest_token else 0]
    response = run.api.post(ACCEPTANCE_PATH, caller=credential, json={"token": token, "decision": decision})
    expected = _expected_result(run, caller, record, token, decision)
    actual = response.status_and_code if response.status >= 400 else str(response.status)
    assert actual == expected.partition(" again")[0], f"{actual} instead of {expected}"
    if expected == "200":
        _apply_response(run, by, record, response, decision)


def _expected_result(run: ModelRun, caller: Caller, record: ModelRecord, token: str, decision: str) -> str:
    row = OPERATIONS["respond_to_invitation"]
    if principal_refusal := run.model.expected_refusal(caller, row, None):
        return principal_refusal
    if not record.internal["container"].exists:
        return NOT_FOUND
    return _token_refusal(run, record, token) or _result_for_person(run, caller, record, decision)


def _token_refusal(run: ModelRun, record: ModelRecord, token: str) -> str | None:
    current_status = status(run, record)
    is_replaced = token != record.internal["tokens"][-1]
    if (
        is_replaced
        or current_status == "revoked"
        or (current_status == "pending" and not is_inviter_entitled(run, record))
    ):
        return REVOKED
    return "410 invitation_expired" if current_status == "expired" else None


def _result_for_person(run: ModelRun, caller: Caller, record: ModelRecord, decision: str) -> str:
    if run.people[caller.name].email != record.fields["email"]:
        return "403 email_mismatch"
    current_status, member = status(run, record), run.model.membership(record.internal["container"], caller.id)
    if current_status != "pending":
        is_repeated_response = current_status == "declined" or (
            member is not None and member is record.internal.get("resulting_membership")
        )
        return "200 again" if is_repeated_response and current_status.startswith(decision) else "410 invitation_used"
    is_role_raised = decision == "accept" and member and not role_suffices(member.fields["role"], record.fields["role"])
    return "409 already_member" if is_role_raised else "200"


def _apply_response(run: ModelRun, by: Sender, record: ModelRecord, response: ApiResponse, decision: str) -> None:
    outcome, container = {"accept": "accepted", "decline": "declined"}[decision], record.internal["container"]
    assert response.json["status"] == outcome
    record.fields["status"], record.has_unseen_version = outcome, True
    if outcome == "accepted":
        caller = run.resolve_caller(by.caller_name)[0]
        membership = run.model.membership(container, caller.id)
        record.internal["resulting_membership"] = membership or add_membership(
            run, container, caller.id, record.fields["role"]
        )
        assert response.json["membership"]["role"] == record.internal["resulting_membership"].fields["role"]
    kind = "platform" if container.kind == "platform" else "organization"
    run.expect_entry(by, "respond_to_invitation", record, f"{kind}.invitation.{outcome}")


@action(place=record_index)
def list_invitations(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if not run.model.list_existing("organization"):
        return
    caller = run.resolve_caller(by.caller_name)[0]
    if caller.kind == "user" and not role_suffices(run.model.effective_role(caller, organization), "admin"):
        return  # The admins of its platforms may list them, too.
    if response := run.request(by, "list_invitations", organization, query={"limit": 100}):
        expected = [(i.id, status(run, i)) for i in run.model.list_existing("invitation", organization)]
        listed_ids = {each for each, _ in expected}  # The purge of a deleted platform removes its invitations.
        assert [(i["id"], i["status"]) for i in response.json["items"] if i["id"] in listed_ids] == expected
