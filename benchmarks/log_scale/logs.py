"""The measured logs, filled by the ledger with a given number of synthetic entries of several types.

The entries are deterministic, so a run can continue an earlier one, and every run measures the same logs.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from random import Random
from typing import Any, Final
from uuid import NAMESPACE_DNS, uuid5

from benchmarks.log_scale.stage import prepare_process
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core.clock import now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from tests.catalogue.tenant_fixture import put_items, put_records
from tests.harness.callers import Person
from tests.harness.pending_entries import build_pending_items
from tests.harness.stored_records import new_id_and_time_fields

_FIRST_ENTRY_MS: Final = timestamp_ms("2024-11-01T00:00:00Z")
_ENTRY_INTERVAL_MS: Final = 60_000
_CHUNK: Final = 1_000
_APPEND_TIMEOUT_MS: Final = 5_000
_PAUSE_SECONDS: Final = 0.05

ACTOR_COUNT: Final = 200
TARGET_COUNT: Final = 2_000
ENTRIES_PER_LONG_ENTRY: Final = 40
EVENT_TYPE_WEIGHTS: Final = {
    "page.updated": 40,
    "page.published": 12,
    "page.created": 8,
    "space.updated": 8,
    "taxonomy.node.created": 8,
    "platform.theme.updated": 4,
    "organization.member.updated": 8,
    "organization.member.removed": 3,
    "organization.invitation.accepted": 5,
    "organization.api_key.rotated": 2,
    "organization.updated": 2,
}
"""Event types, and the frequency of each per hundred."""

_WORDS: Final = (
    "engine",
    "loom",
    "punched",
    "card",
    "operation",
    "variable",
    "symbol",
    "analytical",
    "notes",
    "Bernoulli",
    "numbers",
    "science",
    "of",
    "the",
    "and",
    "to",
    "weaves",
    "algebraic",
    "patterns",
    "Straße",
    "naïve",
    "“quoted”",
)


@dataclass(frozen=True)
class Log:
    """The log of an organization that is created for it, with a given number of entries once it is filled."""

    entries: int

    @property
    def id(self) -> str:
        """The organization's id."""
        return _deterministic_id(f"log of {self.entries}")

    @property
    def size(self) -> int:
        """The number of appended entries."""
        return Head.from_item_or_empty(table.get(head_key(self.id))).tree.size

    def create_organization(self, owner: Person) -> None:
        """Store the organization and its owner."""
        name, timestamp = f"log-of-{self.entries}", occurred_at(0)
        organization = Organization(
            id=self.id, created_at=timestamp, updated_at=timestamp, name=name, slug=name, owner_id=owner.id
        )
        put_records(
            [
                organization,
                Member.create_for_organization(new_id_and_time_fields(timestamp), self.id, owner.to_user(), Role.OWNER),
            ]
        )

    def fill(self) -> Iterator[int]:
        """Commit the missing entries in another process, let the ledger append them, and yield the size of the log."""
        ledger.append_pending_and_return_longest_wait_ms(
            self.id
        )  # An earlier run may have committed entries without appending them.
        size = self.size
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=prepare_process) as process:
            commit = process.submit(_commit_entries, self.id, size, self.entries)
            while size < self.entries and not (commit.done() and commit.exception()):
                ledger.append_pending_and_return_longest_wait_ms(self.id, now_ms() + _APPEND_TIMEOUT_MS)
                time.sleep(_PAUSE_SECONDS)
                size = self.size
                yield size
            commit.result()


def _commit_entries(organization_id: str, first: int, end: int) -> None:
    for start in range(first, end, _CHUNK):
        put_items(
            build_pending_items(
                build_event(organization_id, number) for number in range(start, min(start + _CHUNK, end))
            )
        )


def build_event(organization_id: str, number: int) -> Event:
    """Build the event of an entry, by its number from 0."""
    random, time = Random(number), occurred_at(number)  # noqa: S311 - synthetic data, not secret
    (event_type,) = random.choices(list(EVENT_TYPE_WEIGHTS), list(EVENT_TYPE_WEIGHTS.values()))
    actor, target = actor_id(int(ACTOR_COUNT * random.random() ** 2)), target_id(random.randrange(TARGET_COUNT))
    data, changes = _build_record(random, number, target, time)
    return Event(
        id=new_id(time),
        type=event_type,
        occurred_at=time,
        log=organization_id,
        actor={"type": "user", "id": actor, "name": f"Person {actor[:4]}"},
        target={"type": event_type.rpartition(".")[0], "id": target, "name": data["name"]},
        context={
            "operationId": f"{event_type.rpartition('.')[2]}_{event_type.split('.')[-2]}",
            "requestId": _deterministic_id(f"request {number}"),
            "ipAddress": f"192.0.2.{random.randrange(1, 255)}",
            "userAgent": "Mozilla/5.0 (X11; Linux x86_64)",
        },
        changes=changes,
        data=data,
    )


def _build_record(
    random: Random, number: int, target: str, timestamp: str
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Build a record and its change. One in forty is so long that the entry's body is stored as a separate item."""
    is_long = number % ENTRIES_PER_LONG_ENTRY == 0
    text_before, text_after = (_random_text(random, 400 if is_long else 12) for _ in range(2))
    data = {
        "id": target,
        "createdAt": occurred_at(0),
        "updatedAt": timestamp,
        "version": number + 1,
        "name": _random_text(random, 3),
        "description": _random_text(random, random.randrange(5, 60)),
        "text": text_after,
        "seo": {"title": _random_text(random, 5), "noindex": False, "image": None},
        "more": _random_text(random, 300) if is_long else None,
    }
    return data, [{"field": "text", "from": text_before, "to": text_after}]


def _random_text(random: Random, word_count: int) -> str:
    return " ".join(random.choices(_WORDS, k=word_count))


def occurred_at(number: int) -> str:
    """Return the time of an entry."""
    return timestamp(_FIRST_ENTRY_MS + number * _ENTRY_INTERVAL_MS)


def actor_id(number: int) -> str:
    """Return the id of an actor. Actors with small numbers cause the most events."""
    return _deterministic_id(f"person {number}")


def target_id(number: int) -> str:
    """Return the id of a record that entries describe."""
    return _deterministic_id(f"record {number}")


def _deterministic_id(name: str) -> str:
    return str(uuid5(NAMESPACE_DNS, f"{name}.log-scale.example"))
