"""The checks of entries: whether the records that exist after them are stored, and not older than the entry."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from chalicelib.features.audit.reconciliations.entities import Suspect
from chalicelib.features.audit.reconciliations.logic import record_checks
from chalicelib.features.audit.reconciliations.logic.comparison import (
    container_key_or_none,
    field_values_in_key,
    find_differing_fields,
    id_in_key,
    list_texts,
    record_key_or_none,
)
from chalicelib.features.audit.reconciliations.logic.log_reader import CLOCK_DIFFERENCE_SECONDS, LogReader
from chalicelib.features.audit.reconciliations.logic.record_checks import build_suspect, build_suspect_at_key
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage.entity import Container, Entity, Item, ItemKey
from chalicelib.kernel.storage.log_rules import (
    ABSENCE_EVENT,
    ACCEPTANCE_EVENT,
    EntryContent,
    KeysAfterEntry,
    Removal,
    RemovalAfterEntry,
    no_keys,
    removal_below_parent,
    unknown_keys,
)
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

    @property
    def has_new_mac(self) -> bool:
        """Whether the record got a MAC of the version in the entry.

        An entry can be about a record that it did not change, such as the test of a webhook. If changes without entries
        have raised the version before, the MAC is older.
        """
        is_changed: bool = self.entry["data"].get("updatedAt") == self.entry["occurredAt"]
        return self.is_subject and (is_changed or not self.record_type.log_rules.unlogged_changes)

    def missing_suspect(self) -> Suspect:
        """Return the suspect for the record if it is not stored."""
        return build_suspect_at_key("missing", self.record_type, self.id, self.key, entry_id=str(self.entry["id"]))

    def outdated_suspect_or_none(self, item: Item) -> Suspect | None:
        """Return the suspect if the stored record, or its MAC, is older than the entry."""
        record = record_checks.read_record_or_suspect(item)
        if not isinstance(record, Entity):
            return record
        version = self.entry["data"].get("version", 0) if self.is_subject else 0
        is_mac_outdated = self.has_new_mac and bool(record.record_mac) and mac_version(record.record_mac) < version
        if record.version >= version and not (is_mac_outdated and not accepts_unauthenticated_records()):
            return None
        fields = find_differing_fields(record, self.entry["data"])
        return build_suspect("differing", record, item, fields or ["version"], str(self.entry["id"]))


def list_expected_records(entries: Sequence[EntryContent]) -> list[ExpectedRecord]:
    """Return the records that should exist after some entries.

    For each key it is that of the newest entry. If that entry is about a record that it did not change, it is also that
    of the newest entry that did.
    """
    expected = [each for entry in entries for each in _iter_expected_records(entry)]
    newest = {each.key: each for each in expected}
    newest_changes = {each.key: each for each in expected if each.has_new_mac and each.id == newest[each.key].id}
    unchanged = [each for each in newest.values() if each.is_subject and not each.has_new_mac]
    chosen = [*newest.values(), *(newest_changes[each.key] for each in unchanged if each.key in newest_changes)]
    ended = {(entry["target"]["type"], entry["target"]["id"]): entry["id"] for entry in entries if _ends_subject(entry)}
    return [each for each in chosen if ended.get((each.record_type.kind, each.id), "") <= str(each.entry["id"])]


def find_suspects(reader: LogReader, entries: Sequence[EntryContent], *, is_final: bool = False) -> list[Suspect]:
    """Return the records that disagree with some entries: missing, outdated, or stored although they were removed.

    `is_final`: whether it is the confirmation.
    """
    expected = list_expected_records(entries)
    items = reader.get_items({each.key for each in expected})
    suspects = find_restored_records(reader, entries)
    for each in expected:
        item = items.get(each.key)
        if item is None or (each.is_subject and item.get("id") != each.id):
            if not AbsenceCheck(reader, each).is_explained():
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

    def is_explained(self) -> bool:
        """Return whether the record may be gone, as far as the table and the indexes of entries show it."""
        rules, entry = self.expected.record_type.log_rules, self.expected.entry
        container_key = container_key_or_none(self.expected.record_type, self.expected.key, entry)
        keys = {
            *([container_key] if container_key else []),
            *(rules.depends_on(entry) if self.expected.is_subject else ()),
        }
        return (
            len(self.reader.get_items(keys)) < len(keys)
            or self.reader.is_being_erased(entry)
            or any(map(self.is_explained_by, self.reader.list_newest_about(self.expected.id)))
            or any(
                map(
                    self.is_explained_by,
                    self.reader.list_of_types_after({*rules.ended_by, *rules.removed_by}, entry["id"]),
                )
            )
        )

    def is_explained_by(self, later: EntryContent) -> bool:
        """Return whether an entry removes the record, or says itself which record is expected at its key."""
        if later["id"] <= self.expected.entry["id"]:
            return False
        record_type = self.expected.record_type
        if later["target"]["type"] == record_type.kind:
            key = record_key_or_none(record_type, later)
            if key is None:  # Entries of former releases do not name the container of a member.
                name = record_type.id_field
                return name != "id" and list_texts(later).get(name) == self._field_values.get(name)
            return later["target"]["id"] == self.expected.id or key == self.expected.key
        removal = record_type.log_rules.removed_by.get(later["type"], removal_below_parent)(later)
        return self._has_fields(removal.fields) if removal.keys is None else self.expected.key in removal.keys

    def _has_fields(self, values: Mapping[str, str]) -> bool:
        return values.items() <= self._field_values.items()

    @cached_property
    def _field_values(self) -> Mapping[str, str]:
        return {
            **list_texts(self.expected.entry),
            **field_values_in_key(self.expected.record_type, self.expected.key),
            "organization_id": self.expected.entry["organizationId"],
        }


def find_restored_records(reader: LogReader, entries: Sequence[EntryContent]) -> list[Suspect]:
    """Return the records that somebody has put back after an entry by which they were removed."""
    removed: list[tuple[ItemKey, type[Entity], EntryContent, Callable[[Item, EntryContent], bool]]] = []
    for entry in entries:
        record_type = find_record_type(entry["target"]["type"])
        if record_type and entry["data"] and _ends_subject(entry) and (key := record_key_or_none(record_type, entry)):
            removed.append((key, record_type, entry, _is_of_subject))
        for other_type, removal_after in _types_removed_by_event().get(entry["type"], ()):
            keys = _list_removed_keys(reader, removal_after(entry))
            removed += ((key, other_type, entry, _is_older) for key in keys)
    items = reader.get_items({key for key, *_ in removed})
    return [
        build_suspect("unlogged", record, items[key], [], str(entry["id"]))
        for key, record_type, entry, is_former in removed
        if key in items
        and is_former(items[key], entry)
        and isinstance(record := record_checks.read_record_or_suspect(items[key]), record_type)
        and not record.log_rules.is_ended(record)
        and not _is_accepted_after(reader, record, entry)
    ]


def _is_accepted_after(reader: LogReader, record: Entity, entry: EntryContent) -> bool:
    """Return whether an operator has accepted the record since the entry by which it was removed."""
    return any(
        each["type"] == ACCEPTANCE_EVENT and each["id"] > entry["id"]
        for each in reader.list_newest_about_record(record)
    )


def _list_removed_keys(reader: LogReader, removal: Removal) -> Collection[ItemKey]:
    """Return the keys of the records that are removed, and that an index still lists although no job removes them."""
    if removal.keys is not None:
        return removal.keys
    if removal.partition is None or (removal.job_key and reader.get_items([removal.job_key])):
        return ()
    return reader.list_keys(removal.partition)


def _is_of_subject(item: Item, entry: EntryContent) -> bool:
    # The key of a missing record may be all that was known of it.
    is_known_by_key = entry["type"] == ABSENCE_EVENT and _is_older(item, entry)
    return is_known_by_key or bool(item.get("id") == entry["target"]["id"])


def _is_older(item: Item, entry: EntryContent) -> bool:
    """Return whether a record existed before an entry. Clocks differ, so one of the last minute may be newer."""
    return str(item.get("created_at")) < after(entry["occurredAt"], seconds=-CLOCK_DIFFERENCE_SECONDS)


def _iter_expected_records(entry: EntryContent) -> Iterator[ExpectedRecord]:
    record_type = find_record_type(entry["target"]["type"])
    is_expected = record_type and _is_compared(record_type) and entry["data"] and not _ends_subject(entry)
    if record_type and is_expected and (key := record_key_or_none(record_type, entry)):
        yield ExpectedRecord(record_type, key, entry, is_subject=True)
    for other_type, keys_after in _types_changed_by_event().get(entry["type"], ()):
        for key in keys_after(entry) or ():
            yield ExpectedRecord(other_type, key, entry, is_subject=False)


def _ends_subject(entry: EntryContent) -> bool:
    record_type = find_record_type(entry["target"]["type"])
    return record_type is not None and entry["type"] in (*record_type.log_rules.ended_by, ABSENCE_EVENT)


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
            if keys_after not in (no_keys, unknown_keys):
                by_event.setdefault(event, []).append((record_type, keys_after))
    return by_event


@cache
def _types_removed_by_event() -> Mapping[str, Collection[tuple[type[Entity], RemovalAfterEntry]]]:
    """Return the record types with records that are removed after an event about others, by event."""
    by_event: dict[str, list[tuple[type[Entity], RemovalAfterEntry]]] = {}
    for record_type in all_record_types():
        for event, removal_after in record_type.log_rules.removed_by.items():
            by_event.setdefault(event, []).append((record_type, removal_after))
    return by_event
