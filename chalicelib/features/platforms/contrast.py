"""Which colours of a theme people can't read on each other."""

from collections.abc import Mapping
from typing import Any, Final

LEAST_CONTRAST: Final = 4.5
"""Of text on its ground: WCAG 2.2, success criterion 1.4.3, level AA."""

_TEXT_ON: Final = {
    "text": ("background", "surface"),
    "muted": ("background", "surface"),
    "link": ("background", "surface"),
    "onBackground": ("background",),
    "onSurface": ("surface",),
    "onPrimary": ("primary",),
    "onSecondary": ("secondary",),
    "onAccent": ("accent",),
}
"""Colour of text → the colours it stands on, by the names that themes usually give them."""

_HEX_DIGITS: Final = 6
_LINEAR_UNTIL: Final = 0.04045


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, `#rrggbb`, from 1 to 21 (WCAG 2.2, contrast ratio); alpha is left out."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: str) -> float:
    digits = color.removeprefix("#")
    if len(digits) < _HEX_DIGITS:
        digits = "".join(digit * 2 for digit in digits)
    channels = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= _LINEAR_UNTIL else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast_warnings(colors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return which colours of a theme are too much like what they stand on to be read."""
    pairs = [
        (text, ground)
        for text, grounds in _TEXT_ON.items()
        for ground in grounds
        if text in colors and ground in colors
    ]
    found = [(text, ground, contrast(colors[text], colors[ground])) for text, ground in pairs]
    return [_warning(text, ground, ratio) for text, ground, ratio in found if ratio < LEAST_CONTRAST]


def _warning(text: str, ground: str, ratio: float) -> dict[str, Any]:
    # Cut, not rounded: 4.49 must not read as enough.
    shown = int(ratio * 100) / 100
    return {
        "pointer": f"/colors/{text}",
        "code": "low_contrast",
        "detail": f"{text} on {ground} has a contrast of {shown}:1; text that people can read has {LEAST_CONTRAST}:1.",
    }
