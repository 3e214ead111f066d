"""Authorization of a request. One BatchGet reads the items that decide it and the records that the operation uses.

A nested container takes a second read if this process does not know its ancestors yet.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization import ancestor_cache, descendants, request_target
from chalicelib.kernel.authorization.effective_role import load_caller_role_and_memberships
from chalicelib.kernel.authorization.memberships import (
    MembershipView,
    membership_view,
    membership_view_keys,
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
    organization_pending_revocations_key,
    verify_api_key,
)
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role, general_scopes_that_allow, scopes_allow
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item

_RESTORE_ROLE: Final = Role.OWNER


@dataclass(frozen=True)
class Access:
    """The result of authorization: the container with its ancestors, the caller's role, and the path's records.

    `memberships` are the caller's, `subject_membership` those of the user in the operation's `subject_user_param`.
    `descendants`: the containers below by which the caller is admitted without a sufficient role in the container
    itself; or, if a subject's memberships are needed, the container of the path's record. `prefetched`: all items that
    were read. `token_subject`: the id in the token by which the operation is called. `chains`: chains of the log, one
    of which a mutation extends. `is_operator_role`: whether the caller has the role only as an operator of the service.
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
    is_operator_role: bool = False

    @property
    def outermost_container_pk(self) -> str:
        """Return the partition of the outermost container, or an empty text without a container."""
        outermost = next(iter(self.ancestors.values()), self.container)
        return outermost.item_key[0] if outermost else ""

    @property
    def granting_records_by_subject(self) -> dict[str, list[Entity]]:
        """Return the records that grant access, by the subject of their access epoch.

        They are the containers and the caller's memberships or API key.
        """
        containers = [*self.ancestors.values(), *([self.container] if self.container else []), *self.descendants]
        items = [*self.memberships.memberships.values()]
        if isinstance(self.principal, ApiKeyPrincipal):
            items.append(self.prefetched[self.principal.record_key])
        own = [*map(record_from_item, items)]
        return {EVERYONE: [*containers, *own], self.principal.id: own}

    @property
    def own_membership_item(self) -> Item | None:
        """Return the caller's own membership of the container."""
        return self.memberships.memberships.get(type(self.container)) if self.container else None


def reject_principal_type(operation: Operation, caller: User | UnverifiedApiKey | Anonymous, ip: str) -> None:
    """Raise 401 or 403 if no caller of this type can perform the operation. An invalid API key is reported first."""
    rule = operation.access
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedApiKey)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(rule, RequireRole) and rule.if_published:
            return
        raise unauthenticated()
    if isinstance(caller, UnverifiedApiKey) and not operation.is_open_to_api_keys:
        _verify_principal(caller, table.get_all(_api_key_item_keys(caller)), ip)
        raise Problem("forbidden", "API keys cannot do this. Use a user's token.")
    if rule is Caller.OPERATOR and not (isinstance(caller, User) and caller.is_operator):
        raise Problem("forbidden", "Only operators of the service can do this.")


def authorize(
    operation: Operation, request: Request, caller: User | UnverifiedApiKey | Anonymous, extra_keys: Iterable[ItemKey]
) -> Access:
    """Return what the caller may access. `extra_keys`: further items to read in the same round trip.

    Raises Problem 401, 403 or 404. Containers that the caller cannot see are not found.
    """
    token_subject = _verify_record_token_and_return_subject(operation, request)
    if not operation.has_valid_path_parameters(request.parameters):
        if isinstance(caller, UnverifiedApiKey):
            _verify_principal(caller, table.get_all(_api_key_item_keys(caller)), request.ip)
        raise not_found()
    target = request_target.find_request_target(operation, request, caller)
    credential_keys = _api_key_item_keys(caller) if isinstance(caller, UnverifiedApiKey) else []
    reads = TenantReads(operation, caller.id)
    tenant_keys = (
        reads.tenant_item_keys(target.outermost_container_key_or_none)
        if isinstance(operation.access, RequireRole)
        else []
    )
    items = table.get_all([*target.keys(), *credential_keys, *extra_keys, *tenant_keys])
    principal = _verify_principal(caller, items, request.ip) if isinstance(caller, UnverifiedApiKey) else caller
    if isinstance(operation.access, RequireRole):
        return _load_container_access(operation.access, reads, request, principal, target, items)
    if token_subject and operation.record_types_by_parameter and token_subject not in request.parameters.values():
        raise not_found()
    role = principal.role_from_scopes if isinstance(principal, ApiKeyPrincipal) else None
    records = _records_by_parameter_or_not_found(operation, target, items, MembershipView())
    _require_role_or_scope(operation, principal, role)
    access = Access(principal, None, role, records, prefetched=items, token_subject=token_subject)
    if operation.extra_check:
        operation.extra_check(access, request)
    return access


def _api_key_item_keys(caller: UnverifiedApiKey) -> list[ItemKey]:
    return [caller.record_key, organization_pending_revocations_key(caller.record_key)]


def _verify_principal(caller: UnverifiedApiKey, items: Mapping[ItemKey, Item], ip: str) -> ApiKeyPrincipal:
    """Return the API key if the items at its keys are valid. Raises Problem 401 or 403."""
    record, revocation = (items.get(key) for key in _api_key_item_keys(caller))
    return verify_api_key(caller, record, revocation, ip)


def _verify_record_token_and_return_subject(operation: Operation, request: Request) -> str | None:
    """Return the id in the token by which the operation is called.

    Raises Problem 401 if a required token is missing.
    """
    if not isinstance(operation.access, RequireRecordToken):
        return None
    token_subject = operation.access.verified_record_id_or_none(request)
    if token_subject is None and operation.record_types_by_parameter:
        raise unauthenticated(f"Send the record's token as `{operation.access.header}`.")
    return token_subject


def _load_container_access(
    rule: RequireRole,
    reads: TenantReads,
    request: Request,
    principal: Principal,
    target: RequestTarget,
    items: dict[ItemKey, Item],
) -> Access:
    """Return what the caller may access in a container. Further items that are read are added to `items`."""
    operation = reads.operation
    records_found = [items[key] for key in target.records.values() if key in items]
    subject_id = request_target.subject_user_id(operation, request, records_found)
    with _decoy_reads_on_not_found(operation, request, principal, target, is_missing=target.container not in items):
        containers = _load_containers_outermost_first(rule, reads, request, target, items)
        effective = load_caller_role_and_memberships(
            rule, operation, request, principal, containers, records_found, subject_id, items
        )
        _reject_hidden_container(rule, request, containers, effective.role)
    container = containers[-1]
    subject_memberships = membership_view(
        subject_id, [*containers, *(effective.descendants if records_found else ())], items
    )
    records = _records_by_parameter_or_not_found(operation, target, items, subject_memberships)
    _require_subject_record_or_parent_role(operation, records, containers, subject_memberships)
    # An API key without the scope reads published content like everybody.
    reads_as_public = rule.if_published and container.is_published and not _has_sufficient_scope(operation, principal)
    role = None if reads_as_public else effective.role
    if not (rule.if_published and role is None):
        _require_role_or_scope(operation, principal, effective.scope_role)
    return Access(
        principal,
        container,
        role,
        records,
        effective.memberships,
        subject_memberships,
        {type(each): each for each in containers[:-1]},
        effective.descendants,
        items,
        chains=reads.chains_for_mutation(container.audit_log_id, items),
        is_operator_role=effective.is_operator_role,
    )


@contextmanager
def _decoy_reads_on_not_found(
    operation: Operation, request: Request, principal: Principal, target: RequestTarget, *, is_missing: bool
) -> Iterator[None]:
    """Make *not found* take equally many reads whatever the reason, so that its timing discloses nothing.

    If the result is known without some of the reads, they are made nevertheless.
    """
    try:
        yield
    except Problem as problem:
        if problem.code == "not_found" and isinstance(operation.access, RequireRole) and target.container:
            _perform_decoy_reads(operation.access, target, missing=is_missing)
            if (
                is_missing
                and operation.access.allow_descendant_role
                and isinstance(principal, User)
                and not operation.record_types_by_parameter
            ):
                descendants.perform_decoy_reads(operation.access.allow_descendant_role, request, principal.id)
        raise


def _perform_decoy_reads(rule: RequireRole, target: RequestTarget, *, missing: bool) -> None:
    """Make the reads that were skipped because the ancestors are cached, or because the container does not exist."""
    ancestor_types = [*rule.container_type.ancestor_types_nearest_first()]
    if rule.via_record and target.ancestors_cached:
        table.get(ancestor_cache.ancestor_pointer_key(NIL_UUID))
    elif target.ancestors_cached or (missing and len(target.ancestors) < len(ancestor_types)):
        nil_keys = [kind.make_item_key(id=NIL_UUID) for kind in ancestor_types]
        table.get_all(
            [*nil_keys, *(key for each in target.user_ids for key in membership_view_keys(each, None, nil_keys))]
        )


def _load_containers_outermost_first(
    rule: RequireRole, reads: TenantReads, request: Request, target: RequestTarget, items: dict[ItemKey, Item]
) -> list[Container]:
    """Return the container with its ancestors, outermost first, with a second read if they are not known yet.

    Raises Problem `not_found` if one is missing, and 422 if the body does not name the container.
    """
    if rule.in_body and target.container is None:
        validation.validate_body(reads.operation.body_model, request, None)  # This raises the error that explains why.
    container, ancestor_keys = _container_or_not_found(rule.container_type, target.container, items), target.ancestors
    if container.ancestor_keys_by_type.keys() - ancestor_keys.keys():
        ancestor_cache.store(container.item_key, container.ids_by_parameter)
        ancestor_keys = container.ancestor_keys_by_type
        membership_keys = [
            key for user_id in target.user_ids for key in membership_view_keys(user_id, None, ancestor_keys.values())
        ]
        items |= table.get_all(
            [*ancestor_keys.values(), *membership_keys, *reads.tenant_item_keys([*ancestor_keys.values()][-1])]
        )
    return [
        *(_container_or_not_found(kind, ancestor_keys[kind], items) for kind in reversed([*ancestor_keys])),
        container,
    ]


def _container_or_not_found(
    container_type: type[Container], key: ItemKey | None, items: Mapping[ItemKey, Item]
) -> Container:
    if key is None or key not in items:
        raise not_found()
    return container_type.from_item(items[key])


def _reject_hidden_container(
    rule: RequireRole, request: Request, containers: list[Container], role: Role | None
) -> None:
    """Raise Problem `not_found` unless the container is visible to the caller with this role."""
    container = containers[-1]
    is_restore = role == _RESTORE_ROLE and _is_restore_request(rule, request)
    if any(above.is_deleted for above in containers[:-1]) or (container.is_deleted and not is_restore):
        raise not_found()
    if role is None and rule.role is not None and not (rule.if_published and container.is_published):
        raise not_found()


def _is_restore_request(rule: RequireRole, request: Request) -> bool:
    """Return whether the body requests the restoration of a deleted container."""
    return bool(rule.restore_body) and rule.restore_body.items() <= request.unvalidated_json_object_or_empty.items()


def _records_by_parameter_or_not_found(
    operation: Operation, target: RequestTarget, items: dict[ItemKey, Item], subject_memberships: MembershipView
) -> Mapping[str, Entity | None]:
    items_by_name = {
        name: operation.record_types_by_parameter[name].find_item_by_key_or_alias(key, items) if key else None
        for name, key in target.records.items()
    }
    current = {
        name: item if item is not subject_memberships.expired_membership else None
        for name, item in items_by_name.items()
    }
    loaded = {
        name: operation.record_types_by_parameter[name].from_item(item) if item else None
        for name, item in current.items()
    }
    records = {name: record.with_computed_fields_or_none(items) if record else None for name, record in loaded.items()}
    missing = {name for name, record in records.items() if record is None}
    if any(loaded[name] or name not in operation.optional_record_parameters for name in missing):
        raise not_found()
    return records


def _require_subject_record_or_parent_role(
    operation: Operation,
    records: Mapping[str, Entity | None],
    containers: list[Container],
    subject_memberships: MembershipView,
) -> None:
    """Raise Problem `not_found` if a record is missing and its user has no role in the parent container either."""
    if (
        operation.subject_user_param
        and None in records.values()
        and type(containers[-1]).parent_type not in subject_memberships.roles
    ):
        raise not_found()


def _has_sufficient_scope(operation: Operation, principal: Principal) -> bool:
    """Return whether an API key's scopes permit the operation. Other principals have no scopes."""
    if not isinstance(principal, ApiKeyPrincipal) or operation.scope is None:
        return True
    return scopes_allow(principal.credential.scopes, operation.scope, operation.role_for_general_scopes)


def _insufficient_scope(operation: Operation) -> Problem:
    scope = operation.scope or ""
    general = [repr(each) for each in general_scopes_that_allow(scope, operation.role_for_general_scopes)]
    alternative = f"the general scope {general[0]}" if len(general) == 1 else f"a general scope ({', '.join(general)})"
    return Problem("insufficient_scope", f"The API key needs the scope {scope!r}, or {alternative}.")


def _require_role_or_scope(operation: Operation, principal: Principal, role: Role | None) -> None:
    needed = operation.access.role if isinstance(operation.access, RequireRole) else Role.MEMBER
    if not _has_sufficient_scope(operation, principal):
        raise _insufficient_scope(operation)
    if isinstance(principal, ApiKeyPrincipal):
        return
    if isinstance(operation.access, RequireRole) and needed and not (role and role.includes(needed)):
        yours = f"yours is {role.value!r}" if role else "you have no role there"
        where = operation.access.role_container_type.kind
        raise Problem("insufficient_role", f"This requires the role {needed.value!r} in the {where}; {yours}.")
