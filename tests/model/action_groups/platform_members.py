"""Members of platforms: invitations, joining, leaving, roles and look-up."""

from hypothesis import strategies as st

from tests.model.action_groups.invitations import create_invitation, invitations_to, is_inviter_entitled, status
from tests.model.action_groups.members import end_membership, people, redact_for
from tests.model.action_groups.organizations import add_membership
from tests.model.action_groups.spaces import set_role
from tests.model.actions import action, record_index, roles
from tests.model.interface_operations import role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import NOT_FOUND, Caller, ModelRecord


@action(platform=record_index, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_platform(run: ModelRun, by: Sender, container: ModelRecord, whom: str, role: str, days: int) -> None:
    create_invitation(run, by, "invite_to_platform", container, whom, {"role": role, "expiresInDays": days})


@action(platform=record_index)
def join_platform(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    caller = run.resolve_caller(by.caller_name)[0]
    member = run.model.membership(container, caller.id)
    invitation = _pending_invitation(run, caller, container)
    refusal = None
    if not (member or invitation):
        is_draft, is_closed = container.fields["status"] == "draft", container.fields["joinPolicy"] != "open"
        refusal = NOT_FOUND if is_draft else "403 forbidden" if is_closed else None
    if not run.request(by, "join_platform", container, refusal=refusal) or member:
        return
    new_member = add_membership(run, container, caller.id, invitation.fields["role"] if invitation else "member")
    if invitation:
        invitation.fields["status"], invitation.has_unseen_version, invitation.internal["resulting_membership"] = (
            "accepted",
            True,
            new_member,
        )
        run.expect_entry(by, "join_platform", invitation, "platform.invitation.accepted")
    else:
        run.expect_entry(by, "join_platform", new_member)


def _pending_invitation(run: ModelRun, caller: Caller, container: ModelRecord) -> ModelRecord | None:
    """Return the pending invitation of a caller."""
    email_address = run.people[caller.name].email if caller.name in run.people else None
    pending_invitations = [
        i for i in invitations_to(run, container) if i.fields["email"] == email_address and status(run, i) == "pending"
    ]
    return next((i for i in pending_invitations if is_inviter_entitled(run, i)), None)


@action(platform=record_index)
def leave_platform(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    member = run.model.membership(container, run.resolve_caller(by.caller_name)[0].id)
    if run.request(by, "leave_platform", container, refusal=None if member else NOT_FOUND) and member:
        run.expect_entry(by, "leave_platform", member)
        end_membership(run, member)


@action(platform=record_index, whom=people, role=roles)
def update_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str, role: str) -> None:
    set_role(run, by, "update_platform_member", container, whom, role)


@action(weight=1, platform=record_index, whom=people)
def remove_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str) -> None:
    member = run.model.membership(container, run.people[whom].id)
    if member and run.request(by, "remove_platform_member", container, member):
        run.expect_entry(by, "remove_platform_member", member)
        end_membership(run, member)


@action(platform=record_index)
def list_platform_members(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    if response := run.request(by, "list_platform_members", container, query={"limit": 100}):
        caller = run.resolve_caller(by.caller_name)[0]
        members = run.model.list_existing("platform_member", container)
        assert response.json["items"] == [redact_for(run, caller, container, member.fields) for member in members]


@action(platform=record_index, whom=people, by_name=st.booleans())
def find_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str, by_name: bool) -> None:  # noqa: FBT001
    """Get a member by user id, or by username in upper case."""
    person = run.people[whom]
    member = run.model.membership(container, person.id)
    refusal = None if member else NOT_FOUND
    if by_name:
        name = person.username.upper()
        response = run.request(by, "get_platform_member_by_username", container, refusal=refusal, username=name)
    else:
        record = member or ModelRecord("platform_member", {"id": "", "userId": person.id}, container, is_deleted=True)
        response = run.request(by, "get_platform_member_by_user", container, record)
    if response and member:
        caller = run.resolve_caller(by.caller_name)[0]
        assert response.json == redact_for(run, caller, container, member.fields)
        assert role_suffices(response.json["role"], "member")
