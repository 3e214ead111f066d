"""Platforms as an organization's inventory of domains knows them, made below HTTP."""

from typing import Any

from chalicelib.features.domains.entities import PlatformDomain
from tests.harness.joining import beginning


def platform(organization_id: str, moment: str, **fields: Any) -> PlatformDomain:
    """Return a platform created at a moment, with these fields instead of the usual ones; it is not stored yet."""
    begun = beginning(moment)
    usual = {"platform_slug": "engines", "platform_name": "Engines", "subdomain": "engines"}
    return PlatformDomain(**begun, **usual | fields, organization_id=organization_id, platform_id=begun["id"])
