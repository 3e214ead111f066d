"""Test renderings of pages, which are stored when a page is written: their content, and when they are renewed."""

import random
import string
import zlib

import pytest
from pydantic_core import to_json

from chalicelib.features.sites.pages.entities import renderings
from chalicelib.features.sites.pages.entities.pages import Content
from chalicelib.features.sites.pages.entities.renderings import StoredRendering
from chalicelib.features.sites.rendering.logic import content, markdown, page_document, templates
from chalicelib.kernel.core.settings import settings
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.domains import set_domain_state
from tests.harness.erasures import complete_erasure
from tests.harness.menus import page_item, put_menu
from tests.harness.page_blocks import text_block
from tests.harness.sites import CreatedPage, SitePages, create_published_page, create_site, publish_page, update_page
from tests.harness.workers import queued_bodies

HTML = {"Accept": "text/html"}
TABLE = "|" * 257 + "\n" + "|-" * 256 + "|\n" + "|\n" * 300
SOPHIE = "sophie@example.org"
WEAVING_BLOCK = text_block("They **weave**.")


def get_html(api: ApiClient, page: CreatedPage, *known_etags: str) -> ApiResponse:
    """Request the home page of a site as HTML, anonymously."""
    headers = {**HTML, "If-None-Match": ", ".join(known_etags)} if known_etags else HTML
    return api.get(f"{page.site.path}/pages/by-path", query={"path": "/"}, headers=headers)


def get_item(record_type, page):
    return memory_aws.get_item(*record_type.make_item_key(page_id=page.id, id=page.draft_revision_id))


def get_rendering(page):
    return StoredRendering.from_item(get_item(StoredRendering, page))


def remove_rendering(page: CreatedPage, *blocks: object) -> None:
    """Return a page to its form from before renderings were stored, optionally with blocks that exceed the limits."""
    memory_aws.delete_item(get_item(StoredRendering, page))
    item = {attribute: value for attribute, value in get_item(Content, page).items() if attribute != "titled"}
    memory_aws.delete_item(item)
    memory_aws.put_item({**item, "text": to_json(blocks)} if blocks else item)


def forbid_rendering(monkeypatch: pytest.MonkeyPatch, *, whole_pages: bool = False) -> None:
    """Make any later rendering of blocks fail, or that of whole pages too."""

    def raise_assertion(*_: object, **__: object) -> None:
        raise AssertionError("the page is rendered again")

    monkeypatch.setattr(content, "render_blocks_to_safe_html", raise_assertion)
    if whole_pages:
        for module in (page_document, templates):
            monkeypatch.setattr(module, "get_template", raise_assertion)
        monkeypatch.setattr(markdown, "sanitize_html", raise_assertion)
        monkeypatch.setattr(StoredRendering, "load_html", raise_assertion)


@pytest.fixture
def home(api, site):
    return create_published_page(api, site, "Welcome", blocks=[WEAVING_BLOCK])


class TestPublishedPage:
    def test_is_served_from_its_stored_rendering(self, api, home, monkeypatch):
        assert get_rendering(home).load_html() == content.render_blocks_to_safe_html([WEAVING_BLOCK])
        api.get(home.site.path)  # The process caches the ancestors.
        forbid_rendering(monkeypatch)
        answer = get_html(api, home)
        assert "They <strong>weave</strong>." in answer.text
        # The site and its slug index; the page and its revision; the rendering and the menu.
        assert answer.calls.call_names == ["dynamodb:BatchGetItem"] * 3
        (requested_keys,) = answer.calls.call_list[-1].parameters["RequestItems"].values()
        assert f"H#{home.draft_revision_id}" in str(requested_keys)
        assert not any("B#" in str(call.parameters) for call in answer.calls.call_list)

    def test_shows_the_published_revision_while_the_draft_changes(self, api, home):
        draft = update_page(api, home, blocks=[text_block("They ~~weave~~.")])
        preview, revision = f"{home.path}/preview", {"revisionId": home.draft_revision_id}
        for path, query, expected in [
            (f"{home.site.path}/pages/home", {}, "<strong>weave</strong>"),
            (f"{home.site.path}/pages/home", {"draft": "true"}, "<s>weave</s>"),
            (preview, revision, "<strong>weave</strong>"),
            (preview, {}, "<s>weave</s>"),
        ]:
            assert expected in api.get(path, caller=home.site.owner, query=query, headers=HTML).text
        assert "<strong>weave</strong>" in get_html(api, home).text
        publish_page(api, home, revisionId=draft["draftRevisionId"])
        assert "<s>weave</s>" in get_html(api, home).text

    def test_is_stored_in_parts_if_it_does_not_compress(self, api, site):
        rng = random.Random(1)  # noqa: S311 - a fixed seed
        urls = ["/" + "".join(rng.choices(string.ascii_letters + string.digits, k=2000)) for _ in range(25)]
        references = "".join(f"[{index}]: {url}\n" for index, url in enumerate(urls))
        markdown_text = references + "\n" + "".join(f"[{index % 25}] " for index in range(250)) + "END"
        home = create_published_page(api, site, "Welcome", blocks=[text_block(markdown_text)])
        assert get_rendering(home).parts == 2
        assert "END" in get_rendering(home).load_html()
        assert get_html(api, home).text.count(urls[24]) == 10  # 250 references to 25 URLs
        assert "END" in get_html(api, home).text


class TestRevalidation:
    @pytest.mark.parametrize("is_stored", [True, False])
    def test_renders_nothing(self, api, home, monkeypatch, is_stored):
        first = get_html(api, home)
        if not is_stored:
            remove_rendering(home)
            assert get_html(api, home).etag == first.etag
        forbid_rendering(monkeypatch, whole_pages=True)
        revalidation = get_html(api, home, first.etag)
        assert (revalidation.status, revalidation.text, revalidation.etag) == (304, "", first.etag)
        assert revalidation.headers["Cache-Control"] == first.headers["Cache-Control"]

    def test_detects_a_change_of_anything_the_page_contains(self, api, organization, platform):
        site = create_site(api, organization, name="Mills", platformId=platform.id)
        pages, owner = SitePages(api, site), site.owner
        home, looms = pages.publish("Welcome", blocks=[text_block("They weave.")]), pages.publish("Looms")
        put_menu(api, site, page_item(looms))
        known_etags = {get_html(api, home).etag}
        for change in (
            lambda: api.patch(site.path, caller=owner, json={"name": "More mills"}),
            lambda: api.patch(site.path, caller=owner, json={"defaultLocale": "fr"}),
            lambda: api.patch(f"{platform.path}/theme", caller=owner, json={"mode": "dark"}),
            lambda: put_menu(api, site, page_item(looms, "Our looms")),
            lambda: pages.republish("Looms"),
            lambda: set_domain_state(platform, "verified", "looms.example.com"),
            lambda: pages.republish("Welcome", blocks=[text_block("They don't.")]),
        ):
            change()
            answer = get_html(api, home, *known_etags).expect(200)
            known_etags.add(answer.etag)
            pages.update("Looms", slug="weaving")
            assert get_html(api, home, *known_etags).status == 304
        api.patch(site.path, caller=owner, json={"status": "draft"})
        draft_answer = api.get(f"{site.path}/pages/home", caller=owner, headers=HTML).expect(200)
        assert draft_answer.etag not in known_etags


class TestPageWithoutRendering:
    @pytest.fixture(autouse=True)
    def without_rendering(self, home):
        remove_rendering(home)

    def test_is_shown_and_rendered_by_a_task(self, api, home, workers, monkeypatch):
        assert "They <strong>weave</strong>." in get_html(api, home).text
        workers.deliver()
        assert get_rendering(home).is_current
        forbid_rendering(monkeypatch)
        assert "They <strong>weave</strong>." in get_html(api, home).text
        assert not [body for body in queued_bodies("jobs") if "pages.render" in body]

    def test_is_rendered_again_by_a_new_version_of_the_renderer(self, api, home, workers, monkeypatch):
        get_html(api, home)
        workers.deliver()
        before = get_rendering(home)
        monkeypatch.setattr(renderings, "RENDERER", "another")
        monkeypatch.setattr(content, "render_blocks_to_safe_html", lambda *_, **__: "<p>Quite another.</p>")
        assert "Quite another." in get_html(api, home).text
        assert get_rendering(home) == before
        workers.deliver()
        assert (get_rendering(home).renderer, get_rendering(home).load_html()) == ("another", "<p>Quite another.</p>")

    def test_is_not_rendered_once_deleted(self, api, home, workers):
        get_html(api, home)
        assert api.delete(home.path, caller=home.site.owner).status == 204
        workers.run_until_idle()
        assert not [item for item in memory_aws.all_items() if item["pk"] == f"R#{home.id}"]

    def test_is_shown_even_if_the_queue_fails(self, api, home, workers, configure):
        queue = settings().jobs_queue_url
        for url in (queue.replace("jobs", "gone"), queue):
            configure(jobs_queue_url=url)
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
        ids=["table", "list", "heading", "quote", "columns", "code", "references"],
    )
    def test_are_rejected_with_a_pointer(self, api, site, home, blocks, pointer):
        creation = api.post(f"{site.path}/pages", caller=site.owner, json={"title": "Looms", "blocks": blocks})
        assert creation.status_and_code == "422 validation_failed"
        (error,) = creation.json["errors"]
        assert (error["pointer"], error["code"]) == (pointer, "too_complex")
        assert "Divide" in error["detail"] or "Take some" in error["detail"]
        update = api.patch(home.path, caller=site.owner, json={"blocks": blocks})
        assert update.json["errors"] == creation.json["errors"]
        assert api.get(home.path, caller=site.owner).json["blocks"] == [WEAVING_BLOCK]

    def test_stored_ones_show_the_title_and_a_notice(self, api, home, workers, monkeypatch):
        remove_rendering(home, text_block(TABLE))
        for _ in range(2):
            answer = get_html(api, home).expect(200)
            assert "<h1>Welcome</h1>" in answer.text
            assert "This page can't be shown" in answer.text
            assert "<table>" not in answer.text
            workers.deliver()
            forbid_rendering(monkeypatch)
        assert (get_rendering(home).html, get_rendering(home).is_current) == (None, True)

    def test_stored_ones_can_be_retained_and_replaced(self, api, home):
        remove_rendering(home, text_block(TABLE))
        assert update_page(api, home, title="Hello")["blocks"] == [text_block(TABLE)]
        api.post(f"{home.path}/revisions/{home.draft_revision_id}/restore", caller=home.site.owner).expect(200)
        body = {"blocks": [text_block(TABLE), text_block("a", "b")]}
        answer = api.patch(home.path, caller=home.site.owner, json=body)
        assert answer.json["errors"][0]["pointer"] == "/blocks/0/text"
        update_page(api, home, blocks=[text_block("All is well.")])
        publish_page(api, home)
        assert "All is well." in get_html(api, home).text


def test_an_erasure_removes_a_person_from_stored_renderings(api, organization, site, workers, clock):
    heading = {"id": "t", "type": "heading", "level": 1, "text": f"Ask {SOPHIE}"}
    pages = SitePages(api, site)
    home = pages.publish(f"Ask {SOPHIE}", blocks=[heading, text_block(f"Ask **{SOPHIE}**, {SOPHIE}.", "b")])
    draft = pages.draft("Draft", blocks=[text_block(SOPHIE)])
    before = get_html(api, home)
    complete_erasure(api, workers, clock, organization, email=SOPHIE)
    for page in (home, draft):
        assert SOPHIE not in get_rendering(page).load_html()
    for item in memory_aws.all_items():
        if item["pk"].startswith("R#") and item["sk"].startswith("H#"):
            assert SOPHIE.encode() not in zlib.decompress(bytes(item["html"]))
    after = get_html(api, home)
    assert SOPHIE not in after.text
    assert "Ask <strong>…</strong>, …." in after.text
    assert after.etag != before.etag
    assert after.text.count("<h1>") == 1
    assert "<h2>" not in after.text
