"""Authorization: every operation with every kind of caller, and the exact problem for each rejected one.

Each operation is called by the callers just below the required access, and by the least privileged caller in the tests
of its effects. The other kinds of callers call one operation of each access rule, and all in `make test-all`.
"""

import base64
import json
import re
from dataclasses import replace
from typing import Final

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.platforms.spaces.entities import Space
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import scope_areas
from chalicelib.kernel.storage.entity import Container
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.log_proof import entry_of_request, principal_of
from tests.catalogue.outcomes import (
    REJECTED_KEYS,
    get_area,
    is_open_to_all_callers,
    is_open_to_every_key,
    is_public,
    is_visible_only_to_creator,
    outcome_of,
    outcome_of_call,
)
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers, snapshots
from tests.harness.callers import Issuer, Person
from tests.harness.challenges import get_challenge
from tests.harness.organizations import create_api_key
from tests.harness.parametrize_operations import (
    admits_operators_to_tenants,
    parametrize_access_rules,
    parametrize_operations,
    parametrize_request_rules,
)
from tests.harness.platforms import add_platform_member, add_space_member

SCOPES_BY_AREA: Final = {area.name: area.scopes for area in scope_areas()}
ROLES: Final = list(Role)
GENERAL_SCOPES: Final = ("read", "write", "admin")
GENERAL_SCOPES_BY_ROLE: Final = {"member": {"read", "write", "admin"}, "editor": {"write", "admin"}, "admin": {"admin"}}
"""The general scopes of keys that allow the operations of a role. `read` allows no writes."""


def expected_without_credential(operation: Operation, tenant: TenantFixture) -> str:
    if is_open_to_all_callers(operation, tenant):
        return "success"
    # Only one person may make some calls whose target is public.
    hidden = isinstance(operation.access, RequireRole) and operation.access.if_published
    return "404 not_found" if hidden else "401 unauthenticated"


def expected_for_outsiders(operation: Operation, tenant: TenantFixture) -> str:
    if is_visible_only_to_creator(operation, tenant):
        return "404 not_found"
    if isinstance(operation.access, RequireRole):
        is_open = is_public(operation) or get_example(operation, tenant).is_open_to_all_users
        return "success" if is_open else "404 not_found"
    if operation.access in (Caller.OPERATOR, Caller.LINK):
        return "403 forbidden"
    return "403 email_mismatch" if get_example(operation, tenant).only_caller else "success"


def test_operators_may_only_reconcile_records_of_tenants():
    open_operations = {operation.id for operation in all_operations() if admits_operators_to_tenants(operation)}
    assert open_operations == {"start_reconciliation", "list_reconciliations", "get_reconciliation"}


def expected_for_role(operation: Operation, role: Role) -> str:
    """Return the expected outcome for a role in the container of an operation that requires one."""
    assert isinstance(operation.access, RequireRole)
    assert operation.access.role
    is_sufficient = ROLES.index(role) >= ROLES.index(operation.access.role)
    return "success" if is_sufficient else "403 insufficient_role"


def requires_role(operation: Operation) -> bool:
    return isinstance(operation.access, RequireRole) and operation.access.role is not None


@parametrize_operations()
def test_callers_just_below_the_required_access_are_rejected_without_a_change(operation, tenant):
    role = operation.access.role if isinstance(operation.access, RequireRole) else None
    expected = {None: expected_without_credential(operation, tenant)}
    if role not in (None, Role.MEMBER):
        expected[tenant.people.get_by_role(ROLES[ROLES.index(role) - 1])] = "403 insufficient_role"
    expected[tenant.people.outsider] = expected_for_outsiders(operation, tenant)
    for caller, outcome in expected.items():
        before = snapshots.items_by_key()
        answer = call_operation(operation, tenant, caller=caller)
        assert outcome_of(operation, answer) == outcome
        if outcome != "success":
            assert snapshots.items_by_key() == before
            assert answer.calls.names_of_service("sqs") == []
    assert is_public(operation) or tenant.id not in answer.text.replace(answer.path, "")
    assert tenant.organization.record["name"] not in answer.text


@parametrize_access_rules()
def test_an_operator_has_no_access_to_tenants_either(operation, tenant):
    is_admitted = operation.access is Caller.OPERATOR or admits_operators_to_tenants(operation)
    expected = "success" if is_admitted else expected_for_outsiders(operation, tenant)
    assert outcome_of_call(operation, tenant, tenant.people.operator) == expected


@parametrize_access_rules(requires_role)
def test_a_member_may_call_what_their_role_allows(operation, tenant, restore_tenant):
    for role in Role:
        restore_tenant()
        found = outcome_of_call(operation, tenant, tenant.people.get_by_role(role))
        if ROLES.index(role) > ROLES.index(operation.access.role):
            assert not found.startswith(("401", "403", "404"))  # Another problem is possible: the owner cannot leave.
        else:
            assert found == expected_for_role(operation, role)


def invalid_credentials(issuer: Issuer, other_issuer: Issuer, person: Person) -> dict[str, tuple[str, str]]:
    """Return invalid values of `Authorization`, and the code of the 401 response to each."""
    valid_claims = {"sub": person.id, "email": person.email}
    header, claims, signature = person.credential.split(".")
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).decode().rstrip("=")
    operator_claims = json.dumps({**valid_claims, "groups": ["operators"]})
    operators = base64.urlsafe_b64encode(operator_claims.encode()).decode().rstrip("=")
    bearer_tokens = {
        "not a token": "nonsense",
        "another issuer": issuer.issue_token(**valid_claims, iss="https://other.example"),
        "another audience": issuer.issue_token(**valid_claims, aud="another"),
        "not valid yet": issuer.issue_token(**valid_claims, nbf=4_000_000_000),
        "another's signature": other_issuer.issue_token(**valid_claims),
        "unsigned": f"{unsigned}.{claims}.",
        "altered": f"{header}.{operators}.{signature}",
        "a key with a wrong checksum": api_key_format.generate_api_key()[:-1] + "!",
        "a key that was never made": api_key_format.generate_api_key(),
    }
    return {
        "no token at all": ("Bearer", "unauthenticated"),
        "another scheme": (f"Basic {person.credential}", "unauthenticated"),
        "expired": (f"Bearer {issuer.issue_token(**valid_claims, exp=1_600_000_000)}", "token_expired"),
        **{name: (f"Bearer {token}", "unauthenticated") for name, token in bearer_tokens.items()},
    }


@parametrize_request_rules()
def test_a_broken_credential_is_rejected_even_by_public_operations(operation, tenant, tmp_path_factory):
    other_issuer = Issuer(tmp_path_factory.mktemp("elsewhere"))
    credentials = invalid_credentials(tenant.people.issuer, other_issuer, tenant.people.owner)
    for name, (value, code) in credentials.items():
        answer = call_operation(operation, tenant, caller=None, headers={"Authorization": value})
        assert answer.status_and_code == f"401 {code}", name
        assert answer.calls.call_names == [] or name == "a key that was never made"


@parametrize_operations(lambda o: isinstance(o.access, RequireRole) and is_public(o))
class TestAPublicTarget:
    def test_is_not_found_if_it_does_not_exist(self, operation, tenant):
        example, access = get_example(operation, tenant), operation.access
        missing = call_operation(operation, tenant, example.in_container(access), caller=None)
        malformed = call_operation(operation, tenant, example.in_container(access, "NO PLACE/AT:ALL"), caller=None)
        assert missing.status_and_code == "404 not_found"
        assert missing.comparable_problem == malformed.comparable_problem

    def test_is_visible_only_to_members_while_it_is_a_draft_and_to_nobody_after_its_deletion(self, operation, tenant):
        people = tenant.people
        tenant.api.patch(tenant.site.path, caller=people.owner, json={"status": "draft"}).expect(200)
        expected = "success" if operation.allows_anonymous else "404 not_found"
        assert [outcome_of_call(operation, tenant, each) for each in (None, people.outsider)] == [expected] * 2
        assert tenant.api.delete(tenant.organization.path, caller=people.owner).status == 204
        for caller in (None, people.outsider, people.member, people.owner):
            assert outcome_of_call(operation, tenant, caller) == "404 not_found"


def forged_tokens(token: str) -> dict[str, str]:
    middle = len(token) // 2
    altered = token[:middle] + ("B" if token[middle] == "A" else "A") + token[middle + 1 :]
    return {"empty": "", "nonsense": "nonsense", "cut": token[:-1], "longer": f"{token}A", "altered": altered}


@parametrize_operations(lambda o: isinstance(o.access, RequireRecordToken))
class TestWithATokenOfARecord:
    def test_every_caller_with_the_token_has_access_to_a_response_that_is_not_cached(self, operation, tenant):
        for caller in (None, tenant.people.outsider, tenant.people.operator, tenant.create_api_key("read")):
            answer = call_operation(operation, tenant, caller=caller)
            assert outcome_of(operation, answer) == "success"
            assert answer.headers["Cache-Control"] == "no-store"

    def test_a_forged_or_expired_token_is_rejected(self, operation, tenant, clock):
        header, (token,) = operation.access.header, get_example(operation, tenant).headers.values()
        for why, bad in forged_tokens(token).items():
            assert outcome_of_call(operation, tenant, None, headers={header: bad}) == "401 unauthenticated", why
        clock.shift(days=89)
        assert outcome_of_call(operation, tenant, None) == "success"
        clock.shift(days=1)
        assert outcome_of_call(operation, tenant, None) == "401 token_expired"


@parametrize_operations(lambda o: isinstance(o.access, RequireRecordToken) and o.record_types_by_parameter)
def test_a_record_without_its_own_token_is_indistinguishable_from_a_missing_one(operation, tenant):
    example, (name,) = get_example(operation, tenant), operation.path_parameter_names
    missing = call_operation(operation, tenant, example.with_unknown(name))
    assert missing.status_and_code == "404 not_found"
    for other in (tenant.get_rivals_parameter(name), "#"):
        answer = call_operation(operation, tenant, example.with_parameters(**{name: other}))
        assert answer.comparable_problem == missing.comparable_problem
    for caller in (None, tenant.people.owner, tenant.people.operator, tenant.create_api_key("admin")):
        answer = call_operation(operation, tenant, replace(example, headers={}), caller=caller)
        assert (answer.status_and_code, get_challenge(answer.headers)) == ("401 unauthenticated", "Bearer")


def scope_allows(operation: Operation, scope: str) -> bool:
    """Return whether a key with one scope may call an operation, according to the documentation."""
    area, _, verb = (operation.scope or "").partition(":")
    role = (operation.access.role if isinstance(operation.access, RequireRole) else None) or "member"
    if operation.scope is None or scope.startswith("all but"):
        return False
    if scope in GENERAL_SCOPES:
        return scope in GENERAL_SCOPES_BY_ROLE[role] and not (scope == "read" and verb == "write")
    return scope in (f"{area}:{verb}", f"{area}:write")


def keys_of_every_kind(tenant: TenantFixture) -> dict[str, callers.Caller]:
    """Return keys of the organization by their single scope or the reason of their rejection, and two of the rivals."""
    keys = {scope: tenant.create_api_key(scope) for scope in GENERAL_SCOPES}
    for area, scopes in SCOPES_BY_AREA.items():
        keys |= {scope: tenant.create_api_key(scope, name="Robot") for scope in scopes}
        others = [of_other[-1] for other, of_other in SCOPES_BY_AREA.items() if other != area]
        keys[f"all but {area}"] = tenant.create_api_key(*others)
    keys["revoked"], keys["rotated"] = tenant.create_api_key("admin"), tenant.create_api_key("admin")
    keys["expired"] = tenant.create_api_key("admin", expiresAt=after(now(), days=1))
    keys["elsewhere"] = tenant.create_api_key("admin", allowedIps=["198.51.100.0/24"])
    keys |= {f"rivals' {scope}": create_api_key(tenant.api, tenant.rivals, scope) for scope in ("read", "admin")}
    path, owner = tenant.organization.api_keys_path, tenant.people.owner
    tenant.api.delete(f"{path}/{keys['revoked'].id}", caller=owner)
    tenant.api.post(f"{path}/{keys['rotated'].id}/rotate", caller=owner, json={"graceHours": 0})
    return keys


def expected_for_key(operation: Operation, tenant: TenantFixture, problem: str) -> str:
    """Return the expected outcome for a key, given the outcome of operations that admit keys."""
    if operation.scope or problem.startswith(("401", "403 ip")):  # The state of the key is checked before its scopes.
        return problem
    return "success" if is_open_to_every_key(operation, tenant) else "403 forbidden"


def expected_for_scope(operation: Operation, tenant: TenantFixture, scope: str) -> str:
    if is_open_to_every_key(operation, tenant) or scope_allows(operation, scope):
        return "404 not_found" if is_visible_only_to_creator(operation, tenant) else "success"
    return expected_for_key(operation, tenant, "403 insufficient_scope")


@parametrize_operations(lambda o: o.scope)
def test_an_api_key_needs_the_scope_of_the_operation_and_is_named_in_the_log(operation, tenant, restore_tenant):
    keys = restore_tenant(keys_of_every_kind)
    for scope in (f"all but {get_area(operation)}", operation.scope):
        answer = call_operation(operation, tenant, caller=keys[scope])
        outcome = outcome_of(operation, answer)
        assert outcome == expected_for_scope(operation, tenant, scope)
        if outcome == "403 insufficient_scope":
            general = [each for each in GENERAL_SCOPES if scope_allows(operation, each)]
            assert re.findall(r"'([^']*)'", answer.json["detail"]) == [operation.scope, *general]
    if operation.emits_events and operation.success == answer.status:
        actor = {"type": "api_key", "id": keys[operation.scope].id, "name": "Robot"}
        assert principal_of(entry_of_request(answer)) == actor


@parametrize_access_rules()
class TestAnApiKey:
    def test_may_call_what_its_scope_allows(self, operation, tenant, restore_tenant):
        area = get_area(operation)
        for scope in (*GENERAL_SCOPES, *((*SCOPES_BY_AREA[area], f"all but {area}") if area else ())):
            key = restore_tenant(keys_of_every_kind)[scope]
            assert outcome_of_call(operation, tenant, key) == expected_for_scope(operation, tenant, scope), scope

    def test_of_another_tenant_gets_404(self, operation, tenant, restore_tenant):
        for scope in ("read", "admin"):
            key = restore_tenant(keys_of_every_kind)[f"rivals' {scope}"]
            has_container = isinstance(operation.access, RequireRole)
            hidden = is_visible_only_to_creator(operation, tenant) or (has_container and not is_public(operation))
            expected = "404 not_found" if hidden else "success"
            if operation.scope and not (has_container or scope_allows(operation, scope)):
                expected = "403 insufficient_scope"  # The scope is checked before the container.
            assert outcome_of_call(operation, tenant, key) == expected_for_key(operation, tenant, expected)


@parametrize_request_rules()
def test_an_api_key_that_is_no_longer_valid_is_rejected(operation, tenant, restore_tenant, clock):
    keys = restore_tenant(keys_of_every_kind)
    clock.shift(days=2)
    answers = {why: outcome_of_call(operation, tenant, keys[why]) for why in REJECTED_KEYS}
    assert answers == {why: expected_for_key(operation, tenant, problem) for why, problem in REJECTED_KEYS.items()}


def create_platform_member(tenant: TenantFixture, role: Role) -> Person:
    """Create a person with a role in the platform who is not a member of its organization."""
    person = tenant.people.issuer.create_person(f"lise-{role}", "Lise Meitner")
    add_platform_member(tenant.platform, person, role)
    return person


def create_space_member(tenant: TenantFixture, role: Role) -> Person:
    """Create a person with a role in the space who is a plain member of the platform."""
    person = create_platform_member(tenant, Role.MEMBER)
    add_space_member(tenant.space, person, role)
    return person


def expected_for_descendant_role(operation: Operation, tenant: TenantFixture, member_of: str, role: Role) -> str:
    """Return the expected outcome for a role in the platform, or in the space of a plain member of the platform."""
    assert isinstance(operation.access, RequireRole)
    container_type, is_platform_role = operation.access.role_container_type, member_of == "platform"
    if container_type is Platform:
        return expected_for_role(operation, role if is_platform_role else Role.MEMBER)
    if container_type is Space:
        # Admins of the platform are admins of its spaces.
        return expected_for_role(operation, Role.MEMBER if is_platform_role and role is not Role.ADMIN else role)
    if operation.access.container_type is Platform:
        return "403 insufficient_role"  # The platform is visible to them. The role is required in the organization.
    if operation.id == "list_invitations" and is_platform_role and role is Role.ADMIN:
        return "success"  # Admins of a platform can list its invitations, of which there are none.
    return expected_for_outsiders(operation, tenant)


def role_container_type(operation: Operation) -> type[Container] | None:
    rule = operation.access
    return rule.role_container_type if isinstance(rule, RequireRole) and rule.role else None


@parametrize_access_rules(
    lambda o: requires_role(o) and (role_container_type(o) in (Organization, Site) or not is_public(o))
)
def test_a_role_in_a_platform_or_space_grants_nothing_above_it(operation, tenant, restore_tenant):
    for member_of, create_person in (("platform", create_platform_member), ("space", create_space_member)):
        for role in (Role.MEMBER, Role.EDITOR, Role.ADMIN):
            person = restore_tenant(create_person, role)
            expected = expected_for_descendant_role(operation, tenant, member_of, role)
            assert outcome_of_call(operation, tenant, person) == expected, (member_of, role)


@parametrize_access_rules(lambda o: role_container_type(o) is Platform and not is_public(o))
def test_an_admin_of_a_platform_cannot_see_other_platforms(operation, tenant, restore_tenant):
    admin, access = restore_tenant(create_platform_member, Role.ADMIN), operation.access
    foreign_id = tenant.get_rivals_parameter(access.container_or_record_parameter)
    example = get_example(operation, tenant).in_container(access, foreign_id)
    assert call_operation(operation, tenant, example, caller=admin).status_and_code == "404 not_found"
