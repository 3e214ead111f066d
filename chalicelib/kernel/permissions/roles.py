"""Roles at a place, scopes of an API key, and which of them satisfy an operation."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Final

from chalicelib.kernel.permissions.scope_areas import scope_areas


class Role(StrEnum):
    """What a member may do at a place; each role may do all that the ones before it may."""

    MEMBER = "member"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """The role's position, from 0."""
        return _ORDER.index(self)

    def includes(self, needed: "Role") -> bool:
        """Return whether this role is the needed one or above it."""
        return self.rank >= needed.rank


_ORDER: Final = tuple(Role)

GENERAL_SCOPES: Final = ("read", "write", "admin")
"""Scopes over all areas; each implies those before it."""


@cache
def all_scopes() -> tuple[str, ...]:
    """Return every scope that an API key can hold."""
    return (*GENERAL_SCOPES, *(f"{area.name}:{verb}" for area in scope_areas() for verb in ("read", "write")))


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes together with all that they imply."""
    held = set(scopes)
    for scope in scopes:
        if scope in GENERAL_SCOPES:
            held.update(GENERAL_SCOPES[: GENERAL_SCOPES.index(scope) + 1])
        elif scope.endswith(":write"):
            held.add(scope.removesuffix("write") + "read")
    if "admin" in held:
        held.update(all_scopes())
    return frozenset(held)


def role_for_scopes(scopes: Iterable[str]) -> Role:
    """Return the role a key acts as: `admin` as admin, `write` as editor, anything else as member."""
    held = expand_scopes(scopes)
    if "admin" in held:
        return Role.ADMIN
    return Role.EDITOR if "write" in held else Role.MEMBER


def readable_areas(scopes: Iterable[str] | None) -> list[str] | None:
    """Return the areas of which somebody may read all there is, or None for every one, now and later.

    A person who asks has no scopes (None) and is an admin. `read` and `write` read the areas that are open to members.
    """
    held = expand_scopes(scopes) if scopes is not None else {"admin"}
    if "admin" in held:
        return None
    return [
        area.name for area in scope_areas() if f"{area.name}:read" in held or ("read" in held and area.members_read_all)
    ]


def grantable_scopes(role: Role) -> tuple[str, ...]:
    """Return the scopes that somebody with a role may give: one over all areas, or every one as an admin."""
    return {Role.MEMBER: ("read",), Role.EDITOR: ("write",)}.get(role, ("admin",))


def scopes_allow(scopes: Iterable[str], scope: str, needed: Role) -> bool:
    """Return whether a key with these scopes may perform an operation of that scope that needs that role.

    An area's own scope satisfies its operations whatever the role; `read` and `write` satisfy those up to member and
    editor; the rest needs `admin`.
    """
    held = expand_scopes(scopes)
    if scope in held:
        return True
    if scope.endswith(":read") and needed == Role.MEMBER:
        return "read" in held
    return Role.EDITOR.includes(needed) and "write" in held


def ungrantable_scopes(scopes: Iterable[str], held: Iterable[str]) -> list[str]:
    """Return, in order, the scopes that whoever holds `held` can't give away.

    `write` holds no area's own scope: that satisfies operations for admins, which `write` does not.
    """
    given = expand_scopes(held)
    return [scope for scope in scopes if scope not in given]
