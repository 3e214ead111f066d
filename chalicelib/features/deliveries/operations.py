"""Deliveries to a webhook: what became of each event, and asking for one of them once more."""

from chalicelib.features.deliveries import log
from chalicelib.features.deliveries.entities import QUEUE, asked_for
from chalicelib.features.deliveries.event_types import area_of
from chalicelib.features.deliveries.models import DeliveriesQuery, DeliveryOut
from chalicelib.features.organizations.entities import at_organization
from chalicelib.features.webhooks.entities import PROBE, Webhook, WebhookDelivery
from chalicelib.features.webhooks.rules import refuse_inactive
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.operation import ListPage, RouteGroup
from chalicelib.kernel.permissions.roles import Role

routes = RouteGroup("organizations")


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
    access=at_organization(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def list_webhook_deliveries(ctx: Context, webhook: Webhook, query: DeliveriesQuery) -> ListPage[DeliveryOut]:
    """List the deliveries to a webhook, newest first; they are kept for 90 days.

    `from` and `to` are about when their events happened. What changes at this moment may be listed by the status that
    it had before.
    """
    deliveries, last = log.page(webhook.id, query, ctx.decode_cursor(query))
    return ctx.build_page([DeliveryOut.of(delivery) for delivery in deliveries], last, query)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}",
    access=at_organization(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
)
def get_webhook_delivery(_ctx: Context, webhook: Webhook, delivery: WebhookDelivery) -> DeliveryOut:  # noqa: ARG001
    """Get a delivery, with what came of each attempt."""
    return DeliveryOut.of(_kept(delivery))


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
    success=202,
    access=at_organization(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.delivery_retried",
    grants_access=True,
    collection_path="/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
)
def retry_webhook_delivery(ctx: Context, webhook: Webhook, delivery: WebhookDelivery) -> DeliveryOut:
    """Send a delivery once more, whatever became of it; if that fails too, it is tried again like a new one.

    One that waits for its next attempt gets it now. Of a webhook that is not active it is `invalid_transition`.
    """
    refuse_inactive(webhook)
    if not webhook.hears(delivery.event_type):
        detail = f"The webhook is told of no events of {area_of(delivery.event_type)} any more: see its areas."
        raise Problem("invalid_transition", detail)
    asked = ctx.changes.update(_kept(delivery), **asked_for(ctx.now))
    ctx.changes.enqueue_after_commit(QUEUE, asked)
    if not webhook.caught_up:  # It waits for the webhook to answer: now is the time to ask it.
        ctx.changes.update_untracked(webhook, parked_until=ctx.now)
        ctx.changes.enqueue_after_commit(PROBE, webhook)
    return DeliveryOut.of(asked)


def _kept(delivery: WebhookDelivery) -> WebhookDelivery:
    if delivery.expired:
        raise not_found()
    return delivery
