"""Test renderings of pages, which are stored when a page is written: their content, and when they are renewed."""

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
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.domains import set_domain_state
from tests.harness.erasures import complete_erasure
from tests.harness.menus import page_item, put_menu
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    publish_page,
    update_page,
)
from tests.harness.workers import queued_bodies

HTML = {"Accept": "text/html"}
TABLE = "|" * 257 + "\n" + "|-" * 256 + "|\n" + "|\n" * 300
SOPHIE = "sophie@example.org"


def text_block(markdown_text: str, block_id: str = "a") -> Json:
    return {"id": block_id, "type": "text", "text": markdown_text}


def get_html(api: ApiClient, leaf: CreatedPage, path: str = "/", **headers: str) -> ApiResponse:
    """Request a path of a site as HTML, anonymously."""
    return api.get(f"{leaf.site.path}/pages/by-path", query={"path": path}, headers={**HTML, **headers})


def get_rendering(leaf: CreatedPage) -> StoredRendering:
    """Return the stored rendering of a page."""
    return StoredRendering.from_item(
        get_item(StoredRendering.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id))
    )


def remove_rendering(leaf: CreatedPage) -> None:
    """Return a page to its stored form from before renderings were stored."""
    memory_aws.delete_item(get_item(StoredRendering.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id)))
    content_item = get_item(Content.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id))
    memory_aws.delete_item(content_item)
    memory_aws.put_item({attribute: value for attribute, value in content_item.items() if attribute != "titled"})


def get_item(key: ItemKey) -> Item:
    item = memory_aws.get_item(*key)
    assert item is not None
    return item


def replace_blocks(leaf: CreatedPage, *blocks: Json) -> None:
    """Store blocks that exceed the limits, and remove the rendering."""
    remove_rendering(leaf)
    content_item = get_item(Content.make_item_key(page_id=leaf.id, id=leaf.draft_revision_id))
    memory_aws.put_item({**content_item, "text": to_json(blocks)})


@pytest.fixture
def forbid_rendering(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that makes any later rendering fail: of blocks only, or of whole pages."""

    def forbid_targets(*targets: str) -> None:
        def raise_assertion(*_: Any, **__: Any) -> None:
            raise AssertionError("the page is rendered again")

        monkeypatch.setattr(content, "render_blocks_to_safe_html", raise_assertion)
        if "all" in targets:
            monkeypatch.setattr(page_document, "get_template", raise_assertion)
            monkeypatch.setattr(templates, "get_template", raise_assertion)
            monkeypatch.setattr(markdown, "sanitize_html", raise_assertion)
            monkeypatch.setattr(StoredRendering, "load_html", raise_assertion)

    return forbid_targets


@pytest.fixture
def home(api: ApiClient, site: CreatedSite) -> CreatedPage:
    """Return a published page."""
    return create_published_page(api, site, "Welcome", blocks=[text_block("They **weave**.")])


class TestPublishedPage:
    def test_is_served_from_its_stored_rendering(self, api, home, forbid_rendering):
        assert get_rendering(home).load_html() == content.render_blocks_to_safe_html([text_block("They **weave**.")])
        forbid_rendering()
        answer = get_html(api, home)
        assert "They <strong>weave</strong>." in answer.text
        # The site and its slug index; the page and its revision; the rendering and the menu.
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"] * 3
        (requested_keys,) = [call.parameters["RequestItems"] for call in answer.calls.call_list][-1].values()
        assert f"H#{home.draft_revision_id}" in str(requested_keys)
        assert not [name for call in answer.calls.call_list for name in [str(call.parameters)] if "B#" in name]

    def test_shows_the_published_revision_while_the_draft_changes(self, api, home):
        draft = update_page(api, home, blocks=[text_block("They ~~weave~~.")])
        assert "<strong>weave</strong>" in get_html(api, home).text
        home_path = f"{home.site.path}/pages/home"
        assert "<s>weave</s>" in api.get(home_path, caller=home.site.owner, query={"draft": "true"}, headers=HTML).text
        preview_path = f"{home.path}/preview"
        preview_answer = api.get(
            preview_path, caller=home.site.owner, query={"revisionId": home.draft_revision_id}, headers=HTML
        )
        assert "<strong>weave</strong>" in preview_answer.text
        assert "<s>weave</s>" in api.get(preview_path, caller=home.site.owner, headers=HTML).text
        publish_page(api, home, revisionId=draft["draftRevisionId"])
        assert "<s>weave</s>" in get_html(api, home).text

    def test_shows_its_title_once(self, api, site):
        heading = {"id": "t", "type": "heading", "level": 1, "text": "*Welcome*"}
        home = create_published_page(api, site, "Welcome", blocks=[heading, text_block("## They weave")])
        assert get_html(api, home).text.count("Welcome</") == 1
        assert "<h2>They weave</h2>" in get_html(api, home).text

    def test_is_stored_in_parts_if_it_does_not_compress(self, api, site):
        rng = random.Random(1)  # noqa: S311 - a fixed seed
        urls = ["/" + "".join(rng.choices(string.ascii_letters + string.digits, k=2000)) for _ in range(25)]
        references = "".join(f"[{index}]: {url}\n" for index, url in enumerate(urls))
        markdown_text = references + "\n" + "".join(f"[{index % 25}] " for index in range(250)) + "END"
        home = create_published_page(api, site, "Welcome", blocks=[text_block(markdown_text)])
        assert get_rendering(home).parts == 2
        assert get_html(api, home).text.count(urls[24]) == 10  # 250 references to 25 URLs
        assert "END" in get_html(api, home).text


class TestRevalidation:
    def test_renders_nothing(self, api, home, forbid_rendering):
        first_answer = get_html(api, home)
        forbid_rendering("all")
        revalidation = get_html(api, home, **{"If-None-Match": first_answer.etag})
        assert (revalidation.status, revalidation.text, revalidation.etag) == (304, "", first_answer.etag)
        assert revalidation.headers["Cache-Control"] == first_answer.headers["Cache-Control"]

    def test_of_a_page_without_rendering_renders_nothing(self, api, home, forbid_rendering):
        first_answer = get_html(api, home)
        remove_rendering(home)
        assert get_html(api, home).etag == first_answer.etag
        forbid_rendering("all")
        assert get_html(api, home, **{"If-None-Match": first_answer.etag}).status == 304

    def test_detects_a_change_of_anything_the_page_contains(self, api, organization, platform):
        site = create_site(api, organization, name="Mills", platformId=platform.id)
        home = create_published_page(api, site, "Welcome", blocks=[text_block("They weave.")])
        looms = create_published_page(api, site, "Looms")
        put_menu(api, site, page_item(looms))
        known_etags = {get_html(api, home).etag}

        def expect_new_etag() -> None:
            answer = get_html(api, home, **{"If-None-Match": ", ".join(known_etags)})
            assert answer.status == 200
            known_etags.add(answer.etag)

        def change_site(**fields: Any) -> None:
            assert api.patch(site.path, caller=site.owner, json=fields).status == 200

        change_site(name="More mills")
        expect_new_etag()
        change_site(defaultLocale="fr")
        expect_new_etag()
        api.patch(f"{platform.path}/theme", caller=platform.owner, json={"mode": "dark"})
        expect_new_etag()
        put_menu(api, site, page_item(looms, "Our looms"))
        expect_new_etag()
        update_page(api, looms, slug="weaving")
        assert get_html(api, home, **{"If-None-Match": ", ".join(known_etags)}).status == 304
        publish_page(api, looms)
        expect_new_etag()
        set_domain_state(platform, "verified", "looms.example.com")
        expect_new_etag()
        update_page(api, home, blocks=[text_block("They don't.")])
        publish_page(api, home)
        expect_new_etag()
        change_site(status="draft")
        draft_answer = api.get(f"{site.path}/pages/home", caller=site.owner, headers=HTML)
        assert draft_answer.status == 200
        assert draft_answer.etag not in known_etags


class TestPageWithoutRendering:
    @pytest.fixture(autouse=True)
    def _without_rendering(self, home: CreatedPage) -> None:
        remove_rendering(home)

    def test_is_shown_and_rendered_by_a_task(self, api, home, workers, forbid_rendering):
        assert "They <strong>weave</strong>." in get_html(api, home).text
        workers.deliver()
        assert get_rendering(home).is_current
        forbid_rendering()
        assert "They <strong>weave</strong>." in get_html(api, home).text
        assert not [body for body in queued_bodies("jobs") if "pages.render" in body]

    def test_is_rendered_again_by_a_new_version_of_the_renderer(self, api, home, workers, monkeypatch):
        get_html(api, home)
        workers.deliver()
        rendering_before = get_rendering(home)
        monkeypatch.setattr(renderings, "RENDERER", "another")
        monkeypatch.setattr(content, "render_blocks_to_safe_html", lambda *_, **__: "<p>Quite another.</p>")
        assert "Quite another." in get_html(api, home).text
        assert get_rendering(home) == rendering_before
        workers.deliver()
        assert (get_rendering(home).renderer, get_rendering(home).load_html()) == ("another", "<p>Quite another.</p>")

    def test_is_not_rendered_once_deleted(self, api, home, workers):
        get_html(api, home)
        assert api.delete(home.path, caller=home.site.owner).status == 204
        workers.run_until_idle()
        assert not [item for item in memory_aws.all_items() if item["pk"] == f"R#{home.id}"]

    def test_is_shown_even_if_the_queue_fails(self, api, home, workers, configure):
        queue = settings().jobs_queue_url
        configure(jobs_queue_url=queue.replace("jobs", "gone"))
        assert "They <strong>weave</strong>." in get_html(api, home).text
        configure(jobs_queue_url=queue)
        assert "They <strong>weave</strong>." in get_html(api, home).text
        workers.deliver()
        assert get_rendering(home).is_current


class TestBlocksThatExceedTheLimits:
    @pytest.mark.parametrize(
        ("blocks", "pointer"),
        [
            ([text_block("a"), text_block(TABLE, "b")], "/blocks/1/text"),
            ([{"id": "l", "type": "list", "items": ["a", "[" * 9999]}], "/blocks/0/items/1"),
            ([{"id": "h", "type": "heading", "level": 2, "text": "![" * 9999}], "/blocks/0/text"),
            ([{"id": "q", "type": "quote", "text": "*a" * 9999 + "a*" * 9999}], "/blocks/0/text"),
            ([{"id": "c", "type": "columns", "columns": [[], [text_block("> " * 50)]]}], "/blocks/0/columns/1/0/text"),
            ([{"id": "c", "type": "code", "text": "<" * 200_000}], "/blocks"),
            ([text_block("[a]: /" + "x" * 2000 + "\n\n" + "[a]" * 3000)], "/blocks/0/text"),
        ],
    )
    def test_are_rejected_with_a_pointer(self, api, site, home, blocks, pointer):
        creation = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Looms", "blocks": blocks})
        assert creation.status_and_code == "422 validation_failed"
        (error,) = creation.json["errors"]
        assert (error["pointer"], error["code"]) == (pointer, "too_complex")
        assert "Divide" in error["detail"] or "Take some" in error["detail"]
        update = api.patch(home.path, caller=site.owner, json={"blocks": blocks})
        assert update.json["errors"] == creation.json["errors"]
        assert api.get(home.path, caller=site.owner).json["blocks"] == [text_block("They **weave**.")]

    def test_stored_ones_show_the_title_and_a_notice(self, api, home, workers, forbid_rendering):
        replace_blocks(home, text_block(TABLE))
        for _ in range(2):
            answer = get_html(api, home)
            assert answer.status == 200
            assert "<h1>Welcome</h1>" in answer.text
            assert "This page can't be shown" in answer.text
            assert "<table>" not in answer.text
            workers.deliver()
            forbid_rendering()
        assert (get_rendering(home).html, get_rendering(home).is_current) == (None, True)

    def test_stored_ones_can_be_retained_and_replaced(self, api, home):
        replace_blocks(home, text_block(TABLE))
        assert update_page(api, home, title="Hello")["blocks"] == [text_block(TABLE)]
        restoration = api.post(f"{home.path}/revisions/{home.draft_revision_id}/restore", caller=home.site.owner)
        assert restoration.status == 200, restoration.text
        answer = api.patch(
            home.path, caller=home.site.owner, json={"blocks": [text_block(TABLE), text_block("a", "b")]}
        )
        assert answer.json["errors"][0]["pointer"] == "/blocks/0/text"
        update_page(api, home, blocks=[text_block("All is well.")])
        publish_page(api, home)
        assert "All is well." in get_html(api, home).text


class TestErasure:
    def test_removes_a_person_from_stored_renderings(self, api, organization, site, workers, clock):
        heading = {"id": "t", "type": "heading", "level": 1, "text": f"Ask {SOPHIE}"}
        home = create_published_page(
            api, site, f"Ask {SOPHIE}", blocks=[heading, text_block(f"Ask **{SOPHIE}**, {SOPHIE}.", "b")]
        )
        draft = create_draft_page(api, site, "Draft", blocks=[text_block(SOPHIE)])
        answer_before = get_html(api, home)
        complete_erasure(api, workers, clock, organization, email=SOPHIE)
        for leaf in (home, draft):
            assert SOPHIE not in get_rendering(leaf).load_html()
        for item in memory_aws.all_items():
            if item["pk"].startswith("R#") and item["sk"].startswith("H#"):
                assert SOPHIE.encode() not in zlib.decompress(bytes(item["html"]))
        answer_after = get_html(api, home)
        assert SOPHIE not in answer_after.text
        assert "Ask <strong>…</strong>, …." in answer_after.text
        assert answer_after.etag != answer_before.etag
        assert answer_after.text.count("<h1>") == 1
        assert "<h2>" not in answer_after.text
