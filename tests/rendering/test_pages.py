"""The HTML of pages: metadata, content and structure for screen readers; and the colours and fonts of themes."""

import re
from typing import Any

import pytest

from chalicelib.features.sites.rendering.logic.content import render_blocks_to_safe_html
from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.logic.stylesheet import backgrounds, palette, stylesheet
from chalicelib.features.sites.rendering.models.view import MenuItem
from tests.harness.page_blocks import StoredBlock, build_block, text_block
from tests.harness.rendered_pages import Element, build_theme, build_view, render_blocks

SAFE = 'rel="noopener noreferrer"'
FIXED_METADATA = {"charset": "utf-8", "viewport": "width=device-width, initial-scale=1", "theme-color": "#13161b"}


def heading(level: int, text: str) -> StoredBlock:
    return build_block("heading", level=level, text=text)


def list_headings(*blocks: StoredBlock) -> list[str]:
    """Return the headings of a page with the title Looms, such as `h1 Looms`."""
    return [f"{e.tag} {e.text}" for e in render_blocks(*blocks).find_all("h1", "h2", "h3", "h4", "h5", "h6")]


def join_lines(html: str) -> str:
    """Return HTML without the line breaks between its elements."""
    return re.sub(r">\n+<", "><", html).strip()


def render_markdown(text: str) -> str:
    """Return the HTML of a text block without the element that encloses it."""
    html = join_lines(render_blocks_to_safe_html([text_block(text)]))
    return html.removeprefix('<div class="text" id="a">').removesuffix("</div>")


def read_head(**fields: Any) -> dict[str, str]:
    """Return the title of a page's document, its links by their `rel` and its metadata by their names."""
    root = render_blocks(**fields)
    head = {"title": root.find_one("title").text}
    head |= {link.attributes["rel"]: link.attributes["href"] for link in root.find_all("link")}
    for meta in (meta.attributes for meta in root.find_all("meta")):
        head[meta.get("property") or meta.get("name") or "charset"] = meta.get("content") or meta["charset"]
    return head


class TestHead:
    def test_metadata_describes_the_page(self):
        urls = {"canonical": "https://mill.example/silk?a=1&b=2", "image": "https://mill.example/silk.jpg"}
        texts = {"title": "Silk & silver", "site_name": "The Mill", "description": 'Woven "by number"'}
        assert read_head(**texts, **urls, lang="en-GB") == {
            **FIXED_METADATA,
            "title": "Silk & silver \N{EN DASH} The Mill",
            "description": 'Woven "by number"',
            "canonical": urls["canonical"],
            "icon": "data:,",
            "og:type": "website",
            "og:title": "Silk & silver",
            "og:site_name": "The Mill",
            "og:description": 'Woven "by number"',
            "og:url": urls["canonical"],
            "og:image": urls["image"],
            "og:locale": "en_GB",
            "twitter:card": "summary_large_image",
        }

    def test_missing_fields_have_no_metadata(self):
        graph = {"og:type": "website", "og:title": "The Mill", "og:site_name": "The Mill", "twitter:card": "summary"}
        # A title that equals the name of the site is not repeated.
        assert read_head(title="The Mill") == {**FIXED_METADATA, **graph, "title": "The Mill", "icon": "data:,"}

    def test_a_meta_title_replaces_the_title_for_search_engines(self):
        fields = {"title": "Silk", "called": "Silk, woven by number"}
        head = read_head(**fields)
        assert (head["title"], head["og:title"]) == (f"{fields['called']} \N{EN DASH} The Mill", fields["called"])
        assert render_blocks(**fields).find_one("h1").text == "Silk"

    @pytest.mark.parametrize("fields", [{"noindex": True}, {"preview": True}])
    def test_pages_with_noindex_and_previews_are_not_indexed(self, fields):
        assert read_head(**fields)["robots"] == "noindex"

    def test_the_icon_is_that_of_the_theme(self):
        icon_url = "https://mill.example/icon.svg"
        assert read_head(theme=build_theme(favicon_url=icon_url))["icon"] == icon_url

    @pytest.mark.parametrize(
        ("direction", "languages"),
        [("ltr", ["en-GB", "ar-Latn", "pa-PK", "pt-BR", "arn"]), ("rtl", ["ar", "he-IL", "fa", "az-Arab-IR"])],
    )
    def test_the_direction_follows_the_language(self, direction, languages):
        for lang in languages:
            assert render_blocks(lang=lang).find_one("html").attributes == {"lang": lang, "dir": direction}


class TestHeaders:
    def test_the_policy_allows_no_scripts_and_no_requests_except_for_images(self):
        document = render_document(build_view(), {"Cache-Control": "no-store", "Vary": "Accept"})
        headers = dict(document.headers)
        policy = dict(part.strip().split(" ", 1) for part in headers.pop("Content-Security-Policy").split(";"))
        assert policy.pop("style-src").startswith("'sha256-")
        assert policy.pop("sandbox").split() == [
            *("allow-downloads", "allow-popups", "allow-popups-to-escape-sandbox"),
            "allow-top-navigation-by-user-activation",
        ]
        forbidden = dict.fromkeys(("default-src", "base-uri", "form-action", "frame-ancestors"), "'none'")
        assert policy == {**forbidden, "img-src": "https: http: data:"}
        safety = {"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"}
        assert headers == {"Cache-Control": "no-store", "Vary": "Accept", **safety}
        assert document.content_type == "text/html; charset=utf-8"


class TestHeadings:
    def test_levels_have_no_gaps_below_the_title(self):
        blocks = [heading(4, "first"), heading(6, "below"), heading(2, "back"), text_block("#### in text\n\n## again")]
        expected = ["h1 Looms", "h2 first", "h3 below", "h2 back", "h3 in text", "h2 again"]
        assert list_headings(*blocks) == expected

    def test_a_heading_of_level_1_moves_all_headings_down_one_level(self):
        blocks = [heading(1, "part"), heading(2, "chapter"), heading(6, "note"), text_block("# part\n\n## chapter")]
        expected = ["h1 Looms", "h2 part", "h3 chapter", "h4 note", "h2 part", "h3 chapter"]
        assert list_headings(*blocks) == expected

    def test_levels_continue_in_columns(self):
        columns = build_block("columns", columns=[[heading(3, "b")], [heading(4, "c")]])
        assert list_headings(heading(2, "a"), columns) == ["h1 Looms", "h2 a", "h3 b", "h4 c"]

    @pytest.mark.parametrize("text", ["Looms", "  LOOMS ", "*Looms*"])
    def test_a_first_heading_that_repeats_the_title_is_left_out(self, text):
        assert list_headings(heading(1, text), heading(2, "Silk")) == ["h1 Looms", "h2 Silk"]
        assert len(list_headings(build_block("divider"), heading(1, text))) == 2
        assert len(list_headings(heading(2, text))) == 2

    def test_headings_without_visible_text_are_left_out(self):
        invisible = [heading(2, " \u200b "), heading(2, "![](/a.png)")]
        assert list_headings(*invisible, text_block("#\n\n## \n\nText.")) == ["h1 Looms"]
        assert render_blocks_to_safe_html(invisible) == ""
        assert render_markdown("#\n\n## \n\nText.") == "<p>Text.</p>"


class TestMarkdown:
    @pytest.mark.parametrize(
        ("text", "html"),
        [
            ("**a** *b* `c` ~~d~~", "<p><strong>a</strong> <em>b</em> <code>c</code> <s>d</s></p>"),
            (
                "> g\n\n1. h\n\n- i\n\n---",
                "<blockquote><p>g</p></blockquote><ol><li>h</li></ol><ul><li>i</li></ul><hr>",
            ),
            ("<b>bold</b>", "<p>&lt;b&gt;bold&lt;/b&gt;</p>"),
            ("![Silk](/silk.png)", '<p><img src="/silk.png" alt="Silk" loading="lazy"></p>'),
        ],
        ids=["emphasis", "blocks", "html", "image"],
    )
    def test_commonmark_and_strikethrough_are_rendered_and_html_is_displayed_as_text(self, text, html):
        assert render_markdown(text) == html

    @pytest.mark.parametrize(
        ("url", "text"),
        [("https://example.com", "a"), ("/c", "b"), ("#e", "d"), ("mailto:g@example.com", "f")],
    )
    def test_only_urls_with_allowed_schemes_are_linked(self, url, text):
        assert render_markdown(f"[{text}]({url})") == f'<p><a href="{url}" {SAFE}>{text}</a></p>'
        assert render_markdown("[h](javascript:i) [j](k:l)") == "<p>[h](javascript:i) [j](k:l)</p>"

    @pytest.mark.parametrize(
        ("text", "displayed"),
        [
            ("", "/silk"),
            ("![](/silk.png)", '<img src="/silk.png" alt="" loading="lazy">/silk'),
            ("![Silk](/silk.png)", '<img src="/silk.png" alt="Silk" loading="lazy">'),
        ],
    )
    def test_a_link_without_text_displays_its_url(self, text, displayed):
        assert render_markdown(f"[{text}](/silk)") == f'<p><a href="/silk" {SAFE}>{displayed}</a></p>'

    def test_code_can_be_scrolled_with_the_keyboard(self):
        blocks = ['<pre tabindex="0"><code>x &lt; 1\n</code></pre>', '<pre tabindex="0"><code>y\n</code></pre>']
        assert render_markdown("```python\nx < 1\n```\n\n    y\n") == "".join(blocks)

    @pytest.mark.parametrize(
        ("text", "head", "body"),
        [
            (
                "|a|b|c|\n|:-|:-:|-:|\n|d|e|f|",
                '<th class="left">a</th><th class="center">b</th><th class="right">c</th>',
                '<td class="left">d</td><td class="center">e</td><td class="right">f</td>',
            ),
            ("| |a|\n|-|-|\n|b|c|", "<td></td><th>a</th>", "<td>b</td><td>c</td>"),  # An empty heading is a cell.
        ],
        ids=["aligned", "empty heading"],
    )
    def test_a_table_is_aligned_by_classes_and_can_be_scrolled_with_the_keyboard(self, text, head, body):
        table = f"<table><thead><tr>{head}</tr></thead><tbody><tr>{body}</tr></tbody></table>"
        assert render_markdown(text) == f'<div class="wide" tabindex="0">{table}</div>'


BLOCKS = [
    (heading(2, "*a*"), '<div class="heading" id="a"><h2><em>a</em></h2></div>'),
    (build_block("list", items=["*1*", " ", "2"], ordered=True), '<ol id="a"><li><em>1</em></li><li>2</li></ol>'),
    (build_block("list", items=["x"], ordered=False), '<ul id="a"><li>x</li></ul>'),
    (
        build_block("quote", text="*a*", cite="Ada <Lovelace>"),
        """<figure class="quote" id="a"><blockquote><p><em>a</em></p></blockquote>
<figcaption>Ada &lt;Lovelace&gt;</figcaption></figure>""",
    ),
    (
        build_block("code", text="\n  if a < b:\n\tstop()\n", language="python"),
        """<figure class="code" id="a"><figcaption>python</figcaption>
<pre tabindex="0"><code>\n  if a &lt; b:\n\tstop()\n</code></pre></figure>""",
    ),
    (
        build_block("image", url="/silk.jpg", alt='A "silk"'),
        '<figure class="image" id="a"><img src="/silk.jpg" alt="A &quot;silk&quot;" loading="lazy"></figure>',
    ),
    (
        build_block("embed", url="https://Video.example.com/w"),
        f"""<p class="embed" id="a"><a href="https://Video.example.com/w" {SAFE}>
<strong>video.example.com</strong> <span>https://Video.example.com/w</span></a></p>""",
    ),
    (build_block("button", label="Go", url="/go"), f'<p class="button" id="a"><a href="/go" {SAFE}>Go</a></p>'),
    (build_block("button", label=" ", url="/go"), f'<p class="button" id="a"><a href="/go" {SAFE}>/go</a></p>'),
    (build_block("divider"), '<hr id="a">'),
    (
        build_block("columns", columns=[[text_block("one", "b")], [text_block("two", "c")]]),
        """<div class="columns" id="a"><div class="column"><div class="text" id="b"><p>one</p></div></div>
<div class="column"><div class="text" id="c"><p>two</p></div></div></div>""",
    ),
]
INVISIBLE_BLOCKS = [
    text_block(" \n"),
    build_block("list", items=["", " "], ordered=False),
    build_block("quote", text="", cite="Nobody"),
    build_block("code", text="\n", language=None),
    build_block("custom", data={"secret": "words"}),
]


class TestBlocks:
    @pytest.mark.parametrize(
        ("block", "html"), BLOCKS, ids=lambda value: value["type"] if isinstance(value, dict) else ""
    )
    def test_a_block_is_rendered_with_its_id_as_link_target(self, block, html):
        assert join_lines(render_blocks_to_safe_html([block])) == join_lines(html)

    @pytest.mark.parametrize("block", INVISIBLE_BLOCKS, ids=lambda block: block["type"])
    def test_a_block_without_visible_content_is_left_out(self, block):
        assert render_blocks_to_safe_html([block]) == ""


class TestPageFrame:
    SILK = MenuItem("Silk", "/looms/silk", current=True, children=(MenuItem("Brocade", "/looms/silk/brocade"),))
    MENU = (
        MenuItem("Engines", "/engines"),
        MenuItem("Looms", "/looms", children=(SILK, MenuItem("Later"))),
        MenuItem("Notes", children=(MenuItem("A", "/notes/a"),)),
    )

    def test_the_page_has_landmarks_and_a_link_that_skips_them(self):
        body = render_blocks(menu=self.MENU).find_one("body")
        assert [e.tag for e in body.children if isinstance(e, Element)] == ["a", "header", "main", "footer"]
        skip = body.find_all("a")[0]
        assert (skip.text, skip.attributes["href"]) == ("Skip to content", f"#{body.find_one('main').attributes['id']}")

    def test_the_name_of_the_site_links_to_its_home_page(self):
        root = render_blocks(home_href="/home", theme=build_theme(logo_url="https://mill.example/logo.svg"))
        link = root.find_one("header").find_one("a")
        assert (link.attributes["href"], link.text.strip()) == ("/home", "The Mill")
        assert link.find_one("img").attributes["alt"] == ""

    def test_the_menu_has_all_levels_needs_no_script_and_marks_the_current_page(self):
        nav = render_blocks(menu=self.MENU).find_one("nav")
        urls = {"Engines": "/engines", "Looms": "/looms", "Silk": "/looms/silk", "Brocade": "/looms/silk/brocade"}
        assert [(a.text, a.attributes["href"]) for a in nav.find_all("a")] == [*urls.items(), ("A", "/notes/a")]
        assert [summary.text for summary in nav.find_all("summary")] == ["Looms", "Notes"]
        assert "Later" in nav.text
        marked = [(e.tag, e.text, mark) for e in nav.find_all() if (mark := e.attributes.get("aria-current"))]
        assert marked == [("summary", "Looms", "true"), ("a", "Silk", "page")]

    def test_an_empty_menu_and_the_note_of_a_preview_are_left_out(self):
        assert render_blocks().find_all("nav", "aside") == []

    def test_english_texts_of_the_frame_are_marked_on_pages_in_other_languages(self):
        root = render_blocks(preview=True, lang="ar")
        assert "published" in root.find_one("aside").text
        for element in (root.find_one("aside"), root.find_one("body").find_all("a")[0]):
            assert (element.attributes["lang"], element.attributes["dir"]) == ("en", "ltr")


BRAND = {"primary": "#9d174d", "background": "#fffaf5", "text": "#2b1b17"}


def font_families(fonts: dict[str, str]) -> dict[str, str]:
    """Return the font families in the style sheet of a theme, by use."""
    return dict(re.findall(r"--(body|heading|mono):([^;]*);", stylesheet(build_theme(fonts=fonts))))


class TestColors:
    def test_colors_of_the_theme_are_used(self):
        colors = palette(build_theme(colors=BRAND), "light")
        assert {name: colors[name] for name in BRAND} == BRAND
        assert colors["link"] == "#9d174d"
        assert colors["on-primary"] == "#ffffff"

    @pytest.mark.parametrize(
        "colors",
        [
            {"text": "#cccccc", "link": "#dddddd", "muted": "#eeeeee", "primary": "#fafafa", "surface": "#111111"},
            {"text": "#00000022", "background": "#00000000"},
        ],
        ids=["pale", "transparent"],
    )
    def test_colors_with_too_little_contrast_are_ignored(self, colors):
        assert palette(build_theme(colors=colors), "light") == palette(build_theme(), "light")

    def test_the_surface_color_is_derived_from_the_background_by_default(self):
        assert palette(build_theme(colors=BRAND), "light")["surface"] == "#f2ede8"
        colors = palette(build_theme(colors={"background": "#fff", "text": "#000"}), "light")
        assert (colors["surface"], colors["text"]) == ("#f0f0f0", "#000")  # Short colours are accepted.
        assert palette(build_theme(colors={**BRAND, "surface": "#fff1e6"}), "light")["surface"] == "#fff1e6"

    def test_a_background_applies_only_to_the_mode_of_its_lightness(self):
        light_theme = build_theme(colors=BRAND)
        assert backgrounds(light_theme) == {"light": "#fffaf5", "dark": backgrounds(None)["dark"]}
        dark_theme = build_theme(colors={"background": "#101020"})
        assert backgrounds(dark_theme) == {"light": backgrounds(None)["light"], "dark": "#101020"}

    def test_a_theme_with_a_mode_has_only_that_mode(self):
        assert backgrounds(build_theme(mode="dark", colors=BRAND)) == {"dark": "#fffaf5"}
        assert backgrounds(build_theme(mode="light")) == {"light": "#ffffff"}
        assert set(backgrounds(build_theme(mode="auto"))) == {"light", "dark"}

    @pytest.mark.parametrize(
        ("mode", "has_both_modes"), [(None, True), ("auto", True), ("light", False), ("dark", False)]
    )
    def test_colors_follow_the_browser_unless_the_theme_sets_a_mode(self, mode, has_both_modes):
        css = stylesheet(build_theme(mode=mode))
        assert ("prefers-color-scheme" in css) == has_both_modes
        assert f"color-scheme:{'light dark' if has_both_modes else mode};" in css


class TestFonts:
    def test_fonts_of_the_theme_precede_the_default_ones(self):
        fonts = font_families({"body": "Source Sans 3", "heading": "Inter, system-ui", "mono": "monospace"})
        assert fonts["body"].startswith('"Source Sans 3", Charter, ')
        assert fonts["heading"].startswith('"Inter", system-ui, ')
        assert fonts["mono"].startswith("monospace, ")

    def test_default_fonts_are_used_for_uses_without_a_font(self):
        assert font_families({}) == font_families({"display": "Inter"})

    @pytest.mark.parametrize("name", ['a";}*{color:red}', "</style><script>", "a\\", "url(//evil)", "a\nb", "a/*"])
    def test_names_cannot_break_out_of_their_string(self, name):
        family = font_families({"body": name})["body"]
        assert re.fullmatch(r'"(?:[a-z -]|\\[0-9a-f]+ )*", Charter, .*', family)
