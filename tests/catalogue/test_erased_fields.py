"""Whatever field of whatever record says who somebody is: after an erasure it says that no more.

Nobody lists the fields. The owner calls every operation that changes something, so that each field which is ever to
hold a person holds her; the table is searched for her before and after.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from chalicelib.entrypoints.catalogue import operations, record_kinds
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import erased
from tests.harness.organizations import Founded
from tests.harness.workers import Workers

NOT_CALLED: Final = ("erase_person", "transfer_ownership", "delete_organization", "leave_organization")
"""What would end the world, or the owner's part in it, before all is done."""

ELSEWHERE: Final = {
    "organization.invitation.answered_by": "tests/http/test_erasures_in_records.py::TestSomebodyInvited",
    "platform.invitation.answered_by": "tests/http/test_erasures_in_platforms.py",
    "organization.departure.user_id": "it keeps whoever left out until all below is removed, and goes with that",
    "platform.departure.user_id": "likewise",
}
"""Fields that an owner is never in, since she answers no invitation and does not leave."""


def test_no_field_of_any_record_names_somebody_who_was_erased(
    api: Api, world: World, workers: Workers, clock: Clock
) -> None:
    owner, heir, home = world.people.owner, world.people.admin, world.organization
    does_everything(world, owner)
    before = {place for place, _ in mentions(owner)}
    assert lacking(before) == {*ELSEWHERE}
    transferred = {"newOwnerId": heir.id}
    assert api.post(f"{home.path}/transfer-ownership", as_=owner, json=transferred).status == 200
    erased(api, workers, clock, Founded(home.record, heir), userId=owner.id)
    assert [(place, item) for place, item in mentions(owner) if is_in(home.id, item)] == []


def does_everything(world: World, owner: Person) -> None:
    """Let the owner call each operation that stores something.

    Several fail, because others came before: what they would have stored is there.
    """
    for operation in (o for o in operations() if o.emits and o.method != "DELETE" and o.id not in NOT_CALLED):
        if operation.access not in (Caller.OPERATOR, Caller.PUBLIC):
            perform(operation, world, as_=owner, json=in_her_organization(operation, world))


def in_her_organization(operation: Operation, world: World) -> Any:
    """Return the body of an operation's example; what may belong to an organization belongs to hers."""
    body = example_of(operation, world).body
    fields_ = operation.body.model_fields if operation.body else {}
    return {**(body or {}), "organizationId": world.id} if "organization_id" in fields_ else body


def mentions(person: Person) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each field that holds the person's id, name or address, as `kind.field`, with the item that it is in."""
    marks = [mark.lower() for mark in (person.id, person.name, person.email)]
    for key, item in snapshots.stored().items():
        if key[0].startswith("I#"):
            continue  # Answers that are kept for a day, for whoever asks again.
        for name, value in item.items():
            text = json.dumps(value, default=as_text, ensure_ascii=False).lower()
            if any(mark in text for mark in marks):
                yield f"{item.get('kind', key[0].partition('#')[0])}.{name}", item


def as_text(value: object) -> object:
    return value.decode(errors="replace") if isinstance(value, bytes) else sorted(value)  # type: ignore[call-overload]


def lacking(found: set[str]) -> set[str]:
    """Return the fields that are called like those that name a user and that were not seen to do so."""
    return {
        f"{entity.kind}.{field.name}"
        for entity in record_kinds()
        for field in fields(entity)
        if field.name in ("user_id", "owner_id") or field.name.endswith("_by")
    } - found


def is_in(organization_id: str, item: dict[str, Any]) -> bool:
    return organization_id in json.dumps(item, default=as_text)
