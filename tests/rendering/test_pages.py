"""A page as it is sent: what search engines, readers and those who listen find in it."""

from typing import Any

import pytest

from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.blocks import block
from tests.harness.pages import Element, rendered, theme, view


def headings(root: Element) -> list[tuple[str, str]]:
    return [(e.tag, e.words) for e in root.all("h1", "h2", "h3", "h4", "h5", "h6")]


def main(*blocks: dict[str, Any], **words: Any) -> Element:
    return rendered(*blocks, **words).one("main")


def markdown(text: str) -> Element:
    """Return a block of Markdown as it is shown."""
    return main(block("text", text=text)).one("div", class_="text")


class TestHead:
    def test_says_what_the_page_is(self) -> None:
        root = rendered(
            title="Silk & silver",
            site_name="The Mill",
            description='Woven "by number"',
            canonical="https://mill.example/silk?a=1&b=2",
            image="https://mill.example/silk.jpg",
            lang="en-GB",
        )
        assert root.one("html").attributes == {"lang": "en-GB", "dir": "ltr"}
        assert root.one("title").words == "Silk & silver \N{EN DASH} The Mill"
        assert root.one("meta", name="description").attributes["content"] == 'Woven "by number"'
        assert root.one("link", rel="canonical").attributes["href"] == "https://mill.example/silk?a=1&b=2"
        told = {
            m.attributes["property"]: m.attributes["content"] for m in root.all("meta") if "property" in m.attributes
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
        assert root.one("meta", name="twitter:card").attributes["content"] == "summary_large_image"

    def test_says_nothing_of_what_is_not_there(self) -> None:
        root = rendered()
        said = {m.attributes.get("property") or m.attributes.get("name") for m in root.all("meta")}
        assert said == {
            None,
            "viewport",
            "og:type",
            "og:title",
            "og:site_name",
            "twitter:card",
            "theme-color",
        }
        assert [link.attributes["rel"] for link in root.all("link")] == ["icon"]

    def test_says_what_others_are_to_show_in_place_of_the_title(self) -> None:
        root = rendered(title="Silk", called="Silk, woven by number", site_name="The Mill")
        assert root.one("title").words == "Silk, woven by number \N{EN DASH} The Mill"
        assert root.one("meta", property="og:title").attributes["content"] == "Silk, woven by number"
        assert root.one("h1").words == "Silk"

    def test_names_the_site_once_on_a_page_that_is_called_so(self) -> None:
        assert rendered(title="The Mill", site_name="The Mill").one("title").words == "The Mill"

    @pytest.mark.parametrize("words", [{"noindex": True}, {"preview": True}])
    def test_keeps_search_engines_from_what_is_not_for_them(self, words: dict[str, bool]) -> None:
        assert rendered(**words).one("meta", name="robots").attributes["content"] == "noindex"

    def test_shows_the_theme_s_icon_and_keeps_browsers_from_asking_for_another(self) -> None:
        icon = "https://mill.example/icon.svg"
        assert rendered(theme=theme(favicon_url=icon)).one("link", rel="icon").attributes["href"] == icon
        assert rendered().one("link", rel="icon").attributes["href"] == "data:,"

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
        assert rendered(lang=lang).one("html").attributes == {"lang": lang, "dir": direction}


class TestHeaders:
    def test_let_nothing_run_and_nothing_be_sent(self) -> None:
        document = render_document(view(), {"Cache-Control": "no-store", "Vary": "Accept"})
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
        root = rendered(
            block("heading", "a", level=4, text="first"),
            block("heading", "b", level=6, text="below"),
            block("heading", "c", level=2, text="back"),
            block("text", "d", text="#### in Markdown\n\n## back again"),
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
        root = rendered(
            block("heading", "a", level=1, text="part"),
            block("heading", "b", level=2, text="chapter"),
            block("heading", "c", level=6, text="note"),
            block("text", "d", text="# part two\n\n## chapter two"),
        )
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4", "h2", "h3"]

    def test_go_on_through_columns(self) -> None:
        columns = [[block("heading", "b", level=3, text="b")], [block("heading", "c", level=4, text="c")]]
        root = rendered(block("heading", "a", level=2, text="a"), block("columns", "d", columns=columns))
        assert [tag for tag, _ in headings(root)] == ["h1", "h2", "h3", "h4"]

    @pytest.mark.parametrize("text", ["Looms", "  LOOMS ", "*Looms*"])
    def test_that_repeat_the_title_are_not_said_twice(self, text: str) -> None:
        first = block("heading", "a", level=1, text=text)
        assert headings(rendered(first, block("heading", "b", level=2, text="Silk"))) == [
            ("h1", "Looms"),
            ("h2", "Silk"),
        ]
        assert len(headings(rendered(block("divider", "b"), first))) == 2
        assert len(headings(rendered({**first, "level": 2}))) == 2

    def test_in_which_there_is_nothing_to_see_are_left_out(self) -> None:
        root = rendered(
            block("heading", "a", level=2, text=" \u200b "),
            block("heading", "b", level=2, text="![](/a.png)"),
            block("text", "c", text="#\n\n## \n\nText."),
        )
        assert headings(root) == [("h1", "Looms")]
        assert root.one("main").one("div").words.strip() == "Text."


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
            assert found.one(tag).words == words
        assert found.one("blockquote").words.strip() == "g"
        assert found.one("ol").words.strip() == "h"
        assert found.one("ul").words.strip() == "i"
        assert found.all("hr")

    def test_shows_html_as_the_text_it_is(self) -> None:
        assert markdown("<b>bold</b>").one("p").words == "<b>bold</b>"

    def test_leads_only_where_a_page_may_lead(self) -> None:
        found = markdown(
            "[a](https://example.com) [b](/c) [d](#e) [f](mailto:g@example.com) [h](javascript:i) [j](k:l)"
        )
        assert [a.attributes["href"] for a in found.all("a")] == [
            "https://example.com",
            "/c",
            "#e",
            "mailto:g@example.com",
        ]
        assert found.words.strip().endswith("[h](javascript:i) [j](k:l)")
        assert {a.attributes["rel"] for a in found.all("a")} == {"noopener noreferrer"}

    def test_names_a_link_that_has_no_words_by_its_address(self) -> None:
        assert markdown("[](/silk)").one("a").words == "/silk"
        assert markdown("[![](/silk.png)](/silk)").one("a").words == "/silk"
        assert markdown("[![Silk](/silk.png)](/silk)").one("a").words == ""

    def test_can_be_scrolled_by_the_keyboard_where_it_is_wide(self) -> None:
        found = markdown("|a|\n|-|\n|b|\n\n```python\nx < 1\n```\n\n    y\n")
        assert found.one("div", class_="wide").attributes["tabindex"] == "0"
        assert [pre.attributes for pre in found.all("pre")] == [{"tabindex": "0"}] * 2
        assert [pre.words for pre in found.all("pre")] == ["x < 1\n", "y\n"]

    def test_aligns_cells_by_a_class_since_no_style_may_stand_in_the_page(self) -> None:
        found = markdown("|a|b|c|\n|:-|:-:|-:|\n|d|e|f|")
        assert [e.attributes["class"] for e in found.all("th")] == ["left", "center", "right"]

    def test_has_no_heading_of_a_column_that_says_nothing(self) -> None:
        found = markdown("| |a|\n|-|-|\n|b|c|")
        assert [e.words for e in found.all("th")] == ["a"]
        assert [e.words for e in found.all("td")] == ["", "b", "c"]

    def test_loads_pictures_late(self) -> None:
        assert markdown("![Silk](/silk.png)").one("img").attributes == {
            "src": "/silk.png",
            "alt": "Silk",
            "loading": "lazy",
        }


class TestBlocks:
    def test_can_be_led_to(self) -> None:
        every = [
            block("heading", "a", level=2, text="a"),
            block("text", "b", text="b"),
            block("list", "c", items=["c"], ordered=False),
            block("quote", "d", text="d", cite=None),
            block("code", "e", text="e", language=None),
            block("image", "f", url="/f", alt=""),
            block("embed", "g", url="https://example.com"),
            block("button", "h", label="h", url="#a"),
            block("divider", "i"),
            block("columns", "j", columns=[[block("divider", "k")]]),
        ]
        found = [e.attributes["id"] for e in main(*every).all() if "id" in e.attributes]
        assert found == list("abcdefghijk")

    def test_of_a_list_are_items_in_order_or_not(self) -> None:
        found = main(
            block("list", "a", items=["*one*", " ", "two"], ordered=True),
            block("list", "b", items=["x"], ordered=False),
        )
        assert [li.words for li in found.one("ol").all("li")] == ["one", "two"]
        assert found.one("ol").one("em").words == "one"
        assert found.one("ul").words.strip() == "x"

    def test_of_a_quotation_say_whose_it_is(self) -> None:
        found = main(block("quote", text="It *weaves*.", cite="Ada <Lovelace>")).one("figure")
        assert found.one("blockquote").words == "It weaves."
        assert found.one("figcaption").words == "Ada <Lovelace>"

    def test_of_a_program_are_shown_as_they_were_written(self) -> None:
        found = main(block("code", text="\n  if a < b:\n\tstop()\n", language="python"))
        assert found.one("pre").words == "\n  if a < b:\n\tstop()\n"
        assert found.one("pre").attributes == {"tabindex": "0"}
        assert found.one("figcaption").words == "python"

    def test_of_a_picture_say_what_it_shows_and_load_late(self) -> None:
        assert main(block("image", url="/silk.jpg", alt='A "silk"')).one("img").attributes == {
            "src": "/silk.jpg",
            "alt": 'A "silk"',
            "loading": "lazy",
        }

    def test_of_something_embedded_lead_to_where_it_is(self) -> None:
        found = main(block("embed", url="https://Video.example.com/w?v=1"))
        assert found.one("a").attributes["href"] == "https://Video.example.com/w?v=1"
        assert found.one("strong").words == "video.example.com"
        assert not found.all("iframe")

    def test_of_a_button_have_a_name(self) -> None:
        assert main(block("button", label="Go", url="/go")).one("a").words == "Go"
        assert main(block("button", label=" ", url="/go")).one("a").words == "/go"

    def test_stand_in_their_columns(self) -> None:
        columns = [[block("text", "b", text="one")], [block("text", "c", text="two")]]
        found = main(block("columns", columns=columns)).one("div", id="a")
        assert [e.words.strip() for e in found.all("div") if e.attributes["class"] == "column"] == ["one", "two"]

    def test_in_which_there_is_nothing_to_see_are_left_out(self) -> None:
        found = main(
            block("text", "a", text=" \n"),
            block("list", "b", items=["", " "], ordered=False),
            block("quote", "c", text="", cite="Nobody"),
            block("code", "d", text="\n", language=None),
            block("custom", "e", data={"secret": "words"}),
        )
        assert [e.tag for e in found.all()] == ["h1"]
        assert "secret" not in found.words


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
        root = rendered(menu=self.MENU)
        body = root.one("body")
        assert [e.tag for e in body.inner if isinstance(e, Element)] == ["a", "header", "main", "footer"]
        skip = body.all("a")[0]
        assert skip.words == "Skip to content"
        assert skip.attributes["href"] == f"#{body.one('main').attributes['id']}"

    def test_is_the_name_of_the_site_which_leads_home(self) -> None:
        root = rendered(home_href="/home", theme=theme(logo_url="https://mill.example/logo.svg"))
        link = root.one("header").one("a")
        assert (link.attributes["href"], link.words.strip()) == ("/home", "The Mill")
        assert link.one("img").attributes["alt"] == ""

    def test_is_a_menu_of_all_levels_that_needs_no_script(self) -> None:
        nav = rendered(menu=self.MENU).one("nav")
        links = [(a.words, a.attributes["href"]) for a in nav.all("a")]
        assert links == [
            ("Engines", "/engines"),
            ("Looms", "/looms"),
            ("Silk", "/looms/silk"),
            ("Brocade", "/looms/silk/brocade"),
            ("A", "/notes/a"),
        ]
        assert [summary.words for summary in nav.all("summary")] == ["Looms", "Notes"]
        assert "Later" in nav.words

    def test_says_where_the_reader_is(self) -> None:
        nav = rendered(menu=self.MENU).one("nav")
        assert [(e.tag, e.words) for e in nav.all() if e.attributes.get("aria-current")] == [
            ("summary", "Looms"),
            ("a", "Silk"),
        ]
        assert nav.one("a", aria_current="page").words == "Silk"

    def test_is_no_menu_if_it_has_no_item(self) -> None:
        assert not rendered().all("nav")

    def test_is_a_note_on_a_preview_that_says_so(self) -> None:
        assert "published" in rendered(preview=True).one("aside").words
        assert not rendered().all("aside")

    def test_is_english_marked_where_the_page_is_not(self) -> None:
        root = rendered(preview=True, lang="ar")
        for ours in (root.one("aside"), root.one("body").all("a")[0]):
            assert (ours.attributes["lang"], ours.attributes["dir"]) == ("en", "ltr")
