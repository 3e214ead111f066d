"""Platforms as an organization's inventory of domains knows them, made below HTTP."""

from typing import Any

from chalicelib.features.domains.entities import CustomDomain, PlatformDomain
from chalicelib.kernel.changes import Changes
from chalicelib.kernel.clock import after
from tests.harness.joining import beginning


def platform(organization_id: str, moment: str, **fields: Any) -> PlatformDomain:
    """Return a platform created at a moment, with these fields instead of the usual ones; it is not stored yet."""
    begun = beginning(moment)
    usual = {"platform_slug": "engines", "platform_name": "Engines", "subdomain": "engines"}
    return PlatformDomain(**begun, **usual | fields, organization_id=organization_id, platform_id=begun["id"])


def verified_domain(organization_id: str, moment: str) -> CustomDomain:
    """Store a custom domain that is verified, with all that comes with it, and return it."""
    begun, changes = beginning(moment), Changes(moment)
    verified = changes.create(CustomDomain(
        **begun, organization_id=organization_id, platform_id=begun["id"], platform_slug="engines",
        platform_name="Engines", domain="engines.example.com", status="verified",
        next_check_at=after(moment, days=1),
    ))  # fmt: skip
    changes.commit()
    return verified
