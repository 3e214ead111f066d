"""The checks of entries: whether the records that exist after them are stored, and not older than the entry."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from chalicelib.features.audit.reconciliations.entities import Suspect
from chalicelib.features.audit.reconciliations.logic import record_checks
from chalicelib.features.audit.reconciliations.logic.comparison import (
    container_key_or_none,
    find_differing_fields,
    id_in_key,
    list_related_ids,
    record_key_or_none,
)
from chalicelib.features.audit.reconciliations.logic.log_reader import LogReader
from chalicelib.features.audit.reconciliations.logic.record_checks import build_suspect
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.log_rules import EntryContent, KeysAfterEntry, no_keys
from chalicelib.kernel.storage.record_sets import RecordSet
from chalicelib.kernel.storage.record_types import all_record_types, find_record_type
from chalicelib.kernel.transactions.record_macs import accepts_unauthenticated_records, mac_version


@dataclass(frozen=True)
class ExpectedRecord:
    """A record that should exist after an entry.

    `is_subject`: whether the entry is about it, and so contains its id and version.
    """

    record_type: type[Entity]
    key: ItemKey
    entry: EntryContent
    is_subject: bool

    @property
    def id(self) -> str:
        """The id of the record."""
        return str(self.entry["target"]["id"]) if self.is_subject else id_in_key(self.record_type, self.key)

    def missing_suspect(self) -> Suspect:
        """Return the suspect for the record if it is not stored."""
        (pk, sk), kind = self.key, self.record_type.kind
        return Suspect(kind="missing", type=kind, id=self.id, pk=pk, sk=sk, entry_id=str(self.entry["id"]), fields=[])

    def outdated_suspect_or_none(self, item: Item) -> Suspect | None:
        """Return the suspect if the stored record, or its MAC, is older than the entry."""
        record = record_checks.read_record_or_suspect(item)
        if not isinstance(record, Entity):
            return record
        version = self.entry["data"].get("version", 0) if self.is_subject else 0
        is_mac_outdated = bool(record.record_mac) and mac_version(record.record_mac or b"") < version
        if record.version >= version and not (is_mac_outdated and not accepts_unauthenticated_records()):
            return None
        fields = find_differing_fields(record, self.entry["data"])
        return build_suspect("differing", record, item, fields or ["version"], str(self.entry["id"]))


def list_expected_records(entries: Sequence[EntryContent]) -> list[ExpectedRecord]:
    """Return the records that should exist after some entries, those of the newest entry for each key."""
    by_key = {each.key: each for entry in entries for each in _iter_expected_records(entry)}
    ended = {(entry["target"]["type"], entry["target"]["id"]): entry["id"] for entry in entries if _ends_subject(entry)}
    return [
        each for each in by_key.values() if ended.get((each.record_type.kind, each.id), "") <= str(each.entry["id"])
    ]


def find_suspects(reader: LogReader, entries: Sequence[EntryContent], *, is_final: bool = False) -> list[Suspect]:
    """Return the records that should exist after some entries, but are missing or outdated.

    `is_final`: whether to read the later entries from the table, because an index may not show them yet.
    """
    expected = list_expected_records(entries)
    items = reader.get_items([each.key for each in expected])
    suspects: list[Suspect] = []
    for each in expected:
        item = items.get(each.key)
        if item is None or (each.is_subject and item.get("id") != each.id):
            if not AbsenceCheck(reader, each).is_explained(is_final=is_final):
                suspects.append(each.missing_suspect())
        elif suspect := each.outdated_suspect_or_none(item):
            suspects.append(suspect)
        elif issubclass(each.record_type, Container):  # The walk over records finds it only if an index lists it.
            suspects += record_checks.find_suspects(reader, [item], is_final=is_final)
    return suspects


@dataclass(frozen=True)
class AbsenceCheck:
    """The search for the reason why an expected record is not stored."""

    reader: LogReader
    expected: ExpectedRecord

    def is_explained(self, *, is_final: bool) -> bool:
        """Return whether the record may be gone."""
        rules, entry = self.expected.record_type.log_rules, self.expected.entry
        container_key = container_key_or_none(self.expected.record_type, self.expected.key, entry)
        keys = {
            *([container_key] if container_key else []),
            *(rules.depends_on(entry) if self.expected.is_subject else ()),
        }
        if len(self.reader.get_items(keys)) < len(keys):
            return True
        about_record = self.reader.list_newest_about(self.expected.id)
        later_types = {*rules.ended_by, *rules.removed_by}
        if self.reader.has_unfinished_erasure():
            return True
        if any(map(self._explains, about_record)):
            return True
        if any(map(self._explains, self.reader.list_of_types_after(later_types, entry["id"]))):
            return True
        return is_final and any(
            self._explains(each)
            for page in self.reader.iter_pages_between(entry["occurredAt"], "9999-12-31T23:59:59.999Z")
            for each in page
        )

    def _explains(self, later: EntryContent) -> bool:
        rules = self.expected.record_type.log_rules
        if later["id"] <= self.expected.entry["id"]:
            return False
        if later["type"] in rules.ended_by and later["target"]["id"] == self.expected.id:
            return True
        is_related = bool(self._related_ids & list_related_ids(later))
        return is_related and later["type"] in (*rules.ended_by, *rules.removed_by)

    @property
    def _related_ids(self) -> set[str]:
        return {self.expected.id, *list_related_ids(self.expected.entry)}


def _iter_expected_records(entry: EntryContent) -> Iterator[ExpectedRecord]:
    record_type = find_record_type(entry["target"]["type"])
    is_expected = record_type and _is_compared(record_type) and entry["data"] and not _ends_subject(entry)
    if record_type and is_expected and (key := record_key_or_none(record_type, entry)):
        yield ExpectedRecord(record_type, key, entry, is_subject=True)
    for other_type, keys_after in _types_changed_by_event().get(entry["type"], ()):
        for key in keys_after(entry):
            yield ExpectedRecord(other_type, key, entry, is_subject=False)


def _ends_subject(entry: EntryContent) -> bool:
    record_type = find_record_type(entry["target"]["type"])
    return record_type is not None and entry["type"] in record_type.log_rules.ended_by


def _is_compared(record_type: type[Entity]) -> bool:
    """Return whether records of a type are expected to stay until an entry says otherwise."""
    is_stored = not issubclass(record_type, RecordSet) and "ttl" not in record_type.stored_fields
    return is_stored and not record_type.log_rules.exemption


@cache
def _types_changed_by_event() -> Mapping[str, Collection[tuple[type[Entity], KeysAfterEntry]]]:
    """Return the record types with records that exist after an event about others, by event."""
    by_event: dict[str, list[tuple[type[Entity], KeysAfterEntry]]] = {}
    for record_type in all_record_types():
        for event, keys_after in record_type.log_rules.changed_by.items():
            if keys_after is not no_keys:
                by_event.setdefault(event, []).append((record_type, keys_after))
    return by_event
