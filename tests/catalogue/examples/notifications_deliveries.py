"""Examples of the operations on the deliveries to a webhook."""

from typing import Final

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import now
from tests.catalogue.examples.example import Example, Examples, example
from tests.catalogue.tenant_fixture import World, new, put_items


def _of_one(world: World) -> Example:
    made = world.organization
    return example(organization_id=world.id, webhook_id=made.webhook_id, delivery_id=made.delivery_id)


EXAMPLES: Final[Examples] = {
    "list_webhook_deliveries": lambda world: example(
        organization_id=world.id, webhook_id=world.organization.webhook_id
    ),
    "get_webhook_delivery": _of_one,
    "retry_webhook_delivery": _of_one,
}


def crowd(world: World, number: int) -> None:
    """Let so many events have been delivered to the webhook."""
    put_items(
        WebhookDelivery.plan(
            world.organization.webhook_id,
            event_id=begun["id"],
            event_type="organization.updated",
            organization_id=world.id,
            sequence=1,
            occurred_at=now(),
            now=now(),
            attempt_at=None,
        )
        .replace(status="succeeded")
        .item()
        for begun in new(number)
    )
