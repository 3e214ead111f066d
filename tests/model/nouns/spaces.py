"""Spaces: made, changed, joined, left, deleted; their members, capabilities and overrides of modules."""

from hypothesis import strategies as st

from tests.model.actions import deed, names, roles, settings, slugs, some, texts, which
from tests.model.entities import MEMBERS, NOT_FOUND, Caller, Json, Model, Thing
from tests.model.interface import covers
from tests.model.nouns.members import TOO_LOW, as_seen, changed, grantable, people
from tests.model.nouns.organizations import welcome
from tests.model.nouns.platforms import touches
from tests.model.story import By, Story

visibilities = st.sampled_from(["open", "open", "private"])
_new = st.fixed_dictionaries(
    {"name": names}, optional={"slug": slugs, "visibility": visibilities, "position": st.integers(0, 3)}
)
_fields = some(name=names, slug=slugs, description=texts, visibility=visibilities, position=st.integers(0, 3))
_handles = st.lists(st.sampled_from(["chat", "video-calls", "events", "wiki"]), unique=True, max_size=3)
handles = st.sampled_from(["chat", "video-calls", "events", "wiki"])


def _taken(model: Model, platform: Thing, slug: str | None, by: Thing | None = None) -> str | None:
    held = any(t.shown["slug"] == slug and t is not by for t in model.of("space", platform))
    return "409 slug_taken" if held else None


@deed(platform=which, fields=_new)
def create_space(story: Story, by: By, platform: int, fields: Json) -> None:
    place = story.model.pick("platform", platform)
    if place is None:
        return
    who = story.caller(by.who)[0]
    blind = who.key and not {"admin", "spaces:read", "spaces:write"} & {*who.key.shown["scopes"]}
    unless = _taken(story.model, place, fields.get("slug"))
    if blind and fields.get("visibility") == "private":
        unless = "403 insufficient_scope"
    if answer := story.ask(by, "create_space", place, body={"platformId": place.id, **fields}, unless=unless):
        last = max((s.shown["position"] for s in story.model.of("space", place)), default=-1)
        expected = {"description": None, "visibility": "open", "position": last + 1, **fields}
        made = story.makes("space", answer, place, expected)
        assert _taken(story.model, place, made.shown["slug"], made) is None
        made.hidden |= {"capabilities": {}, "overrides": {}}
        if not who.key:
            welcome(story, made, who.id, "admin")
        story.tells(by, "create_space", made)


@deed(space=which, fields=_fields)
def update_space(story: Story, by: By, space: int, fields: Json) -> None:
    known = story.model.pick("space", space)
    if known and known.within:
        unless = _taken(story.model, known.within, fields.get("slug"), known) if "slug" in fields else None
        answer = story.ask(by, "update_space", known, body=fields, unless=unless)
        if answer and story.changes(known, answer, fields):
            story.tells(by, "update_space", known)


@deed(often=1, space=which)
def delete_space(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known and story.ask(by, "delete_space", known):
        story.tells(by, "delete_space", known)
        known.gone = True


@deed(space=which)
def get_space(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known and (answer := story.ask(by, "get_space", known)):
        assert answer.json == known.shown or known.touched


@deed(platform=which)
def list_platform_spaces(story: Story, by: By, platform: int) -> None:
    place = story.model.pick("platform", platform)
    if place and (answer := story.ask(by, "list_platform_spaces", place, query={"limit": 100})):
        who = story.caller(by.who)[0]
        seen = [s for s in story.model.of("space", place) if story.model.role(who, s)]
        expected = [s.id for s in sorted(seen, key=lambda s: (s.shown["position"], s.id))]
        assert [item["id"] for item in answer.json["items"]] == expected


@deed(space=which)
def join_space(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known is None:
        return
    who = story.caller(by.who)[0]
    if story.ask(by, "join_space", known) and not story.model.membership(known, who.id):
        member = welcome(story, known, who.id, "member")
        story.tells(by, "join_space", member)


@deed(space=which)
def leave_space(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known is None:
        return
    member = story.model.membership(known, story.caller(by.who)[0].id)
    if story.ask(by, "leave_space", known, unless=None if member else NOT_FOUND) and member:
        story.tells(by, "leave_space", member)
        member.gone = True


@deed(space=which, whom=people, role=roles)
def update_space_member(story: Story, by: By, space: int, whom: str, role: str) -> None:
    if known := story.model.pick("space", space):
        gives_role(story, by, "update_space_member", known, whom, role)


def gives_role(story: Story, by: By, operation: str, place: Thing, whom: str, role: str) -> None:
    """Let somebody have a role at a place; who takes part in the one above thereby becomes a member."""
    who, user_id = story.caller(by.who)[0], story.people[whom].id
    member = story.model.membership(place, user_id)
    known = member or Thing(MEMBERS[place.kind], {"id": "", "userId": user_id}, place)
    known.gone = not member and not (place.within and story.model.role(Caller("user", user_id), place.within))
    by = by if member else By(by.who)
    granted = covers(grantable(story.model, who, place), role)
    unless = None if granted or known.shown.get("role") == role else TOO_LOW
    answer = story.ask(by, operation, place, known, {"role": role}, unless=unless)
    if answer and member is None:
        made = welcome(story, place, user_id, role)
        story.tells(by, operation, made, f"{place.kind}.member.added")
    elif answer and member:
        changed(story, by, operation, member, answer.json, {**as_seen(story, who, place, member.shown), "role": role})


@deed(often=1, space=which, whom=people)
def remove_space_member(story: Story, by: By, space: int, whom: str) -> None:
    known = story.model.pick("space", space)
    member = known and story.model.membership(known, story.people[whom].id)
    if known and member and story.ask(by, "remove_space_member", known, member):
        story.tells(by, "remove_space_member", member)
        member.gone = True


@deed(space=which)
def list_space_members(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known and (answer := story.ask(by, "list_space_members", known, query={"limit": 100})):
        who = story.caller(by.who)[0]
        members = story.model.of("space_member", known)
        assert answer.json["items"] == [as_seen(story, who, known, member.shown) for member in members]


@deed(space=which, key=handles, settings=settings)
def add_space_capability(story: Story, by: By, space: int, key: str, settings: Json) -> None:
    known = story.model.pick("space", space)
    if known is None:
        return
    unless = "409 already_exists" if key in known.hidden["capabilities"] else None
    body = {"capabilityKey": key, "settings": settings}
    if answer := story.ask(by, "add_space_capability", known, body=body, unless=unless):
        assert body.items() <= answer.json.items()
        known.hidden["capabilities"][key] = settings
        _part(story, by, "add_space_capability", known, answer.json["id"])


@deed(space=which, keys=_handles)
def replace_space_capabilities(story: Story, by: By, space: int, keys: list[str]) -> None:
    known = story.model.pick("space", space)
    body = {"capabilities": [{"capabilityKey": key} for key in keys]}
    if known and (answer := story.ask(by, "replace_space_capabilities", known, body=body)):
        known.hidden["capabilities"] = {key: {} for key in keys}
        assert sorted(item["capabilityKey"] for item in answer.json["items"]) == sorted(keys)
        touches(story, by, "replace_space_capabilities", known)


@deed(space=which)
def list_space_capabilities(story: Story, by: By, space: int) -> None:
    known = story.model.pick("space", space)
    if known and (answer := story.ask(by, "list_space_capabilities", known)):
        listed = {item["capabilityKey"]: item["settings"] for item in answer.json["items"]}
        assert listed == known.hidden["capabilities"]


@deed(space=which, key=handles, enabled=st.booleans())
def set_module_override(story: Story, by: By, space: int, key: str, enabled: bool) -> None:  # noqa: FBT001 - by name
    known = story.model.pick("space", space)
    if known is None or key in known.hidden["overrides"]:
        return
    body = {"moduleId": key, "enabled": enabled}
    if answer := story.ask(by, "set_module_override", known, body=body):
        assert body.items() <= answer.json.items()
        known.hidden["overrides"][key] = enabled
        _part(story, by, "set_module_override", known, answer.json["id"])


@deed(space=which, keys=_handles, enabled=st.booleans())
def replace_module_overrides(story: Story, by: By, space: int, keys: list[str], enabled: bool) -> None:  # noqa: FBT001
    known = story.model.pick("space", space)
    body = {"overrides": [{"moduleId": key, "enabled": enabled} for key in keys]}
    if known and story.ask(by, "replace_module_overrides", known, body=body):
        known.hidden["overrides"] = dict.fromkeys(keys, enabled)
        touches(story, by, "replace_module_overrides", known)


@deed(space=which)
def list_effective_modules(story: Story, by: By, space: int) -> None:
    """What holds in a space: the platform's word, the space's unless that is locked, and nothing the platform lacks."""
    known = story.model.pick("space", space)
    if known and known.within and (answer := story.ask(by, "list_effective_modules", known, query={"limit": 100})):
        said, own = known.within.hidden["modules"], known.hidden["overrides"]
        for item in answer.json["items"]:
            module = item["moduleId"]
            state = said.get(module, {"enabled": module != "chat", "locked": False})
            lacking = item["moduleId"] not in said and module in ("chat", "video-calls", "wiki")
            counts = module in own and not state["locked"] and not lacking
            assert item["enabled"] == (False if lacking else own[module] if counts else state["enabled"]), item


def _part(story: Story, by: By, operation: str, space: Thing, target: str) -> None:
    """Note that something came into a set of a space, which has another version by that."""
    version = space.shown["version"]
    shown = story.read(space).json
    assert shown["version"] == version + 1 or space.touched
    space.shown |= {"version": shown["version"], "updatedAt": shown["updatedAt"]}
    story.tells(by, operation, Thing("space", {**space.shown, "id": target}, space.within))
