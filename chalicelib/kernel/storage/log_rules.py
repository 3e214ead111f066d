"""Rules that relate the records of a type to the entries of the audit log.

A reconciliation compares the stored records of an organization with its log. The entry about a record contains its
public fields after the change, but one entry can stand for changes of several records. So each record type declares
which events explain its changes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from chalicelib.kernel.storage.entity import Partition

ItemKey = tuple[str, str]

EntryContent = Mapping[str, Any]
"""The JSON object of an entry."""

KeysAfterEntry = Callable[[EntryContent], Iterable[ItemKey] | None]
"""Returns the item keys of records that exist after an entry; None if it may create some, but does not say which."""

ERASURE_EVENT: Final = "organization.person_erased"
"""The event after which records of all types may be redacted."""

ERASURE_KIND: Final = "organization.erasure"
"""The kind of a job that redacts records and entries. Until it has ended, a record may be gone before its entries."""


ACCEPTANCE_EVENT: Final = "organization.record.accepted"
"""The event after which a record of any type is authentic as it is stored. The entry is about the record."""

ABSENCE_EVENT: Final = "organization.record.absence_accepted"
"""The event after which a record of any type may be missing. The entry is about the record."""


def no_keys(_entry: EntryContent) -> Iterable[ItemKey]:
    """Return no keys: the entry changes records, but creates none."""
    return ()


def unknown_keys(_entry: EntryContent) -> None:
    """Return None: the entry may create records, but does not say which."""


def entries_about_others(*events: str) -> Mapping[str, KeysAfterEntry]:
    """Return `LogRules.changed_by` for events that change records, but create none."""
    return dict.fromkeys(events, no_keys)


def items_after(entry: EntryContent, key_field: str) -> dict[str, Any]:
    """Return the public items of a set after an entry about it, by key.

    An entry contains a long list of items as a digest. Then only the items that it adds or changes are known. A long
    item is a digest, too.
    """
    items = entry["data"]["items"]
    if isinstance(items, list):
        return {str(each[key_field]): each for each in items}
    return {key: after for key, _, after in _iter_item_changes(entry) if after is not None}


def list_removed_items(entry: EntryContent) -> list[str]:
    """Return the keys of the items that are no longer in a set, from an entry about it."""
    return [key for key, _, after in _iter_item_changes(entry) if after is None]


@dataclass(frozen=True)
class Removal:
    """The records of a type that are removed after an entry about another record.

    - `keys`: their item keys, if the entry names them. Otherwise it is None.
    - `fields`: values that they have in some fields. Not all such records are removed, unless there is a `partition`.
    - `partition`: index partition that lists all records with these fields. All that existed at the entry are removed.
    - `job_key`: key of the job that removes them. They can be stored until it has ended.
    """

    keys: Collection[ItemKey] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    partition: "Partition | None" = None
    job_key: ItemKey | None = None


def removal_below_parent(_entry: EntryContent) -> Removal:
    """Return no records: those below the target are removed too, which follows from the absence of their parent."""
    return Removal(keys=())


RemovalAfterEntry = Callable[[EntryContent], Removal]
"""Returns the records of a type that are removed after an entry."""


def _iter_item_changes(entry: EntryContent) -> Iterator[tuple[str, Any, Any]]:
    """Yield the key of each changed item of a set, with its public form before and after, None where it is absent."""
    for change in entry["changes"]:
        prefix, separator, key = change["field"].partition(".")
        if prefix == "items" and separator:
            yield key, change["from"], change["to"]


@dataclass(frozen=True)
class LogRules:
    """How entries describe the records of a type.

    - `exemption`: why records of the type are not compared with the log; empty if they are.
    - `has_entries`: whether there are entries about such records. Otherwise only their MAC is verified.
    - `ended_by`: events about a record after which it does not exist.
    - `is_ended`: whether a stored record has been ended, and is only stored until a job has removed its contents.
    - `changed_by`: events about other records that also create or change records of this type, in the same transaction
      or in a later one. The function returns the keys of records that exist after the entry.
    - `removed_by`: events about other records that also remove records of this type, at once or later. The function
      returns which ones.
    - `copy_sk_prefix`: prefix of the sort keys of derived items that requests read instead of the record. Each item
      with it in the record's partition has to be a copy of a record.
    - `requires_derived_items`: whether the derived items of a record have to be stored. They may be missing if they
      have a time to live, or if former releases removed them.
    - `unlogged_changes`: why some new versions have no entry; empty if each has one.
    - `depends_on`: returns the keys of the records without which a record is removed, from the last entry about it.
    """

    exemption: str = ""
    has_entries: bool = True
    ended_by: tuple[str, ...] = ()
    is_ended: Callable[[Any], bool] = lambda _record: False
    changed_by: Mapping[str, KeysAfterEntry] = field(default_factory=dict)
    removed_by: Mapping[str, RemovalAfterEntry] = field(default_factory=dict)
    copy_sk_prefix: str = ""
    requires_derived_items: Callable[[Any], bool] = lambda _record: True
    unlogged_changes: str = ""
    depends_on: Callable[[EntryContent], Iterable[ItemKey]] = no_keys

    def may_change_with(self, event: str) -> bool:
        """Return whether an entry about another record with this event explains a change of such a record."""
        is_exempt = bool(self.exemption) or not self.has_entries
        return is_exempt or event in self.changed_by or event in self.removed_by


def rules_of_set_items(event: str, key_field: str, make_key: Callable[[str, str], ItemKey], **others: Any) -> LogRules:
    """Return the rules of records that are replaced together as the items of a set of their container.

    `event`: the event about the set. `key_field`: public field that is unique among the items. `make_key`: returns the
    item key for the container's id and the value of that field. `others`: further rules, as in LogRules.
    """

    def item_keys(entry: EntryContent, keys: Iterable[str]) -> list[ItemKey]:
        return [make_key(entry["target"]["id"], key) for key in keys]

    return LogRules(
        changed_by={event: lambda entry: item_keys(entry, items_after(entry, key_field))},
        removed_by={event: lambda entry: Removal(keys=item_keys(entry, list_removed_items(entry)))},
        **others,
    )


EXEMPT_WORK: Final = LogRules(exemption="It is work in progress of the service and grants nothing.")
"""The rules of internal jobs."""

OUTSIDE_ORGANIZATIONS: Final = LogRules(exemption="It belongs to no organization.")
"""The rules of records outside of organizations."""

DERIVED: Final = LogRules(exemption="It is derived from another record.")
"""The rules of records that other records write as their derived items."""

PUBLIC_WORK: Final = LogRules(unlogged_changes="The progress of a job has no entries.")
"""The rules of jobs that callers request and see. An entry records the request."""
