"""Access epochs: how a request in flight learns at its commit that rights were lowered since it was admitted.

Whoever may do something in an organization has an access epoch there, a user as well as an API key, and there is one of
everyone. Whatever lowers somebody's rights sets a new epoch of theirs in its own transaction, and whatever closes a
place one of everyone: see `lowered`. A mutation that leaves access behind reads its caller's and everyone's along with
what decides access, and its transaction checks that they are the same still; else it is admitted anew.

An epoch stands in a few items (shards), and a check looks at one of them, any. For two transactions that include one
item at a time conflict, condition checks included: with the membership, the key or the place itself as the condition,
all requests of one caller would wait for each other.

What was read together may be of different moments: a membership of before a removal, the epoch of after it. So an epoch
counts alone only once it is older than any request and any transaction can be. Until then the records that decided are
conditions as well: `Epoch.is_settled`. A day later the table removes its shards: no shard is an epoch, too.

Its keys hold a digest of whose it is: an erasure must leave no person's id, but may end no epoch that a request in
flight is still to meet.
"""

import hashlib
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.grants import Credential, Membership
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

SHARDS: Final = 3
EVERYONE: Final = "everyone"
"""Whose epoch it is that changes when a place closes, or many lose rights at once."""
MAX_SUBJECTS: Final = 2
"""Whose rights a transaction lowers by an epoch of their own: that of more is everyone's, so that it holds them all."""

SETTLED_SECONDS: Final = 120
"""No request takes so long from its first read to its last, and no transaction from its making to its end."""

_RETENTION_SECONDS: Final = 24 * 3600
_CLOSING_SECONDS: Final = 2


class Subject(NamedTuple):
    """Whose epoch it is: a user or an API key, by id, or `EVERYONE`; in the partition of an organization."""

    pk: str
    id: str

    @property
    def shards(self) -> list[ItemKey]:
        """Where its shards stand."""
        return [(self.pk, f"EPOCH#{self._digest}#{shard}") for shard in range(SHARDS)]

    @property
    def closing_mark_key(self) -> ItemKey:
        """Where it stands that somebody is about to set a new epoch."""
        return self.pk, f"CLOSING-EPOCH#{self._digest}"

    @property
    def keys(self) -> list[ItemKey]:
        """Where to look to know the epoch: at one of the shards, which is left to chance, and at the mark."""
        return [secrets.choice(self.shards), self.closing_mark_key]

    @property
    def _digest(self) -> str:
        """What stands for whose it is, in this organization only."""
        return hashlib.sha256(f"{self.pk}#{self.id}".encode()).hexdigest()[:32]


def log_partition(organization_id: str) -> str:
    """Return the partition of an organization, in which the epochs of all who are in it stand."""
    return f"O#{organization_id}"


def log_from_partition(pk: str) -> str:
    """Return the log of the organization whose partition it is."""
    return pk.removeprefix(log_partition(""))


@dataclass(frozen=True)
class Epoch:
    """An epoch as it was read: None if nothing was lowered lately. `since`: when it was set.

    `closing`: until when nobody checks it, since somebody is about to end it and needs all shards free at one moment.
    """

    subject: Subject
    value: str | None = None
    since: str = ""
    closing: str = ""

    @classmethod
    def read(cls, subject: Subject, items: Mapping[ItemKey, Item]) -> Self:
        """Return the epoch that some shard says, among what was read; without one, nothing was lowered."""
        shard = next((items[key] for key in subject.shards if key in items), {})
        closing = items.get(subject.closing_mark_key, {}).get("until", "")
        return cls(subject, shard.get("epoch"), shard.get("since", ""), closing)

    def is_settled(self, moment: str) -> bool:
        """Return whether all that a request read, which is under way at a moment, is of after the epoch was set."""
        return not self.since or after(self.since, seconds=SETTLED_SECONDS) < moment

    def condition_write(self) -> Write:
        """Return the condition that it holds still: of one shard, any."""
        same, values = self._same()
        key = secrets.choice(self.subject.shards)
        return Write("ConditionCheck", key, condition=same, names=["epoch"], values=values or None)

    def renewal(self) -> list[Write]:
        """Return the writes that set a new epoch in all shards, on condition that it holds still."""
        same, values = self._same()
        return [
            Write("Put", (item["pk"], item["sk"]), item=item, condition=same, names=["epoch"], values=values or None)
            for item in _new_shards(self.subject)
        ]

    def _same(self) -> tuple[str, dict[str, str]]:
        if self.value is None:
            return "attribute_not_exists(#epoch)", {}
        return "#epoch = :epoch", {"epoch": self.value}


def epoch_writes(epochs: Mapping[Subject, Epoch], lowered: Iterable[Subject]) -> list[Write]:
    """Return the checks of epochs, and the writes that set new ones for those whose rights are lowered."""
    subjects = {*lowered}
    renewals = [epochs[each].renewal() if each in epochs else _renewal(each) for each in sorted(subjects)]
    checks = [epoch.condition_write() for subject, epoch in epochs.items() if subject not in subjects]
    return [*checks, *(write for renewal in renewals for write in renewal)]


def _renewal(subject: Subject) -> list[Write]:
    return [Write("Put", (item["pk"], item["sk"]), item=item) for item in _new_shards(subject)]


def _new_shards(subject: Subject) -> Iterator[Item]:
    new = {"epoch": secrets.token_hex(8), "since": now(), "ttl": _ttl()}
    return ({"pk": pk, "sk": sk, **new} for pk, sk in subject.shards)


def _ttl() -> int:
    return int(time.time()) + _RETENTION_SECONDS


def lowered_subjects(changes: Iterable[tuple[Entity | None, Entity | None]]) -> set[Subject]:
    """Return whose epochs end with some changes of records: everyone's where they are many."""
    found = {
        Subject(log_partition(record.log), whose)
        for before, changed in changes
        if (whose := subjects_lowered_by(before, changed)) and (record := before or changed)
    }
    for pk in {subject.pk for subject in found}:
        if len(many := {subject for subject in found if subject.pk == pk}) > MAX_SUBJECTS:
            found = found - many | {Subject(pk, EVERYONE)}
    return found


def subjects_lowered_by(before: Entity | None, changed: Entity | None) -> str | None:
    """Return the id of whose rights a change of a record lowers, or `EVERYONE`; None if it does not."""
    if changed and changed is not before and changed.ends_access:
        return EVERYONE
    match before:
        case Membership():
            kept = isinstance(changed, Membership) and Role(changed.role).includes(Role(before.role))
            return None if kept else before.user_id
        case Credential():
            return None if isinstance(changed, Credential) and _allows_as_much(before, changed) else before.id
        case Container():
            return (
                None
                if isinstance(changed, Container) and before.visibility_state == changed.visibility_state
                else EVERYONE
            )
    return None


def unfenced_records(changes: Sequence[tuple[Entity | None, Entity | None]], epochs: Collection[Subject]) -> set[str]:
    """Return the kinds of records that give access and change with no regard to these epochs.

    What gives access to a place that is made with it needs none, nor what the service itself notes of such a record.
    """
    made = {
        changed.log for before, changed in changes if isinstance(changed, Container) and _is_new_root(before, changed)
    }
    giving = [
        record
        for before, changed in changes
        if (record := changed or before)
        and record.gives_access
        and (before is None or changed is None or before.version != changed.version)
    ]
    return {
        record.kind
        for record in giving
        if record.log not in made and Subject(log_partition(record.log), EVERYONE) not in epochs
    }


def _is_new_root(before: Entity | None, changed: Container) -> bool:
    return before is None and changed.parent_type is None


def _allows_as_much(before: Credential, changed: Credential) -> bool:
    same = ("scopes", "revoked_at", "expires_at", "allowed_ips")
    as_before = all(getattr(before, name) == getattr(changed, name) for name in same)
    return as_before and _is_live(before) <= _is_live(changed)


def _is_live(credential: Credential) -> set[str]:
    moment = now()
    return {digest for digest, ends in credential.digests.items() if ends is None or ends > moment}


def close_epochs(subjects: Iterable[Subject]) -> None:
    """Let nobody check these epochs for a moment, so that whoever sets new ones is not kept from it by them.

    Nothing depends on that it succeeds: it only keeps requests from getting into the way.
    """
    until = after(now(), seconds=_CLOSING_SECONDS)
    marks = [each.closing_mark_key for each in sorted(subjects)]
    items = [{"pk": pk, "sk": sk, "until": until, "ttl": _ttl()} for pk, sk in marks]
    with suppress(TransactionCancelled):
        if marks:
            table.write_transaction([Write("Put", key, item=item) for key, item in zip(marks, items, strict=True)])
