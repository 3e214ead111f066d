"""The checks of a single record: its MAC, the entry of its last change, and the items derived from it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from pydantic.alias_generators import to_camel

from chalicelib.features.audit.reconciliations.entities import Suspect
from chalicelib.features.audit.reconciliations.logic.comparison import (
    copied_record_key_or_none,
    find_differing_fields,
    id_in_key,
    is_related,
    key_pattern,
    list_hidden_fields,
)
from chalicelib.features.audit.reconciliations.logic.log_reader import (
    CLOCK_DIFFERENCE_SECONDS,
    UNREADABLE_ERRORS,
    EntryRange,
    LogReader,
)
from chalicelib.features.audit.reconciliations.models import FindingKind
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.key_lengths import is_valid_key_length
from chalicelib.kernel.storage.log_rules import ERASURE_EVENT, EntryContent, no_keys, unknown_keys
from chalicelib.kernel.storage.name_index import FoundByName
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.record_types import all_record_types
from chalicelib.kernel.storage.schema_versions import NewerSchemaVersion
from chalicelib.kernel.transactions.record_macs import accepts_unauthenticated_records, mac_state, mac_version
from chalicelib.kernel.transactions.unique_items import reserved_guards

_MAX_ID_CHARACTERS: Final = 128

_DERIVED_ITEMS: Final = "derivedItems"
_INDEX_KEYS: Final = (
    *(f"index{number}{part}" for number in (1, 2) for part in ("pk", "sk")),
    *(f"facet{number}pk" for number in (1, 2, 3)),
)
"""Attributes that list a record in the indexes."""


@dataclass(frozen=True)
class RecordCheck:
    """The check of one stored record.

    `is_final`: whether it is the confirmation, which also considers that clocks differ. `is_explained_by_log`: whether
    a search of the log has found an entry that announced the change. `is_exhaustive`: whether to read all entries of a
    time from the table, and not only a page of them and what indexes show.
    """

    reader: LogReader
    record: Entity
    item: Item
    is_final: bool = False
    is_explained_by_log: bool = False
    is_exhaustive: bool = False
    _ranges: dict[tuple[str, float], EntryRange] = field(default_factory=dict, init=False, compare=False)

    def find_suspect_or_none(self) -> Suspect | None:
        """Return what is wrong with the record, or None."""
        rules = self.record.log_rules
        if self.record.item_key != (self.item["pk"], self.item["sk"]):
            return self._suspect("differing", self._all_fields)
        is_authentic = bool(self.record.mac_exemption) or self._has_current_mac or accepts_unauthenticated_records()
        hidden_fields = [] if is_authentic else list_hidden_fields(type(self.record))
        if not rules.has_entries:
            kind: FindingKind = "differing" if "record_mac" in self.item else "unlogged"
            return None if is_authentic else self._suspect(kind, hidden_fields)
        suspect = self._find_suspect_in_log(hidden_fields, is_authentic=is_authentic)
        if suspect is None or all(each.is_complete for each in self._ranges.values()):
            return suspect
        return replace(self, is_exhaustive=True).find_suspect_or_none()  # An index lags, so it only clears the record.

    @property
    def _has_current_mac(self) -> bool:
        """Return whether the MAC is valid and, where each version gets a new one, for the version of the record."""
        if mac_state(self.record, self.item) != "valid":
            return False
        may_lag = not self.record.log_rules.has_entries or self.record.log_rules.unlogged_changes
        return bool(may_lag) or mac_version(self.item["record_mac"]) == self.record.version

    def _find_suspect_in_log(self, hidden_fields: list[str], *, is_authentic: bool) -> Suspect | None:
        entries = self._read_entries_at(self.record.updated_at, self._seconds_later).entries
        own = [entry for entry in entries if self._is_about_record(entry)]
        current = next((e for e in reversed(own) if e["data"].get("version") == self.record.version), None)
        if current:
            fields = find_differing_fields(self.record, current["data"]) or hidden_fields
            return self._suspect("differing", fields) if fields else None
        if is_authentic:
            return None if self._is_explained_by_others(entries) else self._suspect("unlogged", [])
        origin = own or self._list_entries_of_origin()
        if not origin:
            return self._suspect("unlogged", [])
        compared = [entry for entry in origin if self._is_about_record(entry)]
        fields = find_differing_fields(self.record, compared[0]["data"]) if compared else []
        return self._suspect("differing", [*fields, *hidden_fields] if compared else self._all_fields)

    @property
    def _all_fields(self) -> list[str]:
        """The fields of a record about which there is no entry yet."""
        return [to_camel(name) for name in self.record.authenticated_fields()]

    def _is_about_record(self, entry: EntryContent) -> bool:
        return (entry["target"]["type"], entry["target"]["id"]) == (self.record.kind, self.record.id)

    def _read_entries_at(self, timestamp: str, seconds_later: float) -> EntryRange:
        """Return the entries of a time, or from then until some seconds later. They are read once."""
        if (timestamp, seconds_later) not in self._ranges:
            self._ranges[timestamp, seconds_later] = self.reader.read_range(
                timestamp,
                after(timestamp, seconds=seconds_later),
                about=self.record.id,
                event_types=self.record.log_rules.changed_by,
                is_exhaustive=self.is_exhaustive,
            )
        return self._ranges[timestamp, seconds_later]

    def _list_entries_of_origin(self, *, seconds_later: float = 0) -> list[EntryContent]:
        """Return entries that prove that the service created the record: about it, or that may have created it."""
        return self.reader.list_newest_about_record(self.record) or [
            entry
            for entry in self._read_entries_at(self.record.created_at, seconds_later).entries
            if self._is_about_record(entry) or self._may_create_record(entry)
        ]

    def _is_explained_by_others(self, entries_of_change: Iterable[EntryContent]) -> bool:
        """Return whether an authentic record may have changed without an entry of its own."""
        rules, record = self.record.log_rules, self.record
        if not self._has_origin:
            return False
        return (
            bool(rules.unlogged_changes)
            or any(map(self._explains_record, entries_of_change))
            or self._read_entries_at(record.updated_at, self._seconds_later).has_erased
            or self.is_explained_by_log
            or any(
                map(self.is_explained_by, self.reader.list_of_types_until(self._earlier_events, self._changed_until))
            )
        )

    @property
    def _has_origin(self) -> bool:
        seconds_later = self._seconds_later
        if self._list_entries_of_origin(seconds_later=seconds_later):
            return True
        return self._read_entries_at(self.record.created_at, seconds_later).has_erased

    @property
    def _seconds_later(self) -> float:
        return CLOCK_DIFFERENCE_SECONDS if self.is_final else 0

    @property
    def _changed_until(self) -> str:
        return after(self.record.updated_at, seconds=CLOCK_DIFFERENCE_SECONDS)

    @property
    def _earlier_events(self) -> set[str]:
        """The events about others that change records of the type, some of them later and without an entry."""
        changed_by = self.record.log_rules.changed_by
        return {ERASURE_EVENT, *(event for event, keys in changed_by.items() if keys in (no_keys, unknown_keys))}

    def is_explained_by(self, entry: EntryContent) -> bool:
        """Return whether an entry announced changes that follow without an entry of their own."""
        is_earlier = self.record.created_at <= entry["occurredAt"] <= self._changed_until
        is_announcement = entry["type"] == ERASURE_EVENT or is_related(entry, self.record)
        return self.record.version > 1 and is_earlier and is_announcement and entry["type"] in self._earlier_events

    def _explains_record(self, entry: EntryContent) -> bool:
        """Return whether the record may have been created or changed with an entry about another record."""
        is_declared = entry["type"] in self.record.log_rules.changed_by
        return is_declared and (self.record.version > 1 or self._may_create_record(entry))

    def _may_create_record(self, entry: EntryContent) -> bool:
        keys_after = self.record.log_rules.changed_by.get(entry["type"], no_keys)
        keys = keys_after(entry)
        return is_related(entry, self.record) if keys is None else self.record.item_key in keys

    def _suspect(self, kind: FindingKind, fields: Sequence[str]) -> Suspect:
        return build_suspect(kind, self.record, self.item, fields)


def build_suspect(
    kind: FindingKind, record: Entity, item: Item, fields: Sequence[str], entry_id: str | None = None
) -> Suspect:
    """Return a suspect for a record that is stored as `item`."""
    return build_suspect_at_key(kind, type(record), record.id, (item["pk"], item["sk"]), fields, entry_id)


def build_suspect_at_key(
    kind: FindingKind,
    record_type: type[Entity],
    record_id: str,
    key: ItemKey,
    fields: Sequence[str] = (),
    entry_id: str | None = None,
) -> Suspect:
    """Return a suspect for a record whose key is known, whether it can be read or not."""
    return Suspect(
        kind=kind,
        type=record_type.kind,
        id=record_id,
        pk=key[0],
        sk=key[1],
        entry_id=entry_id,
        is_explained=False,
        fields=[*dict.fromkeys(fields)],
    )


def find_suspects(
    reader: LogReader, items: Sequence[Item], *, is_final: bool = False, is_explained_by_log: bool = False
) -> list[Suspect]:
    """Return what is wrong with the records among some items, with one suspect for each. Options: see RecordCheck."""
    suspects: list[Suspect] = []
    derived: list[tuple[Entity, Item, dict[ItemKey, Item]]] = []
    for item in items:
        record = read_record_or_suspect(item)
        if not isinstance(record, Entity):
            suspects += [record] if record else []
            continue
        try:
            suspect = RecordCheck(reader, record, item, is_final, is_explained_by_log).find_suspect_or_none()
            expected = _expected_items(record)
        except UNREADABLE_ERRORS:
            suspect = _unreadable_suspect("differing", type(record), item)
        if suspect:
            suspects.append(suspect)
        else:
            derived.append((record, item, expected))
    stored = reader.get_items([key for *_, expected in derived for key in expected])
    suspects += [
        build_suspect("differing", record, item, [_DERIVED_ITEMS])
        for record, item, expected in derived
        if not _are_stored(expected, {**stored, (item["pk"], item["sk"]): item})
    ]
    return suspects + _find_forged_copies(reader, items)


def _find_forged_copies(reader: LogReader, items: Sequence[Item]) -> list[Suspect]:
    """Return the derived items among some items that requests read, but that are no copies of stored records."""
    copies = [
        (record_type, item, key)
        for item in items
        for record_type in _copied_record_types()
        if (key := copied_record_key_or_none(record_type, item))
    ]
    stored = reader.get_items({key for *_, key in copies})
    return [
        _unreadable_suspect("unlogged", record_type, item)
        for record_type, item, key in copies
        if not _is_copy(item, stored.get(key))
    ]


def _is_copy(item: Item, record_item: Item | None) -> bool:
    record = read_record_or_suspect(record_item) if record_item else None
    try:
        derived_items = record.derived_items if isinstance(record, Entity) else ()
    except UNREADABLE_ERRORS:
        return False
    return any(json_equal(item, each) for each in derived_items)


@cache
def _copied_record_types() -> list[type[Entity]]:
    return [each for each in all_record_types() if each.log_rules.copy_sk_prefix]


def read_record_or_suspect(item: Item) -> Entity | Suspect | None:
    """Return the record in an item, the suspect if it cannot be read, or None if the key is not that of a record."""
    types_at_key = record_types_at_key(item["pk"], item["sk"])
    record_type = next((each for each in types_at_key if each.kind == item.get("kind")), None)
    if record_type is None:
        # Requests read records by key, so the kind of an item does not matter to them.
        return _unreadable_suspect("unlogged", types_at_key[0], item) if types_at_key else None
    try:
        record = record_type.from_item(item)
        return record if _has_valid_record_fields(record) else _unreadable_suspect("differing", record_type, item)
    except NewerSchemaVersion:
        return _unreadable_suspect("newer", record_type, item)
    except UNREADABLE_ERRORS:
        return _unreadable_suspect("differing", record_type, item)


def _has_valid_record_fields(record: Entity) -> bool:
    """Return whether the fields that every record has are of their types. The lookups of entries use them as keys."""
    record_id: object = record.id
    is_valid_id = isinstance(record_id, str) and 0 < len(record_id) <= _MAX_ID_CHARACTERS
    is_valid_version = type(record.version) is int and record.version > 0
    is_valid_mac = record.record_mac is None or isinstance(record.record_mac, bytes)
    times = (record.created_at, record.updated_at)
    return is_valid_id and is_valid_version and is_valid_mac and all(time == after(time, seconds=0) for time in times)


def _expected_items(record: Entity) -> dict[ItemKey, Item]:
    """Return the index keys, derived items and reserved values of a record as the service stores them, by key.

    Raises one of UNREADABLE_ERRORS if no item can have such a key.
    """
    if not record.log_rules.has_entries:
        return {}
    own_item = record.item()
    index_keys = {name: own_item.get(name) for name in _INDEX_KEYS}
    derived_items = record.derived_items if record.log_rules.requires_derived_items(record) else ()
    # Rows of names may be missing: earlier releases write none. They decide about nothing but what a search finds.
    optional_items = record.name_rows if isinstance(record, FoundByName) else ()
    items = {
        record.item_key: index_keys,
        **{(item["pk"], item["sk"]): item for item in derived_items if item not in optional_items},
        **reserved_guards(record, now()),
    }
    if not all(is_valid_key_length(*key) for key in items):
        raise ValueError("DynamoDB does not accept the key of a derived item")
    return items


def _unreadable_suspect(kind: FindingKind, record_type: type[Entity], item: Item) -> Suspect:
    key = (item["pk"], item["sk"])
    fields = [to_camel(name) for name in record_type.authenticated_fields()] if kind == "differing" else []
    return build_suspect_at_key(kind, record_type, id_in_key(record_type, key), key, fields)


def _are_stored(expected: Mapping[ItemKey, Item], stored: Mapping[ItemKey, Item]) -> bool:
    """Return whether items with the expected attributes are stored. They can have further attributes."""
    return all(
        json_equal(value, stored.get(key, {}).get(name))
        for key, item in expected.items()
        for name, value in item.items()
    )


@cache
def _record_key_patterns() -> list[tuple[re.Pattern[str], type[Entity]]]:
    """Return a pattern of the keys of each record type that is compared with the log."""
    compared = [each for each in all_record_types() if not (each.log_rules.exemption or issubclass(each, RecordSet))]
    return [(key_pattern(f"{each.pk}\n{each.sk}"), each) for each in compared]


def record_types_at_key(pk: str, sk: str) -> list[type[Entity]]:
    """Return the record types that are compared with the log and can be stored at a key."""
    return [record_type for pattern, record_type in _record_key_patterns() if pattern.fullmatch(f"{pk}\n{sk}")]
