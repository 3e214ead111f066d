"""Access: whether the caller may do this here. One BatchGet brings what decides it, and what the operation acts on.

A place that lies in others takes a second one where this process hasn't met it before: the record says what lies above.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from pydantic.alias_generators import to_camel

from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization import ancestor_cache, request_target
from chalicelib.kernel.authorization.memberships import Standing, membership_key, role_at, standing_keys, standing_of
from chalicelib.kernel.authorization.request_target import NOWHERE, Named
from chalicelib.kernel.authorization.tenant_reads import TenantReads
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.fields import UUID_PATTERN
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import Anonymous, ApiKeyPrincipal, KeyHolder, Principal, api_key, ending_keys_key
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.operation import At, Below, ByToken, Caller, Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role, implied, satisfies
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Item, Key, Partition, Place
from chalicelib.kernel.storage.record_types import record_of

_OF_A_CLOSED_PLACE: Final = Role.OWNER


@dataclass(frozen=True)
class Access:
    """What was loaded and allowed: the place, those above it, the caller's role, the path's records.

    `standing` is the caller's, `other` that of the user whom the operation names with `whose`. `below`: the places in
    it that the caller's role lets them in by, who has none that would do at the place itself; or, where that other's
    standing is asked for, the one that the path's record is about. `read`: all items that were read. `carried`: the id
    that the token names by which an operation is called, if one is. `chains`: some chains of the log of a place, one of
    which a mutation extends.
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
    carried: str | None = None
    chains: Chains | None = None

    @property
    def tenant(self) -> str:
        """The partition of the outermost place, which an organization's limits are counted by; empty at no place."""
        outermost = next(iter(self.above.values()), self.place)
        return outermost.stored_at[0] if outermost else ""

    @property
    def decisive(self) -> dict[str, list[Entity]]:
        """The records that let the caller in, by whose access epoch vouches for them.

        Those are the places and what the caller is there or, of a key, its own record.
        """
        places = [*self.above.values(), *([self.place] if self.place else []), *self.below]
        items = [*self.standing.memberships.values()]
        if isinstance(self.principal, ApiKeyPrincipal):
            items.append(self.read[self.principal.record])
        own = [*map(record_of, items)]
        return {EVERYONE: [*places, *own], self.principal.id: own}

    @property
    def membership(self) -> Item | None:
        """The caller's own membership of the place itself."""
        return self.standing.memberships.get(type(self.place)) if self.place else None


def refuse_kind(operation: Operation, caller: User | KeyHolder | Anonymous, ip: str) -> None:
    """Raise 401 or 403 if no caller of this kind may perform the operation. A key that ended is told that first."""
    needs = operation.needs
    if operation.everyones and (operation.keys or not isinstance(caller, KeyHolder)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(needs, At) and needs.published:
            return
        raise unauthenticated()
    if isinstance(caller, KeyHolder) and (needs in (Caller.USER, Caller.OPERATOR) or operation.scope is None):
        _judged(caller, table.get_all(_keys_of_holder(caller)), ip)
        raise Problem("forbidden", "API keys can't do this. Use a user's token.")
    if needs is Caller.OPERATOR and not (isinstance(caller, User) and caller.operator):
        raise Problem("forbidden", "Only operators of the service can do this.")


def admit(
    operation: Operation, request: Request, caller: User | KeyHolder | Anonymous, beside: Iterable[Key]
) -> Access:
    """Return what the caller may act on. `beside`: what else to read in the same round trip.

    Raises Problem 401, 403 or 404; what the caller has no part in is not found.
    """
    carried = _carried(operation, request)
    if not operation.names_something(request.parameters):
        if isinstance(caller, KeyHolder):
            _judged(caller, table.get_all(_keys_of_holder(caller)), request.ip)
        raise not_found()
    named = request_target.named(operation, request, caller)
    holder = _keys_of_holder(caller) if isinstance(caller, KeyHolder) else []
    reads = TenantReads(operation, caller.id)
    of_tenant = reads.keys(named.outermost) if isinstance(operation.needs, At) else []
    items = table.get_all([*named.keys(), *holder, *beside, *of_tenant])
    principal = _judged(caller, items, request.ip) if isinstance(caller, KeyHolder) else caller
    if isinstance(operation.needs, At):
        return _admit_at(operation.needs, reads, request, principal, named, items)
    if carried and operation.records and carried not in request.parameters.values():
        raise not_found()
    role = principal.role if isinstance(principal, ApiKeyPrincipal) else None
    records = _records(operation, named, items, Standing())
    _judge(operation, principal, role)
    access = Access(principal, None, role, records, read=items, carried=carried)
    if operation.admits:
        operation.admits(access, request)
    return access


def _keys_of_holder(caller: KeyHolder) -> list[Key]:
    return [caller.record, ending_keys_key(caller.record)]


def _judged(caller: KeyHolder, items: Mapping[Key, Item], ip: str) -> ApiKeyPrincipal:
    """Return the API key by what stands at the keys of its holder. Raises Problem 401 or 403."""
    record, ending = (items.get(key) for key in _keys_of_holder(caller))
    return api_key(caller, record, ending, ip)


def _carried(operation: Operation, request: Request) -> str | None:
    """Return the id that the token names by which an operation is called. Raises Problem 401 if one has to be there."""
    if not isinstance(operation.needs, ByToken):
        return None
    carried = operation.needs.carried(request)
    if carried is None and operation.records:
        raise unauthenticated(f"Send the token that came with it as `{operation.needs.header}`.")
    return carried


def _admit_at(
    needs: At, reads: TenantReads, request: Request, principal: Principal, named: Named, items: dict[Key, Item]
) -> Access:
    """Return what the caller may act on at a place. What has to be read beside the items is added to them."""
    operation = reads.operation
    found = [items[key] for key in named.records.values() if key in items]
    other_id = request_target.other_id(operation, request, found)
    with _refused_alike(operation, request, principal, named, missing=named.place not in items):
        chain = _chain(needs, reads, request, named, items)
        part = _part(needs, operation, request, principal, chain, found, other_id, items)
        _refuse_unseen(needs, request, chain, part.role)
    place = chain[-1]
    other = standing_of(other_id, [*chain, *(part.below if found else ())], items)
    records = _records(operation, named, items, other)
    _refuse_nobody(operation, records, chain, other)
    # What a key may not read as one it reads as everybody does.
    by_all = needs.published and place.published and not _opened(operation, principal)
    role = None if by_all else part.role
    if not (needs.published and role is None):
        _judge(operation, principal, part.judged)
    above = {type(each): each for each in chain[:-1]}
    chains = reads.chains(place.log, items)
    return Access(principal, place, role, records, part.standing, other, above, part.below, items, chains=chains)


@contextmanager
def _refused_alike(
    operation: Operation, request: Request, principal: Principal, named: Named, *, missing: bool
) -> Iterator[None]:
    """Let whoever is told in the block that a place is not there learn nothing from how long that took.

    What the process knows, or what is missing, is told after as many reads as what it has to look for.
    """
    try:
        yield
    except Problem as problem:
        if problem.code == "not_found" and isinstance(operation.needs, At) and named.place:
            _read_in_vain(operation.needs, named, missing=missing)
            if missing and operation.needs.or_below and isinstance(principal, User) and not operation.records:
                _read_below_in_vain(operation.needs.or_below, request, principal.id)
        raise


def _read_in_vain(needs: At, named: Named, *, missing: bool) -> None:
    """Read what was not read because the process knows in which places one lies, or because there is none."""
    kinds = [*needs.place.lies_in()]
    if needs.through and named.remembered:
        table.get(ancestor_cache.pointer_key(NOWHERE))
    elif named.remembered or (missing and len(named.above) < len(kinds)):
        nowhere = [kind.key_of(id=NOWHERE) for kind in kinds]
        table.get_all([*nowhere, *(key for each in named.user_ids for key in standing_keys(each, None, nowhere))])


def _read_below_in_vain(below: Below, request: Request, user_id: str) -> None:
    if request.query.get(to_camel(below.place.parameter)):
        table.get_all([below.place.key_of(id=NOWHERE)])
    else:
        _rows_below(below, NOWHERE, user_id)


def _chain(needs: At, reads: TenantReads, request: Request, named: Named, items: dict[Key, Item]) -> list[Place]:
    """Return the place and those above it, the outermost first: by a second read if only the place says what they are.

    Raises Problem `not_found` if one of them is missing, and 422 if the body should have named the place and does not.
    """
    if needs.in_body and named.place is None:
        validation.body(reads.operation.body, request, None)  # It says why the body names none.
    place, above = _load(needs.place, named.place, items), named.above
    if place.above.keys() - above.keys():
        ancestor_cache.remember(place.stored_at, place.ids)
        above = place.above
        decisive = [key for user_id in named.user_ids for key in standing_keys(user_id, None, above.values())]
        items |= table.get_all([*above.values(), *decisive, *reads.keys([*above.values()][-1])])
    return [*(_load(kind, above[kind], items) for kind in reversed([*above])), place]


@dataclass(frozen=True)
class _Part:
    """The part that a caller has in a place: their role there, that which the operation judges, the places below."""

    standing: Standing
    role: Role | None
    judged: Role | None
    below: tuple[Place, ...]


def _part(
    needs: At, operation: Operation, request: Request, principal: Principal, chain: list[Place], found: list[Item],
    other_id: str, items: dict[Key, Item],
) -> _Part:  # fmt: skip
    """Return the caller's part in the last place of a chain, or in one below it where the operation allows for that.

    What counts below is read only for who lacks the role at the place itself, and where another's standing is asked.
    """
    standing = _standing(chain, principal, items)
    role, judged = standing.roles.get(type(chain[-1])), standing.roles.get(needs.judged)
    lacking = principal.id if isinstance(principal, User) and not _covers(judged, needs) else ""
    if needs.or_below is None or not (lacking or other_id):
        return _Part(standing, role, judged, ())
    user_ids = [user_id for user_id in (lacking, other_id) if user_id]
    ids = _ids_below(needs.or_below, operation, request, chain[-1], found, lacking)
    below = _load_below(needs.or_below, chain[-1], ids, user_ids, items) if ids or other_id else []
    standings = [(each, standing_of(lacking, [*chain, each], items)) for each in below if lacking]
    let_in = [(each, own) for each, own in standings if _covers(own.roles.get(type(each)), needs)]
    if not let_in or chain[-1].closed:
        return _Part(standing, role, judged, tuple(below))
    nearest, standing = let_in[0]
    role = standing.roles[type(nearest)]
    return _Part(standing, role, role, tuple(each for each, _ in let_in))


def _ids_below(
    below: Below, operation: Operation, request: Request, place: Place, found: list[Item], user_id: str
) -> list[str]:
    """Return the ids of the places below one that a request is about: its record or query says which, else the user."""
    parameter = below.place.parameter
    if operation.records:
        return [record[parameter] for record in found if parameter in record]
    if asked := request.query.get(to_camel(parameter)):
        return [each for each in [ascii_lower(asked[-1].strip())] if re.fullmatch(UUID_PATTERN, each)]
    rows = _rows_below(below, place.stored_at[0], user_id)
    return sorted({row[parameter] for row in rows if row[place.parameter] == place.id})


def _rows_below(below: Below, pk: str, user_id: str) -> list[Item]:
    """Return what leads to the places that a user is a member of: rows of a partition, and beside them an index."""
    asked = [(Partition(pk), below.rows(user_id)), (below.joined.partition(user_id=user_id), "")]
    found = table.side_by_side(lambda where: table.query(where[0], begins=where[1]), asked)
    return [row for each in found for row in each.items]


def _load_below(below: Below, place: Place, ids: list[str], user_ids: list[str], items: dict[Key, Item]) -> list[Place]:
    """Return those places of some ids that lie in a place, and add to the items what these users are there."""
    keys = [below.place.key_of(id=each) for each in ids]
    outer = [key for user_id in user_ids for key in standing_keys(user_id, None, [place.stored_at])]
    items |= table.get_all([*keys, *outer, *(membership_key(key, user_id) for key in keys for user_id in user_ids)])
    found = [below.place.from_item(items[key]) for key in keys if key in items]
    return [each for each in found if getattr(each, place.parameter) == place.id]


def _covers(role: Role | None, needs: At) -> bool:
    return needs.role is None or (role is not None and role.covers(needs.role))


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
    operation: Operation, named: Named, items: dict[Key, Item], other: Standing
) -> Mapping[str, Entity | None]:
    found = {name: operation.records[name].item_at(key, items) if key else None for name, key in named.records.items()}
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
