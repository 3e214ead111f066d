"""Sites: made, changed, published, taken back, deleted; where a redirect leads, and what their menus say."""

from hypothesis import strategies as st

from tests.model.actions import deed, names, slugs, some, texts, which
from tests.model.entities import Json, Thing
from tests.model.story import By, Story
from tests.property.site_model import Publication

_fields = some(name=names, slug=slugs, description=texts)
_statuses = st.sampled_from(["published", "published", "draft"])
_froms = st.sampled_from(["/x", "/y", "/z/*", "/a"])
_targets = st.sampled_from(["/a", "/b/c", "https://example.com/", "/"])


def publication_of(site: Thing) -> Publication:
    """Return the model of a site's pages."""
    publication = site.hidden.setdefault("pages", Publication())
    assert isinstance(publication, Publication)
    return publication


def _taken(story: Story, slug: str | None, site: Thing | None = None) -> str | None:
    held = {t.shown["slug"]: t.id for t in story.model.things if t.kind == "site" and not t.gone}
    former = story.model.former_slugs.get(f"site/{slug}")
    holder = held.get(slug or "") or former
    return "409 slug_taken" if holder and holder != (site and site.id) else None


@deed(place=which, fields=st.fixed_dictionaries({"name": names}, optional={"slug": slugs, "description": texts}))
def create_site(story: Story, by: By, place: int, fields: Json) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    unless = _taken(story, fields.get("slug"))
    if answer := story.ask(by, "create_site", organization, body=fields, unless=unless):
        expected = {"description": None, "status": "draft", "platformId": None, "homePageId": None, **fields}
        made = story.makes("site", answer, organization, expected)
        assert _taken(story, made.shown["slug"], made) is None
        story.tells(by, "create_site", made)


@deed(site=which, fields=_fields)
def update_site(story: Story, by: By, site: int, fields: Json) -> None:
    known = story.model.pick("site", site)
    if known is None:
        return
    unless = _taken(story, fields["slug"], known) if "slug" in fields else None
    if answer := story.ask(by, "update_site", known, body=fields, unless=unless):
        former = known.shown["slug"]
        known.shown |= {name: answer.json[name] for name in ("host", "homePageId")}
        if story.changes(known, answer, fields):
            story.model.former_slugs[f"site/{former}"] = known.id
            story.model.former_slugs.pop(f"site/{known.shown['slug']}", None)
            story.tells(by, "update_site", known)


@deed(site=which, status=_statuses)
def publish_site(story: Story, by: By, site: int, status: str) -> None:
    known = story.model.pick("site", site)
    if known and (answer := story.ask(by, "update_site", known, body={"status": status})):
        known.shown |= {name: answer.json[name] for name in ("homePageId", "publishedAt")}
        assert (known.shown["publishedAt"] is None) == (status == "draft")
        if story.changes(known, answer, {"status": status}):
            story.tells(by, "update_site", known, "site.published" if status == "published" else "site.unpublished")


@deed(often=1, site=which)
def delete_site(story: Story, by: By, site: int) -> None:
    known = story.model.pick("site", site)
    if known and story.ask(by, "delete_site", known):
        story.tells(by, "delete_site", known)
        known.gone = True


@deed(site=which)
def get_site(story: Story, by: By, site: int) -> None:
    known = story.model.pick("site", site)
    if known and (answer := story.ask(by, "get_site", known)):
        assert {n: v for n, v in known.shown.items() if n != "homePageId"}.items() <= answer.json.items()


@deed(place=which)
def list_sites(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_sites", organization, query={"limit": 100})):
        assert [item["id"] for item in answer.json["items"]] == [s.id for s in story.model.of("site", organization)]


@deed(site=which, source=_froms, target=_targets)
def create_redirect(story: Story, by: By, site: int, source: str, target: str) -> None:
    known = story.model.pick("site", site)
    if known is None:
        return
    held = [r for r in story.model.of("redirect", known) if r.shown["fromPath"] == source]
    unless = "409 already_exists" if held else None
    body = {"fromPath": source, "toPath": target, "statusCode": 302}
    perhaps = () if held else ("409 redirect_loop", "409 already_exists")  # Where pages were, there may be others.
    if answer := story.ask(by, "create_redirect", known, body=body, unless=unless, perhaps=perhaps):
        made = story.makes("redirect", answer, known, {**body, "enabled": True, "origin": "manual"})
        story.tells(by, "create_redirect", made)


@deed(redirect=which, fields=some(enabled=st.booleans(), statusCode=st.sampled_from([301, 308])))
def update_redirect(story: Story, by: By, redirect: int, fields: Json) -> None:
    known = story.model.pick("redirect", redirect)
    if known is None:
        return
    perhaps = ("409 redirect_loop",) if fields.get("enabled") else ()
    answer = story.ask(by, "update_redirect", known.within, known, fields, perhaps=perhaps)
    if answer and story.changes(known, answer, fields):
        story.tells(by, "update_redirect", known)


@deed(often=2, redirect=which)
def delete_redirect(story: Story, by: By, redirect: int) -> None:
    known = story.model.pick("redirect", redirect)
    if known and story.ask(by, "delete_redirect", known.within, known):
        story.tells(by, "delete_redirect", known)
        known.gone = True


@deed(site=which, menu=st.sampled_from(["main", "foot"]), name=names, page=st.none() | which)
def put_navigation_menu(story: Story, by: By, site: int, menu: str, name: str, page: int | None) -> None:
    known = story.model.pick("site", site)
    if known is None:
        return
    linked = story.model.of("page", known)
    leads = linked[-1 - page % len(linked)] if page is not None and linked else None
    items = [{"id": "first", "label": "First", "type": "group"}]
    items += [{"id": "second", "label": "Second", "type": "page", "pageId": leads.id}] if leads else []
    present = next((m for m in story.model.of("menu", known) if m.id == menu), None)
    plain = By(by.who) if present is None else by
    body = {"name": name, "items": items}
    answer = story.ask(plain, "put_navigation_menu", known, present, body, navigation_id=menu)
    if answer is None:
        return
    said = [(item["id"], item["type"], item["pageId"]) for item in answer.json["items"]]
    assert said == [(item["id"], item["type"], item.get("pageId")) for item in items]
    if present is None:
        made = story.makes("menu", answer, known, {"id": menu, "name": name})
        story.tells(by, "put_navigation_menu", made)
    elif answer.json["version"] > present.shown["version"]:
        assert answer.json["version"] == present.shown["version"] + 1
        present.shown = answer.json
        story.tells(by, "put_navigation_menu", present)
    else:
        assert (present.shown["name"], _sent(present.shown)) == (name, _sent({"items": answer.json["items"]}))


def _sent(menu: Json) -> list[tuple[str, str, str | None]]:
    return [(item["id"], item["type"], item["pageId"]) for item in menu["items"]]


@deed(site=which)
def list_navigation_menus(story: Story, by: By, site: int) -> None:
    known = story.model.pick("site", site)
    if known and (answer := story.ask(by, "list_navigation_menus", known, query={"limit": 100})):
        assert [item["id"] for item in answer.json["items"]] == [m.id for m in story.model.of("menu", known)]
