"""Invitations: creation, resending, revocation, responses and expiry."""

from typing import Final

from hypothesis import strategies as st

from tests.harness.api import ApiResponse
from tests.harness.invitations import ACCEPTANCE_PATH, token_from_link
from tests.model.action_groups.members import TOO_LOW, max_grantable_role, people
from tests.model.action_groups.organizations import add_membership
from tests.model.actions import action, record_index, roles
from tests.model.interface_operations import OPERATIONS, role_suffices
from tests.model.model_run import DAY_SECONDS, ModelRun, Sender
from tests.model.service_model import NOT_FOUND, Caller, Json, ModelRecord

REVOKED: Final = "410 invitation_revoked"
_NOT_PENDING: Final = "409 invalid_transition"
_RESEND_SECONDS: Final = 60
_MAX_EMAILS_BY_WINDOW: Final = {3600: 5, DAY_SECONDS: 20}
"""The maximum number of emails to an address, by window length in seconds."""


def status(run: ModelRun, invitation: ModelRecord) -> str:
    current = str(invitation.fields["status"])
    is_expired = current == "pending" and invitation.internal["expires_at_seconds"] <= run.elapsed_seconds
    return "expired" if is_expired else current


@action(place=record_index, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_organization(
    run: ModelRun, by: Sender, organization: ModelRecord, whom: str, role: str, days: int
) -> None:
    create_invitation(run, by, "invite_to_organization", organization, whom, {"role": role, "expiresInDays": days})


def create_invitation(
    run: ModelRun, by: Sender, operation: str, container: ModelRecord, whom: str, fields: Json
) -> None:
    invitee, caller = run.people[whom], run.caller_of(by)
    emails = [i.fields["email"] for i in invitations_to(run, container) if status(run, i) == "pending"]
    refusal = None
    if not role_suffices(max_grantable_role(run.model, caller, container), fields["role"]):
        refusal = TOO_LOW
    elif run.model.membership(container, invitee.id):
        refusal = "409 already_member"
    elif invitee.email in emails:
        refusal = "409 already_exists"
    body = {"email": invitee.email, **fields}
    if response := run.request(by, operation, container, body, refusal=refusal):
        expected = {**body, "status": "pending", "invitedBy": caller.id}
        expected["platformId"] = container.id if container.kind == "platform" else None
        expected["mailWithheld"] = not _count_email(run, invitee.email)
        organization = container.container_of_kind("organization")
        created = run.add_created_record(by, operation, "invitation", response, organization, expected, "acceptUrl")
        membership = membership_of_inviter(run, caller, container)
        created.internal |= {"container": container, "inviter": caller, "inviter_membership": membership}
        _apply_sending(run, created)


def membership_of_inviter(run: ModelRun, caller: Caller, container: ModelRecord) -> ModelRecord | None:
    """Return the membership that entitles an inviter: the outermost in which they are an admin."""
    own = [run.model.membership(each, caller.id) for each in [*container.self_and_containers][::-1]]
    return next((member for member in own if member and role_suffices(member.fields["role"], "admin")), None)


def invitations_to(run: ModelRun, container: ModelRecord) -> list[ModelRecord]:
    return [i for i in run.model.list_existing("invitation") if i.internal["container"] is container]


def _apply_sending(run: ModelRun, invitation: ModelRecord) -> None:
    expires_at_seconds = run.elapsed_seconds + invitation.fields["expiresInDays"] * DAY_SECONDS
    invitation.internal |= {"expires_at_seconds": expires_at_seconds, "sent_at_seconds": run.elapsed_seconds}
    invitation.internal.setdefault("tokens", []).append(token_from_link(invitation.internal["acceptUrl"]))


def _count_email(run: ModelRun, email_address: str) -> bool:
    """Return whether an address may receive another email, and count it in that case."""
    email_counts, windows = run.model.email_counts.setdefault(email_address, {}), {}
    for window in _MAX_EMAILS_BY_WINDOW:
        until, count = email_counts.get(window, (0.0, 0))
        windows[window] = (until, count + 1) if until > run.elapsed_seconds else (run.elapsed_seconds + window, 1)
    if any(count > _MAX_EMAILS_BY_WINDOW[window] for window, (_, count) in windows.items()):
        return False
    email_counts |= windows
    return True


def is_inviter_entitled(run: ModelRun, invitation: ModelRecord) -> bool:
    """Return whether the inviter could still create this invitation."""
    inviter, membership = invitation.internal["inviter"], invitation.internal["inviter_membership"]
    role = run.model.effective_role(inviter, invitation.internal["container"])
    is_member = membership is not None and not membership.is_deleted
    return bool(inviter.key) or (is_member and role_suffices(role, invitation.fields["role"]))


@action(invitation=record_index)
def resend_invitation(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    container = record.internal["container"]
    refusal = None
    if status(run, record) != "pending":
        refusal = _NOT_PENDING
    elif not role_suffices(max_grantable_role(run.model, run.caller_of(by), container), record.fields["role"]):
        refusal = TOO_LOW
    elif not is_inviter_entitled(run, record):
        refusal = _NOT_PENDING
    elif run.elapsed_seconds - record.internal["sent_at_seconds"] < _RESEND_SECONDS:
        refusal = "429 rate_limited"
    if response := run.request(by, "resend_invitation", record, refusal=refusal, alternative_container=container):
        withheld, previously_sent_at = not _count_email(run, record.fields["email"]), record.fields["sentAt"] or ""
        options: Json = {"event": f"{container.kind}.invitation.resent", "derived_fields": ("expiresAt", "sentAt")}
        run.apply_change(
            by, "resend_invitation", record, response, {"mailWithheld": withheld}, acceptUrl=True, **options
        )
        assert record.fields["sentAt"] is None if withheld else record.fields["sentAt"] > previously_sent_at
        _apply_sending(run, record)


@action(weight=1, invitation=record_index)
def revoke_invitation(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    current_status, container = status(run, record), record.internal["container"]
    refusal = None if current_status in ("pending", "revoked") else _NOT_PENDING
    response = run.request(by, "revoke_invitation", record, refusal=refusal, alternative_container=container)
    if response and current_status == "pending":
        record.fields["status"], record.has_unseen_version = "revoked", True
        run.expect_entry(by, "revoke_invitation", record, f"{container.kind}.invitation.revoked")


@action(
    invitation=record_index, decision=st.sampled_from(["accept", "accept", "decline"]), link_choice=st.integers(0, 4)
)
def respond_as_invitee(run: ModelRun, by: Sender, record: ModelRecord, decision: str, link_choice: int) -> None:
    """Let the invited person respond, mostly by the latest link."""
    whom = next(name for name, p in run.people.items() if p.email == record.fields["email"])
    submit_response(run, Sender(whom), record, decision, uses_latest_token=link_choice > 0)


@action(invitation=record_index, decision=st.sampled_from(["accept", "decline"]))
def respond_to_invitation(run: ModelRun, by: Sender, record: ModelRecord, decision: str) -> None:
    submit_response(run, Sender(by.caller_name), record, decision, uses_latest_token=True)


def submit_response(run: ModelRun, by: Sender, record: ModelRecord, decision: str, *, uses_latest_token: bool) -> None:
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
    is_replaced = token != record.internal["tokens"][-1] or current_status == "revoked"
    if is_replaced or (current_status == "pending" and not is_inviter_entitled(run, record)):
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
        user_id = run.caller_of(by).id
        membership = run.model.membership(container, user_id)
        membership = membership or add_membership(run, container, user_id, record.fields["role"])
        record.internal["resulting_membership"] = membership
        assert response.json["membership"]["role"] == membership.fields["role"]
    run.expect_entry(by, "respond_to_invitation", record, f"{container.kind}.invitation.{outcome}")


@action(place=record_index)
def list_invitations(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    caller = run.caller_of(by)
    if caller.kind == "user" and not role_suffices(run.model.effective_role(caller, organization), "admin"):
        return  # The admins of its platforms may list them, too.
    if response := run.request(by, "list_invitations", organization, query={"limit": 100}):
        expected = [(i.id, status(run, i)) for i in run.model.list_existing("invitation", organization)]
        listed_ids = {each for each, _ in expected}  # The purge of a deleted platform removes its invitations.
        assert [(i["id"], i["status"]) for i in response.json["items"] if i["id"] in listed_ids] == expected
