"""Which renderer this is: digests of all that decides how pages look. Made by `make generate`."""

from typing import Final

RENDERER: Final = "31365661cae525dc"
"""Of what blocks become."""

LAYOUT: Final = "3fda09dcb1037382"
"""Of that, and of what is around it."""
