"""Examples of the operations on the capabilities of a space."""

from typing import Any, Final

from chalicelib.features.platforms.capabilities.entities import Capability
from tests.catalogue.examples.example import ExampleFactories, example
from tests.catalogue.tenant_fixture import TenantFixture, new_records_fields, put_records

EXAMPLES: Final[ExampleFactories] = {
    "add_space_capability": lambda _: example({"capabilityKey": "polls", "settings": {"most": 3}}),
    "replace_space_capabilities": lambda world: example(
        {"capabilities": [{"capabilityKey": "polls"}, {"capabilityKey": "video-calls"}]},
        subject_path=f"{world.space.path}/capabilities",
    ),
}


def add_neighbours(world: TenantFixture, count: int) -> None:
    """Add capabilities to the space, up to the limit."""
    place: dict[str, Any] = {"organization_id": world.id, "platform_id": world.platform.id, "space_id": world.space.id}
    put_records(
        Capability(**common_fields, **place, capability_key=f"crowd-{n}")
        for n, common_fields in enumerate(new_records_fields(min(count, _MAX_SET_SIZE)))
    )


_MAX_SET_SIZE: Final = 10
"""The size of sets is limited, because a replacement takes a write for each member."""
