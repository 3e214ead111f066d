"""Areas of the HTTP API that the scopes of API keys cover, as the features declare them."""

from collections.abc import Iterable
from typing import Final, NamedTuple


class ScopeArea(NamedTuple):
    """An area of the HTTP API: `<name>:read` and `<name>:write` are scopes.

    `members_read_all` says whether each member of an organization may read everything in the area. In the others, some
    records are visible only to admins or to some members. In an area that `is_read_only`, no operation needs a write
    scope, so it has none.
    """

    name: str
    members_read_all: bool = False
    is_read_only: bool = False

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes of the area. Each implies those before it."""
        return (f"{self.name}:read",) if self.is_read_only else (f"{self.name}:read", f"{self.name}:write")


_areas: Final[dict[str, ScopeArea]] = {}


def register_scope_areas(areas: Iterable[ScopeArea]) -> None:
    """Register the areas that features declare, in their public order."""
    _areas.update((area.name, area) for area in areas)


def scope_areas() -> tuple[ScopeArea, ...]:
    """Return all areas, in their public order."""
    return tuple(_areas.values())
