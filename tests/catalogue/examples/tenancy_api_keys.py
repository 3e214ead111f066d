"""Examples of the operations on an organization's API keys."""

from typing import Final

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "create_api_key": lambda _: example(
        {"name": "Nightly export", "scopes": ["api-keys:read"], "allowedIps": ["192.0.2.0/24"]}
    ),
    "rotate_api_key": lambda _: example({"graceHours": 1}),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add revoked API keys to the organization."""
    put_records(
        ApiKey(
            **common_fields,
            name="Former",
            organization_id=world.id,
            created_by=world.people.owner.id,
            scopes=["read"],
            digests={},
            hint="atr_…0000",
            revoked_at=common_fields["created_at"],
            is_live=False,
        )
        for common_fields in new_records_fields(count)
    )
