"""Operations on the deliveries of a webhook: list, get, retry, and get their statistics."""

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.notifications.deliveries import logic
from chalicelib.features.notifications.entities import QUEUE_TASK, requeue_fields
from chalicelib.features.notifications.logic.delivery_events import (
    DeliveryEvent,
    event_in_items_or_none,
)
from chalicelib.features.notifications.logic.event_access import can_read_events_of
from chalicelib.features.notifications.models.event_areas import scope_area_of
from chalicelib.features.notifications.models.schemas import DeliveriesQuery, DeliveryDetailOut, DeliveryOut
from chalicelib.features.notifications.webhooks.entities import PROBE_TASK, Webhook, WebhookDelivery
from chalicelib.features.notifications.webhooks.logic.links import WEBHOOK_LINK
from chalicelib.features.notifications.webhooks.logic.webhook_requests import describe_request
from chalicelib.features.notifications.webhooks.models.schemas import WebhookStatisticsOut
from chalicelib.features.tenancy.entities.organizations import require_organization_role
from chalicelib.kernel.core.problems import Problem, not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import ListPage
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("organizations")


class DeliveredEvent(Prefetched):
    """The event of the delivery in the path."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the items that contain the event."""
        return logs.entry_item_keys(values.parameters["organization_id"], values.parameters["delivery_id"])

    def event_or_none(self, delivery: WebhookDelivery) -> DeliveryEvent | None:
        """Return the event, or None if it was erased."""
        return event_in_items_or_none(delivery, self.items)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
    link_types=(WEBHOOK_LINK,),
)
def list_webhook_deliveries(ctx: Context, webhook: Webhook, query: DeliveriesQuery) -> ListPage[DeliveryOut]:
    """List the deliveries of a webhook, newest first. They are kept for 90 days.

    `from` and `to` refer to the time of the event. A delivery that is changing may be listed by its previous status.
    """
    deliveries, last = logic.load_deliveries_and_next_position(webhook.id, query, ctx.decode_cursor(query))
    return ctx.build_page([DeliveryOut.of(delivery) for delivery in deliveries], last, query)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
    link_types=(WEBHOOK_LINK,),
)
def get_webhook_delivery(
    ctx: Context, webhook: Webhook, delivery: WebhookDelivery, delivered: DeliveredEvent
) -> DeliveryDetailOut:
    """Get a delivery with all its attempts, and with the request that was or will be sent.

    Use it to find out why an event did not arrive. Each attempt has its time, duration, status code or error, and the
    beginning of the receiver's response. The request's body is shown only to callers who may read the event: to users,
    and to API keys with the scope to read its area. It is null if the event was erased.
    """
    event = delivered.event_or_none(_unexpired_delivery_or_not_found(delivery))
    request = describe_request(webhook, delivery, event, shows_body=can_read_events_of(ctx, delivery.event_type))
    return DeliveryDetailOut.model_validate({**dict(DeliveryOut.of(delivery)), "request": request})


@routes.post(
    "/organizations/{organization_id}/webhooks/{webhook_id}/deliveries/{delivery_id}/retry",
    success=202,
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:write",
    emits="organization.webhook.delivery_retried",
    grants_access=True,
    collection_path="/organizations/{organization_id}/webhooks/{webhook_id}/deliveries",
    link_types=(WEBHOOK_LINK,),
)
def retry_webhook_delivery(ctx: Context, webhook: Webhook, delivery: WebhookDelivery) -> DeliveryOut:
    """Send a delivery again, whatever its status. If that fails, it is retried like a new delivery.

    A delivery that waits for its next attempt is sent now. If the webhook is not active, the problem is
    `invalid_transition`.
    """
    webhook.require_active()
    if not webhook.has_scope_for_event_type(delivery.event_type):
        detail = f"The webhook may no longer receive events of {scope_area_of(delivery.event_type)}. See its areas."
        raise Problem("invalid_transition", detail)
    requeued = ctx.changes.update(_unexpired_delivery_or_not_found(delivery), **requeue_fields(ctx.now))
    ctx.changes.event(requeued)
    ctx.changes.enqueue_after_commit(QUEUE_TASK, requeued)
    if not webhook.circuit.is_closed:  # The delivery would be deferred until a probe succeeds, so probe now.
        probed = ctx.changes.update_untracked(webhook, **webhook.circuit.probing(ctx.now).to_fields())
        ctx.changes.enqueue_after_commit(PROBE_TASK, probed)
    return DeliveryOut.of(requeued)


@routes.get(
    "/organizations/{organization_id}/webhooks/{webhook_id}/statistics",
    access=require_organization_role(Role.ADMIN),
    scope="webhooks:read",
    emits=None,
    link_types=(WEBHOOK_LINK,),
)
def get_webhook_statistics(ctx: Context, webhook: Webhook) -> WebhookStatisticsOut:
    """Get the numbers of delivered and failed attempts of a webhook, and their median duration.

    The periods are the last hour, day and week. Each starts at a multiple of five minutes, so it may be up to five
    minutes shorter.
    """
    return logic.load_statistics(webhook.id, ctx.now)


def _unexpired_delivery_or_not_found(delivery: WebhookDelivery) -> WebhookDelivery:
    if delivery.is_expired:
        raise not_found()
    return delivery
