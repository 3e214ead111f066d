"""What a theme makes of a page: its colours where they can be read, its fonts where a reader has them."""

import re

import pytest

from chalicelib.features.sites.rendering.logic.stylesheet import backgrounds, palette, stylesheet
from tests.harness.rendered_pages import build_theme

BRAND = {"primary": "#9d174d", "background": "#fffaf5", "text": "#2b1b17"}


def families(fonts: dict[str, str]) -> dict[str, str]:
    """Return the fonts of a page, by their use."""
    return dict(re.findall(r"--(body|heading|mono):([^;]*);", stylesheet(build_theme(fonts=fonts))))


class TestColors:
    def test_of_a_theme_are_those_of_its_page(self) -> None:
        found = palette(build_theme(colors=BRAND), "light")
        assert {name: found[name] for name in BRAND} == BRAND
        assert found["link"] == "#9d174d"
        assert found["on-primary"] == "#ffffff"

    def test_that_cannot_be_read_are_left_out(self) -> None:
        pale = {"text": "#cccccc", "link": "#dddddd", "muted": "#eeeeee", "primary": "#fafafa", "surface": "#111111"}
        assert palette(build_theme(colors=pale), "light") == palette(build_theme(), "light")

    def test_that_let_their_ground_through_are_left_out(self) -> None:
        colors = {"text": "#00000022", "background": "#00000000"}
        assert palette(build_theme(colors=colors), "light") == palette(build_theme(), "light")

    def test_of_a_ground_are_the_surfaces_on_it_unless_the_theme_says_more(self) -> None:
        assert palette(build_theme(colors=BRAND), "light")["surface"] == "#f2ede8"
        assert palette(build_theme(colors={"background": "#fff", "text": "#000"}), "light")["surface"] == "#f0f0f0"
        assert palette(build_theme(colors={**BRAND, "surface": "#fff1e6"}), "light")["surface"] == "#fff1e6"

    def test_of_few_digits_count_too(self) -> None:
        assert palette(build_theme(colors={"text": "#311"}), "light")["text"] == "#311"

    def test_of_a_light_ground_stay_in_the_light(self) -> None:
        light = build_theme(colors=BRAND)
        assert backgrounds(light) == {"light": "#fffaf5", "dark": backgrounds(None)["dark"]}
        night = build_theme(colors={"background": "#101020"})
        assert backgrounds(night) == {"light": backgrounds(None)["light"], "dark": "#101020"}

    def test_of_a_mode_are_the_only_ones(self) -> None:
        assert backgrounds(build_theme(mode="dark", colors=BRAND)) == {"dark": "#fffaf5"}
        assert backgrounds(build_theme(mode="light")) == {"light": "#ffffff"}
        assert set(backgrounds(build_theme(mode="auto"))) == {"light", "dark"}

    @pytest.mark.parametrize(("mode", "both"), [(None, True), ("auto", True), ("light", False), ("dark", False)])
    def test_follow_the_reader_unless_the_theme_chooses(self, mode: str | None, both: bool) -> None:  # noqa: FBT001
        found = stylesheet(build_theme(mode=mode))
        assert ("prefers-color-scheme" in found) == both
        assert f"color-scheme:{'light dark' if both else mode};" in found


class TestFonts:
    def test_of_a_theme_come_before_ours(self) -> None:
        found = families({"body": "Source Sans 3", "heading": "Inter, system-ui", "mono": "monospace"})
        assert found["body"].startswith('"Source Sans 3", Charter, ')
        assert found["heading"].startswith('"Inter", system-ui, ')
        assert found["mono"].startswith("monospace, ")

    def test_that_a_theme_does_not_name_are_ours(self) -> None:
        assert families({}) == families({"display": "Inter"})

    @pytest.mark.parametrize("name", ['a";}*{color:red}', "</style><script>", "a\\", "url(//evil)", "a\nb", "a/*"])
    def test_end_nothing_that_they_stand_in(self, name: str) -> None:
        found = families({"body": name})["body"]
        assert re.fullmatch(r'"(?:[a-z -]|\\[0-9a-f]+ )*", Charter, .*', found)
