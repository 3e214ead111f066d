"""What a page looks like: one style sheet, and the colours and fonts that a theme puts into it."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from chalicelib.features.platforms.models.color_contrast import MIN_CONTRAST_RATIO, contrast_ratio
from chalicelib.kernel.core.case_folding import ascii_lower

Colors = Mapping[str, str]

_LIGHT: Final[Colors] = {
    "background": "#ffffff",
    "surface": "#f3f4f6",
    "text": "#1c2026",
    "muted": "#555d68",
    "link": "#1d4ed8",
    "primary": "#1d4ed8",
}
_DARK: Final[Colors] = {
    "background": "#13161b",
    "surface": "#1f242c",
    "text": "#e6e8eb",
    "muted": "#a4adb8",
    "link": "#8fb4ff",
    "primary": "#8fb4ff",
}
_SCHEMES: Final = {"light": _LIGHT, "dark": _DARK}
_BLACK, _WHITE = "#000000", "#ffffff"
_LEAST_OF_A_SHAPE: Final = 3.0
"""Contrast of what is no text with its ground: WCAG 2.2, success criterion 1.4.11, level AA."""

_TINT: Final = 0.06
_OPAQUE: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_FONTS: Final = {
    "body": ("body", 'Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif'),
    "heading": ("heading", 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'),
    "mono": ("mono", 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace'),
}
"""Use of a font → what a theme calls it, and the families of ours that stand in for it."""

_GENERIC: Final = frozenset({"serif", "sans-serif", "monospace", "system-ui", "ui-serif", "ui-sans-serif"})
_SHEET: Final = Path(__file__).parents[1] / "page.css"


def sheet(theme: Mapping[str, Any] | None) -> str:
    """Return the style sheet of a page in a platform's theme; everyone can read it, whatever the theme says.

    Of a theme's colours those count that can be told from what they stand on: `background`, `surface`, `text`,
    `muted`, `link`, `primary` and `onPrimary`. Its mode chooses light or dark; in `auto`, as without one, readers do,
    and the theme's grounds stay where they are light or dark enough. Of its fonts, `body`, `heading` and `mono` count,
    if a reader has them: none is fetched.
    """
    theme = theme or {}
    return f"{_variables(theme)}\n{_text()}"


def grounds(theme: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the background of each scheme that a page in this theme has, for what is around the page."""
    return {scheme: palette(theme or {}, scheme)["background"] for scheme in _schemes(theme or {})}


def palette(theme: Mapping[str, Any], scheme: str) -> dict[str, str]:
    """Return the colours of a page in a scheme, `light` or `dark`: the theme's where they can be read, else ours."""
    ours = _SCHEMES[scheme]
    theirs = _colors(theme, scheme)
    background = theirs.get("background", ours["background"])
    text = _first((theirs.get("text"), ours["text"], _LIGHT["text"], _DARK["text"], _BLACK, _WHITE), (background,))
    beside = _tinted(background, text) if "background" in theirs else ours["surface"]
    surface = _first((theirs.get("surface"), beside, background), (text,))
    both = (background, surface)
    links = (theirs.get("link"), theirs.get("primary"), ours["link"], _LIGHT["link"], _DARK["link"], text)
    primary = _first((theirs.get("primary"), ours["primary"], text), (background,), _LEAST_OF_A_SHAPE)
    return {
        "background": background,
        "surface": surface,
        "text": text,
        "muted": _first((theirs.get("muted"), ours["muted"], _LIGHT["muted"], _DARK["muted"], text), both),
        "link": _first(links, both),
        "primary": primary,
        "on-primary": _first((theirs.get("onPrimary"), _WHITE, _BLACK), (primary,)),
    }


def _schemes(theme: Mapping[str, Any]) -> tuple[str, ...]:
    return (theme["mode"],) if theme.get("mode") in _SCHEMES else tuple(_SCHEMES)


def _colors(theme: Mapping[str, Any], scheme: str) -> Colors:
    """Return the colours of a theme that can count in a scheme: without those that let their ground through."""
    colors = {name: color for name, color in theme.get("colors", {}).items() if _OPAQUE.fullmatch(color)}
    if len(_schemes(theme)) == 1:
        return colors
    return {
        name: color for name, color in colors.items() if name not in ("background", "surface") or _fits(color, scheme)
    }


def _fits(ground: str, scheme: str) -> bool:
    is_light = contrast_ratio(ground, _BLACK) >= contrast_ratio(ground, _WHITE)
    return is_light == (scheme == "light")


def _first(wanted: Iterable[str | None], grounds: Iterable[str], least: float = MIN_CONTRAST_RATIO) -> str:
    """Return the first colour that can be told from all grounds; one of the last always can."""
    grounds = list(grounds)
    return next(c for c in wanted if c and all(contrast_ratio(c, ground) >= least for ground in grounds))


def _tinted(ground: str, color: str) -> str:
    """Return a ground with a little of a colour in it."""
    mixed = zip(_channels(ground), _channels(color), strict=True)
    return "#" + "".join(f"{round(below + (above - below) * _TINT):02x}" for below, above in mixed)


def _channels(color: str) -> list[int]:
    digits = color.removeprefix("#")
    width = len(digits) // 3
    return [int((digits[at : at + width] * 2)[:2], 16) for at in range(0, len(digits), width)]


def _variables(theme: Mapping[str, Any]) -> str:
    schemes = _schemes(theme)
    families = "".join(f"--{use}:{_families(theme, *names)};" for use, names in _FONTS.items())
    first = f":root{{color-scheme:{' '.join(schemes)};{_declared(palette(theme, schemes[0]))}{families}}}"
    others = [f":root{{{_declared(palette(theme, scheme))}}}" for scheme in schemes[1:]]
    return first + "".join(f"@media(prefers-color-scheme:dark){{{rule}}}" for rule in others)


def _declared(colors: Colors) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())


def _families(theme: Mapping[str, Any], name: str, ours: str) -> str:
    theirs = theme.get("fonts", {}).get(name, "")
    return ", ".join([*(_family(family.strip()) for family in theirs.split(",") if family.strip()), ours])


def _family(name: str) -> str:
    """Return the name of a font as a style sheet has it: a string in which only letters and digits are as they were."""
    if ascii_lower(name) in _GENERIC:
        return ascii_lower(name)
    return '"' + "".join(c if c.isalnum() or c in " -" else f"\\{ord(c):x} " for c in name) + '"'


@cache
def _text() -> str:
    return _SHEET.read_text(encoding="utf-8")
