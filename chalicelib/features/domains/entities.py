"""What is stored of the domains of an organization's platforms."""

from chalicelib.features.domains.models import PlatformDomainOut
from chalicelib.kernel.entity import Collection, Entity, Facet


class PlatformDomain(Entity):
    """What an organization's inventory says of one of its platforms and of its domain.

    Platform ids are UUIDv7: the list is in the order the platforms were created.
    """

    kind = "platform.domain"
    pk, sk = "O#{organization_id}", "D#{platform_id}"
    in_organization = Collection("O#{organization_id}", "D#{platform_id}")
    by_status = Facet("O#{organization_id}#D#{verification_status}", "facet1")
    public = PlatformDomainOut

    organization_id: str
    platform_id: str
    platform_slug: str
    platform_name: str
    subdomain: str
    custom_domain: str | None = None
    verification_status: str = "none"
    verified_at: str | None = None
    last_checked_at: str | None = None
