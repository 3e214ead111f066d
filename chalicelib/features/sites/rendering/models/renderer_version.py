"""The version of the renderer: digests of everything that determines pages. Made by `make generate`."""

from typing import Final

RENDERER: Final = "31365661cae525dc"
"""Digest of everything that determines the HTML of blocks."""

LAYOUT: Final = "3cd7e4112091b8e9"
"""Digest of that and of the rest of a page."""
