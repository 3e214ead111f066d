"""Operations that grant access commit only if the caller is still authorized at the commit, not only at the check."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations, list_record_types
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.inputs import RequestInput
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Item, ItemKey
from tests.catalogue.examples.registry import call_operation, get_caller
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.api import ApiResponse
from tests.harness.aws_calls import Call
from tests.harness.callers import Caller, Person
from tests.harness.parametrize_operations import parametrize_access_rules, parametrize_operations

GRANTING_AREAS: Final = ("api-keys", "channels", "domains", "log-streams", "members", "webhooks")
"""The scope areas of operations that grant access or send data to others."""

_OTHER_GRANTING_OPERATIONS: Final = {
    "accept_invitation",
    "respond_to_invitation",
    "respond_to_my_invitation",
    "join_platform",
    "join_space",
    "leave_organization",
    "leave_platform",
    "leave_space",
    "transfer_ownership",
    "create_platform",
    "delete_platform",
    "create_space",
    "create_webhook_link",
    "create_custom_domain_link",
}
"""Further operations that grant access, without a scope or together with a container."""

KINDS_THAT_GRANT_ACCESS: Final = {
    "organization.member",
    "platform.member",
    "space.member",
    "organization.invitation",
    "platform.invitation",
    "organization.api_key",
    "organization.webhook",
    "organization.webhook.delivery",
    "organization.webhook.replay",
    "organization.integration_channel",
    "organization.log_stream",
    "organization.integration_channel.message",
    "platform.custom_domain",
}


Keys = set[ItemKey]


def revoke_before_commit(
    operation: Operation,
    tenant: TenantFixture,
    caller: Caller | None,
    monkeypatch: pytest.MonkeyPatch,
    revoke: Callable[[TenantFixture, Caller | None], ApiResponse],
) -> tuple[ApiResponse, Keys]:
    """Revoke the rights of a caller before the commit. Return the response, and the keys that changed after that."""
    write, before = table.write_transaction, dict[ItemKey, Item]()

    def write_after_revocation(writes: Sequence[writes.Write]) -> None:
        if len(writes) > 1:  # A single write only records something, such as the use of a key.
            monkeypatch.setattr(table, "write_transaction", write)
            intervention = revoke(tenant, caller)
            assert intervention.status in (200, 204), intervention.text
            before.update(snapshots.items_by_key())
        write(writes)

    monkeypatch.setattr(table, "write_transaction", write_after_revocation)
    answer = call_operation(operation, tenant, caller=caller)
    assert before, "the operation did not commit"
    return answer, changed_since(before)


def changed_since(before: dict[ItemKey, Item]) -> Keys:
    """Return the keys of changed items, without the counters of requests and the items of epochs."""
    now = snapshots.items_by_key()
    changed = {key for key in {*before, *now} if before.get(key) != now.get(key)}
    epoch_prefixes = ("EPOCH#", "CLOSING-EPOCH#")
    return {key for key in changed if not key[0].startswith("Y#") and not key[1].startswith(epoch_prefixes)}


def authorized_caller(operation: Operation, tenant: TenantFixture) -> Person:
    requires_owner = isinstance(operation.access, RequireRole) and operation.access.role == Role.OWNER
    return tenant.people.owner if requires_owner else tenant.people.admin


def demote_person(tenant: TenantFixture, person: Caller) -> ApiResponse:
    """Lower the role of a person: the owner becomes an admin, others become members."""
    path, people = tenant.organization.path, tenant.people
    if person is people.owner:
        return tenant.api.post(f"{path}/transfer-ownership", caller=person, json={"newOwnerId": people.admin.id})
    return tenant.api.patch(f"{path}/members/{person.id}", caller=people.owner, json={"role": "member"})


def remove_person(tenant: TenantFixture, person: Caller) -> ApiResponse:
    remover = tenant.people.owner
    if person is remover:
        assert demote_person(tenant, person).status == 200
        remover = tenant.people.admin
    return tenant.api.delete(f"{tenant.organization.path}/members/{person.id}", caller=remover)


def revoke_key(tenant: TenantFixture, key: Caller) -> ApiResponse:
    return tenant.api.delete(f"{tenant.organization.api_keys_path}/{key.id}", caller=tenant.people.owner)


def delete_organization(tenant: TenantFixture, _caller: Caller) -> ApiResponse:
    return tenant.api.delete(tenant.organization.path, caller=tenant.people.owner)


def list_revocations(operation: Operation, tenant: TenantFixture) -> Iterator[tuple[Any, Caller | None, str]]:
    """Yield what can happen to the caller of an operation before its commit, the caller, and the expected problem."""
    yield delete_organization, get_caller(operation, tenant), "404 not_found"
    role = operation.access.role if isinstance(operation.access, RequireRole) else None
    if role:
        yield remove_person, authorized_caller(operation, tenant), "404 not_found"
    if role not in (None, Role.MEMBER):
        yield demote_person, authorized_caller(operation, tenant), "403 insufficient_role"
    if operation.scope and isinstance(operation.access, RequireRole):
        yield revoke_key, tenant.create_api_key("admin"), "401 api_key_revoked"


@parametrize_access_rules(lambda o: o.grants_access)
def test_a_caller_whose_rights_end_before_the_commit_changes_nothing(operation, tenant, restore_tenant, monkeypatch):
    for revoke, caller, problem in list_revocations(operation, tenant):
        answer, changed = revoke_before_commit(operation, tenant, caller, monkeypatch, revoke)
        assert (answer.status_and_code, changed) == (problem, set()), revoke
        restore_tenant()


@parametrize_access_rules(lambda o: o.grants_access and isinstance(o.access, RequireRole) and o.access.role)
def test_nothing_changes_if_the_caller_is_removed_during_a_batch_read(operation, tenant, monkeypatch):
    caller, get_all = authorized_caller(operation, tenant), table.get_all

    def get_all_during_removal(keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
        """Read memberships as they were before the removal, and the epochs as they are after it."""
        key_list = list(keys)
        items = get_all(key_list)
        shards = [key for key in key_list if key[1].startswith("EPOCH#")]
        if not shards:
            return items
        monkeypatch.setattr(table, "get_all", get_all)
        assert remove_person(tenant, caller).status == 204
        before.update(snapshots.items_by_key())
        return items | get_all(shards)

    before: dict[ItemKey, Item] = {}
    monkeypatch.setattr(table, "get_all", get_all_during_removal)
    assert call_operation(operation, tenant, caller=caller).status_and_code == "404 not_found"
    assert changed_since(before) == set()


@parametrize_operations(lambda o: o.grants_access)
def test_the_transaction_checks_the_epochs_of_all_principals_and_of_its_caller(operation, tenant):
    answer = call_operation(operation, tenant).expect(operation.success)
    transactions = [call for call in answer.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
    (with_entry,) = [call for call in transactions if any(each["key"][0].startswith("A#") for each in actions(call))]
    checked = {
        tuple(action["key"])
        for action in actions(with_entry)
        if action["key"][1].startswith("EPOCH#") and "#epoch" in action.get("ConditionExpression", "")
    }
    caller = {get_caller(operation, tenant).id} if isinstance(operation.access, RequireRole) else set()  # type: ignore[union-attr]
    partition = access_epochs.organization_partition(tenant.id)
    for subject in {access_epochs.EVERYONE, *caller}:
        assert checked & {*access_epochs.EpochSubject(partition, subject).shard_keys}, subject


def actions(call: Call) -> list[dict[str, Any]]:
    details_list = [details for action in call.parameters["TransactItems"] for details in action.values()]
    return [
        {**details, "key": (key["pk"]["S"], key["sk"]["S"])}
        for details in details_list
        for key in [details.get("Key") or details["Item"]]
    ]


def test_every_operation_that_grants_access_declares_it():
    expected = {
        o.id for o in all_operations() if o.emits_events and o.scope in {f"{area}:write" for area in GRANTING_AREAS}
    }
    assert {o.id for o in all_operations() if o.grants_access} == expected | _OTHER_GRANTING_OPERATIONS


def test_these_kinds_of_records_grant_access():
    assert {kind.kind for kind in list_record_types() if kind.gives_access} == KINDS_THAT_GRANT_ACCESS


@parametrize_access_rules(
    lambda o: o.grants_access and isinstance(o.access, RequireRole) and not o.has_external_effects
)
def test_an_operation_without_its_declaration_fails(operation, tenant, monkeypatch):
    from chalicelib.kernel.execution import attempts
    from chalicelib.kernel.execution.context import Context

    def create_undeclared_context(declared: RequestInput, *args: Any) -> Context:
        return Context(replace(declared, operation=replace(operation, grants_access=False)), *args)

    monkeypatch.setattr(attempts, "Context", create_undeclared_context)
    with pytest.raises(AssertionError, match="500"):
        call_operation(operation, tenant)


def test_epochs_are_in_the_partition_of_the_organization():
    from chalicelib.features.tenancy.entities.organizations import Organization

    assert access_epochs.organization_partition("x") == Organization.make_item_key(id="x")[0]
