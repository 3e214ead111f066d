"""Examples of the operations on an organization's webhooks."""

from typing import Final

from chalicelib.features.notifications.webhooks.entities import Webhook
from chalicelib.features.notifications.webhooks.logic import webhook_secrets
from chalicelib.features.notifications.webhooks.models import standard_webhooks
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

URL: Final = "https://hooks.example.org/atrium"

EXAMPLES: Final[ExampleFactories] = {
    "create_webhook": lambda _: example(
        {"url": URL, "events": ["organization.member.*", "platform.*"], "description": "Feeds the lake."}
    ),
    "update_webhook": lambda _: example({"url": URL, "description": "Feeds the lake."}),
    "rotate_webhook_secret": lambda _: example({"graceHours": 1}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add webhooks to the organization."""
    put_records(
        Webhook(
            **common_fields,
            organization_id=world.id,
            url=URL,
            events=["*"],
            enabled=False,
            secrets=[
                webhook_secrets.encrypted_secret_without_expiry(
                    common_fields["id"], standard_webhooks.generate_secret()
                )
            ],
        )
        for common_fields in new_records_fields(count)
    )
