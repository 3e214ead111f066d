"""The version of the service and of its API."""

from typing import Final

VERSION: Final = "0.9.0"
"""The version of the service (Semantic Versioning). `make release` tags the commit with it."""

API_VERSION: Final = "2026-11-20"
"""The version of the HTTP interface, which changes only if existing clients would have to change."""
