"""The version of the renderer: digests of everything that determines pages. Made by `make generate`."""

from typing import Final

RENDERER: Final = "0a8f7c2c95213237"
"""Digest of everything that determines the HTML of blocks."""

LAYOUT: Final = "26698a2f5d3317cc"
"""Digest of that and of the rest of a page."""
