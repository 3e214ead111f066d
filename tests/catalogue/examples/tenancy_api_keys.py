"""Examples of the operations on an organization's API keys."""

from typing import Final

from chalicelib.features.tenancy.api_keys.entities import ApiKey
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_api_keys": lambda world: example(organization_id=world.id),
    "create_api_key": lambda world: example(
        {"name": "Nightly export", "scopes": ["api-keys:read"], "allowedIps": ["192.0.2.0/24"]},
        organization_id=world.id,
    ),
    "get_api_key": lambda world: example(organization_id=world.id, api_key_id=world.api_key.id),
    "revoke_api_key": lambda world: example(organization_id=world.id, api_key_id=world.api_key.id),
    "rotate_api_key": lambda world: example({"graceHours": 1}, organization_id=world.id, api_key_id=world.api_key.id),
}


def crowd(world: World, number: int) -> None:
    """Let the organization have so many former keys."""
    put(
        ApiKey(
            **begun,
            name="Former",
            organization_id=world.id,
            created_by=world.people.owner.id,
            scopes=["read"],
            digests={},
            hint="atr_…0000",
            revoked_at=begun["created_at"],
            is_live=False,
        )
        for begun in new(number)
    )
