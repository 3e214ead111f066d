"""The ledger matches a model under any interleaving of commits, workers and crashes. Its statements reveal losses."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice, permutations
from typing import Final, Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.log.logic.missing_links import MissingLinks, find_missing_links, list_shards_behind_tree
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.mac_chains import ChainEnd, Link, LinkWithMac
from chalicelib.kernel.audit_log.signed_statements import MAX_GAPS, Statement
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.identity.claims import Profile
from chalicelib.kernel.identity.jwt import User
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from chalicelib.kernel.work import outbox
from tests.catalogue import log_proof
from tests.harness import memory_aws, rfc6962, snapshots
from tests.harness.faults import ProcessDied
from tests.harness.stored_records import new_id_and_time_fields, system_origin

OWNER: Final = User("4c1a2b5e-0000-4000-8000-000000000001", Profile("ada", "Ada"))
_BATCH: Final = 2
"""So small that two workers can hold different entries, because a late clock inserts entries between others."""

BASE_TIMESTAMP: Final = "2026-11-20T09:30:00.000Z"


@dataclass(frozen=True)
class Commit:
    """A change of a log's organization, or a new member, by a process whose clock differs by some seconds."""

    log: int
    creates: bool
    skew: int


@dataclass(frozen=True)
class Append:
    """A worker appends to a log. The steps in `between` happen between its read and its write."""

    log: int
    between: "Sequence[Step]"
    crashes: Literal["before", "after"] | None


Step = Commit | Append

LATE: Final = Commit(log=0, creates=True, skew=-30)

commits = st.builds(Commit, log=st.integers(0, 1), creates=st.booleans(), skew=st.sampled_from([-30, 0, 0, 30]))
steps = st.recursive(
    commits,
    lambda inner: st.builds(
        Append, st.integers(0, 1), st.lists(inner, max_size=3), st.sampled_from([None, "before", "after"])
    ),
    max_leaves=8,
)


def _stored_note(write: Write) -> str:
    assert isinstance(write.names, Mapping)
    placeholders = {attribute: name for name, attribute in write.names.items()}
    return str((write.values or {})[placeholders["note"]])


@dataclass
class Frame:
    """A transaction in progress: the steps before its write, and the time of a crash."""

    between: Sequence[Step] = ()
    crashes: str | None = None


@dataclass
class Run:
    """Two organizations, and the signed heads of their logs.

    A worker reads and then writes, and nothing else that it does is visible. So other commits, other workers at any
    depth, and a crash happen between its read and its write.
    """

    records: list[list[Organization | Member]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    _frames: list[Frame] = field(default_factory=lambda: [Frame()])

    @property
    def logs(self) -> list[str]:
        return [organization.audit_log_id for organization, *_ in self.records]

    @contextmanager
    def patched_service(self) -> Iterator[None]:
        """Create the organizations. At the end, append the pending entries."""
        write = table.write_transaction

        def write_with_interruptions(writes: Sequence[Write]) -> None:
            frame = self._frames[-1]
            between, frame.between = frame.between, ()
            for step in between:
                self.perform(step)
            self._crash_if(frame, "before")
            write(writes)
            self.notes += [
                (w.key[0][2:], _stored_note(w)) for w in writes if w.key[1] == ledger.HEAD_SORT_KEY and w.update
            ]
            self._crash_if(frame, "after")

        with (
            patch.object(table, "write_transaction", write_with_interruptions),
            patch.object(table, "sleep_with_jittered_backoff", lambda *_: None),
            patch.object(ledger, "BATCH_SIZE", _BATCH),
        ):
            self._create_organizations()
            yield
            for log in self.logs:
                ledger.append_pending_and_return_longest_wait_ms(log)

    def perform(self, step: Step) -> None:
        if isinstance(step, Commit):
            self._frames.append(Frame())
            self._commit(step)
        else:
            self._frames.append(Frame(step.between, step.crashes))
            with suppress(ProcessDied, ConcurrentModification):
                ledger.append_pending_and_return_longest_wait_ms(self.logs[step.log])
        self._frames.pop()

    def _create_organizations(self) -> None:
        memory_aws.reset()
        for n in range(2):
            base_fields = new_id_and_time_fields(BASE_TIMESTAMP)
            self.records.append([])
            self._create(n, Organization(**base_fields, name="Version 1", slug=f"log-{n}", owner_id=OWNER.id))

    def _commit(self, step: Commit) -> None:
        timestamp, organization = after(BASE_TIMESTAMP, seconds=step.skew), self.records[step.log][0]
        if step.creates:
            user, fields = replace(OWNER, id=new_id(timestamp)), new_id_and_time_fields(timestamp)
            self._create(step.log, Member.create_for_organization(fields, organization.id, user, Role.MEMBER))
            return
        changes = UnitOfWork(timestamp)
        changes.event(organization)
        self.records[step.log][0] = changes.update(organization, name=f"Version {organization.version + 1}")
        outbox.commit(changes, system_origin("organization.updated"))

    def _create(self, log: int, record: Organization | Member) -> None:
        changes = UnitOfWork(record.created_at)
        self.records[log].append(changes.event(changes.create(record)))
        outbox.commit(changes, system_origin(f"{record.kind}.created"))

    @staticmethod
    def _crash_if(frame: Frame, when: str) -> None:
        if frame.crashes == when:
            raise ProcessDied


@pytest.mark.usefixtures("aws")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.lists(steps, max_size=5))
@example([Append(0, [LATE, LATE, Append(0, [], "after")], None)])
def test_every_interleaving_produces_a_complete_log(drawn_steps):
    run = Run()
    with run.patched_service():
        for step in drawn_steps:
            run.perform(step)
    items = snapshots.items_by_key()
    log_proof.assert_logs_are_proven(items)
    for log, records in zip(run.logs, run.records, strict=True):
        entries = [entry for entry in log_proof.load_entries(items) if entry.log == log]
        for record in records:
            own_entries = [entry.json for entry in entries if entry.json["target"]["id"] == record.id]
            versions = [entry["data"]["version"] for entry in own_entries]
            assert versions == list(range(1, record.version + 1)), "each version once, in order"
        for note in (note for note_log, note in run.notes if note_log == log):
            size = int(note.split("\n")[1])
            rfc6962.check_checkpoint(note, log, [entry.leaf_hash for entry in entries[:size]], log_proof.PUBLIC_KEY)


FIRST_FORKED_NUMBER = 5
"""The number of the first link that exists twice."""


def build_mac(n: int) -> bytes:
    return bytes(4) + sha256(bytes([n % 256, n // 256])).digest()


def commit_links(shards: list[int]) -> list[LinkWithMac]:
    """Return the links of entries that were committed in sequence, each to a shard."""
    ends: dict[int, ChainEnd] = {}
    links = []
    for n, shard in enumerate(shards, 1):
        end = ends.get(shard, ChainEnd())
        links.append(LinkWithMac(Link(shard, end.number + 1, end.mac), build_mac(n)))
        ends[shard] = ChainEnd(end.number + 1, build_mac(n))
    return links


def chain_ends(links: list[LinkWithMac]) -> dict[int, ChainEnd]:
    return {link.shard: ChainEnd(link.number, mac) for link, mac in links}


def count_suppressed(statement: Statement, ends: dict[int, ChainEnd], pending: list[LinkWithMac]) -> int:
    return statement.lost + find_missing_links(statement, ends, {link for link, _ in pending}, {}).count


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_exactly_the_removed_entries_are_missing(shards, data):
    links = commit_links(shards)
    removed = data.draw(st.sets(st.sampled_from(links)))
    remaining = iter(data.draw(st.permutations([link for link in links if link not in removed])))
    statement = Statement()
    while batch := [*islice(remaining, data.draw(st.integers(1, 9)))]:
        statement = statement.with_links(batch)
        assert Statement.from_lines(statement.to_lines()) == statement
    pending = [*remaining]
    assert count_suppressed(statement, chain_ends(links), pending) == len(removed)
    missing = find_missing_links(statement, chain_ends(links), {link for link, _ in pending}, {})
    assert missing == MissingLinks(frozenset((link.shard, link.number) for link, _ in removed))
    for link, mac in links:
        state = statement.chain_state(link.shard)
        is_in_tree = (link, mac) not in removed and (link, mac) not in pending
        assert state.is_link_number_missing(link.number) is (link.number < state.number and not is_in_tree)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_only_chains_that_stay_behind_the_tree_were_rolled_back(shards, start, data):
    links = commit_links(shards)
    removed = data.draw(st.sets(st.sampled_from(links)))
    statement = Statement().with_links(link for link in links if link not in removed)
    ends, current_ends = chain_ends(links[:start]), chain_ends(links)
    behind = {shard for shard in range(4) if ends.get(shard, ChainEnd()).number < statement.chain_state(shard).number}
    assert set(list_shards_behind_tree(statement, ends)) == behind
    rolled_back = data.draw(st.sets(st.sampled_from(sorted(behind)))) if behind else set()
    current_ends |= {shard: ends.get(shard, ChainEnd()) for shard in rolled_back}
    expected_count = 0
    for shard in range(4):
        end, last_number = ends.get(shard, ChainEnd()).number, statement.chain_state(shard).number
        last_known_number = last_number if shard in rolled_back else end
        expected_count += sum(link.shard == shard and link.number <= last_known_number for link, _ in removed)
        expected_count += last_number - end if shard in rolled_back else 0
    assert find_missing_links(statement, ends, set(), current_ends).count == expected_count


def test_4096_missing_links_are_listed_and_the_others_counted():
    ends = {0: ChainEnd(4000, build_mac(1)), 1: ChainEnd(100, build_mac(2)), 2: ChainEnd(2, build_mac(3))}
    missing = find_missing_links(Statement(), ends, {Link(0, 1, b"")}, {})
    assert (len(missing.links), missing.unlisted_count) == (4096, 5)
    assert {number for shard, number in missing.links if shard == 1} == {*range(1, 98)}


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 40), st.data())
def test_a_statement_that_starts_later_counts_later_entries(shards, start, data):
    links = commit_links(shards)
    before, later = links[:start], links[start:]
    pending = data.draw(st.sets(st.sampled_from(before))) if before else set()
    statement = Statement.create(7, chain_ends(before), pending)
    removed = data.draw(st.sets(st.sampled_from(later))) if later else set()
    for link in data.draw(st.permutations([*pending, *(link for link in later if link not in removed)])):
        statement = statement.with_links([link])
    assert (statement.since, count_suppressed(statement, chain_ends(links), [])) == (7, len(removed))


def fork_chain(length: int) -> tuple[list[LinkWithMac], list[LinkWithMac]]:
    """Return the links of a chain, and the links of a second branch from a number on."""
    links = commit_links([0] * length)
    previous, branch_links = links[FIRST_FORKED_NUMBER - 2].mac, []
    for number in range(FIRST_FORKED_NUMBER, length + 1):
        branch_links.append(LinkWithMac(Link(0, number, previous), build_mac(1000 + number)))
        previous = branch_links[-1].mac
    return links, branch_links


@pytest.mark.parametrize("branch_count", [1, 2])
@pytest.mark.parametrize("at_once", [True, False])
def test_links_of_two_branches_are_detected_in_any_order(branch_count, *, at_once):
    links, branch = fork_chain(FIRST_FORKED_NUMBER + 2)
    common = Statement().with_links(links[: FIRST_FORKED_NUMBER - 1])
    for order in permutations([*branch[:branch_count], *links[FIRST_FORKED_NUMBER - 1 + branch_count :]]):
        statement = common
        for batch in [order] if at_once else [[link] for link in order]:
            statement = statement.with_links(batch)
        assert count_suppressed(statement, {0: ChainEnd(len(links), links[-1].mac)}, []) >= 1, order


@given(st.data())
def test_any_mixture_of_two_branches_is_detected(data):
    links, branch = fork_chain(FIRST_FORKED_NUMBER + 5)
    mixed = [data.draw(st.sampled_from(pair)) for pair in zip(links[FIRST_FORKED_NUMBER - 1 :], branch, strict=True)]
    statement = Statement().with_links(links[: FIRST_FORKED_NUMBER - 1])
    for link in data.draw(st.permutations(mixed)):
        statement = statement.with_links([link])
    is_one_branch = mixed in (links[FIRST_FORKED_NUMBER - 1 :], branch)
    assert bool(count_suppressed(statement, {0: ChainEnd(len(links), mixed[-1].mac)}, [])) is not is_one_branch


@given(st.integers(2, 10**9), st.integers(2, 10**9))
def test_the_size_of_a_statement_is_limited(first, stride):
    links = [Link(shard, first + n * stride, build_mac(1)) for shard in range(16) for n in range(20)]
    statement = Statement().with_links(LinkWithMac(link, build_mac(2)) for link in links)
    assert sum(len(shard_state.gaps) for shard_state in statement.shards.values()) <= MAX_GAPS
    ends = {shard: ChainEnd(first + 19 * stride, build_mac(2)) for shard in range(16)}
    assert count_suppressed(statement, ends, []) == 16 * (first + 19 * stride - 20)
    assert len("\n".join(statement.to_lines())) < 14_000
