"""Bodies with unknown fields are rejected, and nothing changes."""

from typing import Any, Final
from uuid import uuid4

from pydantic.alias_generators import to_camel

from chalicelib.kernel.http.models import Patch
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from tests.catalogue.examples.registry import call_operation, field_names, get_example, read_with_full_access
from tests.harness import snapshots
from tests.harness.external_servers import forbid_deliveries
from tests.harness.parametrize_operations import changes_a_record, parametrize_operations

FORBIDDEN_FIELDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("id", "organizationId", "organization_id", "platformId", "ownerId", "userId"), str(uuid4())),
    **dict.fromkeys(("createdAt", "updatedAt"), "2020-01-01T00:00:00.000Z"),
    **dict.fromkeys(("createdBy", "status", "role", "secretHash", "kind", "Name", "name "), Role.OWNER.value),
    **dict.fromkeys(("pk", "sk", "index1pk", "duepk"), "O#1"),
    **dict.fromkeys(("version", "sequence", "ttl", "email_verified", "operator"), 99),
    **{key: {} for key in ("digests", "__class__", "constructor", "$set", "body", "ctx")},
    "scopes": ["admin"],
    "groups": ["operators"],
    "actor": {"type": "system"},
    "integrity": None,
    "__proto__": {"role": "owner"},
}
"""Fields that attackers try: of other records, the table, tokens and programming languages."""


def unknown_fields(operation: Operation) -> dict[str, Any]:
    """Return fields that the body does not have: further fields of the response, and those that attackers try."""
    response_fields = operation.response_or_item_model.model_fields if operation.response_or_item_model else {}
    candidates = {to_camel(name): "made up" for name in response_fields} | FORBIDDEN_FIELDS
    return {name: value for name, value in candidates.items() if name not in field_names(operation.body_model)}


@parametrize_operations(lambda o: o.body_model)
def test_unknown_fields_are_rejected_without_a_change(operation, tenant, unchanged):
    example, extra_fields = get_example(operation, tenant), unknown_fields(operation)
    with forbid_deliveries():
        response = call_operation(operation, tenant, json={**(example.body or {}), **extra_fields})
    assert response.status_and_code == "422 validation_failed"
    assert response.errors == {f"/{name}": response.errors.get(f"/{name}") for name in extra_fields}
    assert set(response.errors.values()) <= {"unknown_field", "read_only"}


def other_value(value: Any) -> Any:
    """Return another value of the same type, or of one that the field might have if the value is null."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value}!"
    return {"made": "up"} if isinstance(value, dict) else ["made up"] if isinstance(value, list) else "made up"


@parametrize_operations(
    lambda o: o.body_model and issubclass(o.body_model, Patch) and not o.body_model.part and changes_a_record(o)
)
def test_patch_may_repeat_a_record_but_not_change_its_read_only_fields(operation, tenant, clock):
    clock.freeze()  # The lag of a log stream grows with time.
    path = get_example(operation, tenant).get_target_path(operation)
    shown = read_with_full_access(operation, tenant, path).json
    read_only = {name: value for name, value in shown.items() if name not in field_names(operation.body_model)}
    before = snapshots.items_without_rate_limits()
    for repeated in (shown, read_only, *({name: value} for name, value in read_only.items())):
        call_operation(operation, tenant, json=repeated).expect(operation.success)
    for name, value in read_only.items():
        answer = call_operation(operation, tenant, json={name: other_value(value)})
        assert answer.errors == {f"/{name}": "read_only"}
    changed = call_operation(operation, tenant, json={name: other_value(value) for name, value in read_only.items()})
    assert changed.errors == {f"/{name}": "read_only" for name in read_only}
    assert snapshots.items_without_rate_limits() == before
