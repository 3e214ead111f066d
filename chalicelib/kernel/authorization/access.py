"""Access: whether the caller may do this here. One BatchGet brings what decides it, and what the operation acts on.

A place that lies in others takes a second one where this process hasn't met it before: the record says what lies above.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization import ancestor_cache, descendants, request_target
from chalicelib.kernel.authorization.memberships import (
    MembershipView,
    membership_view,
    membership_view_keys,
    role_at,
)
from chalicelib.kernel.authorization.request_target import NIL_UUID, RequestTarget
from chalicelib.kernel.authorization.tenant_reads import TenantReads
from chalicelib.kernel.core.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.http import validation
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import (
    Anonymous,
    ApiKeyPrincipal,
    Principal,
    UnverifiedApiKey,
    ending_keys_key,
    verify_api_key,
)
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role, expand_scopes, scopes_allow
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item

_PURGE_WAIT_EVENTS: Final = Role.OWNER


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
    container: Container | None = None
    role: Role | None = None
    records: Mapping[str, Entity | None] = field(default_factory=dict)
    memberships: MembershipView = field(default_factory=MembershipView)
    subject_membership: MembershipView = field(default_factory=MembershipView)
    ancestors: Mapping[type[Container], Container] = field(default_factory=dict)
    descendants: tuple[Container, ...] = ()
    prefetched: Mapping[ItemKey, Item] = field(default_factory=dict)
    token_subject: str | None = None
    chains: Chains | None = None

    @property
    def tenant(self) -> str:
        """The partition of the outermost place, which an organization's limits are counted by; empty at no place."""
        outermost = next(iter(self.ancestors.values()), self.container)
        return outermost.item_key[0] if outermost else ""

    @property
    def granting_records(self) -> dict[str, list[Entity]]:
        """The records that let the caller in, by whose access epoch vouches for them.

        Those are the places and what the caller is there or, of a key, its own record.
        """
        places = [*self.ancestors.values(), *([self.container] if self.container else []), *self.descendants]
        items = [*self.memberships.memberships.values()]
        if isinstance(self.principal, ApiKeyPrincipal):
            items.append(self.prefetched[self.principal.record])
        own = [*map(record_from_item, items)]
        return {EVERYONE: [*places, *own], self.principal.id: own}

    @property
    def membership(self) -> Item | None:
        """The caller's own membership of the place itself."""
        return self.memberships.memberships.get(type(self.container)) if self.container else None


def reject_principal_type(operation: Operation, caller: User | UnverifiedApiKey | Anonymous, ip: str) -> None:
    """Raise 401 or 403 if no caller of this kind may perform the operation. A key that ended is told that first."""
    needs = operation.access
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedApiKey)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(needs, RequireRole) and needs.if_published:
            return
        raise unauthenticated()
    if isinstance(caller, UnverifiedApiKey) and (needs in (Caller.USER, Caller.OPERATOR) or operation.scope is None):
        _verify_principal(caller, table.get_all(_api_key_keys(caller)), ip)
        raise Problem("forbidden", "API keys can't do this. Use a user's token.")
    if needs is Caller.OPERATOR and not (isinstance(caller, User) and caller.operator):
        raise Problem("forbidden", "Only operators of the service can do this.")


def authorize(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous, beside: Iterable[ItemKey]
) -> Access:
    """Return what the caller may act on. `beside`: what else to read in the same round trip.

    Raises Problem 401, 403 or 404; what the caller has no part in is not found.
    """
    carried = _token_subject(operation, request)
    if not operation.is_addressable(request.parameters):
        if isinstance(caller, UnverifiedApiKey):
            _verify_principal(caller, table.get_all(_api_key_keys(caller)), request.ip)
        raise not_found()
    named = request_target.resolve_target(operation, request, caller)
    holder = _api_key_keys(caller) if isinstance(caller, UnverifiedApiKey) else []
    reads = TenantReads(operation, caller.id)
    of_tenant = reads.keys(named.outermost) if isinstance(operation.access, RequireRole) else []
    items = table.get_all([*named.keys(), *holder, *beside, *of_tenant])
    principal = _verify_principal(caller, items, request.ip) if isinstance(caller, UnverifiedApiKey) else caller
    if isinstance(operation.access, RequireRole):
        return _authorize_at(operation.access, reads, request, principal, named, items)
    if carried and operation.records and carried not in request.parameters.values():
        raise not_found()
    role = principal.role if isinstance(principal, ApiKeyPrincipal) else None
    records = _load_records(operation, named, items, MembershipView())
    _require_role_or_scope(operation, principal, role)
    access = Access(principal, None, role, records, prefetched=items, token_subject=carried)
    if operation.extra_check:
        operation.extra_check(access, request)
    return access


def _api_key_keys(caller: UnverifiedApiKey) -> list[ItemKey]:
    return [caller.record, ending_keys_key(caller.record)]


def _verify_principal(caller: UnverifiedApiKey, items: Mapping[ItemKey, Item], ip: str) -> ApiKeyPrincipal:
    """Return the API key by what stands at the keys of its holder. Raises Problem 401 or 403."""
    record, ending = (items.get(key) for key in _api_key_keys(caller))
    return verify_api_key(caller, record, ending, ip)


def _token_subject(operation: Operation, request: Request) -> str | None:
    """Return the id that the token names by which an operation is called. Raises Problem 401 if one has to be there."""
    if not isinstance(operation.access, RequireRecordToken):
        return None
    carried = operation.access.token_subject(request)
    if carried is None and operation.records:
        raise unauthenticated(f"Send the token that came with it as `{operation.access.header}`.")
    return carried


def _authorize_at(
    needs: RequireRole,
    reads: TenantReads,
    request: Request,
    principal: Principal,
    named: RequestTarget,
    items: dict[ItemKey, Item],
) -> Access:
    """Return what the caller may act on at a place. What has to be read beside the items is added to them."""
    operation = reads.operation
    found = [items[key] for key in named.records.values() if key in items]
    other_id = request_target.subject_user_id(operation, request, found)
    with _constant_time_not_found(operation, request, principal, named, missing=named.container not in items):
        chain = _load_ancestors(needs, reads, request, named, items)
        part = _effective_role(needs, operation, request, principal, chain, found, other_id, items)
        _reject_hidden_container(needs, request, chain, part.role)
    place = chain[-1]
    other = membership_view(other_id, [*chain, *(part.below if found else ())], items)
    records = _load_records(operation, named, items, other)
    _reject_unknown_subject(operation, records, chain, other)
    # What a key may not read as one it reads as everybody does.
    by_all = needs.if_published and place.is_published and not _scope_allows(operation, principal)
    role = None if by_all else part.role
    if not (needs.if_published and role is None):
        _require_role_or_scope(operation, principal, part.judged)
    above = {type(each): each for each in chain[:-1]}
    chains = reads.chains(place.log, items)
    return Access(principal, place, role, records, part.standing, other, above, part.below, items, chains=chains)


@contextmanager
def _constant_time_not_found(
    operation: Operation, request: Request, principal: Principal, named: RequestTarget, *, missing: bool
) -> Iterator[None]:
    """Let whoever is told in the block that a place is not there learn nothing from how long that took.

    What the process knows, or what is missing, is told after as many reads as what it has to look for.
    """
    try:
        yield
    except Problem as problem:
        if problem.code == "not_found" and isinstance(operation.access, RequireRole) and named.container:
            _perform_decoy_reads(operation.access, named, missing=missing)
            if (
                missing
                and operation.access.allow_descendant_role
                and isinstance(principal, User)
                and not operation.records
            ):
                descendants.perform_decoy_reads(operation.access.allow_descendant_role, request, principal.id)
        raise


def _perform_decoy_reads(needs: RequireRole, named: RequestTarget, *, missing: bool) -> None:
    """Read what was not read because the process knows in which places one lies, or because there is none."""
    kinds = [*needs.container_type.ancestor_types()]
    if needs.via_record and named.ancestors_cached:
        table.get(ancestor_cache.pointer_key(NIL_UUID))
    elif named.ancestors_cached or (missing and len(named.ancestors) < len(kinds)):
        nowhere = [kind.make_item_key(id=NIL_UUID) for kind in kinds]
        table.get_all(
            [*nowhere, *(key for each in named.user_ids for key in membership_view_keys(each, None, nowhere))]
        )


def _load_ancestors(
    needs: RequireRole, reads: TenantReads, request: Request, named: RequestTarget, items: dict[ItemKey, Item]
) -> list[Container]:
    """Return the place and those above it, the outermost first: by a second read if only the place says what they are.

    Raises Problem `not_found` if one of them is missing, and 422 if the body should have named the place and does not.
    """
    if needs.in_body and named.container is None:
        validation.validate_body(reads.operation.body, request, None)  # It says why the body names none.
    place, above = _load_container(needs.container_type, named.container, items), named.ancestors
    if place.ancestor_keys.keys() - above.keys():
        ancestor_cache.store(place.item_key, place.ancestor_ids)
        above = place.ancestor_keys
        decisive = [key for user_id in named.user_ids for key in membership_view_keys(user_id, None, above.values())]
        items |= table.get_all([*above.values(), *decisive, *reads.keys([*above.values()][-1])])
    return [*(_load_container(kind, above[kind], items) for kind in reversed([*above])), place]


@dataclass(frozen=True)
class _EffectiveRole:
    """The part that a caller has in a place: their role there, that which the operation judges, the places below."""

    standing: MembershipView
    role: Role | None
    judged: Role | None
    below: tuple[Container, ...]


def _effective_role(
    needs: RequireRole,
    operation: Operation,
    request: Request,
    principal: Principal,
    chain: list[Container],
    found: list[Item],
    other_id: str,
    items: dict[ItemKey, Item],
) -> _EffectiveRole:
    """Return the caller's part in the last place of a chain, or in one below it where the operation allows for that.

    What counts below is read only for who lacks the role at the place itself, and where another's standing is asked.
    """
    standing = _caller_memberships(chain, principal, items)
    role, judged = standing.roles.get(type(chain[-1])), standing.roles.get(needs.role_scope)
    lacking = principal.id if isinstance(principal, User) and not _role_suffices(judged, needs) else ""
    if needs.allow_descendant_role is None or not (lacking or other_id):
        return _EffectiveRole(standing, role, judged, ())
    user_ids = [user_id for user_id in (lacking, other_id) if user_id]
    ids = descendants.descendant_ids(needs.allow_descendant_role, operation, request, chain[-1], found, lacking)
    below = (
        descendants.load_descendants(needs.allow_descendant_role, chain[-1], ids, user_ids, items)
        if ids or other_id
        else []
    )
    standings = [(each, membership_view(lacking, [*chain, each], items)) for each in below if lacking]
    let_in = [(each, own) for each, own in standings if _role_suffices(own.roles.get(type(each)), needs)]
    if not let_in or chain[-1].is_deleted:
        return _EffectiveRole(standing, role, judged, tuple(below))
    nearest, standing = let_in[0]
    role = standing.roles[type(nearest)]
    return _EffectiveRole(standing, role, role, tuple(each for each, _ in let_in))


def _role_suffices(role: Role | None, needs: RequireRole) -> bool:
    return needs.role is None or (role is not None and role.includes(needs.role))


def _load_container(kind: type[Container], key: ItemKey | None, items: Mapping[ItemKey, Item]) -> Container:
    if key is None or key not in items:
        raise not_found()
    return kind.from_item(items[key])


def _caller_memberships(chain: list[Container], principal: Principal, items: Mapping[ItemKey, Item]) -> MembershipView:
    """Return what the caller is at each place of a chain, the outermost first."""
    if isinstance(principal, User):
        return membership_view(principal.id, chain, items)
    standing = MembershipView()
    if isinstance(principal, ApiKeyPrincipal):
        for place in chain:
            above = standing.roles.get(place.parent_type) if place.parent_type else None
            if role := role_at(place, _api_key_role(place, principal), above):
                standing.roles[type(place)] = role
    return standing


def _api_key_role(place: Container, principal: ApiKeyPrincipal) -> Role | None:
    """Return what an API key acts as at a place: the same in all its organization, private places aside."""
    if place.log != principal.credential.organization_id:
        return None
    return None if place.is_private and not may_see_private(type(place), principal) else principal.role


def may_see_private(kind: type[Container], principal: ApiKeyPrincipal) -> bool:
    """Return whether an API key sees private places of a kind: with `admin`, or by a scope for just them."""
    return f"{kind.scope_area}:read" in expand_scopes(principal.credential.scopes)


def _reject_hidden_container(needs: RequireRole, request: Request, chain: list[Container], role: Role | None) -> None:
    """Raise Problem `not_found` unless the place is there for the caller, whose role there it is."""
    place = chain[-1]
    reopens = role == _PURGE_WAIT_EVENTS and _is_restore_request(needs, request)
    if any(above.is_deleted for above in chain[:-1]) or (place.is_deleted and not reopens):
        raise not_found()
    if role is None and needs.role is not None and not (needs.if_published and place.is_published):
        raise not_found()


def _is_restore_request(needs: RequireRole, request: Request) -> bool:
    """Return whether the body asks for just what brings a closed place back."""
    return bool(needs.restore_body) and needs.restore_body.items() <= request.unvalidated_body.items()


def _load_records(
    operation: Operation, named: RequestTarget, items: dict[ItemKey, Item], other: MembershipView
) -> Mapping[str, Entity | None]:
    found = {
        name: operation.records[name].pick_item(key, items) if key else None for name, key in named.records.items()
    }
    present = {name: item if item is not other.expired_membership else None for name, item in found.items()}
    loaded = {name: operation.records[name].from_item(item) if item else None for name, item in present.items()}
    records = {name: record.hydrate(items) if record else None for name, record in loaded.items()}
    missing = {name for name, record in records.items() if record is None}
    if any(loaded[name] or name not in operation.optional_records for name in missing):
        raise not_found()
    return records


def _reject_unknown_subject(
    operation: Operation, records: Mapping[str, Entity | None], chain: list[Container], other: MembershipView
) -> None:
    """Raise Problem `not_found` if a record is missing of somebody who has no part in the place above either."""
    if operation.subject_user_param and None in records.values() and type(chain[-1]).parent_type not in other.roles:
        raise not_found()


def _scope_allows(operation: Operation, principal: Principal) -> bool:
    """Return whether an API key may perform the operation by its scopes; anybody else has none, and may."""
    if not isinstance(principal, ApiKeyPrincipal) or operation.scope is None:
        return True
    needed = operation.access.role if isinstance(operation.access, RequireRole) else None
    return scopes_allow(principal.credential.scopes, operation.scope, needed or Role.MEMBER)


def _require_role_or_scope(operation: Operation, principal: Principal, role: Role | None) -> None:
    needed = operation.access.role if isinstance(operation.access, RequireRole) else Role.MEMBER
    if not _scope_allows(operation, principal):
        raise Problem(
            "insufficient_scope", f"The API key needs the scope {operation.scope!r}, or a general one above it."
        )
    if isinstance(principal, ApiKeyPrincipal):
        return
    if isinstance(operation.access, RequireRole) and needed and not (role and role.includes(needed)):
        yours = f"yours is {role.value!r}" if role else "you have none there"
        where = operation.access.role_scope.kind
        raise Problem("insufficient_role", f"This needs the role {needed.value!r} at the {where}; {yours}.")
