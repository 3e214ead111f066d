"""Access epochs, which make a request fail at its commit if rights were revoked after it was authorized.

Each user and API key of an organization has an access epoch there, and one more epoch stands for everyone. A change
that lowers somebody's rights sets a new epoch in its own transaction. A change that deletes a container, or changes its
visibility, sets a new epoch of everyone (`epoch_subjects_losing_access`). A mutation that grants access reads the
epochs of its caller and of everyone together with its authorization, and its transaction requires them to be unchanged.
If they have changed, the mutation is authorized again.

An epoch is stored in several items (shards), and a check uses a random one of them. Two transactions that include the
same item conflict, even with condition checks only. If the condition were on the membership, the key or the container,
all requests of a caller would wait for each other.

Items read together may be from different times: a membership from before a removal, the epoch from after it. So an
epoch is sufficient only once it is older than any request and transaction can be. Until then the authorizing records
are conditions as well (`Epoch.is_older_than_any_request`). The table removes the shards after a day. A missing shard
counts as an epoch, too.

The keys contain a digest of the subject, because an erasure must not leave a person's id behind, and must not end an
epoch that a request in flight still has to check.
"""

import hashlib
import secrets
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.permissions.grants import Membership, OrganizationCredential
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.table import TransactionCancelled
from chalicelib.kernel.storage.writes import Write

SHARDS: Final = 3
"""Items that store one access epoch."""

EVERYONE: Final = "everyone"
"""The subject whose epoch changes with the visibility of a container, or when many subjects lose rights at once."""
MAX_LOWERED_SUBJECTS: Final = 2
"""Maximum number of subjects for which a transaction sets new epochs individually.

If there are more, it sets that of everyone instead, so that it has room for its other writes.
"""

SETTLED_SECONDS: Final = 120
"""Longer than any request between its first and last read, and longer than any transaction."""

_RETENTION_SECONDS: Final = 24 * 3600
_CLOSING_SECONDS: Final = 2


class EpochSubject(NamedTuple):
    """The subject of an epoch in an organization's partition: a user or an API key by id, or `EVERYONE`."""

    pk: str
    id: str

    @property
    def shard_keys(self) -> list[ItemKey]:
        """Return the item keys of its shards."""
        return [(self.pk, f"EPOCH#{self._subject_digest}#{shard}") for shard in range(SHARDS)]

    @property
    def closing_mark_key(self) -> ItemKey:
        """Return the key of the item that announces a new epoch."""
        return self.pk, f"CLOSING-EPOCH#{self._subject_digest}"

    @property
    def random_shard_and_closing_mark_keys(self) -> list[ItemKey]:
        """Return the item keys that determine the epoch: a random shard, and the announcement."""
        return [secrets.choice(self.shard_keys), self.closing_mark_key]

    @property
    def _subject_digest(self) -> str:
        """Return the digest that stands for the subject in this organization."""
        return hashlib.sha256(f"{self.pk}#{self.id}".encode()).hexdigest()[:32]


def organization_partition(organization_id: str) -> str:
    """Return the partition of an organization, which contains the epochs of its subjects."""
    return f"O#{organization_id}"


def log_id_from_partition_key(pk: str) -> str:
    """Return the log id of the organization to which a partition belongs."""
    return pk.removeprefix(organization_partition(""))


@dataclass(frozen=True)
class Epoch:
    """An epoch that was read. `value` is None if no rights were lowered recently; `since` is when it was set.

    `closing_until`: the time until which no request checks the epoch, because a transaction is about to change it and
    needs all shards at once.
    """

    subject: EpochSubject
    value: str | None = None
    since: str = ""
    closing_until: str = ""

    @classmethod
    def from_items(cls, subject: EpochSubject, items: Mapping[ItemKey, Item]) -> Self:
        """Return the epoch of a subject from the items that were read."""
        shard = next((items[key] for key in subject.shard_keys if key in items), {})
        closing = items.get(subject.closing_mark_key, {}).get("until", "")
        return cls(subject, shard.get("epoch"), shard.get("since", ""), closing)

    def is_older_than_any_request(self, timestamp: str) -> bool:
        """Return whether everything that a current request read is newer than the epoch."""
        return not self.since or after(self.since, seconds=SETTLED_SECONDS) < timestamp

    def unchanged_epoch_check_write(self) -> Write:
        """Return the condition that the epoch is unchanged, on a random shard."""
        return Write("ConditionCheck", secrets.choice(self.subject.shard_keys), **self.unchanged_condition())

    def unchanged_condition(self) -> dict[str, Any]:
        """Return the arguments of a write on condition that the epoch is unchanged."""
        if self.value is None:
            return {"condition": "attribute_not_exists(#epoch)", "names": ["epoch"]}
        return {"condition": "#epoch = :epoch", "names": ["epoch"], "values": {"epoch": self.value}}


def epoch_check_and_renewal_writes(
    epochs: Mapping[EpochSubject, Epoch], lowered: Iterable[EpochSubject]
) -> list[Write]:
    """Return the checks of epochs, and the writes that set new epochs for subjects whose rights are lowered."""
    subjects = {*lowered}
    renewals = [write for each in sorted(subjects) for write in _renewal_writes(each, epochs.get(each))]
    checks = [epoch.unchanged_epoch_check_write() for subject, epoch in epochs.items() if subject not in subjects]
    return [*checks, *renewals]


def _renewal_writes(subject: EpochSubject, present: Epoch | None) -> list[Write]:
    """Return the writes that set a new epoch in all shards. If `present` is given, it must be unchanged."""
    attributes = {"epoch": secrets.token_hex(8), "since": now(), "ttl": _expires_at_seconds()}
    condition = present.unchanged_condition() if present else {}
    items: list[Item] = [{"pk": pk, "sk": sk, **attributes} for pk, sk in subject.shard_keys]
    return [Write("Put", (item["pk"], item["sk"]), item=item, **condition) for item in items]


def _expires_at_seconds() -> int:
    return int(time.time()) + _RETENTION_SECONDS


def epoch_subjects_losing_access(changes: Iterable[tuple[Entity | None, Entity | None]]) -> set[EpochSubject]:
    """Return the subjects whose epochs end with changes of records, or `EVERYONE` if there are many."""
    subjects = {
        EpochSubject(organization_partition(record.audit_log_id), subject_id)
        for before, changed in changes
        if (subject_id := lowered_subject_id(before, changed)) and (record := before or changed)
    }
    for pk in {subject.pk for subject in subjects}:
        subjects_of_organization = {subject for subject in subjects if subject.pk == pk}
        if len(subjects_of_organization) > MAX_LOWERED_SUBJECTS:
            subjects = subjects - subjects_of_organization | {EpochSubject(pk, EVERYONE)}
    return subjects


def lowered_subject_id(before: Entity | None, changed: Entity | None) -> str | None:
    """Return the id of the subject whose rights a change of a record lowers, `EVERYONE`, or None."""
    if changed and changed is not before and changed.ends_access:
        return EVERYONE
    match before:
        case Membership():
            keeps_role = isinstance(changed, Membership) and Role(changed.role).includes(Role(before.role))
            return None if keeps_role else before.user_id
        case OrganizationCredential():
            keeps_rights = isinstance(changed, OrganizationCredential) and _has_equal_rights_and_no_lost_secret(
                before, changed
            )
            return None if keeps_rights else before.id
        case Container():
            deciding_values = changed.visibility_deciding_values if isinstance(changed, Container) else None
            return None if before.visibility_deciding_values == deciding_values else EVERYONE
    return None


def granting_kinds_without_epoch_check(
    changes: Sequence[tuple[Entity | None, Entity | None]], epochs: Collection[EpochSubject]
) -> set[str]:
    """Return the kinds of records that grant access and change without a check of these epochs.

    Records of an organization that is created in the same transaction need no check. Neither do internal updates, which
    do not change the version.
    """
    new_logs = {
        changed.audit_log_id
        for before, changed in changes
        if before is None and isinstance(changed, Container) and changed.parent_type is None
    }
    return {
        record.kind
        for before, changed in changes
        if (record := changed or before)
        and record.gives_access
        and (before is None or changed is None or before.version != changed.version)
        and record.audit_log_id not in new_logs
        and EpochSubject(organization_partition(record.audit_log_id), EVERYONE) not in epochs
    }


def _has_equal_rights_and_no_lost_secret(before: OrganizationCredential, changed: OrganizationCredential) -> bool:
    fields = ("scopes", "revoked_at", "expires_at", "allowed_ips")
    is_unchanged = all(getattr(before, name) == getattr(changed, name) for name in fields)
    return is_unchanged and _unexpired_digests(before) <= _unexpired_digests(changed)


def _unexpired_digests(credential: OrganizationCredential) -> set[str]:
    timestamp = now()
    return {digest for digest, expires_at in credential.digests.items() if expires_at is None or expires_at > timestamp}


def mark_epochs_as_closing(subjects: Iterable[EpochSubject]) -> None:
    """Announce new epochs, so that requests briefly do not check the present ones.

    It is optional: it only prevents conflicts with the transaction that sets the new epochs.
    """
    closing_until = after(now(), seconds=_CLOSING_SECONDS)
    keys = [each.closing_mark_key for each in sorted(subjects)]
    items: list[Item] = [{"pk": pk, "sk": sk, "until": closing_until, "ttl": _expires_at_seconds()} for pk, sk in keys]
    with suppress(TransactionCancelled):
        if items:
            table.write_transaction([Write("Put", (item["pk"], item["sk"]), item=item) for item in items])
