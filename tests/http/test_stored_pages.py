"""Pages as people see them are rendered when they are written: what is stored of that, and when it is rendered anew."""

import random
import string
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import to_json

from chalicelib.features.sites.pages.entities import renderings
from chalicelib.features.sites.pages.entities.pages import Content
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.sites.rendering.logic import content, markdown, page_document, templates
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage.entity import Item, ItemKey
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Answer, Api, Json
from tests.harness.clock import Clock
from tests.harness.domains import came_to
from tests.harness.erasures import erased
from tests.harness.menus import put_menu, to_page
from tests.harness.organizations import Founded
from tests.harness.platforms import Running
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, write_page
from tests.harness.workers import Workers, bodies

HTML = {"Accept": "text/html"}
TABLE = "|" * 257 + "\n" + "|-" * 256 + "|\n" + "|\n" * 300
SOPHIE = "sophie@example.org"


def text(words: str, name: str = "a") -> Json:
    return {"id": name, "type": "text", "text": words}


def shown(api: Api, leaf: Leaf, path: str = "/", **headers: str) -> Answer:
    """What anybody is shown at a path of a site."""
    return api.get(f"{leaf.site.path}/pages/by-path", query={"path": path}, headers={**HTML, **headers})


def stored(leaf: Leaf) -> StoredRendering:
    """What is stored of a page as people see it."""
    return StoredRendering.from_item(item_at(StoredRendering.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id)))


def forget(leaf: Leaf) -> None:
    """Let a page be as it was stored before pages were rendered when they are written."""
    cloud.remove(item_at(StoredRendering.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id)))
    content_of_it = item_at(Content.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id))
    cloud.remove(content_of_it)
    cloud.put({name: value for name, value in content_of_it.items() if name != "titled"})


def item_at(key: ItemKey) -> Item:
    item = cloud.stored_at(*key)
    assert item is not None
    return item


def consist_of(leaf: Leaf, *blocks: Json) -> None:
    """Let a page consist of blocks that nobody could store today."""
    forget(leaf)
    content_of_it = item_at(Content.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id))
    cloud.put({**content_of_it, "text": to_json(blocks)})


@pytest.fixture
def nothing_is_rendered(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let whatever renders fail from now on: blocks, or all of a page."""

    def forbid(*names: str) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise AssertionError("it is rendered again")

        monkeypatch.setattr(content, "render_blocks", fail)
        if "all" in names:
            monkeypatch.setattr(page_document, "get_template", fail)
            monkeypatch.setattr(templates, "get_template", fail)
            monkeypatch.setattr(markdown, "sanitize_html", fail)
            monkeypatch.setattr(StoredRendering, "load_html", fail)

    return forbid


@pytest.fixture
def home(api: Api, site: Published) -> Leaf:
    """A page that is published."""
    return page_of(api, site, "Welcome", blocks=[text("They **weave**.")])


class TestAPublishedPage:
    def test_is_read_as_it_was_rendered_when_it_was_written(
        self, api: Api, home: Leaf, nothing_is_rendered: Any
    ) -> None:
        assert stored(home).load_html() == content.render_blocks([text("They **weave**.")])
        nothing_is_rendered()
        answer = shown(api, home)
        assert "They <strong>weave</strong>." in answer.text
        # The site and what leads to the page; the page and its revision; what it became with the menu.
        assert answer.calls.names == ["dynamodb:BatchGetItem"] * 3
        (asked,) = [call.parameters["RequestItems"] for call in answer.calls.made][-1].values()
        assert f"H#{home.draft_revision_id}" in str(asked)
        assert not [name for call in answer.calls.made for name in [str(call.parameters)] if "B#" in name]

    def test_is_shown_as_its_revision_was_while_the_draft_changes(self, api: Api, home: Leaf) -> None:
        draft = edit(api, home, blocks=[text("They ~~weave~~.")])
        assert "<strong>weave</strong>" in shown(api, home).text
        at = f"{home.site.path}/pages/home"
        assert "<s>weave</s>" in api.get(at, as_=home.site.owner, query={"draft": "true"}, headers=HTML).text
        preview = f"{home.path}/preview"
        seen = api.get(preview, as_=home.site.owner, query={"revisionId": home.draft_revision_id}, headers=HTML)
        assert "<strong>weave</strong>" in seen.text
        assert "<s>weave</s>" in api.get(preview, as_=home.site.owner, headers=HTML).text
        publish_page(api, home, revisionId=draft["draftRevisionId"])
        assert "<s>weave</s>" in shown(api, home).text

    def test_says_its_title_once(self, api: Api, site: Published) -> None:
        heading = {"id": "t", "type": "heading", "level": 1, "text": "*Welcome*"}
        home = page_of(api, site, "Welcome", blocks=[heading, text("## They weave")])
        assert shown(api, home).text.count("Welcome</") == 1
        assert "<h2>They weave</h2>" in shown(api, home).text

    def test_that_cannot_be_compressed_is_stored_in_parts(self, api: Api, site: Published) -> None:
        chance = random.Random(1)  # noqa: S311 - the same in each run
        addresses = ["/" + "".join(chance.choices(string.ascii_letters + string.digits, k=2000)) for _ in range(25)]
        references = "".join(f"[{number}]: {address}\n" for number, address in enumerate(addresses))
        words = references + "\n" + "".join(f"[{number % 25}] " for number in range(250)) + "END"
        home = page_of(api, site, "Welcome", blocks=[text(words)])
        assert stored(home).parts == 2
        assert shown(api, home).text.count(addresses[24]) == 10  # 250 references to 25 addresses
        assert "END" in shown(api, home).text


class TestARevalidation:
    def test_renders_nothing(self, api: Api, home: Leaf, nothing_is_rendered: Any) -> None:
        before = shown(api, home)
        nothing_is_rendered("all")
        again = shown(api, home, **{"If-None-Match": before.etag})
        assert (again.status, again.text, again.etag) == (304, "", before.etag)
        assert again.headers["Cache-Control"] == before.headers["Cache-Control"]

    def test_of_a_page_that_is_not_rendered_yet_renders_nothing_either(
        self, api: Api, home: Leaf, nothing_is_rendered: Any
    ) -> None:
        before = shown(api, home)
        forget(home)
        assert shown(api, home).etag == before.etag
        nothing_is_rendered("all")
        assert shown(api, home, **{"If-None-Match": before.etag}).status == 304

    def test_finds_whatever_the_page_is_made_of_to_be_another(
        self, api: Api, organization: Founded, platform: Running
    ) -> None:
        site = make_site(api, organization, name="Mills", platformId=platform.id)
        home = page_of(api, site, "Welcome", blocks=[text("They weave.")])
        looms = page_of(api, site, "Looms")
        put_menu(api, site, to_page(looms))
        known = {shown(api, home).etag}

        def is_another() -> None:
            answer = shown(api, home, **{"If-None-Match": ", ".join(known)})
            assert answer.status == 200
            known.add(answer.etag)

        def change_site(**fields: Any) -> None:
            assert api.patch(site.path, as_=site.owner, json=fields).status == 200

        change_site(name="More mills")
        is_another()
        change_site(defaultLocale="fr")
        is_another()
        api.patch(f"{platform.path}/theme", as_=platform.owner, json={"mode": "dark"})
        is_another()
        put_menu(api, site, to_page(looms, "Our looms"))
        is_another()
        edit(api, looms, slug="weaving")
        assert shown(api, home, **{"If-None-Match": ", ".join(known)}).status == 304
        publish_page(api, looms)
        is_another()
        came_to(platform, "verified", "looms.example.com")
        is_another()
        edit(api, home, blocks=[text("They don't.")])
        publish_page(api, home)
        is_another()
        change_site(status="draft")
        seen = api.get(f"{site.path}/pages/home", as_=site.owner, headers=HTML)
        assert seen.status == 200
        assert seen.etag not in known


class TestAPageThatIsNotRenderedYet:
    @pytest.fixture(autouse=True)
    def older(self, home: Leaf) -> None:
        forget(home)

    def test_is_shown_all_the_same_and_rendered_soon_after(
        self, api: Api, home: Leaf, workers: Workers, nothing_is_rendered: Any
    ) -> None:
        assert "They <strong>weave</strong>." in shown(api, home).text
        workers.deliver()
        assert stored(home).is_current
        nothing_is_rendered()
        assert "They <strong>weave</strong>." in shown(api, home).text
        assert not [body for body in bodies("jobs") if "pages.render" in body]

    def test_is_rendered_anew_by_a_renderer_that_is_another(
        self, api: Api, home: Leaf, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shown(api, home)
        workers.deliver()
        before = stored(home)
        monkeypatch.setattr(renderings, "RENDERER", "another")
        monkeypatch.setattr(content, "render_blocks", lambda *_, **__: "<p>Quite another.</p>")
        assert "Quite another." in shown(api, home).text
        assert stored(home) == before
        workers.deliver()
        assert (stored(home).renderer, stored(home).load_html()) == ("another", "<p>Quite another.</p>")

    def test_is_left_alone_if_it_was_deleted_meanwhile(self, api: Api, home: Leaf, workers: Workers) -> None:
        shown(api, home)
        assert api.delete(home.path, as_=home.site.owner).status == 204
        workers.settle()
        assert not [item for item in cloud.stored() if item["pk"] == f"R#{home.id}"]

    def test_is_shown_though_no_queue_takes_what_is_to_be_done(
        self, api: Api, home: Leaf, workers: Workers, configure: Configure
    ) -> None:
        queue = settings().jobs_queue_url
        configure(jobs_queue_url=queue.replace("jobs", "gone"))
        assert "They <strong>weave</strong>." in shown(api, home).text
        configure(jobs_queue_url=queue)
        assert "They <strong>weave</strong>." in shown(api, home).text
        workers.deliver()
        assert stored(home).is_current


class TestBlocksThatExceedTheLimits:
    @pytest.mark.parametrize(
        ("blocks", "pointer"),
        [
            ([text("a"), text(TABLE, "b")], "/blocks/1/text"),
            ([{"id": "l", "type": "list", "items": ["a", "[" * 9999]}], "/blocks/0/items/1"),
            ([{"id": "h", "type": "heading", "level": 2, "text": "![" * 9999}], "/blocks/0/text"),
            ([{"id": "q", "type": "quote", "text": "*a" * 9999 + "a*" * 9999}], "/blocks/0/text"),
            ([{"id": "c", "type": "columns", "columns": [[], [text("> " * 50)]]}], "/blocks/0/columns/1/0/text"),
            ([{"id": "c", "type": "code", "text": "<" * 200_000}], "/blocks"),
            ([text("[a]: /" + "x" * 2000 + "\n\n" + "[a]" * 3000)], "/blocks/0/text"),
        ],
    )
    def test_are_refused_where_they_stand(
        self, api: Api, site: Published, home: Leaf, blocks: list[Json], pointer: str
    ) -> None:
        refused = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Looms", "blocks": blocks})
        assert refused.code == "422 validation_failed"
        (error,) = refused.json["errors"]
        assert (error["pointer"], error["code"]) == (pointer, "too_complex")
        assert "Divide" in error["detail"] or "Take some" in error["detail"]
        again = api.patch(home.path, as_=site.owner, json={"blocks": blocks})
        assert again.json["errors"] == refused.json["errors"]
        assert api.get(home.path, as_=site.owner).json["blocks"] == [text("They **weave**.")]

    def test_that_are_stored_already_show_the_title_and_a_notice(
        self, api: Api, home: Leaf, workers: Workers, nothing_is_rendered: Any
    ) -> None:
        consist_of(home, text(TABLE))
        for _ in range(2):
            answer = shown(api, home)
            assert answer.status == 200
            assert "<h1>Welcome</h1>" in answer.text
            assert "This page can't be shown" in answer.text
            assert "<table>" not in answer.text
            workers.deliver()
            nothing_is_rendered()
        assert (stored(home).html, stored(home).is_current) == (None, True)

    def test_that_are_stored_already_can_be_kept_renamed_and_replaced(self, api: Api, home: Leaf) -> None:
        consist_of(home, text(TABLE))
        assert edit(api, home, title="Hello")["blocks"] == [text(TABLE)]
        restored = api.post(f"{home.path}/revisions/{home.draft_revision_id}/restore", as_=home.site.owner)
        assert restored.status == 200, restored.text
        refused = api.patch(home.path, as_=home.site.owner, json={"blocks": [text(TABLE), text("a", "b")]})
        assert refused.json["errors"][0]["pointer"] == "/blocks/0/text"
        edit(api, home, blocks=[text("All is well.")])
        publish_page(api, home)
        assert "All is well." in shown(api, home).text


class TestAnErasure:
    def test_reaches_what_is_stored_as_people_see_it(
        self, api: Api, organization: Founded, site: Published, workers: Workers, clock: Clock
    ) -> None:
        heading = {"id": "t", "type": "heading", "level": 1, "text": f"Ask {SOPHIE}"}
        home = page_of(api, site, f"Ask {SOPHIE}", blocks=[heading, text(f"Ask **{SOPHIE}**, {SOPHIE}.", "b")])
        draft = write_page(api, site, "Draft", blocks=[text(SOPHIE)])
        before = shown(api, home)
        erased(api, workers, clock, organization, email=SOPHIE)
        for leaf in (home, draft):
            assert SOPHIE not in stored(leaf).load_html()
        for item in cloud.stored():
            if item["pk"].startswith("R#") and item["sk"].startswith("H#"):
                assert SOPHIE.encode() not in zlib.decompress(bytes(item["html"]))
        after = shown(api, home)
        assert SOPHIE not in after.text
        assert "Ask <strong>…</strong>, …." in after.text
        assert after.etag != before.etag
        assert after.text.count("<h1>") == 1
        assert "<h2>" not in after.text
