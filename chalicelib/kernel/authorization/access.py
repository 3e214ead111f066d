"""Authorization of a request, as a pipeline of steps. Each takes the results of earlier steps and returns a value.

1. `resolve_target` finds out which container, records and users the request names.
2. `plan_reads` lists the items that decide about access, and those that the operation prefetches.
3. `load` reads them. `load_containers` reads the ancestors of the container, if they were not known.
4. `find_effective_role` determines the caller's role.
5. `decide` or `decide_in_container` decides whether the container is visible, and whether the role is sufficient.
6. `hydrate` returns the records of the path and the prefetched values.

If the container is not visible, `perform_skipped_reads` makes this indistinguishable from a missing one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chalicelib.kernel.audit_log.mac_chains import Chains
from chalicelib.kernel.authorization.concealment import perform_skipped_reads
from chalicelib.kernel.authorization.decisions import decide, decide_in_container
from chalicelib.kernel.authorization.effective_role import EffectiveRole, find_effective_role
from chalicelib.kernel.authorization.hydration import hydrate
from chalicelib.kernel.authorization.loading import Loaded, load, load_containers
from chalicelib.kernel.authorization.memberships import MembershipView, membership_view
from chalicelib.kernel.authorization.read_plans import ReadPlan, plan_reads
from chalicelib.kernel.authorization.signed_links import limit_to_linked_record, name_creator_or_reject
from chalicelib.kernel.authorization.targets import resolve_target
from chalicelib.kernel.core.problems import not_found, unauthenticated
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.identity.auth import (
    CredentialPrincipal,
    Principal,
    UnverifiedCaller,
    credential_item_keys,
    user_id_of_rights_or_none,
    verify_caller,
)
from chalicelib.kernel.identity.signed_links import LinkHolder
from chalicelib.kernel.operations.access_rules import ContainerReference, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.inputs import Prefetched, RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.access_epochs import EVERYONE
from chalicelib.kernel.permissions.roles import Role, scopes_allow
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

    def permits(self, role: Role, scope: str) -> bool:
        """Return whether the caller may perform operations of the container that require a role and a scope."""
        if isinstance(self.principal, CredentialPrincipal):
            return scopes_allow(self.principal.credential.scopes, scope, role)
        return self.role is not None and self.role.includes(role)

    @property
    def granting_records_by_subject(self) -> dict[str, list[Entity]]:
        """Return the records that grant access, by the subject of their access epoch.

        They are the containers and the caller's memberships or key.
        """
        containers = [*self.ancestors.values(), *([self.container] if self.container else []), *self.descendants]
        items = [*self.memberships.memberships.values()]
        if isinstance(self.principal, CredentialPrincipal):
            items.append(self.credential_item)
        own = [*map(record_from_item, items)]
        return {EVERYONE: [*containers, *own], user_id_of_rights_or_none(self.principal) or self.principal.id: own}

    @property
    def credential_item(self) -> Item:
        """Return the item of the calling API key or service key. Raises TypeError for other callers."""
        if not isinstance(self.principal, CredentialPrincipal):
            raise TypeError("the caller is neither an API key nor a service key")
        return self.items[self.principal.record_key]

    @property
    def own_membership_item(self) -> Item | None:
        """Return the caller's own membership of the container."""
        return self.memberships.memberships.get(type(self.container)) if self.container else None


def authorize(request_input: RequestInput, caller: UnverifiedCaller, extra_keys: Iterable[ItemKey]) -> Access:
    """Return what the caller may access. `extra_keys`: further items to read in the same round trip.

    Raises Problem 401, 403 or 404. Containers that the caller cannot see are not found.
    """
    access = _authorize_by_rule(request_input, caller, extra_keys)
    if request_input.operation.extra_check:
        request_input.operation.extra_check(access, request_input.request)
    return access


def _authorize_by_rule(request_input: RequestInput, caller: UnverifiedCaller, extra_keys: Iterable[ItemKey]) -> Access:
    """Return what the caller may access by the access rule of the operation."""
    link_record_key: ItemKey | None = None
    if isinstance(caller, LinkHolder):
        request_input, link_record_key = limit_to_linked_record(request_input, caller.link)
        extra_keys = [*extra_keys, link_record_key]
    operation, request = request_input.operation, request_input.request
    token_subject = _verify_record_token_and_return_subject(operation, request)
    if not operation.has_valid_path_parameters(request.parameters):
        verify_caller(caller, table.get_all(credential_item_keys(caller)), request.ip)
        raise not_found()
    plan = plan_reads(request_input, caller, resolve_target(operation, request, caller), extra_keys)
    loaded = load(plan)
    principal = verify_caller(caller, loaded.items, request.ip)
    if isinstance(operation.access, RequireRole):
        return _authorize_in_container(request_input, plan, operation.access, principal, loaded, link_record_key)
    if token_subject and operation.record_types_by_parameter and token_subject not in request.parameters.values():
        raise not_found()
    decision = decide(operation, principal)
    hydrated = hydrate(plan, loaded, MembershipView())
    if decision.problem:
        raise decision.problem
    return Access(
        principal,
        role=decision.role,
        records=hydrated.records,
        items=hydrated.items,
        prefetched=hydrated.prefetched,
        token_subject=token_subject,
    )


def _authorize_in_container(
    request_input: RequestInput,
    plan: ReadPlan,
    rule: RequireRole,
    principal: Principal,
    loaded: Loaded,
    link_record_key: ItemKey | None,
) -> Access:
    """Return what the caller may access in the container of a request.

    `link_record_key`: the key of the record of the caller's link, None for callers without a link.
    """
    if rule.location is ContainerReference.BODY_ID and plan.target.container is None:
        request_input.validated_body(None)  # This raises the error that explains why.
    effective = find_effective_role(plan, rule, principal, load_containers(plan, rule, loaded))
    decision = decide_in_container(plan, rule, principal, effective)
    if link_record_key:
        principal = name_creator_or_reject(principal, decision, effective, link_record_key)
    if decision is None:
        perform_skipped_reads(plan, rule, principal, is_missing=plan.target.container not in loaded.items)
        raise not_found()
    subject_memberships = _subject_membership_view(loaded, effective)
    hydrated = hydrate(plan, effective.loaded, subject_memberships)
    if decision.problem:
        raise decision.problem
    *ancestors, container = effective.loaded.containers
    return Access(
        principal,
        container,
        decision.role,
        hydrated.records,
        hydrated.items,
        hydrated.prefetched,
        effective.memberships,
        subject_memberships,
        {type(each): each for each in ancestors},
        effective.descendants,
        chains=plan.tenant.chains_for_mutation(container.audit_log_id, hydrated.items),
        is_operator_role=effective.is_operator_role,
    )


def _subject_membership_view(loaded: Loaded, effective: EffectiveRole) -> MembershipView:
    """Return the memberships of the user in the operation's `subject_user_param`, or none without such a user."""
    if not loaded.subject_id:
        return MembershipView()
    containers = (*effective.loaded.containers, *(effective.descendants if loaded.record_items else ()))
    return membership_view(loaded.subject_id, containers, effective.loaded.items)


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
