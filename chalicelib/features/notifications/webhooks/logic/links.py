"""Signed links to a webhook, for the team that runs its receiver."""

from typing import Final

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.tenancy.entities.organizations import require_organization_role
from chalicelib.kernel.operations.link_types import LinkType
from chalicelib.kernel.permissions.roles import Role

WEBHOOK_LINK: Final = LinkType("webhook", "/webhook-portal", require_organization_role(Role.ADMIN), Webhook)
"""Links that open the webhook portal: the webhook, its deliveries, tests and the rotation of its secret."""
