"""Whatever a body names beside what an operation takes is refused by its name, and nothing at all has changed."""

from typing import Any, Final
from uuid import uuid4

from pydantic.alias_generators import to_camel

from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.registry import example_of, look, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import snapshots
from tests.harness.by_operation import by_operation, changes_a_record
from tests.harness.external_servers import unreached

NEVER: Final[dict[str, Any]] = {
    "id": str(uuid4()),
    "organizationId": str(uuid4()),
    "organization_id": str(uuid4()),
    "platformId": str(uuid4()),
    "ownerId": str(uuid4()),
    "userId": str(uuid4()),
    "createdAt": "2020-01-01T00:00:00.000Z",
    "createdBy": "me",
    "updatedAt": "2020-01-01T00:00:00.000Z",
    "version": 99,
    "status": "root",
    "role": Role.OWNER.value,
    "scopes": ["admin"],
    "email_verified": True,
    "groups": ["operators"],
    "operator": True,
    "actor": {"type": "system"},
    "sequence": 1,
    "integrity": None,
    "pk": "O#1",
    "sk": "#",
    "index1pk": "O#1",
    "duepk": "D",
    "ttl": 1,
    "kind": "e",
    "digests": {},
    "Name": "x",
    "name ": "x",
    "__class__": {},
    "__proto__": {"role": "owner"},
    "constructor": {},
    "$set": {},
    "secretHash": "x",
    "body": {},
    "ctx": {},
}
"""What people try: of other records, of the table, of claims, of languages."""


def names_of(operation: Operation) -> set[str]:
    assert operation.body
    return {field.alias or name for name, field in operation.body.model_fields.items()}


def beside(operation: Operation) -> dict[str, Any]:
    """Return fields that the body does not have: all that the answer shows beside them, and what people try."""
    shown = operation.response_model.model_fields if operation.response_model else {}
    made_up = {to_camel(name): "made up" for name in shown} | NEVER
    return {name: value for name, value in made_up.items() if name not in names_of(operation)}


@by_operation(lambda o: o.body)
def test_unknown_fields_are_rejected_without_a_change(operation: Operation, world: World) -> None:
    example, others = example_of(operation, world), beside(operation)
    before = snapshots.stored()
    with unreached():
        refused = perform(operation, world, json={**(example.body or {}), **others})
    assert refused.code == "422 validation_failed"
    assert refused.faults == {f"/{name}": refused.faults.get(f"/{name}") for name in others}
    assert set(refused.faults.values()) <= {"unknown_field", "read_only"}
    assert snapshots.stored() == before


@by_operation(lambda o: o.body)
def test_single_unknown_field_is_rejected(operation: Operation, world: World) -> None:
    example = example_of(operation, world)
    before = snapshots.stored()
    for name in {"id", "organizationId", "ownerId", "version", "status", "role", "pk"} - names_of(operation):
        refused = perform(operation, world, json={**(example.body or {}), name: NEVER[name]})
        assert list(refused.faults) == [f"/{name}"]
    assert snapshots.stored() == before


@by_operation(lambda o: o.body and issubclass(o.body, Patch) and not o.body.part and changes_a_record(o))
def test_patch_may_repeat_read_only_fields(operation: Operation, world: World) -> None:
    shown = look(operation, world, example_of(operation, world).record(operation)).json
    repeated = {name: value for name, value in shown.items() if name not in names_of(operation)}
    before = snapshots.stored_beside_budgets()
    answer = perform(operation, world, json=repeated)
    assert answer.status == operation.success, answer.text
    assert snapshots.stored_beside_budgets() == before
    for name, value in repeated.items():
        other = perform(operation, world, json={name: f"{value}!"})
        assert other.faults == {f"/{name}": "read_only"}
