"""The style sheet of pages, with the colors and fonts of a theme."""

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
_MIN_NON_TEXT_CONTRAST: Final = 3.0
"""Contrast of graphical elements: WCAG 2.2, success criterion 1.4.11, level AA."""

_TINT: Final = 0.06
_OPAQUE: Final = re.compile(r"#(?:[0-9a-f]{3}|[0-9a-f]{6})")
_FONTS: Final = {
    "body": ("body", 'Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif'),
    "heading": ("heading", 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'),
    "mono": ("mono", 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace'),
}
"""Use of a font → its name in a theme, and the default font stack."""

_GENERIC: Final = frozenset({"serif", "sans-serif", "monospace", "system-ui", "ui-serif", "ui-sans-serif"})
_STYLESHEET_PATH: Final = Path(__file__).parents[1] / "page.css"


def stylesheet(theme: Mapping[str, Any] | None) -> str:
    """Return the style sheet of a page in a platform's theme. Text is readable whatever the theme contains.

    Of a theme's colors `background`, `surface`, `text`, `muted`, `link`, `primary` and `onPrimary` are used, if they
    have enough contrast. The mode selects light or dark; with `auto`, or without a mode, the reader's preference
    decides, and the theme's backgrounds are used in the scheme that they fit. Of its fonts `body`, `heading` and `mono`
    are used if they are installed. No font is downloaded.
    """
    theme = theme or {}
    return f"{_root_color_and_font_rules(theme)}\n{_stylesheet_text()}"


def backgrounds(theme: Mapping[str, Any] | None) -> dict[str, str]:
    """Return the background of each color scheme of a page in this theme, for the browser's user interface."""
    return {scheme: palette(theme or {}, scheme)["background"] for scheme in _scheme_names(theme or {})}


def palette(theme: Mapping[str, Any], scheme: str) -> dict[str, str]:
    """Return the colors of a page in a scheme, `light` or `dark`: the theme's if they are readable, or the defaults."""
    ours = _SCHEMES[scheme]
    theirs = _usable_theme_colors(theme, scheme)
    background = theirs.get("background", ours["background"])
    text = _first_readable(
        (theirs.get("text"), ours["text"], _LIGHT["text"], _DARK["text"], _BLACK, _WHITE), (background,)
    )
    tinted = _tint(background, text) if "background" in theirs else ours["surface"]
    surface = _first_readable((theirs.get("surface"), tinted, background), (text,))
    both = (background, surface)
    links = (theirs.get("link"), theirs.get("primary"), ours["link"], _LIGHT["link"], _DARK["link"], text)
    primary = _first_readable((theirs.get("primary"), ours["primary"], text), (background,), _MIN_NON_TEXT_CONTRAST)
    return {
        "background": background,
        "surface": surface,
        "text": text,
        "muted": _first_readable((theirs.get("muted"), ours["muted"], _LIGHT["muted"], _DARK["muted"], text), both),
        "link": _first_readable(links, both),
        "primary": primary,
        "on-primary": _first_readable((theirs.get("onPrimary"), _WHITE, _BLACK), (primary,)),
    }


def _scheme_names(theme: Mapping[str, Any]) -> tuple[str, ...]:
    return (theme["mode"],) if theme.get("mode") in _SCHEMES else tuple(_SCHEMES)


def _usable_theme_colors(theme: Mapping[str, Any], scheme: str) -> Colors:
    """Return the colors of a theme that can be used in a scheme. Transparent colors are ignored."""
    colors = {name: color for name, color in theme.get("colors", {}).items() if _OPAQUE.fullmatch(color)}
    if len(_scheme_names(theme)) == 1:
        return colors
    return {
        name: color
        for name, color in colors.items()
        if name not in ("background", "surface") or _fits_scheme(color, scheme)
    }


def _fits_scheme(ground: str, scheme: str) -> bool:
    is_light = contrast_ratio(ground, _BLACK) >= contrast_ratio(ground, _WHITE)
    return is_light == (scheme == "light")


def _first_readable(
    candidates: Iterable[str | None], backgrounds: Iterable[str], min_contrast: float = MIN_CONTRAST_RATIO
) -> str:
    """Return the first color with enough contrast on all backgrounds. The last candidate always has it."""
    backgrounds = list(backgrounds)
    return next(c for c in candidates if c and all(contrast_ratio(c, ground) >= min_contrast for ground in backgrounds))


def _tint(ground: str, color: str) -> str:
    """Return a background mixed with a little of a color."""
    mixed = zip(_channels(ground), _channels(color), strict=True)
    return "#" + "".join(f"{round(below + (above - below) * _TINT):02x}" for below, above in mixed)


def _channels(color: str) -> list[int]:
    digits = color.removeprefix("#")
    width = len(digits) // 3
    return [int((digits[at : at + width] * 2)[:2], 16) for at in range(0, len(digits), width)]


def _root_color_and_font_rules(theme: Mapping[str, Any]) -> str:
    schemes = _scheme_names(theme)
    families = "".join(f"--{use}:{_font_stack(theme, *names)};" for use, names in _FONTS.items())
    first = f":root{{color-scheme:{' '.join(schemes)};{_declarations(palette(theme, schemes[0]))}{families}}}"
    others = [f":root{{{_declarations(palette(theme, scheme))}}}" for scheme in schemes[1:]]
    return first + "".join(f"@media(prefers-color-scheme:dark){{{rule}}}" for rule in others)


def _declarations(colors: Colors) -> str:
    return "".join(f"--{name}:{color};" for name, color in colors.items())


def _font_stack(theme: Mapping[str, Any], name: str, ours: str) -> str:
    theirs = theme.get("fonts", {}).get(name, "")
    return ", ".join([*(_quote_font_name(family.strip()) for family in theirs.split(",") if family.strip()), ours])


def _quote_font_name(name: str) -> str:
    """Return the name of a font for a style sheet.

    All characters except letters, digits, spaces and hyphens are escaped.
    """
    if ascii_lower(name) in _GENERIC:
        return ascii_lower(name)
    return '"' + "".join(c if c.isalnum() or c in " -" else f"\\{ord(c):x} " for c in name) + '"'


@cache
def _stylesheet_text() -> str:
    return _STYLESHEET_PATH.read_text(encoding="utf-8")
