"""Lookups of entries for a reconciliation, which count their reads.

An entry is found by the time in its id: it equals the time of the change, or follows it by the difference of clocks.
Entries of application events can be much more numerous than those of built-in events, and explain no record. Lookups in
indexes do not read them, because built-in entries have index partitions of their own.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pydantic_core import from_json

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import (
    StoredEntry,
    has_entry_display_attributes,
    is_valid_at_claimed_sequence,
)
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.audit_log.application_events import is_application_entry_item, is_application_event
from chalicelib.kernel.audit_log.entries import EntryItem, entry_key
from chalicelib.kernel.core.ids import id_range_query_arguments
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Entity, Facet, Item, ItemKey, Partition
from chalicelib.kernel.storage.log_rules import ERASURE_KIND, EntryContent
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.record_types import get_record_type
from chalicelib.kernel.storage.schema_versions import NewerSchemaVersion
from chalicelib.kernel.transactions.record_macs import accepts_unauthenticated_records, mac_state

CLOCK_DIFFERENCE_SECONDS: Final = 60
"""Time within which the entry of a change is expected after the time stored in the record."""

UNREADABLE_ERRORS: Final = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
"""Errors of code that reads an altered item, whose attributes can have any type."""

_MAX_NEWEST_ENTRIES: Final = 10
_PAGE_SIZE: Final = 100

_APPLICATION_ENTRIES_PER_READ: Final = 10
"""Entries of application events that count as one read. They are small, and nothing else is read for them."""


@dataclass(frozen=True)
class EntryRange:
    """Entries of a time range. `has_erased`: whether the service erased one of those that were read from the table.

    `is_complete`: whether the table was read to the end of the range.
    """

    entries: list[EntryContent]
    has_erased: bool
    is_complete: bool


class LogReader:
    """Reads entries of a log and counts the reads.

    It ignores entries that the service did not write or has erased, and those of application events. The latter explain
    no record, whatever target and data the application gives them.
    """

    def __init__(self, log_id: str) -> None:
        self.log_id, self.read_count = log_id, 0

    def get_items(self, keys: Collection[ItemKey]) -> dict[ItemKey, Item]:
        """Return the items at some keys, read from the table."""
        self.read_count += len(keys)
        return table.get_all(keys)

    def list_keys(self, partition: Partition) -> list[ItemKey]:
        """Return the keys that an index lists."""
        keys = [(item["pk"], item["sk"]) for items in table.iter_item_pages(partition) for item in items]
        self.read_count += 1 + len(keys)
        return keys

    def read_range(
        self, since: str, until: str, *, about: str, event_types: Iterable[str], is_exhaustive: bool = False
    ) -> EntryRange:
        """Return the entries of a time range, read from the table, oldest first.

        If there are more than fit into a page, the entries that follow are those that the indexes show about a record
        id or of some types. If `is_exhaustive`, the table is read to the end of the range instead.
        """
        bounds = id_range_query_arguments(since, until)
        partition = EntryItem.pk.format(log_id=self.log_id)
        if is_exhaustive:
            pages, is_complete = table.iter_item_pages(partition, **bounds), True
        else:
            page = table.query(partition, limit=_PAGE_SIZE, **bounds)
            pages, is_complete = iter([page.items]), page.last_evaluated_key is None
        entries, has_erased = list[EntryContent](), False
        for items in pages:
            entries += self._authentic_contents(items)
            has_erased = has_erased or any(map(self._is_erased, items))
        if not is_complete:
            entries += self._query_index(EntryItem.by_target, target=about, limit=_PAGE_SIZE, **bounds)
            for event_type in event_types:
                entries += self._query_index(EntryItem.by_type, type=event_type, limit=_PAGE_SIZE, **bounds)
        return EntryRange(entries, has_erased, is_complete)

    def list_newest_about(self, record_id: str) -> list[EntryContent]:
        """Return the newest entries about an id, newest first, as the index shows them."""
        return self._query_index(EntryItem.by_target, target=record_id, newest_first=True, limit=_MAX_NEWEST_ENTRIES)

    def list_newest_about_record(self, record: Entity) -> list[EntryContent]:
        """Return the newest entries about a record, and not about records of other types with the same id."""
        return [entry for entry in self.list_newest_about(record.id) if entry["target"]["type"] == record.kind]

    def list_of_types_until(self, event_types: Iterable[str], until: str) -> list[EntryContent]:
        """Return the newest entries of each type until a time, as the index shows them."""
        options = id_range_query_arguments(None, until)
        return [
            entry
            for event_type in event_types
            for entry in self._query_index(
                EntryItem.by_type, type=event_type, newest_first=True, limit=_MAX_NEWEST_ENTRIES, **options
            )
        ]

    def list_of_types_after(self, event_types: Iterable[str], entry_id: str) -> list[EntryContent]:
        """Return the first entries of some types after an entry, as the index shows them."""
        since = table.lower_bound_after(entry_id)
        return [
            entry
            for event_type in event_types
            for entry in self._query_index(EntryItem.by_type, type=event_type, since=since, limit=_PAGE_SIZE)
        ]

    def read_page(self, position: Item | None) -> tuple[list[EntryContent], Item | None]:
        """Return a page of the whole log, by id, and the position of the next one. It is read from the table."""
        page = table.query(EntryItem.pk.format(log_id=self.log_id), after=position, limit=_PAGE_SIZE)
        return [*self._authentic_contents(page.items)], page.last_evaluated_key

    def get_entry_or_none(self, entry_id: str) -> EntryContent | None:
        """Return an entry by its id, read from the table."""
        items = table.get_all([entry_key(self.log_id, entry_id)])
        return next(self._authentic_contents([*items.values()]), None)

    def is_being_erased(self, entry: EntryContent) -> bool:
        """Return whether an entry names a person of an erasure that is in progress, or that failed half-way."""
        return any(person.appears_in_value(entry) for person in self._persons_being_erased)

    @cached_property
    def _persons_being_erased(self) -> list[PersonIdentifiers]:
        erasure_type = get_record_type(ERASURE_KIND)
        pk, prefix = erasure_type.make_item_key(organization_id=self.log_id, id="")
        items = table.query_all(pk, prefix)
        self.read_count += 1 + len(items)
        erasures: list[Any] = [each for item in items if (each := _read_authentic_record_or_none(erasure_type, item))]
        return [each.person for each in erasures if each.lease_until or each.error]

    def _query_index(
        self, facet: Facet, *, newest_first: bool = False, limit: int, **values: Any
    ) -> list[EntryContent]:
        bounds = {name: values.pop(name) for name in ("since", "until") if name in values}
        partition = facet.partition(log_id=self.log_id, **values)
        page = table.query(partition, newest_first=newest_first, limit=limit, **bounds)
        return [*self._authentic_contents(page.items)]

    def _authentic_contents(self, items: Sequence[Item]) -> Iterator[EntryContent]:
        built_in = [item for item in items if not is_application_entry_item(item)]
        self.read_count += 1 + len(built_in) + (len(items) - len(built_in)) // _APPLICATION_ENTRIES_PER_READ
        for entry in logs.load_stored_entries(self.log_id, built_in):
            if isinstance(entry.body, bytes) and "erased" not in entry.item and self._is_authentic(entry):
                content = from_json(entry.body)
                if not is_application_event(content):
                    yield content

    def _is_erased(self, item: Item) -> bool:
        """Return whether an item is the entry of a built-in event that the service erased."""
        if "erased" not in item or is_application_entry_item(item):
            return False
        sequence = item.get("sequence")
        try:
            is_complete = isinstance(sequence, int) and has_entry_display_attributes(item)
            return is_complete and redaction.is_redacted_entry_intact(self.log_id, item["sequence"], item)
        except UNREADABLE_ERRORS:
            return False

    def _is_authentic(self, entry: StoredEntry) -> bool:
        try:
            return is_valid_at_claimed_sequence(self.log_id, entry) or logs.is_authentic_pending_entry(
                self.log_id, entry.item
            )
        except UNREADABLE_ERRORS:
            return False


def _read_authentic_record_or_none(record_type: type[Entity], item: Item) -> Entity | None:
    """Return the record in an item, or None if it has an invalid MAC or cannot be read."""
    try:
        record = record_type.from_item(item)
        is_exempt = bool(record_type.mac_exemption) or accepts_unauthenticated_records()
        return record if is_exempt or mac_state(record, item) == "valid" else None
    except (*UNREADABLE_ERRORS, NewerSchemaVersion):
        return None
