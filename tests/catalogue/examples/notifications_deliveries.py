"""Examples of the operations on the deliveries to a webhook."""

from typing import Final

from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import now
from tests.catalogue.examples.example import Example, ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_items


def _delivery_example(world: TenantFixture) -> Example:
    made = world.organization
    return example(organization_id=world.id, webhook_id=made.webhook_id, delivery_id=made.delivery_id)


EXAMPLES: Final[ExampleFactories] = {
    "get_webhook_delivery": _delivery_example,
    "retry_webhook_delivery": _delivery_example,
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add deliveries to the webhook."""
    put_items(
        WebhookDelivery.create_pending_or_skipped(
            world.organization.webhook_id,
            event_id=common_fields["id"],
            event_type="organization.updated",
            organization_id=world.id,
            sequence=1,
            occurred_at=now(),
            now=now(),
            attempt_at=None,
        )
        .replace(status="succeeded")
        .item()
        for common_fields in new_records_fields(count)
    )
