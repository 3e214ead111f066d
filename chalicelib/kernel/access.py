"""Access: whether the caller may do this here. One BatchGet brings what decides it, and what the operation acts on.

A place that lies in others takes a second one where this process hasn't met it before: the record says what lies above.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from pydantic.alias_generators import to_camel

from chalicelib.kernel import ancestry, table, validation
from chalicelib.kernel.auth import Anonymous, ApiKeyPrincipal, KeyHolder, Principal, api_key
from chalicelib.kernel.changes import guard_key
from chalicelib.kernel.entity import Entity, Item, Key, Place
from chalicelib.kernel.fields import SLUG_PATTERN, UUID_PATTERN
from chalicelib.kernel.operation import At, Caller, Operation
from chalicelib.kernel.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.request import Request
from chalicelib.kernel.roles import Role, implied, satisfies
from chalicelib.kernel.standing import Standing, membership_key, role_at, standing_keys, standing_of
from chalicelib.kernel.tokens import User

_OF_A_CLOSED_PLACE: Final = Role.OWNER


@dataclass(frozen=True)
class Access:
    """What was loaded and allowed: the place, those above it, the caller's role, the path's records.

    `standing` is the caller's, `other` that of the user whom the operation names with `whose`. `below`: the places in
    it that the caller's role lets them in by, who has none that would do at the place itself; or, where that other's
    standing is asked for, the one that the path's record is about. `read`: all items that were read.
    """

    principal: Principal
    place: Place | None = None
    role: Role | None = None
    records: Mapping[str, Entity | None] = field(default_factory=dict)
    standing: Standing = field(default_factory=Standing)
    other: Standing = field(default_factory=Standing)
    above: Mapping[type[Place], Place] = field(default_factory=dict)
    below: tuple[Place, ...] = ()
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
    items = table.get_all([*(key for key in keys if key), *_also(operation, _named(request, names), caller)])
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
        ancestry.remember(place.stored_at, place.ids)
        above = place.above
        decisive = [key for user_id in user_ids for key in standing_keys(user_id, None, above.values())]
        items |= table.get_all([*above.values(), *decisive])
    chain = [_load(kind, key, items) for kind, key in reversed(above.items())] + [place]
    standing = _standing(chain, principal, items)
    role, judged = standing.roles.get(type(place)), standing.roles.get(needs.judged)
    named = [items[key] for key in record_keys.values() if key in items]
    lacking = isinstance(principal, User) and not _covers(judged, needs)
    inner = _inner(operation, needs, request, principal, chain, named, items, lacking=lacking)
    let_in = _let_in(needs, principal, chain, inner, items) if lacking else []
    if let_in:
        standing = standing_of(principal.id, [*chain, let_in[0]], items)
        role = judged = standing.roles[type(let_in[0])]
    _refuse_unseen(needs, request, chain, role)
    other = standing_of(_other_id(operation, request, named), [*chain, *(inner if named else ())], items)
    records = _records(operation, record_keys, items, other)
    _refuse_nobody(operation, records, chain, other)
    if needs.published and place.published and not _opened(operation, principal):
        role = None  # What a key may not read as one it reads as everybody does.
    if not (needs.published and role is None):
        _judge(operation, principal, judged)
    above_it = {type(each): each for each in chain[:-1]}
    return Access(principal, place, role, records, standing, other, above_it, tuple(let_in or inner), items)


def _covers(role: Role | None, needs: At) -> bool:
    return needs.role is None or (role is not None and role.covers(needs.role))


def _inner(
    operation: Operation, needs: At, request: Request, principal: Principal, chain: list[Place], named: list[Item],
    items: dict[Key, Item], *, lacking: bool,
) -> list[Place]:  # fmt: skip
    """Return the places below the one at hand that the request is about, and add what counts there to the items.

    That is read only for who lacks the role at the place itself, and where another user's standing is asked for.
    """
    place, below, other = chain[-1], needs.or_below, _other_id(operation, request, named)
    if below is None or not (lacking or other):
        return []
    parameter, asked = below.place.parameter, request.query.get(to_camel(below.place.parameter))
    if operation.records:
        ids = [item[parameter] for item in named if parameter in item]
    elif asked:
        ids = [asked[-1].strip().lower()]
    else:
        joined = table.query(below.joined.pk.format(user_id=principal.id), index=below.joined.index).items
        ids = [item[parameter] for item in joined if item[place.parameter] == place.id]
    keys = [below.place.key_of(id=each) for each in ids if re.fullmatch(UUID_PATTERN, each)]
    if not (keys or other):
        return []
    user_ids = [*([principal.id] if lacking else []), *([other] if other else [])]
    outer = [key for user_id in user_ids for key in standing_keys(user_id, None, [place.stored_at])]
    items |= table.get_all([*keys, *outer, *(membership_key(key, user_id) for key in keys for user_id in user_ids)])
    found = [below.place.from_item(items[key]) for key in keys if key in items]
    return [each for each in found if getattr(each, place.parameter) == place.id]


def _let_in(
    needs: At, principal: Principal, chain: list[Place], inner: list[Place], items: Mapping[Key, Item]
) -> list[Place]:
    """Return those places below the one at hand where the caller has the role that they lack at it."""
    standings = [(each, standing_of(principal.id, [*chain, each], items)) for each in inner if not chain[-1].closed]
    return [each for each, standing in standings if _covers(standing.roles.get(type(each)), needs)]


def _other_id(operation: Operation, request: Request, named: list[Item]) -> str:
    """Return the id of the other user whose standing the operation asks for; an empty text if that is nobody."""
    if not operation.whose:
        return ""
    if operation.whose in request.parameters:
        return request.parameters[operation.whose]
    return next((item[operation.whose] for item in named if operation.whose in item), "")


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


def _named(request: Request, names: Mapping[str, str]) -> Request:
    """Return a request that says, as if by its path, in which places it is."""
    return replace(request, parameters={**request.parameters, **names})


def _also(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> Iterator[Key]:
    if operation.also:
        yield from operation.also(request)
    if operation.of_caller and isinstance(caller, User):
        yield from operation.of_caller(request, caller)


def _user_ids(operation: Operation, request: Request, caller: User | KeyHolder | Anonymous) -> list[str]:
    """Return the ids of the users whose standing has to be known: the caller's, and the other's that the path names."""
    other = _other_id(operation, request, [])
    named = [other] if re.fullmatch(UUID_PATTERN, other) else []
    return [caller.id, *named] if isinstance(caller, User) else named


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


def _role_of_key(place: Place, principal: ApiKeyPrincipal) -> Role | None:
    """Return what an API key acts as at a place: the same in all its organization, private places aside."""
    if place.log != principal.credential.organization_id:
        return None
    return None if place.private and not sees_private(type(place), principal) else principal.role


def sees_private(kind: type[Place], principal: ApiKeyPrincipal) -> bool:
    """Return whether an API key sees private places of a kind: with `admin`, or by a scope for just them."""
    return f"{kind.area}:read" in implied(principal.credential.scopes)


def _refuse_unseen(needs: At, request: Request, chain: list[Place], role: Role | None) -> None:
    """Raise Problem `not_found` unless the place is there for the caller, whose role there it is."""
    place = chain[-1]
    reopens = role == _OF_A_CLOSED_PLACE and _reopens(needs, request)
    if any(above.closed for above in chain[:-1]) or (place.closed and not reopens):
        raise not_found()
    if role is None and needs.role is not None and not (needs.published and place.published):
        raise not_found()


def _reopens(needs: At, request: Request) -> bool:
    """Return whether the body asks for just what brings a closed place back."""
    return bool(needs.reopened_by) and needs.reopened_by.items() <= request.said.items()


def _records(
    operation: Operation, keys: Mapping[str, Key | None], items: dict[Key, Item], other: Standing
) -> Mapping[str, Entity | None]:
    found = {name: items.get(key) if key else None for name, key in keys.items()}
    present = {name: item if item is not other.ended else None for name, item in found.items()}
    loaded = {name: operation.records[name].from_item(item) if item else None for name, item in present.items()}
    records = {name: record.found(items) if record else None for name, record in loaded.items()}
    missing = {name for name, record in records.items() if record is None}
    if any(loaded[name] or name not in operation.optional for name in missing):
        raise not_found()
    return records


def _refuse_nobody(
    operation: Operation, records: Mapping[str, Entity | None], chain: list[Place], other: Standing
) -> None:
    """Raise Problem `not_found` if a record is missing of somebody who has no part in the place above either."""
    if operation.whose and None in records.values() and type(chain[-1]).within not in other.roles:
        raise not_found()


def _opened(operation: Operation, principal: Principal) -> bool:
    """Return whether an API key may perform the operation by its scopes; anybody else has none, and may."""
    if not isinstance(principal, ApiKeyPrincipal) or operation.scope is None:
        return True
    needed = operation.needs.role if isinstance(operation.needs, At) else None
    return satisfies(principal.credential.scopes, operation.scope, needed or Role.MEMBER)


def _judge(operation: Operation, principal: Principal, role: Role | None) -> None:
    needed = operation.needs.role if isinstance(operation.needs, At) else Role.MEMBER
    if not _opened(operation, principal):
        raise Problem(
            "insufficient_scope", f"The API key needs the scope {operation.scope!r}, or a general one above it."
        )
    if isinstance(principal, ApiKeyPrincipal):
        return
    if isinstance(operation.needs, At) and needed and not (role and role.covers(needed)):
        yours = f"yours is {role.value!r}" if role else "you have none there"
        where = operation.needs.judged.kind
        raise Problem("insufficient_role", f"This needs the role {needed.value!r} at the {where}; {yours}.")
