"""Requests that authorization decides about: kinds of callers, and states of what a request names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic.alias_generators import to_camel

from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import ContainerReference, OwnerRestores, RequireRole, RoleInDescendant
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.catalogue.examples.example import Example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.platforms import add_platform_member, add_space_member
from tests.harness.service_keys import revoke_service_key

_GENERAL_SCOPES: Final = ("read", "write", "admin")
_GUEST_ROLES: Final = (Role.MEMBER, Role.EDITOR, Role.ADMIN)
_UNKNOWN_KEY: Final = Caller("", api_key_format.generate_api_key())

Callers = Mapping[str, Caller | None]


def create_callers(tenant: TenantFixture) -> Callers:
    """Create callers of every kind, and return them by name. Guests are not members of the organization."""
    people, issuer = tenant.people, tenant.people.issuer
    callers: dict[str, Caller | None] = {"nobody": None, **{role.value: people.get_by_role(role) for role in Role}}
    callers |= {"outsider": people.outsider, "invited": people.invited, "operator": people.operator}
    for role in _GUEST_ROLES:
        callers[f"guest of platform, {role}"] = guest = issuer.create_person(f"lise-{role}", "Lise Meitner")
        add_platform_member(tenant.platform, guest, role)
        callers[f"guest of space, {role}"] = guest = issuer.create_person(f"hedy-{role}", "Hedy Lamarr")
        add_platform_member(tenant.platform, guest, Role.MEMBER)
        add_space_member(tenant.space, guest, role)
    callers |= {f"key {scope}": tenant.create_api_key(scope) for scope in _GENERAL_SCOPES}
    callers |= {f"key {scope}": tenant.create_api_key(scope) for area in scope_areas() for scope in area.scopes}
    callers["key revoked"] = revoked = tenant.create_api_key("admin")
    tenant.api.delete(f"{tenant.organization.api_keys_path}/{revoked.id}", caller=people.owner).expect(204)
    callers["key elsewhere"] = tenant.create_api_key("admin", allowedIps=["198.51.100.0/24"])
    callers["key of rivals"] = create_api_key(tenant.api, tenant.rivals, "admin")
    callers["service key"] = tenant.create_service_key("events:write")
    callers["service key revoked"] = revoked = tenant.create_service_key("events:write")
    revoke_service_key(tenant.api, people.operator, revoked).expect(204)
    return {**callers, "key unknown": _UNKNOWN_KEY}


def callers_of(operation: Operation, callers: Callers) -> Callers:
    """Return the callers that an operation distinguishes: of the keys of single areas, two."""
    area, _, verb = (operation.scope or "").partition(":")
    own = {operation.scope, f"{area}:write"}
    other = f"sites:{verb or 'read'}" if area != "sites" else f"taxonomy:{verb}"
    names = {f"key {scope}" for scope in (*own, other)}
    return {name: caller for name, caller in callers.items() if ":" not in name or name in names}


@dataclass(frozen=True)
class Place:
    """A state of what a request names.

    `applies` says whether an operation distinguishes it. `prepare` changes what is stored, `change` the request.
    """

    applies: Callable[[Operation], object] = lambda _operation: True
    prepare: Callable[[TenantFixture, Operation], object] = lambda _tenant, _operation: None
    change: Callable[[TenantFixture, Operation, Example], Example] = lambda _tenant, _operation, example: example


def _rule_or_none(operation: Operation) -> RequireRole | None:
    return operation.access if isinstance(operation.access, RequireRole) else None


def _container_type(operation: Operation) -> type[Any] | None:
    rule = _rule_or_none(operation)
    return rule.container_type if rule else None


def _container_path(tenant: TenantFixture, operation: Operation) -> str:
    """Return the path of the container of an operation's example."""
    containers = {Organization: tenant.organization, Platform: tenant.platform, Space: tenant.space, Site: tenant.site}
    return next(each.path for kind, each in containers.items() if kind is _container_type(operation))


def _delete_container(tenant: TenantFixture, operation: Operation) -> None:
    tenant.api.delete(_container_path(tenant, operation), caller=tenant.people.owner).expect(204)


def _delete_organization(tenant: TenantFixture, _operation: Operation) -> None:
    tenant.api.delete(tenant.organization.path, caller=tenant.people.owner).expect(204)


def _hide_container(tenant: TenantFixture, operation: Operation) -> None:
    """Make the space private, or the site a draft."""
    body = {"visibility": "private"} if _container_type(operation) is Space else {"status": "draft"}
    tenant.api.patch(_container_path(tenant, operation), caller=tenant.people.owner, json=body).expect(200)


def _publish_platform(tenant: TenantFixture, _operation: Operation) -> None:
    tenant.api.patch(f"{tenant.platform.path}/publish", caller=tenant.people.owner, json={}).expect(200)


def _remove_members(tenant: TenantFixture, _operation: Operation) -> None:
    """End the memberships of the organization and of the platform. Those of what is inside are only revoked."""
    people, issuer = tenant.people, tenant.people.issuer
    guests = [issuer.create_person(f"hedy-{role}", "Hedy Lamarr") for role in _GUEST_ROLES]
    paths = [
        f"{tenant.organization.path}/members/{person.id}" for person in (people.admin, people.editor, people.member)
    ]
    for path in (*paths, *(f"{tenant.platform.path}/members/{person.id}" for person in guests)):
        tenant.api.delete(path, caller=people.owner).expect(204)


def _last_record_parameter(operation: Operation) -> str | None:
    """Return the last path parameter that names a record, other than the container or the record that leads to it."""
    rule = _rule_or_none(operation)
    is_container_in_path = rule is not None and rule.location is not ContainerReference.BODY_ID
    container_parameter = rule.container_or_record_parameter if rule and is_container_in_path else None
    names = [name for name in operation.path_parameter_names if name != container_parameter]
    return names[-1] if names else None


def _in_unknown_container(_tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    assert isinstance(operation.access, RequireRole)
    return example.in_container(operation.access)


def _in_malformed_container(_tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    assert isinstance(operation.access, RequireRole)
    return example.in_container(operation.access, "NO PLACE/AT:ALL")


def _in_container_of_rivals(tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    assert isinstance(operation.access, RequireRole)
    return example.in_container(
        operation.access, tenant.get_rivals_parameter(operation.access.container_or_record_parameter)
    )


def _with_unknown_record(_tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    return example.with_unknown(str(_last_record_parameter(operation)))


def _with_record_of_rivals(tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    name = str(_last_record_parameter(operation))
    return example.with_parameters(**{name: tenant.rivals.path_parameters.get(name, "nothing-here")})


def _restore_policy_or_none(operation: Operation) -> OwnerRestores | None:
    rule = _rule_or_none(operation)
    return rule.policy if rule and isinstance(rule.policy, OwnerRestores) else None


def _with_restoring_body(_tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    policy = _restore_policy_or_none(operation)
    return replace(example, body=policy and dict(policy.body))


def _descendant_policy_or_none(operation: Operation) -> RoleInDescendant | None:
    rule = _rule_or_none(operation)
    return rule.policy if rule and isinstance(rule.policy, RoleInDescendant) else None


def _with_descendant(tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    policy = _descendant_policy_or_none(operation)
    parameter = policy.container_type.parameter if policy else ""
    return replace(example, query={to_camel(parameter): tenant.organization.path_parameters[parameter]})


def _with_descendant_of_rivals(tenant: TenantFixture, operation: Operation, example: Example) -> Example:
    return _with_descendant(replace(tenant, organization=tenant.rivals), operation, example)


PLACES: Final[Mapping[str, Place]] = {
    "unchanged": Place(),
    "ancestors cached": Place(_rule_or_none),
    "unknown container": Place(_rule_or_none, change=_in_unknown_container),
    "malformed container": Place(_rule_or_none, change=_in_malformed_container),
    "container of rivals": Place(_rule_or_none, change=_in_container_of_rivals),
    "deleted container": Place(_rule_or_none, _delete_container),
    "deleted container, restored": Place(_restore_policy_or_none, _delete_container, _with_restoring_body),
    "deleted organization": Place(lambda o: _container_type(o) not in (None, Organization), _delete_organization),
    "hidden container": Place(lambda o: _container_type(o) in (Space, Site), _hide_container),
    "published container": Place(lambda o: _container_type(o) in (Platform, Space), _publish_platform),
    "members removed": Place(_rule_or_none, _remove_members),
    "unknown record": Place(_last_record_parameter, change=_with_unknown_record),
    "record of rivals": Place(_last_record_parameter, change=_with_record_of_rivals),
    "descendant": Place(_descendant_policy_or_none, change=_with_descendant),
    "descendant of rivals": Place(_descendant_policy_or_none, change=_with_descendant_of_rivals),
    "invalid body": Place(lambda o: o.body_model, change=lambda _tenant, _o, example: replace(example, body=[])),
    "invalid query": Place(
        lambda o: o.query_model, change=lambda _tenant, _o, example: replace(example, query={"limit": "x", "q": "\0"})
    ),
}
"""What requests can find, by name."""
