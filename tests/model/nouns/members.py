"""Members of organizations: their roles, their leaving, and whose an organization is."""

from typing import Final

from hypothesis import strategies as st

from tests.model.actions import PEOPLE, deed, which
from tests.model.entities import Caller, Json, Model, Thing
from tests.model.interface import covers, implied
from tests.model.nouns.api_keys import end_keys
from tests.model.story import By, Story

TOO_LOW: Final = "403 insufficient_role"
OWNER_STAYS: Final = "409 owner_must_transfer"

people = st.sampled_from([name for name in PEOPLE if name != "nobody"])


def grantable(model: Model, who: Caller, place: Thing) -> str | None:
    """Return the highest role that somebody can give at a place."""
    if who.key:
        return "admin" if "admin" in implied(who.key.shown["scopes"]) else "editor"
    return model.role(who, place)


def as_seen(story: Story, who: Caller, place: Thing, member: Json) -> Json:
    """Return a member as somebody sees one: an address is for admins, and for oneself."""
    sees = covers(story.model.role(who, place), "admin") or member["userId"] == who.id
    return member if sees else {**member, "email": None}


@deed(place=which, whom=people, role=st.sampled_from(["member", "editor", "admin", "admin", "owner"]))
def update_organization_member(story: Story, by: By, place: int, whom: str, role: str) -> None:
    organization = story.model.pick("organization", place)
    member = organization and _known(story, organization, whom)
    if not (organization and member):
        return
    is_owner, who = member.shown["role"] == "owner", story.caller(by.who)[0]
    unless = None
    if role != member.shown["role"]:
        covered = covers(grantable(story.model, who, organization), role)
        unless = OWNER_STAYS if is_owner else TOO_LOW if not covered else OWNER_STAYS if role == "owner" else None
    answer = story.ask(by, "update_organization_member", organization, member, {"role": role}, unless=unless)
    if answer:
        shown = as_seen(story, who, organization, member.shown)
        if role != member.shown["role"]:
            held = implied([{"member": "read", "editor": "write"}.get(role, "admin")])
            shown = {**shown, "revokedKeys": keys_ended(story, member, "member_demoted", {*held})}
        changed(story, by, "update_organization_member", member, answer.json, {**shown, "role": role})
        member.shown["revokedKeys"] = None


def keys_ended(story: Story, member: Thing, reason: str, held: set[str]) -> list[Json] | None:
    """Let the API keys end that a member of an organization made and that exceed what they hold from now on."""
    assert member.within
    return end_keys(member.within, story.model.of("api_key"), member.shown["userId"], reason, held)


def changed(story: Story, by: By, operation: str, member: Thing, said: Json, expected: Json) -> None:
    """Note another role of a member."""
    does = member.shown["role"] != expected["role"]
    assert {**said, "version": 0, "updatedAt": ""} == {**expected, "version": 0, "updatedAt": ""}
    assert said["version"] - member.shown["version"] == does
    member.shown = {**said, "email": member.shown["email"]}
    if does:
        story.tells(by, operation, member)


def _known(story: Story, place: Thing, whom: str) -> Thing | None:
    """Return somebody's membership or, of somebody who is none, one that is gone."""
    person = story.people[whom].id
    of_place = [t for t in story.model.things if t.kind == "member" and t.within is place]
    return next((t for t in reversed(of_place) if t.shown["userId"] == person), None)


@deed(often=1, place=which, whom=people)
def remove_organization_member(story: Story, by: By, place: int, whom: str) -> None:
    organization = story.model.pick("organization", place)
    member = organization and _known(story, organization, whom)
    if organization and member:
        unless = OWNER_STAYS if member.shown["role"] == "owner" else None
        if story.ask(by, "remove_organization_member", organization, member, unless=unless):
            member.shown["revokedKeys"] = keys_ended(story, member, "member_removed", set())
            story.tells(by, "remove_organization_member", member)
            depart(story, member)


@deed(often=1, place=which)
def leave_organization(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    member = story.model.membership(organization, story.caller(by.who)[0].id)
    unless = OWNER_STAYS if member and member.shown["role"] == "owner" else None
    if story.ask(by, "leave_organization", organization, unless=unless) and member:
        member.shown["revokedKeys"] = keys_ended(story, member, "member_left", set())
        story.tells(by, "leave_organization", member)
        depart(story, member)


def depart(story: Story, member: Thing) -> None:
    """Let a membership have ended, and with it what its member is below the place, and had invited."""
    member.gone = True
    place, user_id = member.within, member.shown["userId"]
    for thing in story.model.things:
        inner = thing.kind in ("platform_member", "space_member") and thing.lies_in(place)
        if inner and thing.shown["userId"] == user_id:
            thing.gone = True
        waits = thing.kind == "invitation" and thing.shown["status"] == "pending"
        if waits and thing.shown["invitedBy"] == user_id and _as_such(member, thing):
            thing.shown["status"] = "revoked"
            thing.touched = True


def _as_such(member: Thing, invitation: Thing) -> bool:
    if member.kind == "member":
        return bool(invitation.hidden["place"].lies_in(member.within))
    return invitation.hidden["invitedAs"] is member


@deed(place=which, to=people)
def transfer_ownership(story: Story, by: By, place: int, to: str) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    successor = story.model.membership(organization, story.people[to].id)
    owner = story.model.membership(organization, organization.shown["ownerId"])
    unless = None if successor else "422 validation_failed"
    body = {"newOwnerId": story.people[to].id}
    answer = story.ask(by, "transfer_ownership", organization, body=body, unless=unless)
    if answer and owner and successor and story.changes(organization, answer, {"ownerId": body["newOwnerId"]}):
        for member, role in ((owner, "admin"), (successor, "owner")):
            member.shown["role"], member.touched = role, True
            member.shown = story.read(member).json
            assert member.shown["role"] == role
        story.tells(by, "transfer_ownership", organization)


@deed(place=which)
def list_organization_members(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_organization_members", organization, query={"limit": 100})):
        who = story.caller(by.who)[0]
        members = story.model.of("member", organization)
        assert answer.json["items"] == [as_seen(story, who, organization, member.shown) for member in members]
        assert [m.shown["userId"] for m in members if m.shown["role"] == "owner"] == [organization.shown["ownerId"]]
