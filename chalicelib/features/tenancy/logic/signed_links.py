"""Creates signed links for the members of an organization."""

from typing import Final

from chalicelib.features.tenancy.models.signed_links import NewSignedLink
from chalicelib.kernel.core.clock import timestamp_ms
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.identity.signed_links import LINK_SECONDS, SignedLink
from chalicelib.kernel.operations.link_types import LinkType
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import Entity

LINK_RATE_LIMITS: Final = (RateLimit("links-of-caller", limit=60, seconds=3600, per="principal"),)
"""Rate limit of new links. Each link has a quota of requests of its own, so one person must not create any number."""

LINK_LOCATION: Final = "/signed-link"
"""Path at which the holder of a link reads what it is about."""


def create_signed_link(ctx: Context, link_type: LinkType, record: Entity) -> NewSignedLink:
    """Return a new link to a record of the container of the request, and declare the event that records it.

    Raises ValueError if the operation does not require the rights that the link gives until its transaction commits.
    """
    container = ctx.access.container
    if container is None or not ctx.operation.grants_access:
        raise ValueError(f"{ctx.operation.id} creates a link: declare a container and `grants_access=True`")
    ctx.changes.event(record, always=True)
    link = SignedLink(
        link_type.name,
        ctx.changes.reserve_entry_id(),
        container.id,
        record.id,
        ctx.user.id,
        tuple(str(each["id"]) for each in ctx.access.memberships.memberships.values()),
        timestamp_ms(ctx.now) + LINK_SECONDS * 1000,
    )
    url = f"{settings().public_url}{link_type.page_path}#token={link.to_signed_token()}"
    return NewSignedLink(id=link.id, url=url, expires_at=link.expires_at)
