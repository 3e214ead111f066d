"""Log entries of all mutations: each mutation writes one entry with its exact changes.

Other suites check that a rejected mutation writes none.
"""

from typing import Final

from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.entity import KINDS
from tests.catalogue import log_proof
from tests.catalogue.examples.registry import call_operation, detail_fields, get_caller, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import callers, conformance, snapshots
from tests.harness.api import CLIENT_IP, USER_AGENT, ApiResponse, Json
from tests.harness.audit_logs import UNLOGGED_FIELDS, expected_changes
from tests.harness.callers import Person
from tests.harness.parametrize_operations import parametrize_operations

GENERATED_FIELDS: Final = {"downloadUrl": None}
"""Fields that are generated for each read, which entries do not contain."""

DERIVED_FIELDS: Final = ("effective",)
"""Fields that also follow from other records. Entries do not contain them."""

KEY_FIELDS: Final = ("moduleId", "capabilityKey", "projectBlockId", "slug")
"""The fields that identify the items of a record set."""

SUBJECT_KINDS: Final = {
    "organization.person_erased": "organization.erasure",
    "organization.webhook.delivery_retried": "organization.webhook.delivery",
    "organization.webhook.replayed": "organization.webhook.replay",
    "research.backfill.requested": "research.job",
    "research.import.requested": "research.job",
    "research.reconcile.requested": "research.job",
}
"""Events whose names do not start with the kind of their subject, and that kind."""


def expected_actor(operation: Operation, caller: callers.Caller | None) -> Json:
    if not isinstance(caller, Person):
        return {"type": "anonymous", "id": None, "name": None}
    kind = "operator" if operation.access is Caller.OPERATOR else "user"
    return {"type": kind, "id": caller.id, "name": caller.name}


def compared_fields(record: Json) -> Json:
    """Return the fields that an entry compares. A record set has one for each item."""
    if "id" in record:
        return record
    items = {next(item[name] for name in KEY_FIELDS if name in item): item for item in record["items"]}
    return {"items": [*items], **{f"items.{key}": item for key, item in items.items()}}


def read_record(tenant: TenantFixture, path: str) -> Json | None:
    """Return the record or record set at a path as the owner or an operator sees it, or None.

    Fields that are generated for each read are replaced, and those that follow from other records are left out.
    """
    answer = tenant.api.get(path, caller=tenant.people.owner)
    if answer.status in (403, 404):
        answer = tenant.api.get(path, caller=tenant.people.operator)
    if answer.status != 200:
        return None
    if "nextCursor" in answer.json:
        return {"items": [without_derived_fields(item) for item in answer.json["items"]]}
    return {name: GENERATED_FIELDS.get(name, value) for name, value in without_derived_fields(answer.json).items()}


def without_derived_fields(record: Json) -> Json:
    derived_fields = {*DERIVED_FIELDS, *detail_fields(record)}
    return {name: value for name, value in record.items() if name not in derived_fields}


OPERATIONS_WITH_UNREADABLE_RECORDS: Final = frozenset({"unsubscribe"})
"""Operations whose record no caller can read, because it would reveal an e-mail address."""


def assert_actor_context_and_target(operation: Operation, tenant: TenantFixture, answer: ApiResponse) -> None:
    entry = log_proof.entry_of_request(answer)
    assert log_proof.principal_of(entry) == expected_actor(operation, get_caller(operation, tenant))
    assert entry["context"] == {
        "operationId": operation.id,
        "requestId": answer.request_id,
        "ipAddress": CLIENT_IP,
        "userAgent": USER_AGENT,
    }
    event = operation.emits[0]
    assert f"{SUBJECT_KINDS.get(event, event)}.".startswith(f"{entry['target']['type']}.")
    assert entry["target"]["id"] == entry["data"]["id"]
    assert entry["occurredAt"] >= entry["data"]["updatedAt"]


def assert_record_and_changes(entry: Json, before: Json | None, after: Json | None) -> None:
    """Assert that an entry has a record as it is after the mutation, and its changes. A new record has none."""
    if after is None:  # The record is deleted, or hidden until it is restored.
        assert before is not None
        after = before | {change["field"]: change["to"] for change in entry["changes"]}
        after |= {name: entry["data"][name] for name in UNLOGGED_FIELDS}
    assert (entry["data"] if "id" in after else {"items": entry["data"]["items"]}) == after
    unlogged = KINDS[entry["target"]["type"]].untracked_fields
    changed = expected_changes(compared_fields(before), compared_fields(after)) if before else []
    assert entry["changes"] == [change for change in changed if change["field"] not in unlogged]


@parametrize_operations(lambda o: o.reports_events)
def test_an_operation_that_reports_events_writes_one_entry_with_what_was_reported(operation, tenant):
    (event,) = (body := get_example(operation, tenant).body).get("events", [body])
    answer = call_operation(operation, tenant).expect(operation.success)
    entry = log_proof.entry_of_request(answer)
    reported = {**event, "actor": {**event["actor"], "asserted": True}, "target": event["targets"][0], "changes": []}
    reported["context"] = {**event["context"], "operationId": operation.id, "requestId": answer.request_id}
    assert entry | reported == entry
    assert log_proof.principal_of(entry) == expected_actor(operation, get_caller(operation, tenant))
    tenant.workers.run_until_idle()
    log_proof.assert_logs_are_proven()
    assert log_proof.entries_of_request(answer) == [entry]


@parametrize_operations(lambda o: o.emits)
def test_a_mutation_writes_one_entry_with_its_exact_changes(operation, tenant):
    example = get_example(operation, tenant)
    has_location = operation.has_location and not example.merges_into_subject
    is_new = has_location and not operation.returns_record_in_path
    is_readable = operation.id not in OPERATIONS_WITH_UNREADABLE_RECORDS
    before = read_record(tenant, example.get_subject_path(operation)) if is_readable and not is_new else None
    entries_before = log_proof.load_entries()
    answer = call_operation(operation, tenant).expect(operation.success)
    entry = log_proof.entry_of_request(answer)
    assert [each.json for each in log_proof.load_entries() if each not in entries_before] == [entry]
    assert entry["type"] == operation.emits[0]
    assert_actor_context_and_target(operation, tenant, answer)
    if is_readable:
        path = answer.location if has_location else example.get_subject_path(operation)
        assert_record_and_changes(entry, before, read_record(tenant, path))
    else:
        assert entry["changes"] == []
    conformance.check_event(entry)
    tenant.workers.run_until_idle()
    log_proof.assert_logs_are_proven()
    assert log_proof.entries_of_request(answer) == [entry]


@parametrize_operations(lambda o: o.emits_events and o.method != "POST")
def test_a_mutation_writes_nothing_if_it_changes_nothing(operation, tenant):
    assert call_operation(operation, tenant).status == operation.success
    before = snapshots.items_without_rate_limits()
    again = call_operation(operation, tenant)
    assert again.status in (operation.success, 404)
    assert snapshots.items_without_rate_limits() == before
