"""Which version of the service this is, and of the interface it speaks."""

from typing import Final

VERSION: Final = "0.1.0"
API_VERSION: Final = "2026-11-20"
