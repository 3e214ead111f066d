"""The operation that describes a signed link to its holder."""

from typing import Final

from chalicelib.features.notifications.webhooks.logic.links import WEBHOOK_LINK
from chalicelib.features.platforms.domains.logic.links import CUSTOM_DOMAIN_LINK
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.features.tenancy.logic.signed_links import LINK_LOCATION
from chalicelib.features.tenancy.models.signed_links import LinkCreator, LinkedOrganization, SignedLinkOut
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.route_groups import RouteGroup

routes: Final = RouteGroup("me")


@routes.get(LINK_LOCATION, access=Caller.LINK, scope=None, emits=None, link_types=(CUSTOM_DOMAIN_LINK, WEBHOOK_LINK))
def get_signed_link(ctx: Context) -> SignedLinkOut:
    """Get what a signed link is about: the organization, the record, who created the link, and when it expires.

    A page that was opened by a link uses it to find the record. Send the token of the link as `Link-Token`. A link that
    has expired, or whose creator has lost the right to it, is `unauthenticated`.
    """
    holder = ctx.link_holder
    containers = {each.kind: each for each in (*ctx.access.ancestors.values(), ctx.access.container) if each}
    organization, platform = containers[Organization.kind], containers.get(Platform.kind)
    return SignedLinkOut.model_validate(
        {
            "type": holder.link.type,
            "organization_id": organization.id,
            "platform_id": platform.id if platform else None,
            "webhook_id": holder.link.record_id if holder.link.type == WEBHOOK_LINK.name else None,
            "organization": LinkedOrganization(id=organization.id, name=organization.audit_log_label),
            "created_by": LinkCreator(name=holder.creator_name),
            "expires_at": holder.link.expires_at,
        }
    )
