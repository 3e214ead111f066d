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
class Standing:
    """What somebody is at a place and at those above it, by the memberships that hold.

    `left`: when they last left one of those above; what they were below it until then holds no longer, and `ended` is
    the record of such a membership of the place itself, if it is still there.
    """

    roles: dict[type[Place], Role] = field(default_factory=dict)
    memberships: dict[type[Place], Item] = field(default_factory=dict)
    left: str = ""
    ended: Item | None = None


@dataclass(frozen=True)
class Access:
    """What was loaded and allowed: the place, those above it, the caller's role, the path's records.

    `standing` is the caller's, `other` that of the user whom the operation names with `whose`. `read`: all items that
    were read.
    """

    principal: Principal
    place: Place | None = None
    role: Role | None = None
    records: Mapping[str, Entity | None] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    other: Standing = field(default_factory=Standing)
    above: Mapping[type[Place], Place] = field(default_factory=dict)
    read: Mapping[Key, Item] = field(default_factory=dict)

    @property
    def membership(self) -> Item | None:
        """The caller's own membership of the place itself."""
        return self.standing.memberships.get(type(self.place)) if self.place else None

    @property
    def memberships(self) -> tuple[Item, ...]:
        """All memberships that gave the caller their role."""
        return tuple(self.standing.memberships.values())


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
    above = _above(needs.place, {**ancestry.known(place_key), **names}) if isinstance(needs, At) else {}
    user_ids = _user_ids(operation, request, caller)
    decisive = [key for user_id in user_ids for key in standing_keys(user_id, place_key, above.values())]
    keys = [place_key, holder, stored_answer, *record_keys.values(), *above.values(), *decisive]
    items = table.get_all([*(key for key in keys if key), *_also(operation, request, caller)])
    principal = api_key(caller, items.get(caller.record), request.ip) if isinstance(caller, KeyHolder) else caller
    if not isinstance(needs, At):
        role = principal.role if isinstance(principal, ApiKeyPrincipal) else None
        records = _records(operation, record_keys, items, Standing())
        _judge(operation, principal, role)
        return Access(principal, None, role, records, read=items)

    if needs.in_body and place_key is None:
        validation.body(operation.body, request, None)  # It says why the body names none.
    place = _load(needs.place, place_key, items)
    if place.above.keys() - above.keys():
        ancestry.remember(place.stored_at, {kind.parameter: getattr(place, kind.parameter) for kind in place.above})
        above = place.above
        decisive = [key for user_id in user_ids for key in standing_keys(user_id, None, above.values())]
        items |= table.get_all([*above.values(), *decisive])
    chain = [_load(kind, key, items) for kind, key in reversed(above.items())] + [place]
    standing = _standing(chain, principal, items)
    _refuse_unseen(needs, request, chain, standing)
    other = standing_of(request.parameters[operation.whose], chain, items) if operation.whose else Standing()
    records = _records(operation, record_keys, items, other)
    _refuse_nobody(operation, records, chain, other)
    role = standing.roles.get(type(place))
    if not (needs.published and role is None):
        _judge(operation, principal, standing.roles.get(needs.judged))
    above_it = {type(each): each for each in chain[:-1]}
    return Access(principal, place, role, records, standing, other, above_it, items)


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


def _also(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> Iterator[Key]:
    if operation.also:
        yield from operation.also(request)
    if operation.of_caller and isinstance(caller, User):
        yield from operation.of_caller(request, caller)


def _user_ids(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> list[str]:
    """Return the ids of the users whose standing has to be known: the caller's, and the other's that is named."""
    other = request.parameters[operation.whose] if operation.whose else ""
    named = [other] if re.fullmatch(UUID_PATTERN, other) else []
    return [caller.id, *named] if isinstance(caller, User) else named


def standing_keys(user_id: str, place: Key | None, above: Iterable[Key]) -> Iterator[Key]:
    """Yield where it stands what a user is at a place and at those above it."""
    if place:
        yield membership_key(place, user_id)
    for outer in above:
        yield membership_key(outer, user_id)
        yield departure_key(outer, user_id)


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


def _standing(chain: list[Place], principal: Principal, items: Mapping[Key, Item]) -> Standing:
    """Return what the caller is at each place of a chain, the outermost first."""
    if isinstance(principal, User):
        return standing_of(principal.id, chain, items)
    standing = Standing()
    if isinstance(principal, ApiKeyPrincipal):
        for place in chain:
            above = standing.roles.get(place.within) if place.within else None
            if role := role_at(place, _role_of_key(place, principal), above):
                standing.roles[type(place)] = role
    return standing


def standing_of(user_id: str, chain: list[Place], items: Mapping[Key, Item]) -> Standing:
    """Return what a user is at each place of a chain, the outermost first. `items`: what `standing_keys` led to."""
    roles: dict[type[Place], Role] = {}
    memberships: dict[type[Place], Item] = {}
    above, left, ended = None, "", None
    for place in chain:
        own, ended = None, items.get(membership_key(place.stored_at, user_id))
        if ended and ended["created_at"] > left:
            memberships[type(place)], own, ended = ended, Role(ended["role"]), None
        if above := role_at(place, own, above):
            roles[type(place)] = above
        left = max(left, items.get(departure_key(place.stored_at, user_id), {}).get("created_at", ""))
    return Standing(roles, memberships, left, ended)


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


def _refuse_unseen(needs: At, request: Request, chain: list[Place], standing: Standing) -> None:
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


def _records(
    operation: Operation, keys: Mapping[str, Key | None], items: Mapping[Key, Item], other: Standing
) -> Mapping[str, Any]:
    found = {name: items.get(key) if key else None for name, key in keys.items()}
    present = {name: item if item is not other.ended else None for name, item in found.items()}
    if any(item is None and name not in operation.optional for name, item in present.items()):
        raise not_found()
    return {name: operation.records[name].from_item(item) if item else None for name, item in present.items()}


def _refuse_nobody(
    operation: Operation, records: Mapping[str, Entity | None], chain: list[Place], other: Standing
) -> None:
    """Raise Problem `not_found` if a record is missing of somebody who has no part in the place above either."""
    if operation.whose and None in records.values() and type(chain[-1]).within not in other.roles:
        raise not_found()


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
