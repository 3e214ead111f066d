"""The version of the package, which is that of the release. `make clients` writes this file."""

__version__ = "0.9.0"

API_VERSION = "2026-11-20"
"""The version of the API for which this client is made."""
