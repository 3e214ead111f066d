"""The checks of a single record: its MAC, the entry of its last change, and the items derived from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic.alias_generators import to_camel

from chalicelib.features.audit.reconciliations.entities import Suspect
from chalicelib.features.audit.reconciliations.logic.comparison import find_differing_fields, list_hidden_fields
from chalicelib.features.audit.reconciliations.logic.log_reader import CLOCK_DIFFERENCE_SECONDS, LogReader
from chalicelib.features.audit.reconciliations.models import FindingKind
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.json_equality import json_equal
from chalicelib.kernel.storage.entity import Entity, Item, ItemKey
from chalicelib.kernel.storage.log_rules import EntryContent
from chalicelib.kernel.storage.record_types import record_from_item
from chalicelib.kernel.transactions.record_macs import accepts_unauthenticated_records, mac_state
from chalicelib.kernel.transactions.unique_items import reserved_guards

_DERIVED_ITEMS: Final = "derivedItems"


@dataclass(frozen=True)
class RecordCheck:
    """The check of one stored record.

    `is_final`: whether it is the confirmation, which also reads what an index may not show yet.
    """

    reader: LogReader
    record: Entity
    item: Item
    is_final: bool = False

    def find_suspect_or_none(self) -> Suspect | None:
        """Return what is wrong with the record, or None."""
        rules = self.record.log_rules
        if rules.exemption:
            return None
        is_authentic = (
            bool(self.record.mac_exemption)
            or mac_state(self.record, self.item) == "valid"
            or accepts_unauthenticated_records()
        )
        hidden_fields = [] if is_authentic else list_hidden_fields(type(self.record))
        if not rules.has_entries:
            kind: FindingKind = "differing" if self._has_mac else "unlogged"
            return None if is_authentic else self._suspect(kind, hidden_fields)
        return self._find_suspect_in_log(hidden_fields, is_authentic=is_authentic)

    @property
    def _has_mac(self) -> bool:
        return "record_mac" in self.item

    def _find_suspect_in_log(self, hidden_fields: list[str], *, is_authentic: bool) -> Suspect | None:
        entries = self.reader.list_entries_at(
            self.record.updated_at, seconds_later=CLOCK_DIFFERENCE_SECONDS if self.is_final else 0
        )
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
        return entry["target"]["type"] == self.record.kind and entry["target"]["id"] == self.record.id

    def _list_entries_of_origin(self) -> list[EntryContent]:
        """Return entries that prove that the service created the record: about it, or after which it has to exist."""
        about_record = [
            entry for entry in self.reader.list_newest_about(self.record.id) if self._is_about_record(entry)
        ]
        at_creation = self.reader.list_entries_at(self.record.created_at)
        keys_after = self.record.log_rules.changed_by
        return about_record or [
            entry
            for entry in at_creation
            if self._is_about_record(entry)
            or (entry["type"] in keys_after and self.record.item_key in keys_after[entry["type"]](entry))
        ]

    def _is_explained_by_others(self, entries_of_change: Iterable[EntryContent]) -> bool:
        """Return whether an authentic record may have changed without an entry of its own."""
        rules = self.record.log_rules
        if rules.unlogged_changes:
            return not self.record.mac_exemption or bool(self._list_entries_of_origin())
        if any(entry["type"] in rules.explaining_events for entry in entries_of_change):
            return True
        until = after(self.record.updated_at, seconds=CLOCK_DIFFERENCE_SECONDS)
        if self.reader.list_of_types_until(rules.explaining_events, until):
            return True
        return self.is_final and any(
            entry["type"] in rules.explaining_events
            for page in self.reader.iter_pages_between(self.record.created_at, until)
            for entry in page
        )

    def _suspect(self, kind: FindingKind, fields: Sequence[str]) -> Suspect:
        return build_suspect(kind, self.record, [*dict.fromkeys(fields)])


def build_suspect(kind: FindingKind, record: Entity, fields: list[str], entry_id: str | None = None) -> Suspect:
    """Return a suspect for a stored record."""
    pk, sk = record.item_key
    return Suspect(kind=kind, type=record.kind, id=record.id, pk=pk, sk=sk, entry_id=entry_id, fields=fields)


def find_suspects(reader: LogReader, items: Sequence[Item], *, is_final: bool = False) -> list[Suspect]:
    """Return what is wrong with the records among some items, with one suspect for each."""
    records = [(record_from_item(item), item) for item in items if "kind" in item]
    checks = [RecordCheck(reader, record, item, is_final) for record, item in records]
    suspects = {each.record.item_key: each.find_suspect_or_none() for each in checks}
    for record in _records_with_altered_derived_items(reader, [record for record, _ in records]):
        suspects[record.item_key] = suspects[record.item_key] or build_suspect("differing", record, [_DERIVED_ITEMS])
    return [each for each in suspects.values() if each]


def _records_with_altered_derived_items(reader: LogReader, records: Sequence[Entity]) -> list[Entity]:
    """Return the records whose derived items or reserved values are not as the service stores them."""
    compared = [each for each in records if each.log_rules.has_entries and not each.log_rules.exemption]
    expected = {
        each.item_key: {
            **{(item["pk"], item["sk"]): item for item in each.derived_items},
            **reserved_guards(each, now()),
        }
        for each in compared
    }
    stored = reader.get_items([key for items in expected.values() for key in items])
    return [each for each in compared if not _are_stored(expected[each.item_key], stored)]


def _are_stored(expected: dict[ItemKey, Item], stored: dict[ItemKey, Item]) -> bool:
    """Return whether the expected items are stored. `stored` may have further attributes of guards."""
    return all(
        json_equal(value, stored.get(key, {}).get(name))
        for key, item in expected.items()
        for name, value in item.items()
    )
