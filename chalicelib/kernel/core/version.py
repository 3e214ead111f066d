"""The version of the service and of its API."""

from typing import Final

VERSION: Final = "0.1.0"
API_VERSION: Final = "2026-11-20"
