"""What every mutation leaves in the log: one entry that says exactly what it did. A refused one leaves nothing."""

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

MADE_ANEW: Final = {"downloadUrl": None}
"""What a record shows that is made for whoever reads it: no entry holds it."""

JSON: Final = {"Content-Type": "application/json"}
PLAIN: Final = {"Content-Type": "text/plain"}
KEYS: Final = ("moduleId", "capabilityKey", "projectBlockId", "slug")
"""What tells the items of a set apart."""

NAMED_OTHERWISE: Final = {
    "organization.person_erased": "organization.erasure",
    "organization.webhook.delivery_retried": "organization.webhook.delivery",
    "organization.webhook.replayed": "organization.webhook.replay",
    "research.backfill.requested": "research.job",
    "research.import.requested": "research.job",
    "research.reconcile.requested": "research.job",
}
"""Events that are not named by the kind of record that they are about, and that kind."""


def done(operation: Operation, world: World, **words: Any) -> Answer:
    """Call a mutation's example with success."""
    answer = perform(operation, world, **words)
    assert answer.status == operation.success, answer.text
    return answer


def entries_about(answer: Answer) -> list[Json]:
    """The entries that a request made."""
    return [e.json for e in evidence.entries() if e.json["context"]["requestId"] == answer.request_id]


def entry_about(answer: Answer) -> Json:
    (entry,) = entries_about(answer)
    return entry


def actor(operation: Operation, caller: Person | None) -> Json:
    """Whom an entry names who did it by just their right."""
    if caller is None:
        return {"type": "anonymous", "id": None, "name": None}
    kind = "operator" if operation.access is Caller.OPERATOR else "user"
    return {"type": kind, "id": caller.id, "name": caller.name}


def told(record: Json) -> Json:
    """What an entry compares: a record as it is, a set item by item."""
    if "id" in record:
        return record
    items = {next(item[name] for name in KEYS if name in item): item for item in record["items"]}
    return {"items": [*items], **{f"items.{key}": item for key, item in items.items()}}


def read(world: World, path: str) -> Json | None:
    """The record at a path as the owner of the organization sees it, or an operator what is nobody's; or None.

    It is without what is made anew each time.

    Of a set it is all there is to see.
    """
    answer = world.api.get(path, as_=world.people.owner)
    if answer.status in (403, 404):
        answer = world.api.get(path, as_=world.people.operator)
    if answer.status != 200:
        return None
    if "nextCursor" in answer.json:
        return {"items": answer.json["items"]}
    return {name: MADE_ANEW.get(name, value) for name, value in answer.json.items()}


UNREADABLE: Final = frozenset({"unsubscribe"})
"""Operations whose record nobody can read: it would tell whose address it is about."""


@by_operation(lambda o: o.mutates)
class TestAMutation:
    def test_makes_exactly_one_entry_of_its_declared_event(self, operation: Operation, world: World) -> None:
        before = evidence.entries()
        answer = done(operation, world)
        made = [entry for entry in evidence.entries() if entry.id not in {b.id for b in before}]
        assert [entry.json["type"] for entry in made] == [operation.emits[0]]
        assert [entry.json for entry in made] == entries_about(answer)

    def test_says_who_did_what_to_what_and_how(self, operation: Operation, world: World) -> None:
        answer = done(operation, world)
        entry = entry_about(answer)
        assert entry["actor"] == actor(operation, caller_of(operation, world))
        assert entry["context"] == {
            "operationId": operation.id,
            "requestId": answer.request_id,
            "ipAddress": ADDRESS,
            "userAgent": USER_AGENT,
        }
        event = operation.emits[0]
        assert f"{NAMED_OTHERWISE.get(event, event)}.".startswith(f"{entry['target']['type']}.")
        assert entry["target"]["id"] == entry["data"]["id"]
        assert entry["occurredAt"] >= entry["data"]["updatedAt"]

    def test_shows_the_public_record_and_its_difference_to_the_one_before(
        self, operation: Operation, world: World
    ) -> None:
        if operation.id in UNREADABLE:
            assert entry_about(done(operation, world))["changes"] == []
            return
        example = example_of(operation, world)
        makes = operation.creates and not operation.returns_target
        before = None if makes and not example.merges else read(world, example.subject(operation))
        answer = done(operation, world)
        entry = entry_about(answer)
        now = read(world, answer.location if operation.creates and not example.merges else example.subject(operation))
        if now is None:  # gone, or out of sight until it is restored
            assert before is not None
            now = before | {change["field"]: change["to"] for change in entry["changes"]}
            now |= {name: entry["data"][name] for name in UNLOGGED}
        assert (entry["data"] if "id" in now else {"items": entry["data"]["items"]}) == now
        unlogged = KINDS[entry["target"]["type"]].untracked_fields
        changed = differences(told(before), told(now)) if before else []
        assert entry["changes"] == [change for change in changed if change["field"] not in unlogged]

    def test_is_an_event_as_the_document_says(self, operation: Operation, world: World) -> None:
        conformance.check_event(entry_about(done(operation, world)))

    def test_is_in_the_proven_log_once_the_ledger_has_seen_it(self, operation: Operation, world: World) -> None:
        answer = done(operation, world)
        world.workers.settle()
        evidence.assert_proven()
        assert len(entries_about(answer)) == 1


@by_operation(lambda o: o.mutates and o.method != "POST")
def test_a_mutation_leaves_nothing_more_when_there_is_nothing_more_to_do(operation: Operation, world: World) -> None:
    done(operation, world)
    before = uncounted(snapshots.stored())
    again = perform(operation, world)
    assert again.status in (operation.success, 404)
    assert uncounted(snapshots.stored()) == before


def uncounted(items: evidence.Items) -> evidence.Items:
    """Return the items but for those that requests are counted in."""
    return {key: item for key, item in items.items() if not key[0].startswith("Y#")}


@by_operation(lambda o: o.mutates and o.scope is not None)
def test_a_mutation_by_an_api_key_names_the_key(operation: Operation, world: World) -> None:
    key = world.key(str(operation.scope), name="Robot")
    answer = done(operation, world, as_=key)
    assert entry_about(answer)["actor"] == {"type": "api_key", "id": key.id, "name": "Robot"}


def refused(operation: Operation, world: World, problem: str, **words: Any) -> None:
    """Assert that an operation's example is refused so, and that the table holds what it held."""
    before = snapshots.stored()
    answer = perform(operation, world, **words)
    assert answer.code == problem
    assert snapshots.stored() == before
    assert answer.calls.of("sqs") == []


class TestARefusedMutation:
    """Whatever it is refused for, the table holds what it held."""

    @by_operation(
        lambda o: o.mutates and isinstance(o.access, RequireRole) and o.access.role not in (None, Role.MEMBER)
    )
    def test_for_the_role(self, operation: Operation, world: World) -> None:
        refused(operation, world, "403 insufficient_role", as_=world.people.member)

    @by_operation(lambda o: o.mutates and isinstance(o.access, RequireRole) and o.access.role)
    def test_for_being_a_stranger(self, operation: Operation, world: World) -> None:
        refused(operation, world, "404 not_found", as_=world.people.outsider)

    @by_operation(lambda o: o.mutates)
    def test_for_an_unknown_version_of_the_interface(self, operation: Operation, world: World) -> None:
        refused(operation, world, "400 unknown_api_version", headers={"API-Version": "2020-01-01"})

    @by_operation(changes_a_record)
    def test_for_a_stale_entity_tag(self, operation: Operation, world: World) -> None:
        refused(operation, world, "412 precondition_failed", headers={"If-Match": '"000000000000.9.0"'})


@by_operation(lambda o: o.mutates and o.method in ("POST", "PUT", "PATCH"))
class TestAMutationRefusedForItsBody:
    def test_for_an_unknown_field(self, operation: Operation, world: World) -> None:
        body = {**(example_of(operation, world).body or {}), "colour": "green"}
        refused(operation, world, "422 validation_failed", json=body)

    def test_for_no_json(self, operation: Operation, world: World) -> None:
        refused(operation, world, "400 malformed_json", json=None, body=b"{", headers=JSON)

    def test_for_another_content_type(self, operation: Operation, world: World) -> None:
        refused(operation, world, "415 unsupported_media_type", json=None, body=b"a=b", headers=PLAIN)

    def test_for_a_body_that_is_too_large(self, operation: Operation, world: World) -> None:
        refused(operation, world, "413 payload_too_large", json=None, body=b" " * 1024 * 1024 + b"{}")
