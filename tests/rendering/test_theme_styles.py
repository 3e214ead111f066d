"""The colours and fonts of themes. Colours that make text illegible are ignored."""

import re

import pytest

from chalicelib.features.sites.rendering.logic.stylesheet import backgrounds, palette, stylesheet
from tests.harness.rendered_pages import build_theme

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

    def test_colors_with_too_little_contrast_are_ignored(self):
        pale_colors = {
            "text": "#cccccc",
            "link": "#dddddd",
            "muted": "#eeeeee",
            "primary": "#fafafa",
            "surface": "#111111",
        }
        assert palette(build_theme(colors=pale_colors), "light") == palette(build_theme(), "light")

    def test_transparent_colors_are_ignored(self):
        colors = {"text": "#00000022", "background": "#00000000"}
        assert palette(build_theme(colors=colors), "light") == palette(build_theme(), "light")

    def test_the_surface_color_is_derived_from_the_background_by_default(self):
        assert palette(build_theme(colors=BRAND), "light")["surface"] == "#f2ede8"
        assert palette(build_theme(colors={"background": "#fff", "text": "#000"}), "light")["surface"] == "#f0f0f0"
        assert palette(build_theme(colors={**BRAND, "surface": "#fff1e6"}), "light")["surface"] == "#fff1e6"

    def test_short_hexadecimal_colors_are_accepted(self):
        assert palette(build_theme(colors={"text": "#311"}), "light")["text"] == "#311"

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
    def test_colors_follow_the_browser_unless_the_theme_sets_a_mode(
        self,
        mode,
        has_both_modes,
    ):
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
