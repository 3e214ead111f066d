"""Lists the pending invitations of earlier releases by address, so that the invited people see them in `GET /me`."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from chalicelib.features.tenancy.invitations.entities import Invitation
from chalicelib.kernel.core.clock import timestamp, timestamp_ms
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import SCHEDULE_SHARDS, Partition
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_MAX_INVITATIONS: Final = 90
"""Invitations of one step, each of which takes a write of its transaction."""
_POSITIONS_PER_SHARD: Final = 10**14
"""A position is a number of a partition of the schedule, and the milliseconds since 1970 of the earliest expiry."""


def step(position: int, changes: UnitOfWork) -> int | None:
    """List the next invitations, in the order of the schedule, which contains every pending invitation."""
    shard, since_ms = divmod(position, _POSITIONS_PER_SHARD)
    invitations = [*islice(_iter_unlisted_invitations(shard, timestamp(since_ms)), _MAX_INVITATIONS)]
    for item in chain.from_iterable(invitation.derived_items for invitation in invitations):
        # An invitation that ends meanwhile leaves an item that nobody sees, until its time to live.
        changes.add_write(Write("Put", (item["pk"], item["sk"]), item=item))
    if len(invitations) == _MAX_INVITATIONS:
        return shard * _POSITIONS_PER_SHARD + timestamp_ms(invitations[-1].expires_at)
    return (shard + 1) * _POSITIONS_PER_SHARD if shard + 1 < SCHEDULE_SHARDS else None


def _iter_unlisted_invitations(shard: int, since: str) -> Iterator[Invitation]:
    for due_items in table.iter_item_pages(Partition(f"DUE#{shard}", "due"), since=since):
        current = table.read_current(item for item in due_items if item["task"] == "invitations.expire")
        pending = [each for each in map(Invitation.from_item, current) if each.outcome is None]
        keys = {each.id: (item["pk"], item["sk"]) for each in pending for item in each.derived_items}
        listed = table.get_all(keys.values())
        yield from (each for each in pending if keys[each.id] not in listed)
