"""Examples of the operations on the capabilities of a space."""

from typing import Any, Final

from chalicelib.features.platforms.capabilities.entities import Capability
from tests.catalogue.examples.example import Examples, example
from tests.catalogue.tenant_fixture import World, new, put

EXAMPLES: Final[Examples] = {
    "list_space_capabilities": lambda world: example(space_id=world.space.id),
    "add_space_capability": lambda world: example(
        {"capabilityKey": "polls", "settings": {"most": 3}}, space_id=world.space.id
    ),
    "replace_space_capabilities": lambda world: example(
        {"capabilities": [{"capabilityKey": "polls"}, {"capabilityKey": "video-calls"}]},
        about=f"{world.space.path}/capabilities",
        space_id=world.space.id,
    ),
    "get_space_capability": lambda world: example(
        space_id=world.space.id, capability_key=world.organization.capability_key
    ),
    "remove_space_capability": lambda world: example(
        space_id=world.space.id, capability_key=world.organization.capability_key
    ),
}


def crowd(world: World, number: int) -> None:
    """Let the space have so many capabilities more, as far as it may."""
    place: dict[str, Any] = {"organization_id": world.id, "platform_id": world.platform.id, "space_id": world.space.id}
    put(Capability(**begun, **place, capability_key=f"crowd-{n}") for n, begun in enumerate(new(min(number, _FEW))))


_FEW: Final = 10
"""A set is bounded: replacing it takes as many writes as it has members."""
