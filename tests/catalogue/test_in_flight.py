"""What leaves access behind does so only if its caller may do it when it is committed, not just when it was checked."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import operations, record_kinds
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions import access_epochs
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.storage.entity import Item, ItemKey
from tests.catalogue.examples.registry import caller_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.callers import Caller, Person
from tests.harness.calls import Call

AREAS: Final = ("api-keys", "channels", "domains", "members", "webhooks")
"""Whoever may write there may let others in, or have something sent to them."""

_BEYOND_AREAS: Final = {
    "accept_invitation",
    "respond_to_invitation",
    "join_platform",
    "join_space",
    "leave_organization",
    "leave_platform",
    "leave_space",
    "transfer_ownership",
    "create_platform",
    "delete_platform",
    "create_space",
}
"""What else does so, by a person without a scope or along with a place."""

KINDS_THAT_GIVE_ACCESS: Final = {
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
    "organization.integration_channel.message",
    "platform.custom_domain",
}

granting = by_operation(lambda o: o.grants_access)
by_role = by_operation(lambda o: o.grants_access and isinstance(o.access, RequireRole) and o.access.role)
by_higher_role = by_operation(
    lambda o: o.grants_access and isinstance(o.access, RequireRole) and o.access.role and o.access.role != Role.MEMBER
)
by_key = by_operation(lambda o: o.grants_access and isinstance(o.access, RequireRole) and o.scope)

Keys = set[ItemKey]


def overtaken(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Answer], **words: Any
) -> tuple[Answer, Keys]:
    """Let something be answered when an operation is about to commit; return its answer, and what it changed then."""
    write, before = table.write_transaction, dict[ItemKey, Item]()

    def interrupted(writes: Sequence[writes.Write]) -> None:
        if len(writes) > 1:  # A single one only notes something, such as that a key was used.
            monkeypatch.setattr(table, "write_transaction", write)
            answered = act()
            assert answered.status in (200, 204), answered.text
            before.update(snapshots.stored())
        write(writes)

    monkeypatch.setattr(table, "write_transaction", interrupted)
    answer = perform(operation, world, **words)
    assert before, "it committed nothing"
    return answer, changed_since(before)


def changed_since(before: dict[ItemKey, Item]) -> Keys:
    """Return where something else is stored since, counts of requests and marks of epochs aside."""
    now = snapshots.stored()
    changed = {key for key in {*before, *now} if before.get(key) != now.get(key)}
    of_epochs = ("EPOCH#", "CLOSING-EPOCH#")
    return {key for key in changed if not key[0].startswith("Y#") and not key[1].startswith(of_epochs)}


def holder(operation: Operation, world: World) -> Person:
    """Return an admin or, where only that will do, the owner."""
    owners = isinstance(operation.access, RequireRole) and operation.access.role == Role.OWNER
    return world.people.owner if owners else world.people.admin


def demote(world: World, person: Person) -> Answer:
    """Let a person be less than they were: a member or, if they are the owner, an admin."""
    path, people = world.organization.path, world.people
    if person is people.owner:
        return world.api.post(f"{path}/transfer-ownership", as_=person, json={"newOwnerId": people.admin.id})
    return world.api.patch(f"{path}/members/{person.id}", as_=people.owner, json={"role": "member"})


def remove(world: World, person: Person) -> Answer:
    """Let a person be removed."""
    by = world.people.owner
    if person is by:
        assert demote(world, person).status == 200
        by = world.people.admin
    return world.api.delete(f"{world.organization.path}/members/{person.id}", as_=by)


@by_role
def test_who_is_removed_meanwhile_leaves_nothing_behind(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller = holder(operation, world)
    answer, changed = overtaken(operation, world, monkeypatch, lambda: remove(world, caller), as_=caller)
    assert (answer.code, changed) == ("404 not_found", set())


@by_higher_role
def test_who_is_demoted_meanwhile_neither(operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    caller = holder(operation, world)
    answer, changed = overtaken(operation, world, monkeypatch, lambda: demote(world, caller), as_=caller)
    assert (answer.code, changed) == ("403 insufficient_role", set())


@by_key
def test_a_key_that_is_revoked_meanwhile_neither(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = world.key("admin")
    (path,) = [
        f"{world.organization.path}/api-keys/{listed['id']}"
        for listed in world.api.items(f"{world.organization.path}/api-keys", as_=world.people.owner)
        if listed["scopes"] == ["admin"]
    ]
    act = lambda: world.api.delete(path, as_=world.people.owner)  # noqa: E731 - said where it is used
    answer, changed = overtaken(operation, world, monkeypatch, act, as_=key)
    assert (answer.code, changed) == ("401 api_key_revoked", set())


@granting
def test_in_an_organization_that_is_deleted_meanwhile_nothing_is_left_behind(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    act = lambda: world.api.delete(world.organization.path, as_=world.people.owner)  # noqa: E731 - as above
    caller: Caller | None = caller_of(operation, world)
    answer, changed = overtaken(operation, world, monkeypatch, act, as_=caller)
    assert (answer.code, changed) == ("404 not_found", set())


@by_role
def test_nor_if_the_removal_comes_between_what_is_read_together(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    caller, get_all = holder(operation, world), table.get_all

    def of_two_moments(keys: Iterable[ItemKey]) -> dict[ItemKey, Item]:
        """Read memberships as they were before the removal, and the epoch as it is since."""
        wanted = list(keys)
        found = get_all(wanted)
        shards = [key for key in wanted if key[1].startswith("EPOCH#")]
        if not shards:
            return found
        monkeypatch.setattr(table, "get_all", get_all)
        assert remove(world, caller).status == 204
        before.update(snapshots.stored())
        return found | get_all(shards)

    before: dict[ItemKey, Item] = {}
    monkeypatch.setattr(table, "get_all", of_two_moments)
    assert perform(operation, world, as_=caller).code == "404 not_found"
    assert changed_since(before) == set()


@granting
def test_its_transaction_has_the_epochs_of_everyone_and_of_its_caller_as_conditions(
    operation: Operation, world: World
) -> None:
    answer = perform(operation, world)
    assert answer.status == operation.success
    (transaction,) = [
        call for call in answer.calls.made if call.name == "dynamodb:TransactWriteItems" and is_told(call)
    ]
    checked = {
        tuple(action["key"])
        for action in actions(transaction)
        if action["key"][1].startswith("EPOCH#") and "#epoch" in action.get("ConditionExpression", "")
    }
    caller = {caller_of(operation, world).id} if isinstance(operation.access, RequireRole) else set()  # type: ignore[union-attr]
    partition = access_epochs.log_partition(world.id)
    for whose in {access_epochs.EVERYONE, *caller}:
        assert checked & {*access_epochs.Subject(partition, whose).shards}, whose


def is_told(call: Call) -> bool:
    """Whether a transaction holds an entry."""
    return any(action["key"][0].startswith("A#") for action in actions(call))


def actions(call: Call) -> list[dict[str, Any]]:
    """Return the actions of a transaction, each with its key."""
    found = [details for action in call.parameters["TransactItems"] for details in action.values()]
    return [
        {**details, "key": (key["pk"]["S"], key["sk"]["S"])}
        for details in found
        for key in [details.get("Key") or details["Item"]]
    ]


def test_whatever_writes_to_these_areas_is_declared() -> None:
    wanted = {o.id for o in operations() if o.mutates and o.scope in {f"{area}:write" for area in AREAS}}
    assert {o.id for o in operations() if o.grants_access} == wanted | _BEYOND_AREAS


def test_these_kinds_of_records_give_access() -> None:
    assert {kind.kind for kind in record_kinds() if kind.gives_access} == KINDS_THAT_GIVE_ACCESS


@by_operation(lambda o: o.grants_access and isinstance(o.access, RequireRole) and not o.has_external_effects)
def test_without_its_declaration_it_does_nothing(
    operation: Operation, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from chalicelib.kernel.execution import pipeline

    def undeclared(declared: Operation, *args: Any) -> Any:
        return context(replace(declared, grants_access=False), *args)

    context = pipeline._context  # noqa: SLF001 - where an operation meets what it may do
    monkeypatch.setattr(pipeline, "_context", undeclared)
    with pytest.raises(AssertionError, match="500"):
        perform(operation, world)


def test_shards_stand_with_the_organization() -> None:
    from chalicelib.features.tenancy.entities.organizations import Organization

    assert access_epochs.log_partition("x") == Organization.make_item_key(id="x")[0]
