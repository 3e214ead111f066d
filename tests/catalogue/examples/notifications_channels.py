"""Examples of the operations on an organization's integration channels."""

from typing import Final

from chalicelib.features.notifications.channels.entities import IntegrationChannel, encrypted_url_fields
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

URL: Final = "https://discord.com/api/webhooks/1100000000000000000/token-of-the-room"

EXAMPLES: Final[ExampleFactories] = {
    "create_integration_channel": lambda _: example(
        {
            "provider": "discord",
            "name": "#looms",
            "events": ["organization.member.*", "platform.*"],
            "config": {"webhookUrl": URL},
        }
    ),
    "update_integration_channel": lambda _: example({"provider": "discord", "config": {"webhookUrl": URL}}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add channels to the organization."""
    put_records(
        IntegrationChannel(
            **common_fields,
            **encrypted_url_fields(common_fields["id"], URL),
            organization_id=world.id,
            provider="discord",
            name="#looms",
            events=["*"],
            enabled=False,
        )
        for common_fields in new_records_fields(count)
    )
