"""Examples of the operations on replays."""

from typing import Final

from chalicelib.features.notifications.replays.entities import Replay
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

SINCE: Final = "2026-01-01T00:00:00.000Z"

EXAMPLES: Final[ExampleFactories] = {"replay_webhook_deliveries": lambda _: example({"from": SINCE})}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add former replays."""
    put_records(
        Replay(
            **common_fields,
            organization_id=world.id,
            webhook_id=world.organization.webhook_id,
            since=SINCE,
            until=SINCE,
            status="completed",
            ttl=2**40,
        )
        for common_fields in new_records_fields(count)
    )
