"""Authorization: every operation with every kind of caller, and the exact problem for each rejected one."""

import base64
import json
from dataclasses import replace
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.identity import api_key_format
from chalicelib.kernel.operations.access_rules import Caller, RequireRecordToken, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers
from tests.harness.api import ApiResponse
from tests.harness.callers import Issuer
from tests.harness.organizations import create_api_key
from tests.harness.parametrize_operations import parametrize_operations

_AREAS: Final = tuple(area.name for area in scope_areas())


def is_public(operation: Operation) -> bool:
    """Return whether the target of an operation's example is public. The site is published, the platform is not."""
    access = operation.access
    return operation.allows_anonymous or (
        isinstance(access, RequireRole) and access.if_published and access.container_type is Site
    )


for_public_targets = parametrize_operations(lambda o: isinstance(o.access, RequireRole) and is_public(o))
for_private_containers = parametrize_operations(lambda o: isinstance(o.access, RequireRole) and not is_public(o))
by_role = pytest.mark.parametrize("role", list(Role))

GENERAL_SCOPES_BY_ROLE: Final = {
    "member": {"read", "write", "admin"},
    "editor": {"write", "admin"},
    "admin": {"admin"},
}
"""The general scopes of keys that allow the operations of a role. `read` allows no writes."""


def outcome_of_call(
    operation: Operation, world: TenantFixture, caller: callers.Caller | str | None, **options: Any
) -> str:
    """Call the example of an operation, and return `success` or the problem."""
    return outcome_of(operation, call_operation(operation, world, caller=caller, **options))


def outcome_of(operation: Operation, answer: ApiResponse) -> str:
    return "success" if answer.status == operation.success else answer.status_and_code


@parametrize_operations()
class TestWithoutACredential:
    def test_only_public_operations_succeed(self, operation, tenant):
        hidden = isinstance(operation.access, RequireRole) and operation.access.if_published
        unknown = "404 not_found" if hidden else "401 unauthenticated"
        # Only one person may make this call, although its target is public.
        is_restricted = get_example(operation, tenant).only_caller is not None
        expected = "success" if is_public(operation) and not is_restricted else unknown
        assert outcome_of_call(operation, tenant, None) == expected


def invalid_credentials(issuer: Issuer, other_issuer: Issuer, person: callers.Person) -> dict[str, tuple[str, str]]:
    """Return invalid values of `Authorization`, and the code of the 401 response to each."""
    valid_claims = {"sub": person.id, "email": person.email}
    header, claims, signature = person.credential.split(".")
    unsigned = base64.urlsafe_b64encode(json.dumps({"alg": "none"}).encode()).decode().rstrip("=")
    operators = (
        base64.urlsafe_b64encode(json.dumps({**valid_claims, "groups": ["operators"]}).encode()).decode().rstrip("=")
    )
    wrong_checksum = api_key_format.generate_api_key()[:-1] + "!"
    return {
        "no token at all": ("Bearer", "unauthenticated"),
        "another scheme": (f"Basic {person.credential}", "unauthenticated"),
        "not a token": ("Bearer nonsense", "unauthenticated"),
        "another issuer": (
            f"Bearer {issuer.issue_token(**valid_claims, iss='https://other.example')}",
            "unauthenticated",
        ),
        "another audience": (f"Bearer {issuer.issue_token(**valid_claims, aud='another')}", "unauthenticated"),
        "expired": (f"Bearer {issuer.issue_token(**valid_claims, exp=1_600_000_000)}", "token_expired"),
        "not valid yet": (f"Bearer {issuer.issue_token(**valid_claims, nbf=4_000_000_000)}", "unauthenticated"),
        "another's signature": (f"Bearer {other_issuer.issue_token(**valid_claims)}", "unauthenticated"),
        "unsigned": (f"Bearer {unsigned}.{claims}.", "unauthenticated"),
        "altered": (f"Bearer {header}.{operators}.{signature}", "unauthenticated"),
        "a key with a wrong checksum": (f"Bearer {wrong_checksum}", "unauthenticated"),
        "a key that was never made": (f"Bearer {api_key_format.generate_api_key()}", "unauthenticated"),
    }


@parametrize_operations()
class TestWithABrokenCredential:
    def test_even_public_operations_are_rejected(self, operation, tenant, tmp_path_factory):
        other_issuer = Issuer(tmp_path_factory.mktemp("elsewhere"))
        credentials = invalid_credentials(tenant.people.issuer, other_issuer, tenant.people.get_by_role(Role.OWNER))
        answers = {
            name: outcome_of_call(operation, tenant, None, headers={"Authorization": value})
            for name, (value, _) in credentials.items()
        }
        assert answers == {name: f"401 {code}" for name, (_, code) in credentials.items()}


def is_visible_only_to_creator(operation: Operation, world: TenantFixture) -> bool:
    """Return whether the target of the example is visible only to its creator."""
    of_a_record = bool(operation.record_types_by_parameter) and not isinstance(operation.access, RequireRole)
    return of_a_record and get_example(operation, world).only_caller is not None


def expected_for_outsiders(operation: Operation, world: TenantFixture) -> str:
    """Return the expected outcome for users outside of the tenant."""
    if is_visible_only_to_creator(operation, world):
        return "404 not_found"
    if isinstance(operation.access, RequireRole):
        return (
            "success" if is_public(operation) or get_example(operation, world).is_open_to_all_users else "404 not_found"
        )
    if operation.access is Caller.OPERATOR:
        return "403 forbidden"
    return "403 email_mismatch" if get_example(operation, world).only_caller else "success"


@parametrize_operations()
class TestAUserOutsideOfTheTenant:
    def test_gets_404_without_any_data_of_the_tenant(self, operation, tenant):
        answer = call_operation(operation, tenant, caller=tenant.people.outsider)
        assert outcome_of(operation, answer) == expected_for_outsiders(operation, tenant)
        assert is_public(operation) or tenant.id not in answer.text.replace(answer.path, "")
        assert tenant.organization.record["name"] not in answer.text

    def test_an_operator_has_no_access_to_tenants_either(self, operation, tenant):
        expected = "success" if operation.access is Caller.OPERATOR else expected_for_outsiders(operation, tenant)
        assert outcome_of_call(operation, tenant, tenant.people.operator) == expected


class TestWhatIsForeign:
    @for_private_containers
    def test_is_indistinguishable_from_what_is_missing(self, operation, tenant):
        assert isinstance(operation.access, RequireRole)
        example, owner, access = get_example(operation, tenant), tenant.people.owner, operation.access
        foreign = call_operation(
            operation,
            tenant,
            example.in_container(access, tenant.get_rivals_parameter(access.container_or_record_parameter)),
            caller=owner,
        )
        missing = call_operation(operation, tenant, example.in_container(access), caller=owner)
        malformed = call_operation(operation, tenant, example.in_container(access, "NO PLACE/AT:ALL"), caller=owner)
        assert foreign.status_and_code == "404 not_found"
        assert foreign.comparable_problem == missing.comparable_problem
        if access.in_body:
            assert malformed.errors == {f"/{access.container_id_body_field}": "malformed"}
        else:
            assert malformed.comparable_problem == missing.comparable_problem

    @parametrize_operations(lambda o: isinstance(o.access, RequireRole) and o.scope and not is_public(o))
    def test_is_indistinguishable_for_an_api_key_too(self, operation, tenant):
        assert isinstance(operation.access, RequireRole)
        example, key, access = get_example(operation, tenant), tenant.create_api_key("admin"), operation.access
        foreign = call_operation(
            operation,
            tenant,
            example.in_container(access, tenant.get_rivals_parameter(access.container_or_record_parameter)),
            caller=key,
        )
        missing = call_operation(operation, tenant, example.in_container(access), caller=key)
        assert foreign.status_and_code == "404 not_found"
        assert foreign.comparable_problem == missing.comparable_problem


@for_public_targets
class TestAPublicTarget:
    def test_is_not_found_if_it_does_not_exist(self, operation, tenant):
        assert isinstance(operation.access, RequireRole)
        example, access = get_example(operation, tenant), operation.access
        missing = call_operation(operation, tenant, example.in_container(access), caller=None)
        malformed = call_operation(operation, tenant, example.in_container(access, "NO PLACE/AT:ALL"), caller=None)
        assert missing.status_and_code == "404 not_found"
        assert missing.comparable_problem == malformed.comparable_problem

    def test_is_not_found_after_the_deletion_of_its_organization(self, operation, tenant):
        assert tenant.api.delete(tenant.organization.path, caller=tenant.people.owner).status == 204
        for caller in (None, tenant.people.outsider, tenant.people.member, tenant.people.owner):
            assert outcome_of_call(operation, tenant, caller) == "404 not_found"

    def test_is_visible_only_to_members_while_it_is_a_draft(self, operation, tenant):
        response = tenant.api.patch(tenant.site.path, caller=tenant.people.owner, json={"status": "draft"})
        assert response.status == 200
        expected = "success" if operation.allows_anonymous else "404 not_found"
        for caller in (None, tenant.people.outsider):
            assert outcome_of_call(operation, tenant, caller) == expected


class TestARecordOfOthers:
    # A PUT creates the record that it names.
    @parametrize_operations(
        lambda o: o.record_types_by_parameter and isinstance(o.access, RequireRole) and o.method != "PUT"
    )
    def test_is_indistinguishable_from_a_missing_one(self, operation, tenant):
        example, owner = get_example(operation, tenant), tenant.people.owner
        for record in operation.record_types_by_parameter.values():
            name = record.parameter
            foreign = call_operation(
                operation, tenant, example.with_parameters(**{name: tenant.get_rivals_parameter(name)}), caller=owner
            )
            missing = call_operation(operation, tenant, example.with_unknown(name), caller=owner)
            malformed = call_operation(operation, tenant, example.with_parameters(**{name: "#"}), caller=owner)
            assert foreign.status_and_code == "404 not_found"
            assert foreign.comparable_problem == missing.comparable_problem == malformed.comparable_problem

    @parametrize_operations(
        lambda o: (
            o.record_types_by_parameter
            and isinstance(o.access, RequireRole)
            and o.access.role is not Role.MEMBER
            and o.method != "PUT"
        )
    )
    def test_is_not_read_without_the_required_role(self, operation, tenant):
        missing = get_example(operation, tenant).with_unknown(next(reversed(operation.path_parameter_names)))
        assert (
            call_operation(operation, tenant, missing, caller=tenant.people.member).status_and_code == "404 not_found"
        )


def forged_tokens(token: str) -> dict[str, str]:
    """Return invalid variants of a token, by their defect."""
    middle = len(token) // 2
    swapped = "B" if token[middle] == "A" else "A"
    return {
        "empty": "",
        "nonsense": "nonsense",
        "cut": token[:-1],
        "longer": f"{token}A",
        "altered": token[:middle] + swapped + token[middle + 1 :],
    }


@parametrize_operations(lambda o: isinstance(o.access, RequireRecordToken))
class TestWithATokenOfARecord:
    def test_every_caller_with_the_token_has_access(self, operation, tenant):
        for caller in (None, tenant.people.outsider, tenant.people.operator, tenant.create_api_key("read")):
            assert outcome_of_call(operation, tenant, caller) == "success"

    def test_a_forged_token_is_rejected(self, operation, tenant):
        assert isinstance(operation.access, RequireRecordToken)
        header, (token,) = operation.access.header, get_example(operation, tenant).headers.values()
        answers = {
            why: outcome_of_call(operation, tenant, None, headers={header: bad})
            for why, bad in forged_tokens(token).items()
        }
        assert answers == dict.fromkeys(answers, "401 unauthenticated")

    def test_an_expired_token_is_rejected(self, operation, tenant, clock):
        clock.shift(days=89)
        assert outcome_of_call(operation, tenant, None) == "success"
        clock.shift(days=1)
        assert outcome_of_call(operation, tenant, None) == "401 token_expired"

    def test_the_response_is_not_cached(self, operation, tenant):
        assert call_operation(operation, tenant).headers["Cache-Control"] == "no-store"


@parametrize_operations(lambda o: isinstance(o.access, RequireRecordToken) and o.record_types_by_parameter)
class TestWithATokenOfAnotherRecord:
    def test_it_is_indistinguishable_from_a_missing_one(self, operation, tenant):
        example, (name,) = get_example(operation, tenant), operation.path_parameter_names
        others = {tenant.get_rivals_parameter(name): "another's", "#": "malformed"}
        answers = [call_operation(operation, tenant, example.with_parameters(**{name: other})) for other in others]
        missing = call_operation(operation, tenant, example.with_unknown(name))
        assert missing.status_and_code == "404 not_found"
        assert all(answer.comparable_problem == missing.comparable_problem for answer in answers)

    def test_no_caller_has_access_without_a_token(self, operation, tenant):
        for caller in (None, tenant.people.owner, tenant.people.operator, tenant.create_api_key("admin")):
            bare = replace(get_example(operation, tenant), headers={})
            answer = call_operation(operation, tenant, bare, caller=caller)
            assert answer.status_and_code == "401 unauthenticated"
            assert answer.headers["WWW-Authenticate"] == "Bearer"


@by_role
@parametrize_operations(lambda o: isinstance(o.access, RequireRole) and o.access.role)
class TestAMember:
    def test_may_call_what_their_role_allows(self, operation, role, tenant):
        assert isinstance(operation.access, RequireRole)
        found = outcome_of_call(operation, tenant, tenant.people.get_by_role(role))
        order = list(Role)
        required = operation.access.role
        assert required
        if order.index(role) < order.index(required):
            assert found == "403 insufficient_role"
        elif role is required:
            assert found == "success"
        else:
            assert not found.startswith(("401", "403", "404"))  # Another problem is possible: the owner cannot leave.


def scope_allows(operation: Operation, scope: str) -> bool:
    """Return whether a key with one scope may call an operation, according to the documentation."""
    area, _, verb = (operation.scope or "").partition(":")
    role = (operation.access.role if isinstance(operation.access, RequireRole) else None) or "member"
    if operation.scope is None or scope.startswith("all but"):
        return False
    if scope in GENERAL_SCOPES:
        return scope in GENERAL_SCOPES_BY_ROLE[role] and not (scope == "read" and verb == "write")
    return scope in (f"{area}:{verb}", f"{area}:write")


AREA_BY_OPERATION: Final = {o.id: o.scope.partition(":")[0] for o in all_operations() if o.scope}
GENERAL_SCOPES: Final = ("read", "write", "admin")
Keys = dict[str, callers.Caller]


def keys_of_every_kind(world: TenantFixture) -> Keys:
    """Return keys of the organization by their single scope or the reason of their rejection, and two of the rivals."""
    keys = {scope: world.create_api_key(scope) for scope in GENERAL_SCOPES}
    for area in sorted(set(AREA_BY_OPERATION.values())):
        keys |= {f"{area}:{verb}": world.create_api_key(f"{area}:{verb}") for verb in ("read", "write")}
        keys[f"all but {area}"] = world.create_api_key(*(f"{other}:write" for other in _AREAS if other != area))
    keys["revoked"], keys["rotated"] = world.create_api_key("admin"), world.create_api_key("admin")
    keys["expired"] = world.create_api_key("admin", expiresAt=after(now(), days=1))
    keys["elsewhere"] = world.create_api_key("admin", allowedIps=["198.51.100.0/24"])
    keys |= {f"rivals' {scope}": create_api_key(world.api, world.rivals, scope) for scope in ("read", "admin")}
    path, owner = f"{world.organization.path}/api-keys", world.people.owner
    world.api.delete(f"{path}/{keys['revoked'].id}", caller=owner)
    world.api.post(f"{path}/{keys['rotated'].id}/rotate", caller=owner, json={"graceHours": 0})
    return keys


def is_open_to_all_callers(operation: Operation, world: TenantFixture) -> bool:
    """Return whether every caller may make the call, also with a key."""
    return is_public(operation) and get_example(operation, world).only_caller is None


def expected_for_key(operation: Operation, world: TenantFixture, problem: str) -> str:
    """Return the expected outcome for a key, given the outcome of operations that admit keys."""
    if operation.scope or problem.startswith(("401", "403 ip")):  # The state of the key is checked before its scopes.
        return problem
    return "success" if is_open_to_all_callers(operation, world) else "403 forbidden"


@parametrize_operations()
class TestAnApiKey:
    def test_may_call_what_its_scope_allows(self, operation, tenant, restore_tenant):
        area = AREA_BY_OPERATION.get(operation.id)
        for scope in (*GENERAL_SCOPES, *((f"{area}:read", f"{area}:write", f"all but {area}") if area else ())):
            key = restore_tenant(keys_of_every_kind)[scope]
            allowed = is_open_to_all_callers(operation, tenant) or scope_allows(operation, scope)
            found = "404 not_found" if is_visible_only_to_creator(operation, tenant) else "success"
            expected_outcome = found if allowed else expected_for_key(operation, tenant, "403 insufficient_scope")
            assert outcome_of_call(operation, tenant, key) == expected_outcome, scope

    def test_of_another_tenant_gets_404(self, operation, tenant, restore_tenant):
        for scope in ("read", "admin"):
            key = restore_tenant(keys_of_every_kind)[f"rivals' {scope}"]
            hidden = is_visible_only_to_creator(operation, tenant) or (
                isinstance(operation.access, RequireRole) and not is_public(operation)
            )
            expected_outcome = "404 not_found" if hidden else "success"
            if operation.scope and not (isinstance(operation.access, RequireRole) or scope_allows(operation, scope)):
                expected_outcome = "403 insufficient_scope"  # The scope is checked before the container.
            assert outcome_of_call(operation, tenant, key) == expected_for_key(operation, tenant, expected_outcome)

    def test_that_is_no_longer_valid_is_rejected(self, operation, tenant, restore_tenant, clock):
        keys = restore_tenant(keys_of_every_kind)
        clock.shift(days=2)
        answers = {why: outcome_of_call(operation, tenant, keys[why]) for why in REJECTED_KEYS}
        assert answers == {why: expected_for_key(operation, tenant, problem) for why, problem in REJECTED_KEYS.items()}


REJECTED_KEYS: Final = {
    "revoked": "401 api_key_revoked",
    "rotated": "401 api_key_revoked",
    "expired": "401 api_key_expired",
    "elsewhere": "403 ip_not_allowed",
}
"""The reasons why keys are rejected, and the problem of each."""
