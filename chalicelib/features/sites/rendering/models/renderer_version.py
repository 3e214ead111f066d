"""The version of the renderer: digests of everything that determines pages. Made by `make generate`."""

from typing import Final

RENDERER: Final = "0a8f7c2c95213237"
"""Digest of everything that determines the HTML of blocks."""

LAYOUT: Final = "93521fb0019b3539"
"""Digest of that and of the rest of a page."""
