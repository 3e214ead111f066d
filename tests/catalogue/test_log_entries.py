"""Log entries of all mutations: each mutation writes one entry with its exact changes, a rejected one writes none."""

from typing import Any, Final

from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import KINDS
from tests.catalogue import log_proof
from tests.catalogue.examples.registry import call_operation, get_caller, get_example
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness import conformance, snapshots
from tests.harness.api import CLIENT_IP, USER_AGENT, ApiResponse, Json
from tests.harness.audit_logs import UNLOGGED_FIELDS, expected_changes
from tests.harness.callers import Person
from tests.harness.parametrize_operations import changes_a_record, parametrize_operations

GENERATED_FIELDS: Final = {"downloadUrl": None}
"""Fields that are generated for each read, which entries do not contain."""

JSON_HEADERS: Final = {"Content-Type": "application/json"}
TEXT_HEADERS: Final = {"Content-Type": "text/plain"}
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


def call_successfully(operation: Operation, world: TenantFixture, **options: Any) -> ApiResponse:
    """Call the example of a mutation, and check that it succeeds."""
    answer = call_operation(operation, world, **options)
    assert answer.status == operation.success, answer.text
    return answer


def entries_of_request(answer: ApiResponse) -> list[Json]:
    """Return the entries of a request."""
    return [entry.json for entry in log_proof.load_entries() if entry.json["context"]["requestId"] == answer.request_id]


def entry_of_request(answer: ApiResponse) -> Json:
    """Return the only entry of a request."""
    (entry,) = entries_of_request(answer)
    return entry


def expected_actor(operation: Operation, caller: Person | None) -> Json:
    """Return the actor in the entry of the least privileged caller."""
    if caller is None:
        return {"type": "anonymous", "id": None, "name": None}
    kind = "operator" if operation.access is Caller.OPERATOR else "user"
    return {"type": kind, "id": caller.id, "name": caller.name}


def compared_fields(record: Json) -> Json:
    """Return the fields that an entry compares. A record set has one for each item."""
    if "id" in record:
        return record
    items = {next(item[name] for name in KEY_FIELDS if name in item): item for item in record["items"]}
    return {"items": [*items], **{f"items.{key}": item for key, item in items.items()}}


def read_record(world: TenantFixture, path: str) -> Json | None:
    """Return the record or record set at a path as the owner or an operator sees it, or None.

    Fields that are generated for each read are replaced.
    """
    answer = world.api.get(path, caller=world.people.owner)
    if answer.status in (403, 404):
        answer = world.api.get(path, caller=world.people.operator)
    if answer.status != 200:
        return None
    if "nextCursor" in answer.json:
        return {"items": answer.json["items"]}
    return {name: GENERATED_FIELDS.get(name, value) for name, value in answer.json.items()}


OPERATIONS_WITH_UNREADABLE_RECORDS: Final = frozenset({"unsubscribe"})
"""Operations whose record no caller can read, because it would reveal an e-mail address."""


@parametrize_operations(lambda o: o.emits_events)
class TestAMutation:
    def test_writes_exactly_one_entry_of_its_declared_event(self, operation, tenant):
        before = log_proof.load_entries()
        answer = call_successfully(operation, tenant)
        made = [entry for entry in log_proof.load_entries() if entry.id not in {b.id for b in before}]
        assert [entry.json["type"] for entry in made] == [operation.emits[0]]
        assert [entry.json for entry in made] == entries_of_request(answer)

    def test_records_actor_context_and_target(self, operation, tenant):
        answer = call_successfully(operation, tenant)
        entry = entry_of_request(answer)
        assert entry["actor"] == expected_actor(operation, get_caller(operation, tenant))
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

    def test_records_the_public_record_and_its_changes(self, operation, tenant):
        if operation.id in OPERATIONS_WITH_UNREADABLE_RECORDS:
            assert entry_of_request(call_successfully(operation, tenant))["changes"] == []
            return
        example = get_example(operation, tenant)
        creates_record = operation.succeeds_with_created_or_accepted and not operation.returns_record_in_path
        before = (
            None
            if creates_record and not example.merges_into_subject
            else read_record(tenant, example.get_subject_path(operation))
        )
        answer = call_successfully(operation, tenant)
        entry = entry_of_request(answer)
        now = read_record(
            tenant,
            answer.location
            if operation.succeeds_with_created_or_accepted and not example.merges_into_subject
            else example.get_subject_path(operation),
        )
        if now is None:  # The record is deleted, or hidden until it is restored.
            assert before is not None
            now = before | {change["field"]: change["to"] for change in entry["changes"]}
            now |= {name: entry["data"][name] for name in UNLOGGED_FIELDS}
        assert (entry["data"] if "id" in now else {"items": entry["data"]["items"]}) == now
        unlogged = KINDS[entry["target"]["type"]].untracked_fields
        changed = expected_changes(compared_fields(before), compared_fields(now)) if before else []
        assert entry["changes"] == [change for change in changed if change["field"] not in unlogged]

    def test_emits_an_event_that_conforms_to_the_document(self, operation, tenant):
        conformance.check_event(entry_of_request(call_successfully(operation, tenant)))

    def test_is_in_the_verified_log_after_the_ledger_has_run(self, operation, tenant):
        answer = call_successfully(operation, tenant)
        tenant.workers.run_until_idle()
        log_proof.assert_logs_are_proven()
        assert len(entries_of_request(answer)) == 1


@parametrize_operations(lambda o: o.emits_events and o.method != "POST")
def test_a_mutation_writes_nothing_if_it_changes_nothing(operation, tenant):
    call_successfully(operation, tenant)
    before = without_rate_limits(snapshots.items_by_key())
    again = call_operation(operation, tenant)
    assert again.status in (operation.success, 404)
    assert without_rate_limits(snapshots.items_by_key()) == before


def without_rate_limits(items: log_proof.Items) -> log_proof.Items:
    """Return the items without the counters of rate limits."""
    return {key: item for key, item in items.items() if not key[0].startswith("Y#")}


@parametrize_operations(lambda o: o.emits_events and o.scope is not None)
def test_a_mutation_by_an_api_key_names_the_key(operation, tenant):
    key = tenant.create_api_key(str(operation.scope), name="Robot")
    answer = call_successfully(operation, tenant, caller=key)
    assert entry_of_request(answer)["actor"] == {"type": "api_key", "id": key.id, "name": "Robot"}


def assert_rejected(operation: Operation, world: TenantFixture, problem: str, **options: Any) -> None:
    """Assert that an operation's example is rejected with a problem, and that the table is unchanged."""
    before = snapshots.items_by_key()
    answer = call_operation(operation, world, **options)
    assert answer.status_and_code == problem
    assert snapshots.items_by_key() == before
    assert answer.calls.names_of_service("sqs") == []


class TestARejectedMutation:
    """A rejected mutation does not change the table."""

    @parametrize_operations(
        lambda o: o.emits_events and isinstance(o.access, RequireRole) and o.access.role not in (None, Role.MEMBER)
    )
    def test_for_the_role(self, operation, tenant):
        assert_rejected(operation, tenant, "403 insufficient_role", caller=tenant.people.member)

    @parametrize_operations(lambda o: o.emits_events and isinstance(o.access, RequireRole) and o.access.role)
    def test_for_a_caller_outside_of_the_tenant(self, operation, tenant):
        assert_rejected(operation, tenant, "404 not_found", caller=tenant.people.outsider)

    @parametrize_operations(lambda o: o.emits_events)
    def test_for_an_unknown_version_of_the_interface(self, operation, tenant):
        assert_rejected(operation, tenant, "400 unknown_api_version", headers={"API-Version": "2020-01-01"})

    @parametrize_operations(changes_a_record)
    def test_for_a_stale_entity_tag(self, operation, tenant):
        assert_rejected(operation, tenant, "412 precondition_failed", headers={"If-Match": '"000000000000.9.0"'})


@parametrize_operations(lambda o: o.emits_events and o.method in ("POST", "PUT", "PATCH"))
class TestAMutationRejectedForItsBody:
    def test_for_an_unknown_field(self, operation, tenant):
        body = {**(get_example(operation, tenant).body or {}), "colour": "green"}
        assert_rejected(operation, tenant, "422 validation_failed", json=body)

    def test_for_malformed_json(self, operation, tenant):
        assert_rejected(operation, tenant, "400 malformed_json", json=None, body=b"{", headers=JSON_HEADERS)

    def test_for_another_content_type(self, operation, tenant):
        assert_rejected(operation, tenant, "415 unsupported_media_type", json=None, body=b"a=b", headers=TEXT_HEADERS)

    def test_for_a_body_that_is_too_large(self, operation, tenant):
        assert_rejected(operation, tenant, "413 payload_too_large", json=None, body=b" " * 1024 * 1024 + b"{}")
