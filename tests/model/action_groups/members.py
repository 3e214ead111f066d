"""Members of organizations: roles, removal, leaving and transfers of ownership."""

from typing import Final

from hypothesis import strategies as st

from tests.model.action_groups.api_keys import revoke_dependent_keys
from tests.model.actions import PEOPLE, action, record_index
from tests.model.interface_operations import expand_scopes, role_suffices
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import MEMBERS, Caller, Json, Model, ModelRecord

TOO_LOW: Final = "403 insufficient_role"
OWNER_STAYS: Final = "409 owner_must_transfer"

people = st.sampled_from([name for name in PEOPLE if name != "nobody"])


def max_grantable_role(model: Model, caller: Caller, container: ModelRecord) -> str | None:
    """Return the highest role that a caller can grant in a container."""
    if caller.key:
        return "admin" if "admin" in expand_scopes(caller.key.fields["scopes"]) else "editor"
    return model.effective_role(caller, container)


def redact_for(run: ModelRun, caller: Caller, container: ModelRecord, member: Json) -> Json:
    """Return a member as a caller sees it. Only admins and the member see the email address."""
    sees_email = role_suffices(run.model.effective_role(caller, container), "admin") or member["userId"] == caller.id
    return member if sees_email else {**member, "email": None}


@action(place=record_index, whom=people, role=st.sampled_from(["member", "editor", "admin", "admin", "owner"]))
def update_organization_member(run: ModelRun, by: Sender, organization: ModelRecord, whom: str, role: str) -> None:
    member = _latest_membership(run, organization, whom)
    if member is None:
        return
    caller, current_role, refusal = run.caller_of(by), member.fields["role"], None
    if role != current_role:
        is_grantable = role_suffices(max_grantable_role(run.model, caller, organization), role)
        is_owner = current_role == "owner"
        refusal = OWNER_STAYS if is_owner else TOO_LOW if not is_grantable else OWNER_STAYS if role == "owner" else None
    if response := run.request(by, "update_organization_member", member, {"role": role}, refusal=refusal):
        shown = redact_for(run, caller, organization, member.fields)
        if role != current_role:
            implied_scopes = expand_scopes([{"member": "read", "editor": "write"}.get(role, "admin")])
            shown = {**shown, "revokedKeys": revoke_keys_of_member(run, member, "member_demoted", {*implied_scopes})}
        apply_role_change(run, by, "update_organization_member", member, response.json, {**shown, "role": role})
        member.fields["revokedKeys"] = None


def revoke_keys_of_member(
    run: ModelRun, member: ModelRecord, reason: str, implied_scopes: set[str]
) -> list[Json] | None:
    """Revoke the API keys that a member created and that exceed the scopes that the member has from now on."""
    keys = run.model.list_existing("api_key")
    return revoke_dependent_keys(member.parent, keys, member.fields["userId"], reason, implied_scopes)


def apply_role_change(
    run: ModelRun, by: Sender, operation: str, member: ModelRecord, shown_member: Json, expected: Json
) -> None:
    has_changed = member.fields["role"] != expected["role"]
    assert {**shown_member, "version": 0, "updatedAt": ""} == {**expected, "version": 0, "updatedAt": ""}
    assert shown_member["version"] - member.fields["version"] == has_changed
    member.fields = {**shown_member, "email": member.fields["email"]}
    if has_changed:
        run.expect_entry(by, operation, member)


def _latest_membership(run: ModelRun, container: ModelRecord, whom: str) -> ModelRecord | None:
    """Return the latest membership of a person, which may be deleted."""
    memberships = [m for m in run.model.list_all("member", container) if m.fields["userId"] == run.people[whom].id]
    return memberships[-1] if memberships else None


@action(weight=1, place=record_index, whom=people)
def remove_organization_member(run: ModelRun, by: Sender, organization: ModelRecord, whom: str) -> None:
    if member := _latest_membership(run, organization, whom):
        refusal = OWNER_STAYS if member.fields["role"] == "owner" else None
        if run.delete(by, "remove_organization_member", member, refusal=refusal):
            revoke_keys_of_member(run, member, "member_removed", set())
            end_membership(run, member)


@action(weight=1, place=record_index)
def leave_organization(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    member = run.model.membership(organization, run.caller_of(by).id)
    refusal = OWNER_STAYS if member and member.fields["role"] == "owner" else None
    if run.request(by, "leave_organization", organization, refusal=refusal) and member:
        revoke_keys_of_member(run, member, "member_left", set())
        run.expect_entry(by, "leave_organization", member)
        end_membership(run, member)


def end_membership(run: ModelRun, member: ModelRecord) -> None:
    """End a membership with the memberships in its descendants and the invitations that depend on it."""
    member.is_deleted = True
    container, user_id = member.container, member.fields["userId"]
    for record in run.model.records:
        is_descendant = record.kind in ("platform_member", "space_member") and record.is_inside(container)
        if is_descendant and record.fields["userId"] == user_id:
            record.is_deleted = True
        is_pending = record.kind == "invitation" and record.fields["status"] == "pending"
        if is_pending and record.fields["invitedBy"] == user_id and _rests_on(member, record):
            record.fields["status"], record.has_unseen_version = "revoked", True


def _rests_on(member: ModelRecord, invitation: ModelRecord) -> bool:
    if member.kind == "member":
        return bool(invitation.internal["container"].is_inside(member.container))
    return invitation.internal["inviter_membership"] is member


@action(place=record_index, to=people)
def transfer_ownership(run: ModelRun, by: Sender, organization: ModelRecord, to: str) -> None:
    successor = run.model.membership(organization, run.people[to].id)
    owner = run.model.membership(organization, organization.fields["ownerId"])
    refusal = None if successor else "422 validation_failed"
    body = {"newOwnerId": run.people[to].id}
    response = run.request(by, "transfer_ownership", organization, body, refusal=refusal)
    if response and run.apply_change(by, "transfer_ownership", organization, response, {"ownerId": body["newOwnerId"]}):
        for member, role in ((owner, "admin"), (successor, "owner")):
            assert member
            member.has_unseen_version, member.fields = True, run.read_as_owner(member).json
            assert member.fields["role"] == role


@action(place=record_index)
def list_organization_members(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    check_members(run, by, "list_organization_members", organization)
    members = run.model.list_existing("member", organization)
    owner_ids = [member.fields["userId"] for member in members if member.fields["role"] == "owner"]
    assert owner_ids == [organization.fields["ownerId"]] or not organization.exists


def check_members(run: ModelRun, by: Sender, operation: str, container: ModelRecord) -> None:
    """List the members of a container. The response must have all of them, as the caller sees them."""
    if response := run.request(by, operation, container, query={"limit": 100}):
        caller, members = run.caller_of(by), run.model.list_existing(MEMBERS[container.kind], container)
        assert response.json["items"] == [redact_for(run, caller, container, member.fields) for member in members]
