"""Service keys write and read application events in every organization, and do nothing else."""

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import Item, ItemKey
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.outcomes import (
    REJECTED_KEYS,
    get_area,
    is_open_to_all_callers,
    is_public,
    is_visible_only_to_creator,
    outcome_of,
    outcome_of_call,
)
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers, snapshots
from tests.harness.parametrize_operations import admits_service_keys, parametrize_access_rules, parametrize_operations
from tests.harness.service_keys import revoke_service_key, rotate_service_key


def test_service_keys_may_only_write_and_read_application_events():
    for operation in all_operations():
        if admits_service_keys(operation):
            assert operation.path.startswith("/organizations/{organization_id}/events"), operation.id
            assert (get_area(operation), operation.grants_access) == ("events", False), operation.id
    assert [each.id for each in all_operations() if each.allows_service_keys] == ["get_me"]


def without_record_of(key: callers.Caller, items: dict[ItemKey, Item]) -> dict[ItemKey, Item]:
    """Return the items without the record of a service key, which contains the time of its last use."""
    return {item_key: item for item_key, item in items.items() if item_key != (f"SERVICE-KEY#{key.id}", "#")}


def expected_for_service_key(operation: Operation, tenant: TenantFixture, *scopes: str) -> str:
    """Return the expected outcome for a service key in a tenant, or for what a published target shows everybody."""
    if admits_service_keys(operation):
        return "success" if {operation.scope, f"{get_area(operation)}:write"} & {*scopes} else "403 insufficient_scope"
    if operation.allows_service_keys or is_open_to_all_callers(operation, tenant):
        return "404 not_found" if is_visible_only_to_creator(operation, tenant) else "success"
    is_public_when_published = isinstance(operation.access, RequireRole) and operation.access.if_published
    return "404 not_found" if is_public_when_published else "403 insufficient_scope"


@parametrize_operations()
def test_a_service_key_may_only_write_and_read_application_events_and_see_what_is_public(operation, tenant):
    keys = {scope: tenant.create_service_key(scope) for scope in ("events:read", "events:write")}
    for scope, key in keys.items():
        before = snapshots.items_by_key()
        answer = call_operation(operation, tenant, caller=key)
        assert outcome_of(operation, answer) == expected_for_service_key(operation, tenant, scope), scope
        if answer.status == 403:
            assert without_record_of(key, snapshots.items_by_key()) == without_record_of(key, before)
            assert answer.calls.names_of_service("sqs") == []
            assert tenant.organization.record["name"] not in answer.text


@parametrize_access_rules(lambda o: isinstance(o.access, RequireRole) and not is_public(o))
def test_a_service_key_cannot_tell_a_container_of_others_from_a_missing_one(operation, tenant):
    key, example, access = tenant.create_service_key("events:write"), get_example(operation, tenant), operation.access
    missing = call_operation(operation, tenant, example.in_container(access), caller=key)
    expected = "404 not_found" if admits_service_keys(operation) or access.if_published else "403 insufficient_scope"
    assert missing.status_and_code == expected
    if not admits_service_keys(operation):
        present = call_operation(operation, tenant, example, caller=key)
        assert present.comparable_problem == missing.comparable_problem


@parametrize_operations(admits_service_keys)
def test_a_service_key_that_is_no_longer_valid_is_rejected(operation, tenant, clock):
    keys = {why: tenant.create_service_key("events:write") for why in ("revoked", "rotated")}
    keys["expired"] = tenant.create_service_key("events:write", expiresAt=after(now(), days=1))
    keys["elsewhere"] = tenant.create_service_key("events:write", allowedIps=["198.51.100.0/24"])
    revoke_service_key(tenant.api, tenant.people.operator, keys["revoked"]).expect(204)
    rotate_service_key(tenant.api, tenant.people.operator, keys["rotated"], graceHours=0).expect(200)
    clock.shift(days=2)
    assert {why: outcome_of_call(operation, tenant, keys[why]) for why in REJECTED_KEYS} == REJECTED_KEYS
