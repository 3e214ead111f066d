"""Checks that an erasure removes a person from every field of every record.

The fields are not listed. The owner calls every operation that changes something, so that each field that can name a
person names her. The table is searched for her before and after the erasure.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from chalicelib.entrypoints.catalogue import all_operations, list_record_types
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from tests.catalogue.examples.registry import call_operation, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import snapshots
from tests.harness.callers import Person
from tests.harness.erasures import complete_erasure, to_json_value
from tests.harness.organizations import CreatedOrganization

NOT_CALLED: Final = ("erase_person", "transfer_ownership", "delete_organization", "leave_organization")
"""Operations that would remove the organization, or the owner from it, too early."""

COVERED_ELSEWHERE: Final = {
    "organization.invitation.answered_by": "tests/http/privacy/test_erasure_in_tenancy_records.py::TestInvitedPerson",
    "platform.invitation.answered_by": "tests/http/privacy/test_erasure_in_platforms.py",
    "organization.membership_notice.user_id": "tests/http/tenancy/test_membership_notices.py::TestNoNotice",
    "system.service_key.created_by": "a key of the deployment, which only an operator creates: of no organization",
    "organization.departure.user_id": "a revocation marker, which is removed with the memberships that it revokes",
    "platform.departure.user_id": "a revocation marker, which is removed with the memberships that it revokes",
}
"""Fields that never name an owner: she answers no invitation, creates no service key, does not leave, has no notice."""


def test_no_field_of_any_record_names_an_erased_person(api, tenant, workers, clock):
    owner, heir, home = tenant.people.owner, tenant.people.admin, tenant.organization
    call_all_operations(tenant, owner)
    fields_before = {name for name, _ in mentions(owner)}
    assert missing_user_fields(fields_before) == {*COVERED_ELSEWHERE}
    transfer = {"newOwnerId": heir.id}
    assert api.post(f"{home.path}/transfer-ownership", caller=owner, json=transfer).status == 200
    complete_erasure(api, workers, clock, CreatedOrganization(home.record, heir), userId=owner.id)
    assert [(name, item) for name, item in mentions(owner) if home.id in json.dumps(item, default=to_json_value)] == []


def call_all_operations(tenant: TenantFixture, owner: Person) -> None:
    """Call each operation that stores something as the owner.

    Some calls fail because an earlier one has created the same record.
    """
    for operation in (o for o in all_operations() if o.emits and o.method != "DELETE" and o.id not in NOT_CALLED):
        if operation.access not in (Caller.OPERATOR, Caller.PUBLIC):
            call_operation(operation, tenant, caller=owner, json=body_in_organization(operation, tenant))


def body_in_organization(operation: Operation, tenant: TenantFixture) -> Any:
    """Return the body of an operation's example, with her organization if the operation takes one."""
    body = get_example(operation, tenant).body
    fields_ = operation.body_model.model_fields if operation.body_model else {}
    return {**(body or {}), "organizationId": tenant.id} if "organization_id" in fields_ else body


def mentions(person: Person) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each field that contains the person's id, name or e-mail address, as `kind.field`, with its item."""
    person_texts = [value.lower() for value in (person.id, person.name, person.email)]
    for key, item in snapshots.items_by_key().items():
        if key[0].startswith("I#"):
            continue  # Stored idempotent responses expire after a day.
        for name, value in item.items():
            text = json.dumps(value, default=to_json_value, ensure_ascii=False).lower()
            if any(person_text in text for person_text in person_texts):
                yield f"{item.get('kind', key[0].partition('#')[0])}.{name}", item


def missing_user_fields(found: set[str]) -> set[str]:
    """Return the fields whose names suggest a user id and that were not found."""
    return {
        f"{entity.kind}.{field.name}"
        for entity in list_record_types()
        for field in fields(entity)
        if field.name in ("user_id", "owner_id") or field.name.endswith("_by")
    } - found
