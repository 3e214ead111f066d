"""The ledger matches a model under any interleaving of commits, workers and crashes.

A worker reads and then writes, and nothing else that it does is visible. Everything that can happen happens in between,
and is drawn here: other commits, other workers at any depth, and a crash before or after the write.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Final, Literal
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import new_id
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

OWNER: Final = User("4c1a2b5e-0000-4000-8000-000000000001", "ada", "Ada", None, email_verified=True, is_operator=False)
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
    """Return the checkpoint that an update of a head stores."""
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
    """Two organizations, and the signed heads of their logs."""

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
        self.records[step.log][0] = changes.update(organization, name=f"Version {organization.version + 1}")
        outbox.commit(changes, "organization.updated", system_origin("organization.updated"))

    def _create(self, log: int, record: Organization | Member) -> None:
        changes = UnitOfWork(record.created_at)
        self.records[log].append(changes.create(record))
        event = f"{record.kind}.created"
        outbox.commit(changes, event, system_origin(event))

    @staticmethod
    def _crash_if(frame: Frame, when: str) -> None:
        if frame.crashes == when:
            raise ProcessDied


@pytest.mark.usefixtures("aws")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=15)
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
