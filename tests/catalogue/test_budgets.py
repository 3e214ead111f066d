"""AWS calls of every operation: as few as they should be, one after the other, and no more beside a crowd.

A transaction that finds its way blocked is done again, and so are calls that are throttled; here nothing is in the way.
"""

from collections import Counter
from collections.abc import Mapping
from time import process_time
from typing import Any, Final
from uuid import uuid4

import pytest

from chalicelib.features.audit.log.logic import log_verification
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.operation import Operation
from chalicelib.kernel.storage.membership_lists import MAX_MEMBERSHIPS
from tests.catalogue.conftest import Begin
from tests.catalogue.examples.registry import crowd, perform
from tests.catalogue.tenant_fixture import World
from tests.harness import callers
from tests.harness.api import Answer
from tests.harness.by_operation import by_operation
from tests.harness.calls import Call
from tests.harness.clock import Clock
from tests.harness.external_servers import counted
from tests.harness.faults import Fault, failing

MOST_READS: Final = 2
ALLOWANCES: Final = {
    # Recomputes the tree: what waits, the head, the entries (a Query for each megabyte, a BatchGetItem for each hundred
    # long ones), what is behind the end. Bounded by its window of entries, not by the log: it hands out a cursor then.
    "verify_audit_integrity": 5,
    # Counts the deliveries that failed and those that were skipped: two Queries, of 1 MB each at most.
    "replay_webhook_deliveries": 3,
    # Looks at the table and, in its four shards, at what is due, side by side, then whether it is due still; for
    # everyone at once, kept for 5 s.
    "get_status": 6,
    # Looks at the newest of 16 logs, in Queries that are made side by side: no more round trips than one log takes.
    "list_system_audit_log": 16,
    # The leads of eight partitions, in Queries that are made side by side.
    "list_marketing_leads": 8,
    # The caller's organizations, then each of them and their own memberships side by side, then what is shown.
    "list_platforms": 4,
    # Who is listed and who has left a place above, side by side, then what the table says of those who are listed.
    "list_organization_members": 3,
    "list_platform_members": 4,
    "list_space_members": 5,
    # Open spaces and the caller's memberships side by side, then the private spaces that those lead to.
    "list_platform_spaces": 4,
    # As the list of all platforms.
    "list_project_block_platforms": 4,
    # The caller's organizations, then their libraries, the caller's own and everybody's side by side, then whether they
    # are there.
    "list_artefacts": 4,
    "list_outputs": 4,
    # Who has the address that is invited or erased, by rows of the table and by an index, side by side.
    "invite_to_organization": 3,
    "invite_to_platform": 3,
    "erase_person": 3,
    # The platform's modules and the space's overrides side by side.
    "list_effective_modules": 3,
    # What the platform has, what the space has of two sets, and whether the caller sees the space, side by side.
    "resolve_platform_config": 5,
    # The page, what it consists of and the pages above it, and then the record of the one right above, which counts it.
    "update_page": 3,
    "delete_page": 3,
    # The page and those above it, by which it is there, then its revisions.
    "list_page_revisions": 3,
    # The invitation, what its inviter is, how many mails its address got.
    "resend_invitation": 3,
    # The page, the revision with its maker's membership, the pages above it.
    "preview_page_publicly": 3,
}
"""Operations that have a bound of their own, and why."""

TAKES_A_TURN: Final = ("test_webhook",)
"""What sends to a host that an organization may send only so much in a second: counting it is a write."""

LEAST_BYTES_READ: Final = 24_000
"""What any operation may read to decide who may, and what is there: a dozen records. What it answers is read beside."""

MORE_BYTES_READ: Final = {
    # The entries of its window of the log, all that they say.
    "verify_audit_integrity": 200_000,
}
MOST_CPU_SECONDS: Final = 2.0

BY_ORGANIZATION: Final = {
    "list_platforms": 1,
    "list_project_block_platforms": 1,
    "list_artefacts": 2,
    "list_outputs": 2,
}
"""Lists that take a Query of each organization of a group of those that the caller belongs to, and how many more of
them at the same time: of the caller's own memberships; of their own library and everybody's."""

OTHER_CALLS: Final = {
    # What it was made of has changed since it was kept: it is kept anew, once.
    "get_sitemap": {"dynamodb:TransactWriteItems": 1},
    # Looks for the newest anchor, and reads it if there is one, before it looks at the log; in the first window only.
    "verify_audit_integrity": {"s3:ListObjectsV2": 1, "s3:GetObject": 1},
    "get_status": {"sqs:GetQueueAttributes": 4},
}
"""What reads ask of more than the table, and why."""


def called(operation: Operation, world: World, **words: Any) -> Answer:
    # Lists are looked at by pages of three, so that a page is full whatever stands beside it; a POST that can be
    # repeated asks for no more than one that can't.
    once = {"Idempotency-Key": str(uuid4())} if operation.method == "POST" else None
    answer = perform(operation, world, query={"limit": 3} if operation.is_list else None, headers=once, **words)
    assert answer.status == operation.success
    return answer


def shape(call: Call) -> Mapping[str, object]:
    """How much a call asks for: how many keys, writes, items at most, and of which index."""
    asked, requested = call.parameters, call.parameters.get("RequestItems", {})
    return {
        "call": call.name,
        "keys": sum(len(of_table["Keys"]) for of_table in requested.values()),
        "writes": len(asked.get("TransactItems", [])),
        "limit": asked.get("Limit"),
        "index": asked.get("IndexName"),
        "consistent": asked.get("ConsistentRead"),
    }


@by_operation()
class TestEveryOperation:
    def test_keeps_to_its_budget(self, operation: Operation, world: World) -> None:
        world.met()
        made = called(operation, world).calls
        calls = Counter(made.names) - Counter(made.reads)
        assert len(made.reads) <= ALLOWANCES.get(operation.id, MOST_READS)
        if operation.mutates:
            # What can't be taken back is counted before it is done: that is a write of its own.
            writes = 2 if operation.has_external_effects else 1
            turns = {"dynamodb:UpdateItem": 1} if operation.id in TAKES_A_TURN else {}
            assert calls == {"dynamodb:TransactWriteItems": writes, "sqs:SendMessage": 1, **turns}
        else:
            assert calls <= Counter(OTHER_CALLS.get(operation.id, {}))

    def test_reads_and_computes_in_proportion_to_what_it_answers(self, operation: Operation, world: World) -> None:
        world.met()
        began = process_time()
        answer = called(operation, world)
        # A process does something for the first time here, and is not alone on its machine.
        assert process_time() - began <= MOST_CPU_SECONDS
        beside = MORE_BYTES_READ.get(operation.id, LEAST_BYTES_READ)
        assert answer.calls.bytes_read <= beside + 4 * len(answer.text.encode())

    def test_asks_nothing_of_aws_for_a_caller_without_a_valid_credential(
        self, operation: Operation, world: World
    ) -> None:
        refused = perform(operation, world, as_="nonsense")
        assert refused.status == 401
        assert refused.calls.names == []


@by_operation(
    lambda o: isinstance(o.access, RequireRole) and (o.access.container_type.parent_type or o.access.via_record)
)
def test_an_operation_reads_once_more_where_the_place_is_new_to_the_process(operation: Operation, world: World) -> None:
    reads = called(operation, world).calls.reads
    assert len(reads) <= 1 + ALLOWANCES.get(operation.id, MOST_READS)


@by_operation(lambda o: o.id not in BY_ORGANIZATION)
def test_an_operation_asks_for_the_same_in_a_crowd_of_10_and_of_300(
    operation: Operation, world: World, begin: Begin
) -> None:
    begin(crowd, 10)
    world.met()
    among_few = [shape(call) for call in called(operation, world).calls.made]
    begin(crowd, 300)
    world.met()
    among_many = [shape(call) for call in called(operation, world).calls.made]
    assert among_few == among_many


@by_operation(lambda o: o.has_external_effects)
class TestWhatCanNotBeTakenBack:
    def test_is_limited_for_each_organization_whoever_asks(self, operation: Operation) -> None:
        assert operation.rate_limits_per("organization")

    def test_is_counted_before_it_is_done_and_not_done_once_nothing_is_left(
        self, operation: Operation, world: World, clock: Clock
    ) -> None:
        (budget,) = operation.rate_limits_per("organization")
        clock.freeze()
        with counted() as posts:
            for number in range(1, budget.limit + 1):
                clock.shift(seconds=2)  # A channel takes one message a second.
                answer = perform(operation, world)
                assert (answer.status, len(posts)) == (operation.success, number)
            refused = perform(operation, world)
            by_another = perform(operation, world, as_=world.key("admin"))
            assert len(posts) == budget.limit
        for each in (refused, by_another):
            assert each.code == "429 rate_limited"
            assert f'"{budget.name}";r=0;' in each.headers["RateLimit"]
            assert each.calls.of("dynamodb") == each.calls.reads

    def test_is_done_once_and_counted_once_though_the_change_lost_a_race(
        self, operation: Operation, world: World
    ) -> None:
        with counted() as posts, failing(Fault.CONFLICT, name="dynamodb:TransactWriteItems", at=2, times=1) as injected:
            answer = perform(operation, world)
        assert (injected.hit, answer.status, len(posts)) == ("dynamodb:TransactWriteItems", operation.success, 1)
        (budget,) = operation.rate_limits_per("organization")
        assert f'"{budget.name}";r={budget.limit - 1};' in answer.headers["RateLimit"]

    def test_is_counted_whatever_becomes_of_the_request(self, operation: Operation, world: World) -> None:
        with counted() as posts, failing(Fault.BROKEN, name="dynamodb:TransactWriteItems", at=2, times=None):
            lost = perform(operation, world)
        assert (lost.status, len(posts)) == (503, 1)
        budget = operation.rate_limits_per("organization")[0]
        left = perform(operation, world).headers["RateLimit"]
        assert left.startswith(f'"{budget.name}";r={budget.limit - 2};')


@by_operation(lambda o: o.mutates)
def test_a_mutation_wakes_the_ledger_only_after_it_committed(operation: Operation, world: World) -> None:
    names = called(operation, world).calls.names
    assert names[-2:] == ["dynamodb:TransactWriteItems", "sqs:SendMessage"]


class TestVerification:
    def test_asks_for_a_window_whatever_the_length_of_the_log(
        self, world: World, begin: Begin, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log_verification, "WINDOW_ENTRIES", 4)
        windows = {}
        for number in (10, 300):
            begin(crowd, number)
            path, owner = f"{world.organization.path}/audit-log/verify-integrity", world.people.owner
            first = world.api.get(path, as_=owner)
            second = world.api.get(path, as_=owner, query={"cursor": first.json["nextCursor"]})
            assert (first.json["checkedEntries"], second.json["checkedEntries"]) == (4, 8)
            windows[number] = [[shape(call) for call in answer.calls.made] for answer in (first, second)]
        assert windows[10] == windows[300]


@by_operation(lambda o: o.id in BY_ORGANIZATION)
class TestAListOverOrganizations:
    def test_asks_each_at_the_same_time_and_reads_what_it_shows_at_once(
        self, operation: Operation, world: World, begin: Begin
    ) -> None:
        begin(crowd, 10)
        names = Counter(called(operation, world).calls.names)
        # Its organizations, each of them and what is looked at beside them, and what it shows.
        expected = {"dynamodb:Query": 1 + 11 + BY_ORGANIZATION[operation.id], "dynamodb:BatchGetItem": 1}
        assert names == expected

    def test_asks_25_at_most_whatever_their_number(self, operation: Operation, world: World, begin: Begin) -> None:
        begin(crowd, 300)
        names = Counter(called(operation, world).calls.names)
        assert names["dynamodb:Query"] <= 1 + MAX_MEMBERSHIPS + BY_ORGANIZATION[operation.id]
        assert names["dynamodb:BatchGetItem"] <= 1


@by_operation(lambda o: o.scope and o.id != "get_research_job")
class TestByAnApiKey:
    def test_the_key_itself_takes_one_read_once(self, operation: Operation, world: World, begin: Begin) -> None:
        begin(admin_key)
        world.met()
        by_user = called(operation, world).calls.of("dynamodb")
        key = begin(admin_key)
        world.met()
        first = called(operation, world, as_=key).calls.of("dynamodb")
        assert first[0] == "dynamodb:GetItem"
        # Its record is read with what decides access: of what is done at no place that is a read of its own, and so is
        # whether its organization is there.
        assert len(first) <= (1 if isinstance(operation.access, RequireRole) else 2) + len(by_user)
        if not operation.mutates and operation.id != "get_sitemap":  # It is kept, and the next one reads that.
            assert called(operation, world, as_=key).calls.of("dynamodb") == first[1:]


def admin_key(world: World) -> callers.Caller:
    """A key that opens whatever keys may."""
    return world.key("admin")
