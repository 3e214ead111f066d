"""Access: whether the caller may do this here. One BatchGet brings what decides it, and what the operation acts on.

A place that lies in others takes a second one where this process hasn't met it before: the record says what lies above.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.kernel import ancestry, table, validation
from chalicelib.kernel.auth import Anonymous, ApiKeyPrincipal, KeyHolder, Principal, api_key
from chalicelib.kernel.changes import guard_key
from chalicelib.kernel.entity import Entity, Item, Key, Place
from chalicelib.kernel.fields import SLUG_PATTERN, UUID_PATTERN
from chalicelib.kernel.operation import At, Caller, Operation
from chalicelib.kernel.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.request import Request
from chalicelib.kernel.roles import Role, implied, satisfies
from chalicelib.kernel.tokens import User

_OF_A_CLOSED_PLACE: Final = Role.OWNER


@dataclass(frozen=True)
class Access:
    """What was loaded and allowed: the place, those above it, the caller's role, the path's records.

    `membership`: the caller's own one at the place itself; `memberships`: all that gave them their role. `read`: all
    items that were read.
    """

    principal: Principal
    place: Place | None = None
    role: Role | None = None
    records: Mapping[str, Entity] = field(default_factory=dict)
    membership: Item | None = None
    memberships: tuple[Item, ...] = ()
    above: Mapping[type[Place], Place] = field(default_factory=dict)
    read: Mapping[Key, Item] = field(default_factory=dict)


def refuse_kind(operation: Operation, caller: User | KeyHolder | Anonymous, ip: str) -> None:
    """Raise 401 or 403 if no caller of this kind may perform the operation. A key that ended is told that first."""
    needs = operation.needs
    if needs is Caller.PUBLIC and (operation.keys or not isinstance(caller, KeyHolder)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(needs, At) and needs.published:
            return
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
    needs = operation.needs
    names = _names(needs, request) if isinstance(needs, At) else {}
    place_key = needs.place.key_of(id=names[needs.place.parameter]) if isinstance(needs, At) and names else None
    record_keys = _record_keys(operation, {**request.parameters, **names})
    holder = caller.record if isinstance(caller, KeyHolder) else None
    also = operation.also(request) if operation.also else ()
    above = _above(needs.place, {**ancestry.known(place_key), **names}) if isinstance(needs, At) else {}
    decisive = [*_memberships(caller, [place_key], []), *_memberships(caller, above.values(), above.values())]
    keys = [place_key, holder, stored_answer, *also, *record_keys.values(), *above.values(), *decisive]
    items = table.get_all(key for key in keys if key)
    principal = api_key(caller, items.get(caller.record), request.ip) if isinstance(caller, KeyHolder) else caller
    if not isinstance(needs, At):
        role = principal.role if isinstance(principal, ApiKeyPrincipal) else None
        records = _records(operation, record_keys, items)
        _judge(operation, principal, role)
        return Access(principal, None, role, records, read=items)

    if needs.in_body and place_key is None:
        validation.body(operation.body, request, None)  # It says why the body names none.
    place = _load(needs.place, place_key, items)
    if place.above.keys() - above.keys():
        ancestry.remember(place.stored_at, {kind.parameter: getattr(place, kind.parameter) for kind in place.above})
        above = place.above
        items |= table.get_all([*above.values(), *_memberships(caller, above.values(), above.values())])
    chain = [_load(kind, key, items) for kind, key in reversed(above.items())] + [place]
    standing = _standing(chain, principal, items)
    _refuse_unseen(needs, request, chain, standing)
    records = _records(operation, record_keys, items)
    role = standing.roles.get(type(place))
    if not (needs.published and role is None):
        _judge(operation, principal, standing.roles.get(needs.judged))
    return Access(
        principal, place, role, records, standing.memberships.get(type(place)), tuple(standing.memberships.values()),
        {type(each): each for each in chain[:-1]}, items,
    )  # fmt: skip


def _names(needs: At, request: Request) -> dict[str, str]:
    """Return what names the place and, where that is known, those above it, by parameters; nothing if nothing can."""
    if needs.in_body:
        named = request.said.get(needs.field)
        value = named.strip().lower() if isinstance(named, str) else ""
        return {needs.place.parameter: value} if re.fullmatch(UUID_PATTERN, value) else {}
    name = request.parameters[needs.parameter]
    # What can't be the name of anything names nothing; that is said once the caller is known.
    if needs.through:
        return ancestry.of_record(name) if re.fullmatch(UUID_PATTERN, name) else {}
    if not re.fullmatch(SLUG_PATTERN if needs.by_slug else needs.place.parameter_pattern, name):
        return {}
    if not needs.by_slug:
        return {needs.place.parameter: name}
    guard = table.get(guard_key(needs.place.uniques["by_slug"], {"slug": name}))
    return {} if guard is None or table.expired(guard) else {needs.place.parameter: guard["ref"]}


def _record_keys(operation: Operation, names: Mapping[str, str]) -> dict[str, Key | None]:
    keys: dict[str, Key | None] = {}
    for name, entity in operation.records.items():
        value = names[entity.parameter]
        needed = {**names, entity.named_by: value}
        known = re.fullmatch(entity.parameter_pattern, value) and entity.is_named_by(needed)
        keys[name] = entity.key_of(**needed) if known else None
    return keys


def _above(place: type[Place], ids: Mapping[str, str]) -> dict[type[Place], Key]:
    return {kind: kind.key_of(id=ids[kind.parameter]) for kind in place.lies_in() if kind.parameter in ids}


def _memberships(
    caller: User | KeyHolder | Anonymous, places: Iterable[Key | None], left: Iterable[Key]
) -> Iterator[Key]:
    """Yield where a user's memberships of places stand, and their departures from those."""
    if isinstance(caller, User):
        yield from (membership_key(place, caller.id) for place in places if place)
        yield from (departure_key(place, caller.id) for place in left)


def membership_key(place: Key, user_id: str) -> Key:
    """Return where a user's membership of a place stands."""
    return place[0], f"M#{user_id}"


def departure_key(place: Key, user_id: str) -> Key:
    """Return where it stands that a user has left a place: their memberships below it hold no longer."""
    return place[0], f"G#{user_id}"


def _load(kind: type[Place], key: Key | None, items: Mapping[Key, Item]) -> Place:
    if key is None or key not in items:
        raise not_found()
    return kind.from_item(items[key])


@dataclass(frozen=True)
class _Standing:
    """What a caller is at a place and at those above it."""

    roles: dict[type[Place], Role] = field(default_factory=dict)
    memberships: dict[type[Place], Item] = field(default_factory=dict)


def _standing(chain: list[Place], principal: Principal, items: Mapping[Key, Item]) -> _Standing:
    """Return what the caller is at each place of a chain, the outermost first."""
    standing, above, left = _Standing(), None, ""
    for place in chain:
        own = _role_of_key(place, principal) if isinstance(principal, ApiKeyPrincipal) else None
        membership = items.get(membership_key(place.stored_at, principal.id))
        if membership and membership["created_at"] > left:
            own = Role(membership["role"])
            standing.memberships[type(place)] = membership
        role = role_at(place, own, above)
        if role:
            standing.roles[type(place)] = role
        above = role
        left = max(left, items.get(departure_key(place.stored_at, principal.id), {}).get("created_at", ""))
    return standing


def role_at(place: Place, own: Role | None, above: Role | None) -> Role | None:
    """Return the role of somebody at a place, by their own membership there and their role at the place above."""
    if place.within and above and above.covers(Role.ADMIN):
        return Role.ADMIN
    return own or (Role.MEMBER if above and not place.private else None)


def _role_of_key(place: Place, principal: ApiKeyPrincipal) -> Role | None:
    """Return what an API key acts as at a place: the same in all its organization, private places aside."""
    if place.log != principal.credential.organization_id:
        return None
    return None if place.private and not sees_private(type(place), principal) else principal.role


def sees_private(kind: type[Place], principal: ApiKeyPrincipal) -> bool:
    """Return whether an API key sees private places of a kind: with `admin`, or by a scope for just them."""
    return f"{kind.area}:read" in implied(principal.credential.scopes)


def _refuse_unseen(needs: At, request: Request, chain: list[Place], standing: _Standing) -> None:
    """Raise Problem `not_found` unless the place is there for the caller."""
    place, role = chain[-1], standing.roles.get(type(chain[-1]))
    reopens = role == _OF_A_CLOSED_PLACE and _reopens(needs, request)
    if any(above.closed for above in chain[:-1]) or (place.closed and not reopens):
        raise not_found()
    if role is None and needs.role is not None and not (needs.published and place.published):
        raise not_found()


def _reopens(needs: At, request: Request) -> bool:
    """Return whether the body asks for just what brings a closed place back."""
    return bool(needs.reopened_by) and needs.reopened_by.items() <= request.said.items()


def _records(operation: Operation, keys: Mapping[str, Key | None], items: Mapping[Key, Item]) -> Mapping[str, Any]:
    found = {name: items.get(key) if key else None for name, key in keys.items()}
    if None in found.values():
        raise not_found()
    return {name: operation.records[name].from_item(item) for name, item in found.items() if item}


def _judge(operation: Operation, principal: Principal, role: Role | None) -> None:
    needed = operation.needs.role if isinstance(operation.needs, At) else Role.MEMBER
    if isinstance(principal, ApiKeyPrincipal):
        if operation.scope and not satisfies(principal.credential.scopes, operation.scope, needed or Role.MEMBER):
            raise Problem(
                "insufficient_scope", f"The API key needs the scope {operation.scope!r}, or a general one above it."
            )
    elif isinstance(operation.needs, At) and needed and not (role and role.covers(needed)):
        yours = f"yours is {role.value!r}" if role else "you have none there"
        where = operation.needs.judged.kind
        raise Problem("insufficient_role", f"This needs the role {needed.value!r} at the {where}; {yours}.")
