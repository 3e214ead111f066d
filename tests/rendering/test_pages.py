"""A page as it is sent: what search engines, readers and those who listen find in it."""

from typing import Any

import pytest

from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import build_block
from tests.harness.rendered_pages import Element, build_theme, build_view, render_blocks


def headings(root: Element) -> list[tuple[str, str]]:
    return [(e.tag, e.text) for e in root.find_all("h1", "h2", "h3", "h4", "h5", "h6")]


def main(*blocks: dict[str, Any], **words: Any) -> Element:
    return render_blocks(*blocks, **words).find_one("main")


def markdown(text: str) -> Element:
    """Return a block of Markdown as it is shown."""
    return main(build_block("text", text=text)).find_one("div", class_="text")


class TestHead:
    def test_says_what_the_page_is(self) -> None:
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
        told = {
            m.attributes["property"]: m.attributes["content"]
            for m in root.find_all("meta")
            if "property" in m.attributes
        }
        assert told == {
            "og:type": "website",
            "og:title": "Silk & silver",
            "og:site_name": "The Mill",
            "og:description": 'Woven "by number"',
            "og:url": "https://mill.example/silk?a=1&b=2",
            "og:image": "https://mill.example/silk.jpg",
            "og:locale": "en_GB",
        }
        assert root.find_one("meta", name="twitter:card").attributes["content"] == "summary_large_image"

    def test_says_nothing_of_what_is_not_there(self) -> None:
        root = render_blocks()
        said = {m.attributes.get("property") or m.attributes.get("name") for m in root.find_all("meta")}
        assert said == {
            None,
            "viewport",
            "og:type",
            "og:title",
            "og:site_name",
            "twitter:card",
            "theme-color",
        }
        assert [link.attributes["rel"] for link in root.find_all("link")] == ["icon"]

    def test_says_what_others_are_to_show_in_place_of_the_title(self) -> None:
        root = render_blocks(title="Silk", called="Silk, woven by number", site_name="The Mill")
        assert root.find_one("title").text == "Silk, woven by number \N{EN DASH} The Mill"
        assert root.find_one("meta", property="og:title").attributes["content"] == "Silk, woven by number"
        assert root.find_one("h1").text == "Silk"

    def test_names_the_site_once_on_a_page_that_is_called_so(self) -> None:
        assert render_blocks(title="The Mill", site_name="The Mill").find_one("title").text == "The Mill"

    @pytest.mark.parametrize("words", [{"noindex": True}, {"preview": True}])
    def test_keeps_search_engines_from_what_is_not_for_them(self, words: dict[str, bool]) -> None:
        assert render_blocks(**words).find_one("meta", name="robots").attributes["content"] == "noindex"

    def test_shows_the_theme_s_icon_and_keeps_browsers_from_asking_for_another(self) -> None:
        icon = "https://mill.example/icon.svg"
        assert (
            render_blocks(theme=build_theme(favicon_url=icon)).find_one("link", rel="icon").attributes["href"] == icon
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
    def test_says_which_way_the_language_is_written(self, lang: str, direction: str) -> None:
        assert render_blocks(lang=lang).find_one("html").attributes == {"lang": lang, "dir": direction}


class TestHeaders:
    def test_let_nothing_run_and_nothing_be_sent(self) -> None:
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
    def test_follow_the_one_of_the_page_without_a_gap(self) -> None:
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

    def test_that_stand_as_high_as_the_title_lead_all_others_down(self) -> None:
        root = render_blocks(
            build_block("heading", "a", level=1, text="part"),
            build_block("heading", "b", level=2, text="chapter"),
            build_block("heading", "c", level=6, text="note"),
            build_block("text", "d", text="# part two\n\n## chapter two"),
        )
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4", "h2", "h3"]

    def test_go_on_through_columns(self) -> None:
        columns = [[build_block("heading", "b", level=3, text="b")], [build_block("heading", "c", level=4, text="c")]]
        root = render_blocks(
            build_block("heading", "a", level=2, text="a"), build_block("columns", "d", columns=columns)
        )
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4"]

    @pytest.mark.parametrize("text", ["Looms", "  LOOMS ", "*Looms*"])
    def test_that_repeat_the_title_are_not_said_twice(self, text: str) -> None:
        first = build_block("heading", "a", level=1, text=text)
        assert headings(render_blocks(first, build_block("heading", "b", level=2, text="Silk"))) == [
            ("h1", "Looms"),
            ("h2", "Silk"),
        ]
        assert len(headings(render_blocks(build_block("divider", "b"), first))) == 2
        assert len(headings(render_blocks({**first, "level": 2}))) == 2

    def test_in_which_there_is_nothing_to_see_are_left_out(self) -> None:
        root = render_blocks(
            build_block("heading", "a", level=2, text=" \u200b "),
            build_block("heading", "b", level=2, text="![](/a.png)"),
            build_block("text", "c", text="#\n\n## \n\nText."),
        )
        assert headings(root) == [("h1", "Looms")]
        assert root.find_one("main").find_one("div").text.strip() == "Text."


class TestMarkdown:
    def test_has_what_commonmark_has_and_tables_and_strikethrough(self) -> None:
        found = markdown("**a** *b* `c` ~~d~~ [e](/f)\n\n> g\n\n1. h\n\n- i\n\n---\n\n|j|\n|-|\n|k|\n")
        for tag, words in [
            ("strong", "a"),
            ("em", "b"),
            ("code", "c"),
            ("s", "d"),
            ("a", "e"),
            ("th", "j"),
            ("td", "k"),
        ]:
            assert found.find_one(tag).text == words
        assert found.find_one("blockquote").text.strip() == "g"
        assert found.find_one("ol").text.strip() == "h"
        assert found.find_one("ul").text.strip() == "i"
        assert found.find_all("hr")

    def test_shows_html_as_the_text_it_is(self) -> None:
        assert markdown("<b>bold</b>").find_one("p").text == "<b>bold</b>"

    def test_leads_only_where_a_page_may_lead(self) -> None:
        found = markdown(
            "[a](https://example.com) [b](/c) [d](#e) [f](mailto:g@example.com) [h](javascript:i) [j](k:l)"
        )
        assert [a.attributes["href"] for a in found.find_all("a")] == [
            "https://example.com",
            "/c",
            "#e",
            "mailto:g@example.com",
        ]
        assert found.text.strip().endswith("[h](javascript:i) [j](k:l)")
        assert {a.attributes["rel"] for a in found.find_all("a")} == {"noopener noreferrer"}

    def test_names_a_link_that_has_no_words_by_its_address(self) -> None:
        assert markdown("[](/silk)").find_one("a").text == "/silk"
        assert markdown("[![](/silk.png)](/silk)").find_one("a").text == "/silk"
        assert markdown("[![Silk](/silk.png)](/silk)").find_one("a").text == ""

    def test_can_be_scrolled_by_the_keyboard_where_it_is_wide(self) -> None:
        found = markdown("|a|\n|-|\n|b|\n\n```python\nx < 1\n```\n\n    y\n")
        assert found.find_one("div", class_="wide").attributes["tabindex"] == "0"
        assert [pre.attributes for pre in found.find_all("pre")] == [{"tabindex": "0"}] * 2
        assert [pre.text for pre in found.find_all("pre")] == ["x < 1\n", "y\n"]

    def test_aligns_cells_by_a_class_since_no_style_may_stand_in_the_page(self) -> None:
        found = markdown("|a|b|c|\n|:-|:-:|-:|\n|d|e|f|")
        assert [e.attributes["class"] for e in found.find_all("th")] == ["left", "center", "right"]

    def test_has_no_heading_of_a_column_that_says_nothing(self) -> None:
        found = markdown("| |a|\n|-|-|\n|b|c|")
        assert [e.text for e in found.find_all("th")] == ["a"]
        assert [e.text for e in found.find_all("td")] == ["", "b", "c"]

    def test_loads_pictures_late(self) -> None:
        assert markdown("![Silk](/silk.png)").find_one("img").attributes == {
            "src": "/silk.png",
            "alt": "Silk",
            "loading": "lazy",
        }


class TestBlocks:
    def test_can_be_led_to(self) -> None:
        every = [
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
        found = [e.attributes["id"] for e in main(*every).find_all() if "id" in e.attributes]
        assert found == list("abcdefghijk")

    def test_of_a_list_are_items_in_order_or_not(self) -> None:
        found = main(
            build_block("list", "a", items=["*one*", " ", "two"], ordered=True),
            build_block("list", "b", items=["x"], ordered=False),
        )
        assert [li.text for li in found.find_one("ol").find_all("li")] == ["one", "two"]
        assert found.find_one("ol").find_one("em").text == "one"
        assert found.find_one("ul").text.strip() == "x"

    def test_of_a_quotation_say_whose_it_is(self) -> None:
        found = main(build_block("quote", text="It *weaves*.", cite="Ada <Lovelace>")).find_one("figure")
        assert found.find_one("blockquote").text == "It weaves."
        assert found.find_one("figcaption").text == "Ada <Lovelace>"

    def test_of_a_program_are_shown_as_they_were_written(self) -> None:
        found = main(build_block("code", text="\n  if a < b:\n\tstop()\n", language="python"))
        assert found.find_one("pre").text == "\n  if a < b:\n\tstop()\n"
        assert found.find_one("pre").attributes == {"tabindex": "0"}
        assert found.find_one("figcaption").text == "python"

    def test_of_a_picture_say_what_it_shows_and_load_late(self) -> None:
        assert main(build_block("image", url="/silk.jpg", alt='A "silk"')).find_one("img").attributes == {
            "src": "/silk.jpg",
            "alt": 'A "silk"',
            "loading": "lazy",
        }

    def test_of_something_embedded_lead_to_where_it_is(self) -> None:
        found = main(build_block("embed", url="https://Video.example.com/w?v=1"))
        assert found.find_one("a").attributes["href"] == "https://Video.example.com/w?v=1"
        assert found.find_one("strong").text == "video.example.com"
        assert not found.find_all("iframe")

    def test_of_a_button_have_a_name(self) -> None:
        assert main(build_block("button", label="Go", url="/go")).find_one("a").text == "Go"
        assert main(build_block("button", label=" ", url="/go")).find_one("a").text == "/go"

    def test_stand_in_their_columns(self) -> None:
        columns = [[build_block("text", "b", text="one")], [build_block("text", "c", text="two")]]
        found = main(build_block("columns", columns=columns)).find_one("div", id="a")
        assert [e.text.strip() for e in found.find_all("div") if e.attributes["class"] == "column"] == ["one", "two"]

    def test_in_which_there_is_nothing_to_see_are_left_out(self) -> None:
        found = main(
            build_block("text", "a", text=" \n"),
            build_block("list", "b", items=["", " "], ordered=False),
            build_block("quote", "c", text="", cite="Nobody"),
            build_block("code", "d", text="\n", language=None),
            build_block("custom", "e", data={"secret": "words"}),
        )
        assert [e.tag for e in found.find_all()] == ["h1"]
        assert "secret" not in found.text


class TestAroundThePage:
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

    def test_are_landmarks_and_a_way_past_them(self) -> None:
        root = render_blocks(menu=self.MENU)
        body = root.find_one("body")
        assert [e.tag for e in body.children if isinstance(e, Element)] == ["a", "header", "main", "footer"]
        skip = body.find_all("a")[0]
        assert skip.text == "Skip to content"
        assert skip.attributes["href"] == f"#{body.find_one('main').attributes['id']}"

    def test_is_the_name_of_the_site_which_leads_home(self) -> None:
        root = render_blocks(home_href="/home", theme=build_theme(logo_url="https://mill.example/logo.svg"))
        link = root.find_one("header").find_one("a")
        assert (link.attributes["href"], link.text.strip()) == ("/home", "The Mill")
        assert link.find_one("img").attributes["alt"] == ""

    def test_is_a_menu_of_all_levels_that_needs_no_script(self) -> None:
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

    def test_says_where_the_reader_is(self) -> None:
        nav = render_blocks(menu=self.MENU).find_one("nav")
        assert [(e.tag, e.text) for e in nav.find_all() if e.attributes.get("aria-current")] == [
            ("summary", "Looms"),
            ("a", "Silk"),
        ]
        assert nav.find_one("a", aria_current="page").text == "Silk"

    def test_is_no_menu_if_it_has_no_item(self) -> None:
        assert not render_blocks().find_all("nav")

    def test_is_a_note_on_a_preview_that_says_so(self) -> None:
        assert "published" in render_blocks(preview=True).find_one("aside").text
        assert not render_blocks().find_all("aside")

    def test_is_english_marked_where_the_page_is_not(self) -> None:
        root = render_blocks(preview=True, lang="ar")
        for ours in (root.find_one("aside"), root.find_one("body").find_all("a")[0]):
            assert (ours.attributes["lang"], ours.attributes["dir"]) == ("en", "ltr")
