"""Roles in containers, scopes of API keys, and which of them permit an operation."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Final

from chalicelib.kernel.permissions.scope_areas import scope_areas


class Role(StrEnum):
    """A member's role in an organization, a platform or a space.

    Each role includes the rights of the roles before it. Members read, editors change content, admins manage people and
    settings, and the owner of an organization can transfer or delete it.
    """

    MEMBER = "member"
    EDITOR = "editor"
    ADMIN = "admin"
    OWNER = "owner"

    @property
    def rank(self) -> int:
        """Return the role's rank, from 0."""
        return _ORDER.index(self)

    def includes(self, needed: "Role") -> bool:
        """Return whether this role is the needed one or above it."""
        return self.rank >= needed.rank


_ORDER: Final = tuple(Role)

GENERAL_SCOPES: Final = ("read", "write", "admin")
"""Scopes that follow the roles of users, whatever the area. Each implies those before it."""


@cache
def all_scopes() -> tuple[str, ...]:
    """Return every scope that an API key can hold."""
    return (*GENERAL_SCOPES, *(scope for area in scope_areas() for scope in area.scopes))


def expand_scopes(scopes: Iterable[str]) -> frozenset[str]:
    """Return the scopes with all scopes that they imply.

    The write scope of a read-only area, which older keys may hold, stands for the read scope.
    """
    expanded = set(scopes)
    for scope in scopes:
        if scope in GENERAL_SCOPES:
            expanded.update(GENERAL_SCOPES[: GENERAL_SCOPES.index(scope) + 1])
        elif scope.endswith(":write"):
            expanded.add(scope.removesuffix("write") + "read")
    if "admin" in expanded:
        expanded.update(all_scopes())
    return frozenset(expanded.intersection(all_scopes()))


def role_of_general_scopes_or_member(scopes: Iterable[str]) -> Role:
    """Return the role of an API key with these scopes: admin with `admin`, editor with `write`, otherwise member."""
    expanded = expand_scopes(scopes)
    if "admin" in expanded:
        return Role.ADMIN
    return Role.EDITOR if "write" in expanded else Role.MEMBER


def fully_readable_areas_or_none_if_all(scopes: Iterable[str] | None) -> list[str] | None:
    """Return the areas that can be read completely with some scopes, or None for all present and future areas.

    `scopes` is None for a user, who must be an admin. `read` and `write` read the areas that are open to all members.
    """
    expanded = expand_scopes(scopes) if scopes is not None else {"admin"}
    if "admin" in expanded:
        return None
    return [
        area.name
        for area in scope_areas()
        if f"{area.name}:read" in expanded or ("read" in expanded and area.members_read_all)
    ]


def unexpanded_grantable_scopes(role: Role) -> tuple[str, ...]:
    """Return the scopes that a role can grant, without the scopes that these imply."""
    return {Role.MEMBER: ("read",), Role.EDITOR: ("write",)}.get(role, ("admin",))


def scopes_allow(scopes: Iterable[str], scope: str, needed: Role) -> bool:
    """Return whether an API key's scopes permit an operation with a scope and a required role.

    The scope of an area permits its operations for any role. `read` and `write` permit those up to member and editor.
    The others need `admin`.
    """
    expanded = expand_scopes(scopes)
    if scope in expanded:
        return True
    if scope.endswith(":read") and needed == Role.MEMBER:
        return "read" in expanded
    return Role.EDITOR.includes(needed) and "write" in expanded


def general_scopes_that_allow(scope: str, needed: Role) -> list[str]:
    """Return the general scopes of which each permits an operation with a scope and a required role."""
    return [general for general in GENERAL_SCOPES if scopes_allow([general], scope, needed)]


def ungrantable_scopes(scopes: Iterable[str], holder_scopes: Iterable[str]) -> list[str]:
    """Return, in order, the scopes that a principal with `holder_scopes` cannot grant.

    `write` does not include the scopes of areas, which permit operations of admins.
    """
    expanded = expand_scopes(holder_scopes)
    return [scope for scope in scopes if not expand_scopes([scope]) <= expanded]
