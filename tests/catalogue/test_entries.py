"""What every mutation leaves in the log: one entry that says exactly what it did. A refused one leaves nothing."""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.kernel.operation import At, Operation
from chalicelib.kernel.roles import Role
from tests.catalogue import evidence, snapshots
from tests.catalogue.examples.example import Example
from tests.catalogue.examples.registry import example_of, perform
from tests.catalogue.world import World
from tests.harness import callers
from tests.harness.api import ADDRESS, USER_AGENT, Answer, Json

MUTATIONS: Final = [operation for operation in operations() if operation.mutates]
mutations = pytest.mark.parametrize("operation", MUTATIONS, ids=lambda operation: operation.id)
UNLOGGED: Final = ("updatedAt", "version")
JSON: Final = {"Content-Type": "application/json"}
PLAIN: Final = {"Content-Type": "text/plain"}


def done(operation: Operation, world: World, as_: callers.Caller | None = None) -> tuple[Example, Answer]:
    """Call a mutation's example, by who may just do so if nobody else is named."""
    example = example_of(operation, world)
    answer = perform(operation, world, example, as_ or world.caller(operation))
    assert answer.status == operation.success, answer.text
    return example, answer


def entries_about(answer: Answer) -> list[Json]:
    """The entries that a request made."""
    return [e.json for e in evidence.entries() if e.json["context"]["requestId"] == answer.request_id]


def entry_about(answer: Answer) -> Json:
    (entry,) = entries_about(answer)
    return entry


def read(world: World, path: str) -> Json | None:
    """The record at a path as the owner of the organization sees it, or None."""
    answer = world.api.get(path, as_=world.people.owner)
    return answer.json if answer.status == 200 else None


def differences(before: Json, now: Json) -> list[Json]:
    return [
        {"field": name, "from": before[name], "to": value}
        for name, value in now.items()
        if before[name] != value and name not in UNLOGGED
    ]


@mutations
class TestAMutation:
    def test_makes_exactly_one_entry_of_its_declared_event(self, operation: Operation, world: World) -> None:
        before = evidence.entries()
        _, answer = done(operation, world)
        made = [entry for entry in evidence.entries() if entry.id not in {b.id for b in before}]
        assert [entry.json["type"] for entry in made] == [operation.emits[0]]
        assert [entry.json for entry in made] == entries_about(answer)

    def test_says_who_did_what_to_what_and_how(self, operation: Operation, world: World) -> None:
        _, answer = done(operation, world)
        entry, caller = entry_about(answer), world.caller(operation)
        assert caller is not None
        assert entry["actor"] == {"type": "user", "id": caller.id, "name": caller.name}
        assert entry["context"] == {
            "operationId": operation.id, "requestId": answer.request_id, "ipAddress": ADDRESS, "userAgent": USER_AGENT,
        }  # fmt: skip
        assert entry["target"]["type"] == operation.emits[0].rpartition(".")[0]
        assert entry["target"]["id"] == entry["data"]["id"]
        assert entry["occurredAt"] >= entry["data"]["updatedAt"]

    def test_shows_the_public_record_and_its_difference_to_the_one_before(
        self, operation: Operation, world: World
    ) -> None:
        before = None if operation.creates else read(world, example_of(operation, world).subject(operation))
        example, answer = done(operation, world)
        entry = entry_about(answer)
        now = read(world, answer.location if operation.creates else example.subject(operation))
        if now is None:  # gone, or out of sight until it is restored
            assert before is not None
            now = before | {change["field"]: change["to"] for change in entry["changes"]}
            now |= {name: entry["data"][name] for name in UNLOGGED}
        assert entry["data"] == now
        assert entry["changes"] == (differences(before, now) if before else [])

    def test_is_in_the_proven_log_once_the_ledger_has_seen_it(self, operation: Operation, world: World) -> None:
        _, answer = done(operation, world)
        world.workers.settle()
        evidence.assert_proven()
        assert len(entries_about(answer)) == 1

    def test_leaves_nothing_more_when_there_is_nothing_more_to_do(self, operation: Operation, world: World) -> None:
        if operation.method == "POST":
            return
        example, _ = done(operation, world)
        before = snapshots.stored()
        again = perform(operation, world, example, world.caller(operation))
        assert again.status in (operation.success, 404)
        assert snapshots.stored() == before

    def test_by_an_api_key_names_the_key(self, operation: Operation, world: World) -> None:
        if operation.scope is not None:
            key = world.key(operation.scope, name="Robot")
            _, answer = done(operation, world, key)
            assert entry_about(answer)["actor"] == {"type": "api_key", "id": key.id, "name": "Robot"}


@mutations
class TestARefusedMutation:
    """Whatever it is refused for, the table holds what it held."""

    def test_for_the_role(self, operation: Operation, world: World) -> None:
        if isinstance(operation.needs, At) and operation.needs.role is not Role.MEMBER:
            self._refused(operation, world, "403 insufficient_role", as_=world.people.member)

    def test_for_being_a_stranger(self, operation: Operation, world: World) -> None:
        if isinstance(operation.needs, At):
            self._refused(operation, world, "404 not_found", as_=world.people.outsider)

    def test_for_an_unknown_field(self, operation: Operation, world: World) -> None:
        if operation.method != "DELETE":
            body = {**(example_of(operation, world).body or {}), "colour": "green"}
            self._refused(operation, world, "422 validation_failed", json=body)

    def test_for_no_json(self, operation: Operation, world: World) -> None:
        if operation.method != "DELETE":
            self._refused(
                operation,
                world,
                "400 malformed_json",
                json=None,
                body=b"{",
                headers={"Content-Type": "application/json"},
            )

    def test_for_another_content_type(self, operation: Operation, world: World) -> None:
        if operation.method != "DELETE":
            self._refused(operation, world, "415 unsupported_media_type", json=None, body=b"a=b", headers=PLAIN)

    def test_for_a_body_that_is_too_large(self, operation: Operation, world: World) -> None:
        if operation.method != "DELETE":
            self._refused(operation, world, "413 payload_too_large", json=None, body=b" " * 1024 * 1024 + b"{}")

    def test_for_an_unknown_version_of_the_interface(self, operation: Operation, world: World) -> None:
        self._refused(operation, world, "400 unknown_api_version", headers={"API-Version": "2020-01-01"})

    def test_for_a_stale_entity_tag(self, operation: Operation, world: World) -> None:
        if not operation.creates:
            self._refused(operation, world, "412 precondition_failed", headers={"If-Match": '"000000000000.9.0"'})

    @staticmethod
    def _refused(operation: Operation, world: World, problem: str, as_: object = None, **words: object) -> None:
        before = snapshots.stored()
        caller = as_ if isinstance(as_, callers.Caller) else world.caller(operation)
        answer = perform(operation, world, example_of(operation, world), caller, **words)
        assert answer.code == problem
        assert snapshots.stored() == before
        assert answer.calls.of("sqs") == []
