"""The HTML of pages: metadata for search engines, content, and structure for screen readers."""

from typing import Any

import pytest

from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import build_block
from tests.harness.rendered_pages import Element, build_theme, build_view, render_blocks


def headings(root: Element) -> list[tuple[str, str]]:
    return [(e.tag, e.text) for e in root.find_all("h1", "h2", "h3", "h4", "h5", "h6")]


def render_main(*blocks: dict[str, Any], **fields: Any) -> Element:
    """Return the element `main` of a page."""
    return render_blocks(*blocks, **fields).find_one("main")


def render_markdown(text: str) -> Element:
    """Return the rendered element of a text block."""
    return render_main(build_block("text", text=text)).find_one("div", class_="text")


class TestHead:
    def test_metadata_describes_the_page(self):
        root = render_blocks(
            title="Silk & silver",
            site_name="The Mill",
            description='Woven "by number"',
            canonical="https://mill.example/silk?a=1&b=2",
            image="https://mill.example/silk.jpg",
            lang="en-GB",
        )
        assert root.find_one("html").attributes == {"lang": "en-GB", "dir": "ltr"}
        assert root.find_one("title").text == "Silk & silver \N{EN DASH} The Mill"
        assert root.find_one("meta", name="description").attributes["content"] == 'Woven "by number"'
        assert root.find_one("link", rel="canonical").attributes["href"] == "https://mill.example/silk?a=1&b=2"
        open_graph = {
            m.attributes["property"]: m.attributes["content"]
            for m in root.find_all("meta")
            if "property" in m.attributes
        }
        assert open_graph == {
            "og:type": "website",
            "og:title": "Silk & silver",
            "og:site_name": "The Mill",
            "og:description": 'Woven "by number"',
            "og:url": "https://mill.example/silk?a=1&b=2",
            "og:image": "https://mill.example/silk.jpg",
            "og:locale": "en_GB",
        }
        assert root.find_one("meta", name="twitter:card").attributes["content"] == "summary_large_image"

    def test_missing_fields_have_no_metadata(self):
        root = render_blocks()
        meta_names = {m.attributes.get("property") or m.attributes.get("name") for m in root.find_all("meta")}
        assert meta_names == {
            None,
            "viewport",
            "og:type",
            "og:title",
            "og:site_name",
            "twitter:card",
            "theme-color",
        }
        assert [link.attributes["rel"] for link in root.find_all("link")] == ["icon"]

    def test_a_meta_title_replaces_the_title_for_search_engines(self):
        root = render_blocks(title="Silk", called="Silk, woven by number", site_name="The Mill")
        assert root.find_one("title").text == "Silk, woven by number \N{EN DASH} The Mill"
        assert root.find_one("meta", property="og:title").attributes["content"] == "Silk, woven by number"
        assert root.find_one("h1").text == "Silk"

    def test_a_title_that_equals_the_site_name_is_not_repeated(self):
        assert render_blocks(title="The Mill", site_name="The Mill").find_one("title").text == "The Mill"

    @pytest.mark.parametrize("fields", [{"noindex": True}, {"preview": True}])
    def test_pages_with_noindex_and_previews_are_not_indexed(self, fields):
        assert render_blocks(**fields).find_one("meta", name="robots").attributes["content"] == "noindex"

    def test_the_icon_is_that_of_the_theme_or_empty(self):
        icon_url = "https://mill.example/icon.svg"
        assert (
            render_blocks(theme=build_theme(favicon_url=icon_url)).find_one("link", rel="icon").attributes["href"]
            == icon_url
        )
        assert render_blocks().find_one("link", rel="icon").attributes["href"] == "data:,"

    @pytest.mark.parametrize(
        ("lang", "direction"),
        [
            ("en", "ltr"),
            ("ar", "rtl"),
            ("he-IL", "rtl"),
            ("fa", "rtl"),
            ("ar-Latn", "ltr"),
            ("az-Arab-IR", "rtl"),
            ("pa-PK", "ltr"),
            ("pt-BR", "ltr"),
            ("arn", "ltr"),
        ],
    )
    def test_the_direction_follows_the_language(self, lang, direction):
        assert render_blocks(lang=lang).find_one("html").attributes == {"lang": lang, "dir": direction}


class TestHeaders:
    def test_the_policy_allows_no_scripts_and_no_requests_except_for_images(self):
        document = render_document(build_view(), {"Cache-Control": "no-store", "Vary": "Accept"})
        headers = dict(document.headers)
        policy = dict(part.strip().split(" ", 1) for part in headers.pop("Content-Security-Policy").split(";"))
        assert policy.pop("style-src").startswith("'sha256-")
        assert policy == {
            "default-src": "'none'",
            "img-src": "https: http: data:",
            "base-uri": "'none'",
            "form-action": "'none'",
            "frame-ancestors": "'none'",
        }
        assert headers == {
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "Vary": "Accept",
            "X-Content-Type-Options": "nosniff",
        }
        assert document.content_type == "text/html; charset=utf-8"


class TestHeadings:
    def test_levels_have_no_gaps_below_the_title(self):
        root = render_blocks(
            build_block("heading", "a", level=4, text="first"),
            build_block("heading", "b", level=6, text="below"),
            build_block("heading", "c", level=2, text="back"),
            build_block("text", "d", text="#### in Markdown\n\n## back again"),
        )
        assert headings(root) == [
            ("h1", "Looms"),
            ("h2", "first"),
            ("h3", "below"),
            ("h2", "back"),
            ("h3", "in Markdown"),
            ("h2", "back again"),
        ]

    def test_a_heading_of_level_1_moves_all_headings_down_one_level(self):
        root = render_blocks(
            build_block("heading", "a", level=1, text="part"),
            build_block("heading", "b", level=2, text="chapter"),
            build_block("heading", "c", level=6, text="note"),
            build_block("text", "d", text="# part two\n\n## chapter two"),
        )
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4", "h2", "h3"]

    def test_levels_continue_in_columns(self):
        columns = [[build_block("heading", "b", level=3, text="b")], [build_block("heading", "c", level=4, text="c")]]
        root = render_blocks(
            build_block("heading", "a", level=2, text="a"), build_block("columns", "d", columns=columns)
        )
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4"]

    @pytest.mark.parametrize("text", ["Looms", "  LOOMS ", "*Looms*"])
    def test_a_first_heading_that_repeats_the_title_is_left_out(self, text):
        first = build_block("heading", "a", level=1, text=text)
        assert headings(render_blocks(first, build_block("heading", "b", level=2, text="Silk"))) == [
            ("h1", "Looms"),
            ("h2", "Silk"),
        ]
        assert len(headings(render_blocks(build_block("divider", "b"), first))) == 2
        assert len(headings(render_blocks({**first, "level": 2}))) == 2

    def test_headings_without_visible_text_are_left_out(self):
        root = render_blocks(
            build_block("heading", "a", level=2, text=" \u200b "),
            build_block("heading", "b", level=2, text="![](/a.png)"),
            build_block("text", "c", text="#\n\n## \n\nText."),
        )
        assert headings(root) == [("h1", "Looms")]
        assert root.find_one("main").find_one("div").text.strip() == "Text."


class TestMarkdown:
    def test_commonmark_tables_and_strikethrough_are_rendered(self):
        element = render_markdown("**a** *b* `c` ~~d~~ [e](/f)\n\n> g\n\n1. h\n\n- i\n\n---\n\n|j|\n|-|\n|k|\n")
        for tag, text in [
            ("strong", "a"),
            ("em", "b"),
            ("code", "c"),
            ("s", "d"),
            ("a", "e"),
            ("th", "j"),
            ("td", "k"),
        ]:
            assert element.find_one(tag).text == text
        assert element.find_one("blockquote").text.strip() == "g"
        assert element.find_one("ol").text.strip() == "h"
        assert element.find_one("ul").text.strip() == "i"
        assert element.find_all("hr")

    def test_html_is_displayed_as_text(self):
        assert render_markdown("<b>bold</b>").find_one("p").text == "<b>bold</b>"

    def test_only_urls_with_allowed_schemes_are_linked(self):
        element = render_markdown(
            "[a](https://example.com) [b](/c) [d](#e) [f](mailto:g@example.com) [h](javascript:i) [j](k:l)"
        )
        assert [a.attributes["href"] for a in element.find_all("a")] == [
            "https://example.com",
            "/c",
            "#e",
            "mailto:g@example.com",
        ]
        assert element.text.strip().endswith("[h](javascript:i) [j](k:l)")
        assert {a.attributes["rel"] for a in element.find_all("a")} == {"noopener noreferrer"}

    def test_a_link_without_text_displays_its_url(self):
        assert render_markdown("[](/silk)").find_one("a").text == "/silk"
        assert render_markdown("[![](/silk.png)](/silk)").find_one("a").text == "/silk"
        assert render_markdown("[![Silk](/silk.png)](/silk)").find_one("a").text == ""

    def test_wide_elements_can_be_scrolled_with_the_keyboard(self):
        element = render_markdown("|a|\n|-|\n|b|\n\n```python\nx < 1\n```\n\n    y\n")
        assert element.find_one("div", class_="wide").attributes["tabindex"] == "0"
        assert [pre.attributes for pre in element.find_all("pre")] == [{"tabindex": "0"}] * 2
        assert [pre.text for pre in element.find_all("pre")] == ["x < 1\n", "y\n"]

    def test_cells_are_aligned_by_classes_because_the_policy_forbids_style_attributes(self):
        element = render_markdown("|a|b|c|\n|:-|:-:|-:|\n|d|e|f|")
        assert [e.attributes["class"] for e in element.find_all("th")] == ["left", "center", "right"]

    def test_an_empty_column_heading_is_a_plain_cell(self):
        element = render_markdown("| |a|\n|-|-|\n|b|c|")
        assert [e.text for e in element.find_all("th")] == ["a"]
        assert [e.text for e in element.find_all("td")] == ["", "b", "c"]

    def test_images_are_loaded_lazily(self):
        assert render_markdown("![Silk](/silk.png)").find_one("img").attributes == {
            "src": "/silk.png",
            "alt": "Silk",
            "loading": "lazy",
        }


class TestBlocks:
    def test_blocks_have_their_ids_as_link_targets(self):
        blocks = [
            build_block("heading", "a", level=2, text="a"),
            build_block("text", "b", text="b"),
            build_block("list", "c", items=["c"], ordered=False),
            build_block("quote", "d", text="d", cite=None),
            build_block("code", "e", text="e", language=None),
            build_block("image", "f", url="/f", alt=""),
            build_block("embed", "g", url="https://example.com"),
            build_block("button", "h", label="h", url="#a"),
            build_block("divider", "i"),
            build_block("columns", "j", columns=[[build_block("divider", "k")]]),
        ]
        ids = [e.attributes["id"] for e in render_main(*blocks).find_all() if "id" in e.attributes]
        assert ids == list("abcdefghijk")

    def test_lists_are_ordered_or_unordered(self):
        element = render_main(
            build_block("list", "a", items=["*one*", " ", "two"], ordered=True),
            build_block("list", "b", items=["x"], ordered=False),
        )
        assert [li.text for li in element.find_one("ol").find_all("li")] == ["one", "two"]
        assert element.find_one("ol").find_one("em").text == "one"
        assert element.find_one("ul").text.strip() == "x"

    def test_a_quote_has_its_source(self):
        element = render_main(build_block("quote", text="It *weaves*.", cite="Ada <Lovelace>")).find_one("figure")
        assert element.find_one("blockquote").text == "It weaves."
        assert element.find_one("figcaption").text == "Ada <Lovelace>"

    def test_code_is_displayed_unchanged(self):
        element = render_main(build_block("code", text="\n  if a < b:\n\tstop()\n", language="python"))
        assert element.find_one("pre").text == "\n  if a < b:\n\tstop()\n"
        assert element.find_one("pre").attributes == {"tabindex": "0"}
        assert element.find_one("figcaption").text == "python"

    def test_an_image_has_alternative_text_and_is_loaded_lazily(self):
        assert render_main(build_block("image", url="/silk.jpg", alt='A "silk"')).find_one("img").attributes == {
            "src": "/silk.jpg",
            "alt": 'A "silk"',
            "loading": "lazy",
        }

    def test_an_embed_is_a_link(self):
        element = render_main(build_block("embed", url="https://Video.example.com/w?v=1"))
        assert element.find_one("a").attributes["href"] == "https://Video.example.com/w?v=1"
        assert element.find_one("strong").text == "video.example.com"
        assert not element.find_all("iframe")

    def test_a_button_has_a_label_or_its_url(self):
        assert render_main(build_block("button", label="Go", url="/go")).find_one("a").text == "Go"
        assert render_main(build_block("button", label=" ", url="/go")).find_one("a").text == "/go"

    def test_blocks_are_rendered_in_their_columns(self):
        columns = [[build_block("text", "b", text="one")], [build_block("text", "c", text="two")]]
        element = render_main(build_block("columns", columns=columns)).find_one("div", id="a")
        assert [e.text.strip() for e in element.find_all("div") if e.attributes["class"] == "column"] == ["one", "two"]

    def test_blocks_without_visible_content_are_left_out(self):
        element = render_main(
            build_block("text", "a", text=" \n"),
            build_block("list", "b", items=["", " "], ordered=False),
            build_block("quote", "c", text="", cite="Nobody"),
            build_block("code", "d", text="\n", language=None),
            build_block("custom", "e", data={"secret": "words"}),
        )
        assert [e.tag for e in element.find_all()] == ["h1"]
        assert "secret" not in element.text


class TestPageFrame:
    MENU = (
        MenuItem("Engines", "/engines"),
        MenuItem(
            "Looms",
            "/looms",
            children=(
                MenuItem("Silk", "/looms/silk", current=True, children=(MenuItem("Brocade", "/looms/silk/brocade"),)),
                MenuItem("Later"),
            ),
        ),
        MenuItem("Notes", children=(MenuItem("A", "/notes/a"),)),
    )

    def test_the_page_has_landmarks_and_a_link_that_skips_them(self):
        root = render_blocks(menu=self.MENU)
        body = root.find_one("body")
        assert [e.tag for e in body.children if isinstance(e, Element)] == ["a", "header", "main", "footer"]
        skip = body.find_all("a")[0]
        assert skip.text == "Skip to content"
        assert skip.attributes["href"] == f"#{body.find_one('main').attributes['id']}"

    def test_the_name_of_the_site_links_to_its_home_page(self):
        root = render_blocks(home_href="/home", theme=build_theme(logo_url="https://mill.example/logo.svg"))
        link = root.find_one("header").find_one("a")
        assert (link.attributes["href"], link.text.strip()) == ("/home", "The Mill")
        assert link.find_one("img").attributes["alt"] == ""

    def test_the_menu_has_all_levels_and_needs_no_script(self):
        nav = render_blocks(menu=self.MENU).find_one("nav")
        links = [(a.text, a.attributes["href"]) for a in nav.find_all("a")]
        assert links == [
            ("Engines", "/engines"),
            ("Looms", "/looms"),
            ("Silk", "/looms/silk"),
            ("Brocade", "/looms/silk/brocade"),
            ("A", "/notes/a"),
        ]
        assert [summary.text for summary in nav.find_all("summary")] == ["Looms", "Notes"]
        assert "Later" in nav.text

    def test_the_menu_marks_the_current_page(self):
        nav = render_blocks(menu=self.MENU).find_one("nav")
        assert [(e.tag, e.text) for e in nav.find_all() if e.attributes.get("aria-current")] == [
            ("summary", "Looms"),
            ("a", "Silk"),
        ]
        assert nav.find_one("a", aria_current="page").text == "Silk"

    def test_an_empty_menu_is_left_out(self):
        assert not render_blocks().find_all("nav")

    def test_a_preview_has_a_note(self):
        assert "published" in render_blocks(preview=True).find_one("aside").text
        assert not render_blocks().find_all("aside")

    def test_english_texts_of_the_frame_are_marked_on_pages_in_other_languages(self):
        root = render_blocks(preview=True, lang="ar")
        for element in (root.find_one("aside"), root.find_one("body").find_all("a")[0]):
            assert (element.attributes["lang"], element.attributes["dir"]) == ("en", "ltr")
