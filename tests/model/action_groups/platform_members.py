"""Members of platforms: invitations, joining, leaving, roles and look-up."""

from hypothesis import strategies as st

from tests.model.action_groups.invitations import create_invitation, invitations_to, is_inviter_entitled, status
from tests.model.action_groups.members import check_members, end_membership, people, redact_for
from tests.model.action_groups.organizations import add_membership
from tests.model.action_groups.spaces import set_role
from tests.model.actions import action, record_index, roles
from tests.model.interface_operations import role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import NOT_FOUND, Caller, Json, ModelRecord


@action(platform=record_index, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_platform(run: ModelRun, by: Sender, container: ModelRecord, whom: str, role: str, days: int) -> None:
    create_invitation(run, by, "invite_to_platform", container, whom, {"role": role, "expiresInDays": days})


@action(platform=record_index)
def join_platform(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    caller = run.caller_of(by)
    member, invitation = run.model.membership(container, caller.id), _pending_invitation(run, caller, container)
    refusal = None
    if not (member or invitation):
        is_draft, is_closed = container.fields["status"] == "draft", container.fields["joinPolicy"] != "open"
        refusal = NOT_FOUND if is_draft else "403 forbidden" if is_closed else None
    if not run.request(by, "join_platform", container, refusal=refusal) or member:
        return
    new_member = add_membership(run, container, caller.id, invitation.fields["role"] if invitation else "member")
    if invitation:
        invitation.fields["status"], invitation.has_unseen_version = "accepted", True
        invitation.internal["resulting_membership"] = new_member
    event = "platform.invitation.accepted" if invitation else None
    run.expect_entry(by, "join_platform", invitation or new_member, event)


def _pending_invitation(run: ModelRun, caller: Caller, container: ModelRecord) -> ModelRecord | None:
    email_address = run.people[caller.name].email if caller.name in run.people else None
    own = [i for i in invitations_to(run, container) if i.fields["email"] == email_address]
    return next((i for i in own if status(run, i) == "pending" and is_inviter_entitled(run, i)), None)


@action(platform=record_index)
def leave_platform(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    member = run.model.membership(container, run.caller_of(by).id)
    if run.request(by, "leave_platform", container, refusal=None if member else NOT_FOUND) and member:
        run.expect_entry(by, "leave_platform", member)
        end_membership(run, member)


@action(platform=record_index, whom=people, role=roles)
def update_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str, role: str) -> None:
    set_role(run, by, "update_platform_member", container, whom, role)


@action(weight=1, platform=record_index, whom=people)
def remove_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str) -> None:
    member = run.model.membership(container, run.people[whom].id)
    if member and run.delete(by, "remove_platform_member", member):
        end_membership(run, member)


@action(platform=record_index)
def list_platform_members(run: ModelRun, by: Sender, container: ModelRecord) -> None:
    check_members(run, by, "list_platform_members", container)


@action(platform=record_index, whom=people, by_name=st.booleans())
def find_platform_member(run: ModelRun, by: Sender, container: ModelRecord, whom: str, by_name: bool) -> None:  # noqa: FBT001
    """Get a member by user id, or by username in upper case."""
    person = run.people[whom]
    member = run.model.membership(container, person.id)
    if by_name:
        options: Json = {"refusal": None if member else NOT_FOUND, "username": person.username.upper()}
        response = run.request(by, "get_platform_member_by_username", container, **options)
    else:
        record = member or ModelRecord("platform_member", {"id": "", "userId": person.id}, container, is_deleted=True)
        response = run.request(by, "get_platform_member_by_user", record)
    if response and member:
        assert response.json == redact_for(run, run.caller_of(by), container, member.fields)
        assert role_suffices(response.json["role"], "member")
