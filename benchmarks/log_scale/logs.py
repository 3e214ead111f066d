"""The logs that are measured: as many entries as wanted, of several kinds, each given its place by the ledger itself.

The entries are made up, but always the same: what was begun is gone on with, and another run measures the same log.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from random import Random
from typing import Any, Final
from uuid import NAMESPACE_DNS, uuid5

from benchmarks.log_scale.stage import prepare
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.entries import Event
from chalicelib.kernel.audit_log.ledger import Head, head_key
from chalicelib.kernel.core.clock import now_ms, timestamp, timestamp_ms
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from tests.catalogue.tenant_fixture import put_records, put_items
from tests.harness.callers import Person
from tests.harness.pending_entries import build_pending_items
from tests.harness.stored_records import new_record_fields

_BEGAN_MS: Final = timestamp_ms("2024-11-01T00:00:00Z")
_APART_MS: Final = 60_000
_CHUNK: Final = 1_000
_APPENDED_MS: Final = 5_000
_PAUSE_SECONDS: Final = 0.05

PEOPLE: Final = 200
TARGETS: Final = 2_000
ONE_LONG_IN: Final = 40
KINDS: Final = {
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
"""Types of event, and how often each is among a hundred."""

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
    """The log of an organization that is there for it, with so many entries once it is filled."""

    entries: int

    @property
    def id(self) -> str:
        """The organization's id."""
        return _id(f"log of {self.entries}")

    @property
    def size(self) -> int:
        """How many entries have their place."""
        return Head.from_item(table.get(head_key(self.id))).tree.size

    def found(self, owner: Person) -> None:
        """Put the organization and its owner into the table."""
        name, timestamp = f"log-of-{self.entries}", at(0)
        organization = Organization(
            id=self.id, created_at=timestamp, updated_at=timestamp, name=name, slug=name, owner_id=owner.id
        )
        put_records([organization, Member.create_for_organization(new_record_fields(timestamp), self.id, owner.to_user(), Role.OWNER)])

    def fill(self) -> Iterator[int]:
        """Commit the entries that lack, in a process beside this, and let the ledger append them; yield the sizes."""
        ledger.append_pending(self.id)  # What an earlier run committed and didn't append comes first.
        size = self.size
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=prepare) as extra:
            committed = extra.submit(_commit, self.id, size, self.entries)
            while size < self.entries and not (committed.done() and committed.exception()):
                ledger.append_pending(self.id, now_ms() + _APPENDED_MS)
                time.sleep(_PAUSE_SECONDS)
                size = self.size
                yield size
            committed.result()


def _commit(log: str, first: int, end: int) -> None:
    for start in range(first, end, _CHUNK):
        put_items(build_pending_items(event(log, number) for number in range(start, min(start + _CHUNK, end))))


def event(log: str, number: int) -> Event:
    """Return what happened as the log's entry of this number, from 0 on."""
    chance, time = Random(number), at(number)  # noqa: S311 - made up, not secret
    (kind,) = chance.choices(list(KINDS), list(KINDS.values()))
    actor, target = actor_id(int(PEOPLE * chance.random() ** 2)), target_id(chance.randrange(TARGETS))
    data, changes = _record(chance, number, target, time)
    return Event(
        id=new_id(time),
        type=kind,
        occurred_at=time,
        log=log,
        actor={"type": "user", "id": actor, "name": f"Person {actor[:4]}"},
        target={"type": kind.rpartition(".")[0], "id": target, "name": data["name"]},
        context={
            "operationId": f"{kind.rpartition('.')[2]}_{kind.split('.')[-2]}",
            "requestId": _id(f"request {number}"),
            "ipAddress": f"192.0.2.{chance.randrange(1, 255)}",
            "userAgent": "Mozilla/5.0 (X11; Linux x86_64)",
        },
        changes=changes,
        data=data,
    )


def _record(chance: Random, number: int, target: str, timestamp: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a record and how it was changed; one in forty is so long that its entry's bytes are stored apart."""
    long = number % ONE_LONG_IN == 0
    before, now = (_text(chance, 400 if long else 12) for _ in range(2))
    data = {
        "id": target,
        "createdAt": at(0),
        "updatedAt": timestamp,
        "version": number + 1,
        "name": _text(chance, 3),
        "description": _text(chance, chance.randrange(5, 60)),
        "text": now,
        "seo": {"title": _text(chance, 5), "noindex": False, "image": None},
        "more": _text(chance, 300) if long else None,
    }
    return data, [{"field": "text", "from": before, "to": now}]


def _text(chance: Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS, k=words))


def at(number: int) -> str:
    """Return when the entry of a number happened."""
    return timestamp(_BEGAN_MS + number * _APART_MS)


def actor_id(number: int) -> str:
    """Return the id of one of the people; those of small numbers do the most."""
    return _id(f"person {number}")


def target_id(number: int) -> str:
    """Return the id of one of the records that the entries are about."""
    return _id(f"record {number}")


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE_DNS, f"{name}.log-scale.example"))
