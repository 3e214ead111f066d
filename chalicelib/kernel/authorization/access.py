"""Authorization of a request, as a pipeline of steps. Each takes the results of earlier steps and returns a value.

1. `resolve_target` finds out which container, records and users the request names.
2. `plan_reads` lists the items that decide about access, and those that the operation prefetches.
3. `load` reads them. `load_containers` reads the ancestors of the container, if they were not known.
4. `find_effective_role` determines the caller's role.
5. `decide` or `decide_in_container` decides whether the container is visible, and whether the role is sufficient.
6. `hydrate` returns the records of the path.

If the container is not visible, `perform_skipped_reads` makes this indistinguishable from a missing one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization.concealment import perform_skipped_reads
from chalicelib.kernel.authorization.decisions import decide, decide_in_container
from chalicelib.kernel.authorization.effective_role import find_effective_role
from chalicelib.kernel.authorization.hydration import hydrate
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view
from chalicelib.kernel.authorization.reads import (
    Loaded,
    ReadPlan,
    api_key_item_keys,
    load,
    load_containers,
    plan_reads,
)
from chalicelib.kernel.authorization.targets import UnverifiedCaller, resolve_target, subject_user_id
from chalicelib.kernel.core.problems import Problem, not_found, unauthenticated
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import (
    Anonymous,
    ApiKeyPrincipal,
    Principal,
    UnverifiedApiKey,
    verify_api_key,
)
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.operations.access_rules import Caller, ContainerReference, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.inputs import Prefetched, RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.record_types import record_from_item


@dataclass(frozen=True)
class Access:
    """The result of authorization: the container with its ancestors, the caller's role, and the path's records.

    `memberships` are the caller's, `subject_membership` those of the user in the operation's `subject_user_param`.
    `descendants`: the containers below by which the caller is admitted without a sufficient role in the container
    itself; or, if a subject's memberships are needed, the container of the path's record. `items`: all items that were
    read. `prefetched`: what the handler receives of them, by its parameter. `token_subject`: the id in the token by
    which the operation is called. `chains`: chains of the log, one of which a mutation extends. `is_operator_role`:
    whether the caller has the role only as an operator of the service.
    """

    principal: Principal
    container: Container | None = None
    role: Role | None = None
    records: Mapping[str, Entity | None] = field(default_factory=dict)
    items: Mapping[ItemKey, Item] = field(default_factory=dict)
    prefetched: Mapping[str, Prefetched] = field(default_factory=dict)
    memberships: MembershipView = field(default_factory=MembershipView)
    subject_membership: MembershipView = field(default_factory=MembershipView)
    ancestors: Mapping[type[Container], Container] = field(default_factory=dict)
    descendants: tuple[Container, ...] = ()
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
            items.append(self.api_key_item)
        own = [*map(record_from_item, items)]
        return {EVERYONE: [*containers, *own], self.principal.id: own}

    @property
    def api_key_item(self) -> Item:
        """Return the item of the calling API key. Raises TypeError for other callers."""
        if not isinstance(self.principal, ApiKeyPrincipal):
            raise TypeError("the caller is not an API key")
        return self.items[self.principal.record_key]

    @property
    def own_membership_item(self) -> Item | None:
        """Return the caller's own membership of the container."""
        return self.memberships.memberships.get(type(self.container)) if self.container else None


def reject_principal_type(operation: Operation, caller: UnverifiedCaller, ip: str) -> None:
    """Raise 401 or 403 if no caller of this type can perform the operation. An invalid API key is reported first."""
    rule = operation.access
    if operation.allows_anonymous and (operation.allows_api_keys or not isinstance(caller, UnverifiedApiKey)):
        return
    if isinstance(caller, Anonymous):
        if isinstance(rule, RequireRole) and rule.if_published:
            return
        raise unauthenticated()
    if isinstance(caller, UnverifiedApiKey) and not operation.is_open_to_api_keys:
        _verified_principal(caller, table.get_all(api_key_item_keys(caller)), ip)
        raise Problem("forbidden", "API keys cannot do this. Use a user's token.")
    if rule is Caller.OPERATOR and not (isinstance(caller, User) and caller.is_operator):
        raise Problem("forbidden", "Only operators of the service can do this.")


def authorize(request_input: RequestInput, caller: UnverifiedCaller, extra_keys: Iterable[ItemKey]) -> Access:
    """Return what the caller may access. `extra_keys`: further items to read in the same round trip.

    Raises Problem 401, 403 or 404. Containers that the caller cannot see are not found.
    """
    operation, request = request_input.operation, request_input.request
    token_subject = _verify_record_token_and_return_subject(operation, request)
    if not operation.has_valid_path_parameters(request.parameters):
        _verified_principal(caller, table.get_all(api_key_item_keys(caller)), request.ip)
        raise not_found()
    plan = plan_reads(request_input, caller, resolve_target(operation, request, caller), extra_keys)
    loaded = load(plan)
    principal = _verified_principal(caller, loaded.items, request.ip)
    if isinstance(operation.access, RequireRole):
        return _authorize_in_container(request_input, plan, operation.access, principal, loaded)
    if token_subject and operation.record_types_by_parameter and token_subject not in request.parameters.values():
        raise not_found()
    decision = decide(operation, principal)
    loaded, records = hydrate(plan, loaded, MembershipView())
    decision.raise_problem()
    access = Access(
        principal,
        role=decision.role,
        records=records,
        items=loaded.items,
        prefetched=plan.prefetched_values(loaded.items),
        token_subject=token_subject,
    )
    if operation.extra_check:
        operation.extra_check(access, request)
    return access


def _authorize_in_container(
    request_input: RequestInput, plan: ReadPlan, rule: RequireRole, principal: Principal, loaded: Loaded
) -> Access:
    """Return what the caller may access in the container of a request."""
    if rule.location is ContainerReference.BODY_ID and plan.target.container is None:
        request_input.validated_body(None)  # This raises the error that explains why.
    is_missing = plan.target.container not in loaded.items
    subject_id = subject_user_id(plan.operation, plan.request, loaded.record_items)
    effective = find_effective_role(plan, rule, principal, subject_id, load_containers(plan, rule, loaded))
    decision = decide_in_container(plan, rule, principal, effective)
    if decision is None:
        perform_skipped_reads(plan, rule, principal, is_missing=is_missing)
        raise not_found()
    containers = (*effective.loaded.containers, *(effective.descendants if loaded.record_items else ()))
    subject_memberships = membership_view(subject_id, containers, effective.loaded.items)
    loaded, records = hydrate(plan, effective.loaded, subject_memberships)
    decision.raise_problem()
    *ancestors, container = loaded.containers
    return Access(
        principal,
        container,
        decision.role,
        records,
        loaded.items,
        plan.prefetched_values(loaded.items),
        effective.memberships,
        subject_memberships,
        {type(each): each for each in ancestors},
        effective.descendants,
        chains=plan.tenant.chains_for_mutation(container.audit_log_id, loaded.items),
        is_operator_role=effective.is_operator_role,
    )


def _verified_principal(caller: UnverifiedCaller, items: Mapping[ItemKey, Item], ip: str) -> Principal:
    """Return the caller, after verifying an API key by the items at its keys. Raises Problem 401 or 403."""
    if not isinstance(caller, UnverifiedApiKey):
        return caller
    record, revocation = (items.get(key) for key in api_key_item_keys(caller))
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
