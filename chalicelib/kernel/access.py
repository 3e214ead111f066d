"""Access: whether the caller may do this here. One BatchGet brings what decides it, and what the operation acts on."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chalicelib.kernel import table
from chalicelib.kernel.auth import Anonymous, ApiKeyPrincipal, KeyHolder, Principal, api_key
from chalicelib.kernel.changes import guard_key
from chalicelib.kernel.entity import Entity, Item, Key, Place
from chalicelib.kernel.fields import SLUG_PATTERN
from chalicelib.kernel.operation import At, Caller, Operation
from chalicelib.kernel.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.request import Request
from chalicelib.kernel.roles import Role, satisfies
from chalicelib.kernel.tokens import User


@dataclass(frozen=True)
class Access:
    """What was loaded and allowed: the place, the caller's role and membership there, the path's records.

    `read`: all items that were read.
    """

    principal: Principal
    place: Place | None = None
    role: Role | None = None
    records: Mapping[str, Entity] = field(default_factory=dict)
    membership: Item | None = None
    read: Mapping[Key, Item] = field(default_factory=dict)


def refuse_kind(operation: Operation, caller: User | KeyHolder | Anonymous, ip: str) -> None:
    """Raise 401 or 403 if no caller of this kind may perform the operation. A key that ended is told that first."""
    needs = operation.needs
    if needs is Caller.PUBLIC and (operation.keys or not isinstance(caller, KeyHolder)):
        return
    if isinstance(caller, Anonymous):
        raise unauthenticated()
    if isinstance(caller, KeyHolder) and (needs in (Caller.USER, Caller.OPERATOR) or operation.scope is None):
        api_key(caller, table.get(caller.record), ip)
        raise Problem("forbidden", "API keys can't do this. Use a user's token.")
    if needs is Caller.OPERATOR and not (isinstance(caller, User) and caller.operator):
        raise Problem("forbidden", "Only operators of the service can do this.")


def admit(
    operation: Operation, request: Request, caller: User | KeyHolder | Anonymous, stored_answer: Key | None
) -> Access:
    """Return what the caller may act on. `stored_answer`: what to read in the same round trip, if it is there.

    Raises Problem 401, 403 or 404; what the caller has no part in is not found.
    """
    place_key = _place_key(operation, request)
    record_keys = _record_keys(operation, request)
    membership = _membership_key(caller, place_key)
    holder = caller.record if isinstance(caller, KeyHolder) else None
    also = operation.also(request) if operation.also else None
    items = table.get_all(_present([place_key, membership, holder, stored_answer, also, *record_keys.values()]))
    principal = api_key(caller, items.get(caller.record), request.ip) if isinstance(caller, KeyHolder) else caller

    place = _place(operation, items.get(place_key) if place_key else None)
    own = items.get(membership) if membership else None
    role = _role(operation, request, principal, place, own)
    found = {name: items.get(key) if key else None for name, key in record_keys.items()}
    records = {name: _record(operation.records[name], item) for name, item in found.items()}
    _judge(operation, principal, role)
    return Access(principal, place, role, records, own, items)


def _place_key(operation: Operation, request: Request) -> Key | None:
    needs = operation.needs
    if not isinstance(needs, At):
        return None
    name = request.parameters[needs.parameter]
    # What can't be the name of anything names nothing; that is said once the caller is known.
    if not re.fullmatch(SLUG_PATTERN if needs.by_slug else needs.place.parameter_pattern, name):
        return None
    if not needs.by_slug:
        return needs.place.key_of(id=name)
    guard = table.get(guard_key(needs.place.uniques["by_slug"], {"slug": name}))
    return None if guard is None or table.expired(guard) else needs.place.key_of(id=guard["ref"])


def _record_keys(operation: Operation, request: Request) -> dict[str, Key | None]:
    keys: dict[str, Key | None] = {}
    for name, entity in operation.records.items():
        value = request.parameters[entity.parameter]
        well_formed = re.fullmatch(entity.parameter_pattern, value)
        keys[name] = entity.key_of(**{**request.parameters, entity.named_by: value}) if well_formed else None
    return keys


def _membership_key(caller: User | KeyHolder | Anonymous, place: Key | None) -> Key | None:
    return (place[0], f"M#{caller.id}") if isinstance(caller, User) and place else None


def _present(keys: Iterable[Key | None]) -> list[Key]:
    return [key for key in keys if key is not None]


def _place(operation: Operation, item: Item | None) -> Place | None:
    if not isinstance(operation.needs, At):
        return None
    if item is None:
        raise not_found()
    return operation.needs.place.from_item(item)


def _role(
    operation: Operation, request: Request, principal: Principal, place: Place | None, membership: Item | None
) -> Role | None:
    if place is None or not isinstance(operation.needs, At):
        return principal.role if isinstance(principal, ApiKeyPrincipal) else None
    if isinstance(principal, ApiKeyPrincipal):
        role = principal.role if place.log == principal.credential.organization_id else None
    else:
        role = Role(membership["role"]) if membership else None
    if role is None or (place.closed and not (role == Role.OWNER and _reopens(operation.needs, request))):
        raise not_found()
    return role


def _reopens(needs: At, request: Request) -> bool:
    """Return whether the body asks for just what brings a closed place back."""
    return bool(needs.reopened_by) and needs.reopened_by.items() <= request.said.items()


def _record(entity: type[Entity], item: Item | None) -> Entity:
    if item is None:
        raise not_found()
    return entity.from_item(item)


def _judge(operation: Operation, principal: Principal, role: Role | None) -> None:
    needed = operation.needs.role if isinstance(operation.needs, At) else Role.MEMBER
    if isinstance(principal, ApiKeyPrincipal):
        if operation.scope and not satisfies(principal.credential.scopes, operation.scope, needed):
            raise Problem(
                "insufficient_scope", f"The API key needs the scope {operation.scope!r}, or a general one above it."
            )
    elif isinstance(operation.needs, At) and role and not role.covers(needed):
        raise Problem("insufficient_role", f"This needs the role {needed.value!r}; yours is {role.value!r}.")
