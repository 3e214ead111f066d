"""The ledger against a model: whatever commits, workers and their deaths come between one another, the log is whole.

A worker reads, then writes; nothing else of it can be seen. So all that can happen is what happens in between, and here
that is drawn: other commits, other workers, at any depth, and the end of the process before or after the write.
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
from tests.catalogue import evidence
from tests.harness import cloud, rfc6962, snapshots
from tests.harness.faults import Died
from tests.harness.stored_records import beginning, by_itself

OWNER: Final = User("4c1a2b5e-0000-4000-8000-000000000001", "ada", "Ada", None, email_verified=True, operator=False)
_BATCH: Final = 2
"""So small that two workers can have different entries in hand: a process whose clock is late gets in between."""

MOMENT: Final = "2026-11-20T09:30:00.000Z"


@dataclass(frozen=True)
class Commit:
    """A change of a log's organization, or a new member of it, by a process whose clock is off by some seconds."""

    log: int
    creates: bool
    skew: int


@dataclass(frozen=True)
class Append:
    """A worker appends to a log; `between` its read and its write other things happen."""

    log: int
    between: "Sequence[Step]"
    dies: Literal["before", "after"] | None


Step = Commit | Append

LATE: Final = Commit(log=0, creates=True, skew=-30)

commits = st.builds(Commit, log=st.integers(0, 1), creates=st.booleans(), skew=st.sampled_from([-30, 0, 0, 30]))
steps = st.recursive(
    commits,
    lambda inner: st.builds(
        Append,
        log=st.integers(0, 1),
        between=st.lists(inner, max_size=3),
        dies=st.sampled_from([None, "before", "after"]),
    ),
    max_leaves=8,
)


def _note_in(write: Write) -> str:
    """Return the checkpoint that an update of a head stores."""
    assert isinstance(write.names, Mapping)
    placeholders = {attribute: name for name, attribute in write.names.items()}
    return str((write.values or {})[placeholders["note"]])


@dataclass
class Frame:
    """One who is about to write: what happens before, and when the process ends."""

    between: Sequence[Step] = ()
    dies: str | None = None


@dataclass
class Run:
    """Two organizations, what happens to them, and the heads that were signed meanwhile."""

    records: list[list[Organization | Member]] = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    _frames: list[Frame] = field(default_factory=lambda: [Frame()])

    @property
    def logs(self) -> list[str]:
        """The two logs."""
        return [organization.log for organization, *_ in self.records]

    @contextmanager
    def begun(self) -> Iterator[None]:
        """Found the organizations; when all has happened, append what waits."""
        write = table.write_transaction

        def interrupted(writes: Sequence[Write]) -> None:
            frame = self._frames[-1]
            between, frame.between = frame.between, ()
            for step in between:
                self.happens(step)
            self._die(frame, "before")
            write(writes)
            self.notes += [(w.key[0][2:], _note_in(w)) for w in writes if w.key[1] == ledger.HEAD and w.update]
            self._die(frame, "after")

        with (
            patch.object(table, "write_transaction", interrupted),
            patch.object(table, "back_off", lambda *_: None),
            patch.object(ledger, "BATCH_SIZE", _BATCH),
        ):
            self._found()
            yield
            for log in self.logs:
                ledger.append_pending(log)

    def happens(self, step: Step) -> None:
        """Let a step happen."""
        if isinstance(step, Commit):
            self._frames.append(Frame())
            self._commit(step)
        else:
            self._frames.append(Frame(step.between, step.dies))
            with suppress(Died, ConcurrentModification):
                ledger.append_pending(self.logs[step.log])
        self._frames.pop()

    def _found(self) -> None:
        cloud.clear()
        for n in range(2):
            new = beginning(MOMENT)
            self.records.append([])
            self._create(n, Organization(**new, name="Version 1", slug=f"log-{n}", owner_id=OWNER.id))

    def _commit(self, step: Commit) -> None:
        moment, organization = after(MOMENT, seconds=step.skew), self.records[step.log][0]
        if step.creates:
            user = replace(OWNER, id=new_id(moment))
            self._create(
                step.log, Member.create_for_organization(beginning(moment), organization.id, user, Role.MEMBER)
            )
            return
        changes = UnitOfWork(moment)
        self.records[step.log][0] = changes.update(organization, name=f"Version {organization.version + 1}")
        outbox.commit(changes, "organization.updated", by_itself("organization.updated"))

    def _create(self, log: int, record: Organization | Member) -> None:
        changes = UnitOfWork(record.created_at)
        self.records[log].append(changes.create(record))
        event = f"{record.kind}.created"
        outbox.commit(changes, event, by_itself(event))

    @staticmethod
    def _die(frame: Frame, when: str) -> None:
        if frame.dies == when:
            raise Died


@pytest.mark.usefixtures("aws")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(st.lists(steps, max_size=5))
@example([Append(0, [LATE, LATE, Append(0, [], "after")], None)])
def test_the_log_is_whole_whatever_happens_at_once(plan: list[Step]) -> None:
    run = Run()
    with run.begun():
        for step in plan:
            run.happens(step)
    items = snapshots.stored()
    evidence.assert_proven(items)
    for log, records in zip(run.logs, run.records, strict=True):
        entries = [entry for entry in evidence.entries(items) if entry.log == log]
        for record in records:
            versions = [said["data"]["version"] for e in entries if (said := e.json)["target"]["id"] == record.id]
            assert versions == list(range(1, record.version + 1)), "once each, and in the record's own order"
        for note in (note for of, note in run.notes if of == log):
            size = int(note.split("\n")[1])
            rfc6962.check_note(note, log, [entry.leaf for entry in entries[:size]], evidence.PUBLIC_KEY)
