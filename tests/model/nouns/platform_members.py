"""Members of platforms: invited, joining, leaving, made something, and found by their names."""

from hypothesis import strategies as st

from tests.model.actions import deed, roles, which
from tests.model.entities import NOT_FOUND, Caller, Thing
from tests.model.interface import covers
from tests.model.nouns.invitations import invited, sent_to, status, vouched
from tests.model.nouns.members import as_seen, depart, people
from tests.model.nouns.organizations import welcome
from tests.model.nouns.spaces import gives_role
from tests.model.story import By, Story


@deed(platform=which, whom=people, role=roles, days=st.sampled_from([1, 7]))
def invite_to_platform(story: Story, by: By, platform: int, whom: str, role: str, days: int) -> None:
    if place := story.model.pick("platform", platform):
        invited(story, by, "invite_to_platform", place, whom, {"role": role, "expiresInDays": days})


@deed(platform=which)
def join_platform(story: Story, by: By, platform: int) -> None:
    place = story.model.pick("platform", platform)
    if place is None:
        return
    who = story.caller(by.who)[0]
    member = story.model.membership(place, who.id)
    offer = _offer(story, who, place)
    unless = None
    if not (member or offer):
        draft, closed = place.shown["status"] == "draft", place.shown["joinPolicy"] != "open"
        unless = NOT_FOUND if draft else "403 forbidden" if closed else None
    if not story.ask(by, "join_platform", place, unless=unless) or member:
        return
    joined = welcome(story, place, who.id, offer.shown["role"] if offer else "member")
    if offer:
        offer.shown["status"], offer.touched, offer.hidden["joinedAs"] = "accepted", True, joined
        story.tells(by, "join_platform", offer, "platform.invitation.accepted")
    else:
        story.tells(by, "join_platform", joined)


def _offer(story: Story, who: Caller, place: Thing) -> Thing | None:
    """Return the invitation that waits for somebody."""
    address = story.people[who.name].email if who.name in story.people else None
    mine = [i for i in sent_to(story, place) if i.shown["email"] == address and status(story, i) == "pending"]
    return next((i for i in mine if vouched(story, i)), None)


@deed(platform=which)
def leave_platform(story: Story, by: By, platform: int) -> None:
    place = story.model.pick("platform", platform)
    if place is None:
        return
    member = story.model.membership(place, story.caller(by.who)[0].id)
    if story.ask(by, "leave_platform", place, unless=None if member else NOT_FOUND) and member:
        story.tells(by, "leave_platform", member)
        depart(story, member)


@deed(platform=which, whom=people, role=roles)
def update_platform_member(story: Story, by: By, platform: int, whom: str, role: str) -> None:
    if place := story.model.pick("platform", platform):
        gives_role(story, by, "update_platform_member", place, whom, role)


@deed(often=1, platform=which, whom=people)
def remove_platform_member(story: Story, by: By, platform: int, whom: str) -> None:
    place = story.model.pick("platform", platform)
    member = place and story.model.membership(place, story.people[whom].id)
    if place and member and story.ask(by, "remove_platform_member", place, member):
        story.tells(by, "remove_platform_member", member)
        depart(story, member)


@deed(platform=which)
def list_platform_members(story: Story, by: By, platform: int) -> None:
    place = story.model.pick("platform", platform)
    if place and (answer := story.ask(by, "list_platform_members", place, query={"limit": 100})):
        who = story.caller(by.who)[0]
        members = story.model.of("platform_member", place)
        assert answer.json["items"] == [as_seen(story, who, place, member.shown) for member in members]


@deed(platform=which, whom=people, by_name=st.booleans())
def find_platform_member(story: Story, by: By, platform: int, whom: str, by_name: bool) -> None:  # noqa: FBT001
    """Look for somebody by their id, or their name in capital letters."""
    place = story.model.pick("platform", platform)
    if place is None:
        return
    person = story.people[whom]
    member = story.model.membership(place, person.id)
    unless = None if member else NOT_FOUND
    if by_name:
        name = person.username.upper()
        answer = story.ask(by, "get_platform_member_by_username", place, unless=unless, username=name)
    else:
        record = member or Thing("platform_member", {"id": "", "userId": person.id}, place, gone=True)
        answer = story.ask(by, "get_platform_member_by_user", place, record)
    if answer and member:
        who = story.caller(by.who)[0]
        assert answer.json == as_seen(story, who, place, member.shown)
        assert covers(answer.json["role"], "member")
