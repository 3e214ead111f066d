"""Organizations: found, find, change, delete and restore them, and read their lists and logs."""

from hypothesis import strategies as st

from tests.model.actions import deed, names, slugs, some, texts, which
from tests.model.entities import Json, Model, Thing
from tests.model.story import By, Story

_fields = some(
    name=names, slug=slugs, companyName=st.none() | names, companyCountry=st.sampled_from([None, "GB", "NO"])
)


def taken(model: Model, slug: str | None, by: Thing | None = None) -> str | None:
    """Return that a slug is another organization's, or was until lately, if it is so."""
    holders = {t.shown["slug"]: t.id for t in model.things if t.kind == "organization" and not t.gone}
    holder = holders.get(slug or "") or model.former_slugs.get(f"organization/{slug}")
    return "409 slug_taken" if holder and holder != (by and by.id) else None


@deed(fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "companyAddress": texts}))
def create_organization(story: Story, by: By, fields: Json) -> None:
    if len(story.model.of("organization")) >= _MOST:
        return
    answer = story.ask(by, "create_organization", body=fields, unless=taken(story.model, fields.get("slug")))
    if answer:
        who = story.caller(by.who)[0]
        derived = answer.json["slug"]
        assert taken(story.model, derived) is None
        expected = {"status": "active", "ownerId": who.id, "deletionDueAt": None, "companyCountry": None}
        made = story.makes("organization", answer, None, {**expected, **fields})
        welcome(story, made, who.id, "owner")
        story.tells(by, "create_organization", made)


_MOST = 4


def welcome(story: Story, place: Thing, user_id: str, role: str) -> Thing:
    """Note that somebody is a member of a place from now on, as its list shows."""
    from tests.model.entities import MEMBERS

    listed = story.api.get(f"{place.path}/members/{user_id}", as_=story.owner(place)).json
    person = next(p for p in story.people.values() if p.id == user_id)
    expected = {"userId": user_id, "username": person.username, "name": person.name, "email": person.email}
    assert {**expected, "role": role, "version": 1}.items() <= listed.items(), listed
    member = Thing(MEMBERS[place.kind], listed, place)
    story.model.things.append(member)
    return member


@deed(place=which, fields=_fields)
def update_organization(story: Story, by: By, place: int, fields: Json) -> None:
    if organization := story.model.pick("organization", place):
        unless = taken(story.model, fields.get("slug"), organization)
        answer = story.ask(by, "update_organization", organization, body=fields, unless=unless)
        if answer:
            former = organization.shown["slug"]
            if story.changes(organization, answer, fields):
                story.model.former_slugs[f"organization/{former}"] = organization.id
                story.model.former_slugs.pop(f"organization/{organization.shown['slug']}", None)
                story.tells(by, "update_organization", organization)


@deed(often=1, place=which)
def delete_organization(story: Story, by: By, place: int) -> None:
    if (organization := story.model.pick("organization", place)) and story.ask(by, "delete_organization", organization):
        organization.shown |= {"status": "pending_deletion"}
        organization.touched = True
        story.tells(by, "delete_organization", organization)


@deed(place=which)
def restore_organization(story: Story, by: By, place: int) -> None:
    """Let whoever asks have an organization back; to anybody but its owner it is not there."""
    closed = [t for t in story.model.things if t.kind == "organization" and t.shown["status"] == "pending_deletion"]
    if closed:
        restored(story, by, closed[place % len(closed)])


def restored(story: Story, by: By, organization: Thing) -> None:
    """Let somebody ask for an organization that is deleted."""
    who, credential = story.caller(by.who)
    answer = story.api.patch(organization.path, as_=credential, json={"status": "active"})
    role = None if who.key else story.model.role(who, organization)
    if who.kind == "nobody":
        assert answer.code == "401 unauthenticated"
    elif who.key and who.key.shown["status"] != "active":
        assert answer.status == 401
    elif role != "owner":
        assert answer.code == "404 not_found"
    else:
        assert answer.status == 200, answer.text
        organization.shown |= {"status": "active"}
        story.changes(organization, answer, {"deletionDueAt": None})
        story.tells(by, "update_organization", organization, "organization.restored")


@deed(place=which)
def get_organization(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "get_organization", organization)):
        assert answer.json == organization.shown or organization.touched


@deed(slug=slugs)
def get_organization_by_slug(story: Story, by: By, slug: str) -> None:
    present = next((t for t in story.model.of("organization") if t.shown["slug"] == slug), None)
    if present and (answer := story.ask(by, "get_organization_by_slug", present, slug=slug)):
        assert answer.json["id"] == present.id


@deed()
def list_organizations(story: Story, by: By) -> None:
    if answer := story.ask(by, "list_organizations", query={"limit": 100}):
        who = story.caller(by.who)[0]
        mine = [o.id for o in story.model.of("organization") if story.model.role(who, o)]
        assert sorted(item["id"] for item in answer.json["items"]) == sorted(mine)


@deed(place=which)
def list_audit_log(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_audit_log", organization, query={"limit": 1})):
        told = [entry for entry in answer.json["items"] if entry["actor"]["type"] != "system"]
        newest = story.model.told[organization.id][-1]
        assert [(entry["type"], entry["target"]["id"]) for entry in told] in ([(newest.type, newest.target)], [])
