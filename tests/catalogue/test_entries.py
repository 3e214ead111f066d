"""Log entries of all mutations: each mutation writes one entry with its exact changes, a rejected one writes none."""

from typing import Any, Final

from chalicelib.kernel.operations.access_rules import Caller, RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import KINDS
from tests.catalogue import evidence
from tests.catalogue.examples.registry import caller_of, example_of, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import conformance, snapshots
from tests.harness.api import ADDRESS, USER_AGENT, Answer, Json
from tests.harness.by_operation import by_operation, changes_a_record
from tests.harness.callers import Person
from tests.harness.logs import UNLOGGED, differences

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


def call_successfully(operation: Operation, world: World, **options: Any) -> Answer:
    """Call the example of a mutation, and check that it succeeds."""
    answer = perform(operation, world, **options)
    assert answer.status == operation.success, answer.text
    return answer


def entries_of_request(answer: Answer) -> list[Json]:
    """Return the entries of a request."""
    return [entry.json for entry in evidence.entries() if entry.json["context"]["requestId"] == answer.request_id]


def entry_of_request(answer: Answer) -> Json:
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


def read_record(world: World, path: str) -> Json | None:
    """Return the record or record set at a path as the owner or an operator sees it, or None.

    Fields that are generated for each read are replaced.
    """
    answer = world.api.get(path, as_=world.people.owner)
    if answer.status in (403, 404):
        answer = world.api.get(path, as_=world.people.operator)
    if answer.status != 200:
        return None
    if "nextCursor" in answer.json:
        return {"items": answer.json["items"]}
    return {name: GENERATED_FIELDS.get(name, value) for name, value in answer.json.items()}


OPERATIONS_WITH_UNREADABLE_RECORDS: Final = frozenset({"unsubscribe"})
"""Operations whose record no caller can read, because it would reveal an e-mail address."""


@by_operation(lambda o: o.mutates)
class TestAMutation:
    def test_writes_exactly_one_entry_of_its_declared_event(self, operation: Operation, world: World) -> None:
        before = evidence.entries()
        answer = call_successfully(operation, world)
        made = [entry for entry in evidence.entries() if entry.id not in {b.id for b in before}]
        assert [entry.json["type"] for entry in made] == [operation.emits[0]]
        assert [entry.json for entry in made] == entries_of_request(answer)

    def test_records_actor_context_and_target(self, operation: Operation, world: World) -> None:
        answer = call_successfully(operation, world)
        entry = entry_of_request(answer)
        assert entry["actor"] == expected_actor(operation, caller_of(operation, world))
        assert entry["context"] == {
            "operationId": operation.id,
            "requestId": answer.request_id,
            "ipAddress": ADDRESS,
            "userAgent": USER_AGENT,
        }
        event = operation.emits[0]
        assert f"{SUBJECT_KINDS.get(event, event)}.".startswith(f"{entry['target']['type']}.")
        assert entry["target"]["id"] == entry["data"]["id"]
        assert entry["occurredAt"] >= entry["data"]["updatedAt"]

    def test_records_the_public_record_and_its_changes(self, operation: Operation, world: World) -> None:
        if operation.id in OPERATIONS_WITH_UNREADABLE_RECORDS:
            assert entry_of_request(call_successfully(operation, world))["changes"] == []
            return
        example = example_of(operation, world)
        creates_record = operation.creates and not operation.returns_target
        before = None if creates_record and not example.merges else read_record(world, example.subject(operation))
        answer = call_successfully(operation, world)
        entry = entry_of_request(answer)
        now = read_record(
            world, answer.location if operation.creates and not example.merges else example.subject(operation)
        )
        if now is None:  # The record is deleted, or hidden until it is restored.
            assert before is not None
            now = before | {change["field"]: change["to"] for change in entry["changes"]}
            now |= {name: entry["data"][name] for name in UNLOGGED}
        assert (entry["data"] if "id" in now else {"items": entry["data"]["items"]}) == now
        unlogged = KINDS[entry["target"]["type"]].untracked_fields
        changed = differences(compared_fields(before), compared_fields(now)) if before else []
        assert entry["changes"] == [change for change in changed if change["field"] not in unlogged]

    def test_emits_an_event_that_conforms_to_the_document(self, operation: Operation, world: World) -> None:
        conformance.check_event(entry_of_request(call_successfully(operation, world)))

    def test_is_in_the_verified_log_after_the_ledger_has_run(self, operation: Operation, world: World) -> None:
        answer = call_successfully(operation, world)
        world.workers.settle()
        evidence.assert_proven()
        assert len(entries_of_request(answer)) == 1


@by_operation(lambda o: o.mutates and o.method != "POST")
def test_a_mutation_writes_nothing_if_it_changes_nothing(operation: Operation, world: World) -> None:
    call_successfully(operation, world)
    before = without_rate_limits(snapshots.stored())
    again = perform(operation, world)
    assert again.status in (operation.success, 404)
    assert without_rate_limits(snapshots.stored()) == before


def without_rate_limits(items: evidence.Items) -> evidence.Items:
    """Return the items without the counters of rate limits."""
    return {key: item for key, item in items.items() if not key[0].startswith("Y#")}


@by_operation(lambda o: o.mutates and o.scope is not None)
def test_a_mutation_by_an_api_key_names_the_key(operation: Operation, world: World) -> None:
    key = world.key(str(operation.scope), name="Robot")
    answer = call_successfully(operation, world, as_=key)
    assert entry_of_request(answer)["actor"] == {"type": "api_key", "id": key.id, "name": "Robot"}


def assert_rejected(operation: Operation, world: World, problem: str, **options: Any) -> None:
    """Assert that an operation's example is rejected with a problem, and that the table is unchanged."""
    before = snapshots.stored()
    answer = perform(operation, world, **options)
    assert answer.code == problem
    assert snapshots.stored() == before
    assert answer.calls.of("sqs") == []


class TestARejectedMutation:
    """A rejected mutation does not change the table."""

    @by_operation(
        lambda o: o.mutates and isinstance(o.access, RequireRole) and o.access.role not in (None, Role.MEMBER)
    )
    def test_for_the_role(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "403 insufficient_role", as_=world.people.member)

    @by_operation(lambda o: o.mutates and isinstance(o.access, RequireRole) and o.access.role)
    def test_for_a_caller_outside_of_the_tenant(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "404 not_found", as_=world.people.outsider)

    @by_operation(lambda o: o.mutates)
    def test_for_an_unknown_version_of_the_interface(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "400 unknown_api_version", headers={"API-Version": "2020-01-01"})

    @by_operation(changes_a_record)
    def test_for_a_stale_entity_tag(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "412 precondition_failed", headers={"If-Match": '"000000000000.9.0"'})


@by_operation(lambda o: o.mutates and o.method in ("POST", "PUT", "PATCH"))
class TestAMutationRejectedForItsBody:
    def test_for_an_unknown_field(self, operation: Operation, world: World) -> None:
        body = {**(example_of(operation, world).body or {}), "colour": "green"}
        assert_rejected(operation, world, "422 validation_failed", json=body)

    def test_for_malformed_json(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "400 malformed_json", json=None, body=b"{", headers=JSON_HEADERS)

    def test_for_another_content_type(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "415 unsupported_media_type", json=None, body=b"a=b", headers=TEXT_HEADERS)

    def test_for_a_body_that_is_too_large(self, operation: Operation, world: World) -> None:
        assert_rejected(operation, world, "413 payload_too_large", json=None, body=b" " * 1024 * 1024 + b"{}")
