"""Pages: written, moved, published, scheduled, taken back, restored, deleted; and what the public sees of them."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.harness.api import Answer
from tests.model.actions import deed, which
from tests.model.entities import Json, Thing
from tests.model.nouns.sites import publication_of
from tests.model.story import By, Story

PAST = "2020-01-01T00:00:00.000Z"
slugs = st.sampled_from(["a", "b", "c"])
parents = st.none() | which
_CLASHES = ("409 slug_taken",)
_PLACED = (*_CLASHES, "409 cycle", "409 limit_exceeded")


@deed(often=8, site=which, slug=slugs, parent=parents, home=st.sampled_from([False, False, False, True]))
def create_page(story: Story, by: By, site: int, slug: str, parent: int | None, home: bool) -> None:  # noqa: FBT001
    known = story.model.pick("site", site)
    if known is None:
        return
    above = story.model.pick("page", parent, known) if parent is not None else None
    body = {"title": _title(story), "slug": slug, "parentId": above.id if above else None, "isHome": home}
    unless = "422 validation_failed" if above and not above.there else None
    if answer := story.ask(by, "create_page", known, body=body, unless=unless, perhaps=_PLACED):
        publication = publication_of(known)
        page, seat = answer.json["id"], (answer.json["parentId"], slug)
        publication.create(page, answer.json["draftRevisionId"], answer.json["title"], seat)
        if home:
            publication.make_home(answer.json["id"])
        expected = {**body, "isHome": publication.home == answer.json["id"], "status": "draft"}
        made = story.makes("page", answer, known, {**expected, "path": publication.drafts[answer.json["id"]]})
        story.tells(by, "create_page", made)


def _title(story: Story) -> str:
    return f"Title {len(story.steps)} of {len(story.model.things)}"


@deed(often=6, page=which, slug=st.none() | slugs, moves=st.booleans(), parent=parents)
def edit_page(story: Story, by: By, page: int, slug: str | None, moves: bool, parent: int | None) -> None:  # noqa: FBT001
    known = story.model.pick("page", page)
    if known is None or known.within is None:
        return
    above = story.model.pick("page", parent, known.within) if parent is not None else None
    body: Json = {"title": _title(story)} | ({"slug": slug} if slug else {})
    body |= {"parentId": above.id if above else None} if moves else {}
    unless = "422 validation_failed" if moves and above and not above.there else None
    before = _public(story, known.within)
    answer = story.ask(by, "update_page", known.within, known, body, unless=unless, perhaps=_PLACED)
    if answer:
        _revised(known, answer)
        assert answer.json["title"] == body["title"]
        assert _public(story, known.within) == before, "an edit of a draft showed"
        story.tells(by, "update_page", known)


def _revised(page: Thing, answer: Answer) -> None:
    said = answer.json
    assert page.within
    revision, seat = said["draftRevisionId"], (said["parentId"], said["slug"])
    publication_of(page.within).revise(page.id, revision, said["title"], seat)
    renew(page, said)


def renew(page: Thing, said: Json) -> None:
    """Note how a page is by now; its version is another."""
    assert said["version"] > page.shown["version"]
    page.shown = said


def _public(story: Story, site: Thing) -> dict[str, tuple[int, object]]:
    paths = [*{*publication_of(site).public.values(), "/"}][:4]
    visits = {path: visit(story, site, path) for path in paths}
    return {path: (answer.status, answer.json if answer.status == 200 else None) for path, answer in visits.items()}


def visit(story: Story, site: Thing, path: str) -> Answer:
    """Return what somebody is answered who comes by."""
    return story.api.get(f"{site.path}/pages/by-path", query={"path": path})


@deed(often=6, page=which, earlier=st.integers(0, 3))
def publish_page(story: Story, by: By, page: int, earlier: int) -> None:
    """Publish the draft, or an earlier revision."""
    known = story.model.pick("page", page)
    if known is None or known.within is None:
        return
    body, sheet = {}, publication_of(known.within).pages.get(known.id)
    if sheet and earlier < len(sheet.drafts) - 1:
        body = {"revisionId": [*sheet.drafts][earlier]}
    perhaps = (*_PLACED, "422 validation_failed", "409 invalid_transition")
    if answer := story.ask(by, "publish_page", known.within, known, body, perhaps=perhaps):
        before = known.shown
        publication_of(known.within).publish(known.id, answer.json["publishedRevisionId"])
        assert answer.json["status"] == "published"
        known.shown = answer.json
        if answer.json["version"] > before["version"]:
            story.tells(by, "publish_page", known)


@deed(often=2, page=which)
def take_page_back(story: Story, by: By, page: int) -> None:
    known = story.model.pick("page", page)
    if known and known.within:
        shown = known.there and publication_of(known.within).pages[known.id].shown is not None
        answer = story.ask(by, "update_page", known.within, known, {"unpublishAt": PAST})
        if answer and answer.json["version"] > known.shown["version"]:
            if shown:
                publication_of(known.within).take_back(known.id)
            known.shown = answer.json
            story.tells(by, "update_page", known, "page.unpublished" if shown else None)


@deed(page=which)
def make_page_home(story: Story, by: By, page: int) -> None:
    known = story.model.pick("page", page)
    if known and known.within:
        answer = story.ask(by, "update_page", known.within, known, {"isHome": True}, perhaps=_PLACED)
        if answer and answer.json["version"] > known.shown["version"]:
            publication_of(known.within).make_home(known.id)
            known.shown = answer.json
            story.tells(by, "update_page", known)
            for other in story.model.of("page", known.within):
                other.touched = True


@deed(page=which, hours=st.sampled_from([3, 30]))
def schedule_page(story: Story, by: By, page: int, hours: int) -> None:
    """Let a page be published in some hours; whether it can be, it shows then."""
    known = story.model.pick("page", page)
    if known and known.within:
        body = {"publishAt": after(now(), hours=hours)}
        if answer := story.ask(by, "update_page", known.within, known, body):
            renew(known, answer.json)
            known.hidden["due"] = story.seconds + hours * 3600
            story.tells(by, "update_page", known)


def comes_due(story: Story, page: Thing) -> None:
    """Note what became of a page whose time has come: it was published, or could not be where it would have been."""
    if page.hidden.get("due") is None or page.hidden["due"] > story.seconds or page.within is None:
        return
    page.hidden["due"], there = None, story.read(page).json
    if there["publishAt"] is None:
        assert there["publishedRevisionId"] == there["draftRevisionId"]
        publication, page.shown = publication_of(page.within), there
        if publication.pages[page.id].published != there["publishedRevisionId"]:
            story.model.later.setdefault(page.log, []).append(("page.published", page.id))
        publication.publish(page.id, there["publishedRevisionId"])
    else:
        owner = next(name for name, person in story.people.items() if person is story.owner(page))
        answer = story.ask(By(owner), "update_page", page.within, page, {"publishAt": None})
        assert answer
        renew(page, answer.json)
        story.tells(By(owner), "update_page", page)


@deed(page=which, earlier=st.integers(0, 3))
def restore_page_revision(story: Story, by: By, page: int, earlier: int) -> None:
    known = story.model.pick("page", page)
    sheet = known and known.within and publication_of(known.within).pages.get(known.id)
    if not (known and known.within and sheet):
        return
    before, revisions = _public(story, known.within), [*sheet.drafts]
    wanted = revisions[earlier % len(revisions)]
    if answer := story.ask(by, "restore_page_revision", known.within, known, perhaps=_PLACED, revision_id=wanted):
        assert answer.json["title"] == sheet.drafts[wanted][0]
        _revised(known, answer)
        assert _public(story, known.within) == before, "a restored draft showed"
        story.tells(by, "restore_page_revision", known)


@deed(often=2, page=which, cascade=st.booleans())
def delete_page(story: Story, by: By, page: int, cascade: bool) -> None:  # noqa: FBT001 - by its name
    known = story.model.pick("page", page)
    if known is None or known.within is None:
        return
    query = {"strategy": "cascade"} if cascade else None
    perhaps = ("409 limit_exceeded",) if cascade else ("409 not_empty",)
    if story.ask(by, "delete_page", known.within, known, perhaps=perhaps, query=query):
        publication = publication_of(known.within)
        publication.delete(known.id)
        story.tells(by, "delete_page", known)
        for each in story.model.of("page", known.within):
            each.gone = each.id not in publication.pages
            each.touched = True


@deed(often=6, site=which, path=st.lists(slugs, max_size=2).map(lambda slugs: "/" + "/".join(slugs)))
def get_page_by_path(story: Story, by: By, site: int, path: str) -> None:
    """Come by: whoever it is sees what is published, or is led on, or finds nothing; never a draft."""
    known = story.model.pick("site", site)
    if known is None:
        return
    public = {at: page for page, at in publication_of(known).public.items()}
    perhaps = () if path in public else ("301", "302", "307", "308", "404 not_found")
    if answer := story.ask(by, "get_page_by_path", known, query={"path": path}, perhaps=perhaps):
        there = any(path == r.shown["fromPath"] for r in story.model.of("redirect", known))
        if answer.status == 200 and not there:
            assert public[path] == answer.json["id"]
            assert answer.json["title"] == publication_of(known).pages[answer.json["id"]].shown


@deed(site=which)
def list_pages(story: Story, by: By, site: int) -> None:
    known = story.model.pick("site", site)
    if known and (answer := story.ask(by, "list_pages", known, query={"limit": 100})):
        assert {item["id"]: item["path"] for item in answer.json["items"]} == publication_of(known).drafts


@deed(page=which)
def list_page_revisions(story: Story, by: By, page: int) -> None:
    known = story.model.pick("page", page)
    if known and known.within:
        answer = story.ask(by, "list_page_revisions", known.within, known, query={"limit": 100})
        if answer:
            drafts = publication_of(known.within).pages[known.id].drafts
            assert [(item["id"], item["title"]) for item in answer.json["items"]] == [
                (revision, title) for revision, (title, _) in [*drafts.items()][::-1]
            ]


@deed(page=which)
def preview_page(story: Story, by: By, page: int) -> None:
    """Hand out a link to the draft: whoever has it sees just that."""
    known = story.model.pick("page", page)
    if known and known.within and (answer := story.ask(by, "preview_page", known.within, known)):
        sheet = publication_of(known.within).pages[known.id]
        path = f"{known.path}/preview-public"
        seen = story.api.get(path, query={"token": answer.json["token"]})
        assert (seen.status, seen.json["page"]["title"]) == (200, sheet.drafts[sheet.draft][0])
        assert story.api.get(path, query={"token": answer.json["token"][:-2]}).code == "404 not_found"
