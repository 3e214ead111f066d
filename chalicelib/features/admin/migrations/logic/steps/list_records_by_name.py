"""Adds the rows that find members, platforms, sites and leads of earlier releases by name.

The organizations are those that the former migration has listed. A transaction adds the rows of a few records, on
condition that none of them has changed since it was read. So it adds no row with a name that a change or an erasure has
removed, and it removes no row.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from chalicelib.features.admin.migrations.logic.id_positions import id_at_position, position_of_id
from chalicelib.features.leads.entities import Lead
from chalicelib.features.platforms.entities import Platform
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.tenancy.entities.memberships import Member
from chalicelib.features.tenancy.entities.organizations import DIRECTORY_PARTITION, ID_KEY_PREFIX
from chalicelib.kernel.core.clock import now
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.entity import Item, ItemKey, Partition
from chalicelib.kernel.storage.name_index import FoundByName
from chalicelib.kernel.storage.search_keys import last_key_with_prefix
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

_ORGANIZATIONS_PER_STEP: Final = 25
_STEP_SECONDS: Final = 60
"""Time after which a step ends. The next one continues, and finds the rows that were written."""

_RECORDS_PER_TRANSACTION: Final = 5
"""Each has up to 16 rows, and a condition. A transaction has at most 100 of them."""

_MAX_TRIES: Final = 5
"""Tries to add the rows of some records, if others change the records at the same time."""

_FIRST_SHARD: Final = -1
"""The position of the first shard of the leads. The others follow downwards."""


def step(position: int, _changes: UnitOfWork) -> int | None:
    """Add the rows of the next organizations, or of the leads of a shard. A repetition changes nothing.

    A position above 0 stands for the id of the last organization that is complete. A step that runs out of time returns
    the position where it stopped, which can be the one that it was given.
    """
    has_time = partial(_is_before, time.monotonic() + _STEP_SECONDS)
    if position <= _FIRST_SHARD:
        shard = _FIRST_SHARD - position
        if not _try_add_rows(Lead, Lead.all_leads.partition(shard=shard), has_time):
            return position
        return position - 1 if shard + 1 < Lead.all_leads.shards else None
    rows = table.query(
        DIRECTORY_PARTITION,
        since=table.lower_bound_after(ID_KEY_PREFIX + id_at_position(position)) if position else ID_KEY_PREFIX,
        until=last_key_with_prefix(ID_KEY_PREFIX),
        limit=_ORGANIZATIONS_PER_STEP,
    )
    for row in rows.items:
        if not _try_add_rows_of_organization(row["organization_id"], has_time):
            return position
        position = position_of_id(row["organization_id"])
    return position if rows.last_evaluated_key else _FIRST_SHARD


def _try_add_rows_of_organization(organization_id: str, has_time: Callable[[], bool]) -> bool:
    """Add the rows of an organization's contents. Return False if the time was too short."""
    names = {"organization_id": organization_id}
    return (
        _try_add_rows(Member, Member.in_organization.partition(**names), has_time)
        and _try_add_rows(Platform, Platform.sibling_index.partition(**names), has_time)
        and _try_add_rows(Site, Site.sibling_index.partition(**names), has_time)
    )


def _try_add_rows(record_type: type[FoundByName], partition: Partition, has_time: Callable[[], bool]) -> bool:
    """Add the missing rows of the records in a partition of an index. Return False if the time was too short."""
    for items in table.iter_item_pages(partition, limit=100, attributes=("pk", "sk")):
        for batch in _iter_batches_without_rows([*map(record_type.from_item, table.read_current(items))]):
            if not has_time():
                return False
            _add_rows(record_type, batch)
    return True


def _add_rows(record_type: type[FoundByName], records: Sequence[FoundByName]) -> None:
    """Add the rows of some records in one transaction. If one of them changes before, all are read again.

    Raises ConcurrentModification if that happens each time. Then the step is repeated.
    """
    for _ in range(_MAX_TRIES):
        with suppress(ConcurrentModification):
            return _commit_rows(records)
        current = table.get_all(record.item_key for record in records)
        records = [*map(record_type.from_item, current.values())]
    raise ConcurrentModification


def _commit_rows(records: Iterable[FoundByName]) -> None:
    """Add the rows of some records. Raises ConcurrentModification if one of the records has changed."""
    changes = UnitOfWork(now())
    for record in records:
        changes.require_unchanged(record)
        for row in record.name_rows:
            changes.add_write(Write("Put", _key(row), item=row))
    changes.commit()


def _iter_batches_without_rows(records: list[FoundByName]) -> Iterator[list[FoundByName]]:
    """Yield those of some records that lack rows, as many at a time as fit into a transaction."""
    stored = table.get_all(_key(row) for record in records for row in record.name_rows)
    incomplete = [record for record in records if any(_key(row) not in stored for row in record.name_rows)]
    for start in range(0, len(incomplete), _RECORDS_PER_TRANSACTION):
        yield incomplete[start : start + _RECORDS_PER_TRANSACTION]


def _key(row: Item) -> ItemKey:
    return row["pk"], row["sk"]


def _is_before(deadline_monotonic: float) -> bool:
    return time.monotonic() < deadline_monotonic
