"""Signed links to the DNS instructions of a custom domain, for the people who manage its DNS."""

from typing import Final

from chalicelib.features.platforms.domains.entities import CustomDomain
from chalicelib.features.platforms.entities import require_platform_role
from chalicelib.kernel.operations.link_types import LinkType
from chalicelib.kernel.permissions.roles import Role

CUSTOM_DOMAIN_LINK: Final = LinkType("custom_domain", "/domain-setup", require_platform_role(Role.ADMIN), CustomDomain)
"""Links that open the instructions for the DNS records of a platform's domain, with a check of these records."""
