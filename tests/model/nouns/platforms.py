"""Platforms: made, changed, published, deleted; what they look like, and the modules that they have."""

from hypothesis import strategies as st

from tests.model.actions import deed, names, slugs, some, texts, which
from tests.model.entities import Json, Model, Thing
from tests.model.story import By, Story

policies = st.sampled_from(["open", "invite"])
_fields = some(name=names, slug=slugs, description=texts, joinPolicy=policies)
_theme = some(mode=st.sampled_from([None, "dark"]), logoUrl=st.sampled_from([None, "https://example.com/logo.svg"]))
_items = st.lists(st.sampled_from(["start", "about", "more"]), unique=True, max_size=3)
_modules = ("events", "feed", "wiki")


def _taken(model: Model, kind: str, slug: str | None, by: Thing | None = None) -> str | None:
    held = any(t.shown["slug"] == slug and not t.gone and t is not by for t in model.things if t.kind == kind)
    return "409 slug_taken" if held else None


@deed(place=which, fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "joinPolicy": policies}))
def create_platform(story: Story, by: By, place: int, fields: Json) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    unless = _taken(story.model, "platform", fields.get("slug"))
    body = {"organizationId": organization.id, **fields}
    if answer := story.ask(by, "create_platform", organization, body=body, unless=unless):
        expected = {"description": None, "joinPolicy": "invite", "defaultLocale": "en", "status": "draft", **body}
        made = story.makes("platform", answer, organization, expected)
        assert _taken(story.model, "platform", made.shown["slug"], made) is None
        made.hidden |= {"modules": {}, "blocks": []}
        story.tells(by, "create_platform", made)


@deed(platform=which, fields=_fields)
def update_platform(story: Story, by: By, platform: int, fields: Json) -> None:
    known = story.model.pick("platform", platform)
    if known is None:
        return
    unless = _taken(story.model, "platform", fields.get("slug"), known) if "slug" in fields else None
    if answer := story.ask(by, "update_platform", known, body=fields, unless=unless):
        derived = {"subdomain": answer.json["subdomain"]} if "slug" in fields else {}
        if story.changes(known, answer, {**fields, **derived}):
            story.tells(by, "update_platform", known)


@deed(often=1, platform=which)
def delete_platform(story: Story, by: By, platform: int) -> None:
    known = story.model.pick("platform", platform)
    if known and story.ask(by, "delete_platform", known):
        story.tells(by, "delete_platform", known)
        known.gone = True
        for invitation in story.model.of("invitation"):
            if invitation.hidden["place"] is known:
                story.model.things.remove(invitation)  # Whether it is there still shows nowhere but in lists.


@deed(platform=which, published=st.sampled_from([True, True, False]))
def publish_platform(story: Story, by: By, platform: int, published: bool) -> None:  # noqa: FBT001 - by its name
    known = story.model.pick("platform", platform)
    if known and (answer := story.ask(by, "publish_platform", known, body={"published": published})):
        status = "published" if published else "draft"
        at = answer.json["publishedAt"] if status != known.shown["status"] else known.shown["publishedAt"]
        assert (at is None) == (status == "draft")
        if story.changes(known, answer, {"status": status, "publishedAt": at}):
            event = "platform.published" if published else "platform.unpublished"
            story.tells(by, "publish_platform", known, event)


@deed(platform=which, theme=_theme)
def update_platform_theme(story: Story, by: By, platform: int, theme: Json) -> None:
    known = story.model.pick("platform", platform)
    if known and (answer := story.ask(by, "update_platform_theme", known, body=theme)):
        _looks(story, by, "update_platform_theme", known, answer.json, theme={**known.shown["theme"], **theme})


@deed(platform=which, items=_items)
def update_platform_navigation(story: Story, by: By, platform: int, items: list[str]) -> None:
    known = story.model.pick("platform", platform)
    sent = [{"id": item, "label": item.title(), "type": "group"} for item in items]
    if known and (answer := story.ask(by, "update_platform_navigation", known, body={"items": sent})):
        shown: list[Json] = [{**item, "target": None, "children": []} for item in sent]
        _looks(story, by, "update_platform_navigation", known, answer.json, navigation={"items": shown})


@deed(platform=which, layout=st.none() | names, space=st.none() | which)
def update_platform_home(story: Story, by: By, platform: int, layout: str | None, space: int | None) -> None:
    known = story.model.pick("platform", platform)
    if known is None:
        return
    opened = story.model.pick("space", space, known) if space is not None else None
    before = known.shown["home"]["spaceId"]
    who = story.caller(by.who)[0]
    seen = opened is None or opened.id == before or (opened.there and story.model.role(who, opened) is not None)
    body = {"layout": layout, "spaceId": opened.id if opened else None}
    unless = None if seen else "422 validation_failed"
    if answer := story.ask(by, "update_platform_home", known, body=body, unless=unless):
        known.hidden["opened"] = opened
        known.touched = True
        assert answer.json["home"]["layout"] == layout
        if before != body["spaceId"] or known.shown["home"]["layout"] != layout:
            known.shown = story.read(known).json
            story.tells(by, "update_platform_home", known)


def _looks(story: Story, by: By, operation: str, platform: Thing, said: Json, **part: Json) -> None:
    """Note what a platform looks like now; of its home not everybody is told all."""
    ((name, expected),) = part.items()
    assert said[name] == expected, f"{said[name]} instead of {expected}"
    does = expected != platform.shown[name]
    assert said["version"] - platform.shown["version"] == does or platform.touched
    platform.touched = False
    platform.shown |= {name: expected, "version": said["version"], "updatedAt": said["updatedAt"]}
    platform.shown["warnings"] = said.get("warnings", platform.shown.get("warnings"))
    if does:
        story.tells(by, operation, platform)


@deed(
    platform=which,
    named=st.dictionaries(st.sampled_from(_modules), some(enabled=st.booleans(), locked=st.booleans()), max_size=2),
)
def update_platform_modules(story: Story, by: By, platform: int, named: dict[str, Json]) -> None:
    known = story.model.pick("platform", platform)
    if known is None:
        return
    body = {"modules": [{"moduleId": module, **fields} for module, fields in named.items()]}
    if answer := story.ask(by, "update_platform_modules", known, body=body):
        before = dict(known.hidden["modules"])
        for module, fields in named.items():
            state = {**before.get(module, {"enabled": True, "locked": False}), **fields}
            usual = module in _modules[:2] and state == {"enabled": True, "locked": False} and module not in before
            if not usual:
                known.hidden["modules"][module] = state
        said = {item["moduleId"]: item for item in answer.json["items"]}
        for module, state in known.hidden["modules"].items():
            assert {**state, "moduleId": module}.items() <= said[module].items()
        touches(story, by, "update_platform_modules", known)


def touches(story: Story, by: By, operation: str, place: Thing) -> None:
    """Note that one of a place's sets may have been changed: it was if the place has another version."""
    version = place.shown["version"]
    place.shown = {**place.shown, **{n: v for n, v in story.read(place).json.items() if n in ("version", "updatedAt")}}
    assert place.shown["version"] - version in (0, 1) or place.touched
    place.touched = False
    if place.shown["version"] > version:
        story.tells(by, operation, place)


@deed(platform=which)
def get_platform(story: Story, by: By, platform: int) -> None:
    known = story.model.pick("platform", platform)
    if known and (answer := story.ask(by, "get_platform", known)):
        shown = {name: value for name, value in known.shown.items() if name not in ("home", "version", "updatedAt")}
        assert shown.items() <= answer.json.items(), f"{answer.json} instead of {shown}"


@deed()
def list_platforms(story: Story, by: By) -> None:
    if answer := story.ask(by, "list_platforms", query={"limit": 100}):
        who = story.caller(by.who)[0]
        mine = [p.id for p in story.model.of("platform") if story.model.role(who, p)]
        assert sorted(item["id"] for item in answer.json["items"]) == sorted(mine)
