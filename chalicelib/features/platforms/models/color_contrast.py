"""Contrast between the text and background colours of a theme (WCAG 2.2)."""

from collections.abc import Mapping
from typing import Any, Final

MIN_CONTRAST_RATIO: Final = 4.5
"""Minimum contrast ratio between text and its background: WCAG 2.2, success criterion 1.4.3, level AA."""

_BACKGROUNDS_BY_TEXT_COLOR: Final = {
    "text": ("background", "surface"),
    "muted": ("background", "surface"),
    "link": ("background", "surface"),
    "onBackground": ("background",),
    "onSurface": ("surface",),
    "onPrimary": ("primary",),
    "onSecondary": ("secondary",),
    "onAccent": ("accent",),
}
"""Name of a text colour → names of the colours it is used on, as themes usually call them."""

_HEX_DIGITS: Final = 6
_MAX_LINEAR_CHANNEL: Final = 0.04045
"""Largest value of a channel in the linear part of sRGB (WCAG 2, relative luminance)."""


def contrast_ratio(first_color: str, second_color: str) -> float:
    """Return the contrast ratio of two hexadecimal colours, from 1 to 21 (WCAG 2.2). The alpha channel is ignored."""
    darker, lighter = sorted((_relative_luminance(first_color), _relative_luminance(second_color)))
    return (lighter + 0.05) / (darker + 0.05)


def _relative_luminance(color: str) -> float:
    digits = color.removeprefix("#")
    if len(digits) < _HEX_DIGITS:
        digits = "".join(digit * 2 for digit in digits)
    channels = [int(digits[start : start + 2], 16) / 255 for start in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= _MAX_LINEAR_CHANNEL else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast_warnings(colors: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a warning for each pair of text and background colour whose contrast is below the minimum."""
    pairs = [
        (text, background)
        for text, backgrounds in _BACKGROUNDS_BY_TEXT_COLOR.items()
        for background in backgrounds
        if text in colors and background in colors
    ]
    ratios = [(text, background, contrast_ratio(colors[text], colors[background])) for text, background in pairs]
    return [_warning(text, background, ratio) for text, background, ratio in ratios if ratio < MIN_CONTRAST_RATIO]


def _warning(text: str, background: str, ratio: float) -> dict[str, Any]:
    # Truncated, not rounded: 4.49 must not read as sufficient.
    truncated = int(ratio * 100) / 100
    advice = f"text that people can read has {MIN_CONTRAST_RATIO}:1."
    return {
        "pointer": f"/colors/{text}",
        "code": "low_contrast",
        "detail": f"{text} on {background} has a contrast of {truncated}:1; {advice}",
    }
