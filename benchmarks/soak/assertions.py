"""The conditions that hold after a soak. Each function returns the violations of one of them.

They are pure functions of what callers received and what was found afterwards, so tests can show that they detect
violations.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from benchmarks.soak.journal import AcknowledgedChange

Entry = Mapping[str, Any]

StreamBatch = Sequence[int]
"""The sequences of the entries of a batch that a log stream has sent."""

_DELETION_VERBS: Final = ("deleted", "removed", "revoked")
_TYPES_CHANGED_BY_WORKERS: Final = ("organization.audit_export", "organization.invitation")
"""Workers change these without an entry, for example when an export runs or an invitation is sent."""


def find_changes_without_entry(
    changes: Iterable[AcknowledgedChange], entries: Mapping[str, Sequence[Entry]]
) -> list[str]:
    """Return each acknowledged version of a record that does not have exactly one entry in its organization's log."""
    entry_counts = Counter(
        (log, entry["target"]["id"], _version(entry))
        for log in entries
        for entry in _built_in_entries(entries[log])
        if not _is_deletion(entry)
    )
    acknowledged = {(one.organization, one.target, one.version): one for one in changes if one.target and one.version}
    return [
        f"{one.method} {one.path} returned {one.status}, but version {version} has {entry_counts[key]} entries"
        for key, one in acknowledged.items()
        if entry_counts[key] != 1 and (version := key[2])
    ]


def find_lost_application_events(
    changes: Iterable[AcknowledgedChange], entries: Mapping[str, Sequence[Entry]]
) -> list[str]:
    """Return each acknowledged application event without exactly one entry, and each batch that was written partially.

    The data of each event has the number of its batch and the size of the batch. Those whose caller received no
    response have entries for all of their events or for none.
    """
    counts = Counter((log, entry["id"]) for log in entries for entry in entries[log] if _is_application_event(entry))
    batches = Counter(
        (log, entry["data"]["batch"], entry["data"]["size"])
        for log in entries
        for entry in entries[log]
        if _is_application_event(entry)
    )
    return [
        *(
            f"the event {event} was acknowledged, but has {counts[one.organization, event]} entries"
            for one in changes
            for event in one.event_ids
            if counts[one.organization, event] != 1
        ),
        *(
            f"batch {batch} has {count} of {size} entries"
            for (_, batch, size), count in batches.items()
            if count != size
        ),
    ]


def find_unsent_entries(entries: Sequence[Entry], batches: Sequence[StreamBatch]) -> list[str]:
    """Return what a log stream has sent wrongly: entries that are missing or out of order, and batches with gaps.

    `entries` is the log from the stream's first entry on, and `batches` are those that the destination has accepted, in
    the order of their arrival. The last batch may arrive again, with the same entries.
    """
    violations, sent_until = list[str](), min((entry["sequence"] for entry in entries), default=1) - 1
    for before, batch in pairwise([[sent_until + 1], *batches]):
        if list(batch) != list(range(batch[0], batch[0] + len(batch))):
            violations.append(f"a batch has the sequences {batch}")
        if batch[0] != sent_until + 1 and list(batch) != list(before):
            violations.append(f"a batch begins with {batch[0]} after the sequences to {sent_until}")
        sent_until = max(sent_until, batch[-1])
    sent = {sequence for batch in batches for sequence in batch}
    return violations + [
        f"{entry['type']} with sequence {entry['sequence']} was not sent"
        for entry in entries
        if entry["sequence"] not in sent
    ]


def find_gaps(entries: Sequence[Entry]) -> list[str]:
    """Return the gaps in a log's sequence and in the versions of its records."""
    ordered = sorted(entries, key=lambda entry: entry["sequence"] or 0)
    sequences = [entry["sequence"] for entry in ordered]
    violations = [] if sequences == list(range(1, len(ordered) + 1)) else ["the sequence is not 1, 2, …"]
    versions: dict[str, list[int]] = defaultdict(list)
    for entry in ordered:
        is_version = not _is_application_event(entry) and _version(entry) and not _is_deletion(entry)
        if is_version and entry["target"]["type"] not in _TYPES_CHANGED_BY_WORKERS:
            versions[f"{entry['target']['type']} {entry['target']['id']}"].append(_version(entry))
    # Compare sorted versions: two entries of a record may be appended in the opposite order.
    return violations + [
        f"{target} has the versions {sorted(numbers)}"
        for target, numbers in versions.items()
        if sorted(numbers) != list(range(min(numbers), min(numbers) + len(numbers)))
    ]


def find_version_mismatches(
    entries: Iterable[Entry], versions: Mapping[str, int], deleted_ids: Collection[str]
) -> list[str]:
    """Return each record whose entries differ from it: in its version, or in whether it is deleted.

    `versions` are those of the existing records, by id.
    """
    logged_versions: dict[str, int] = {}
    logged_deletions = set()
    for entry in _built_in_entries(entries):
        target = entry["target"]["id"]
        logged_versions[target] = max(logged_versions.get(target, 0), _version(entry))
        if _is_deletion(entry):
            logged_deletions.add(target)
    return [
        *(
            f"{target} has version {version}, but its log shows {logged_versions.get(target)}"
            for target, version in versions.items()
            if logged_versions.get(target) != version
        ),
        *(f"{target} exists, but its log shows a deletion" for target in versions if target in logged_deletions),
        *(
            f"{target} does not exist, but its log shows no deletion"
            for target in deleted_ids
            if target not in logged_deletions
        ),
    ]


def find_partial_records(
    entries: Iterable[Entry], listed_ids: Collection[str], creation_events: Collection[str]
) -> list[str]:
    """Return each record that was stored partially: one that is logged as created and not listed, or only listed.

    `creation_events` are the events that log a creation. This also covers records whose callers received no response.
    """
    entries = _built_in_entries(entries)
    deleted_ids = {entry["target"]["id"] for entry in entries if _is_deletion(entry)}
    created_ids = {entry["target"]["id"] for entry in entries if entry["type"] in creation_events} - deleted_ids
    return [
        *(f"{target} is logged as created, but is not listed" for target in created_ids.difference(listed_ids)),
        *(f"{target} is listed, but the log shows no creation" for target in set(listed_ids) - created_ids),
    ]


def find_undelivered_events(
    entries: Iterable[Entry], arrived_ids: Collection[str], explained_ids: Collection[str]
) -> list[str]:
    """Return each event that did not reach a webhook and whose delivery does not give a reason."""
    return [
        f"{entry['type']} {entry['id']}"
        for entry in entries
        if entry["id"] not in arrived_ids and entry["id"] not in explained_ids
    ]


def _is_application_event(entry: Entry) -> bool:
    """Tell whether an application reported the event. Its target and data are then those of the application."""
    return "reportedBy" in entry


def _built_in_entries(entries: Iterable[Entry]) -> list[Entry]:
    """Return the entries about changes of the service's own records."""
    return [entry for entry in entries if not _is_application_event(entry)]


def _version(entry: Entry) -> int:
    """Return the version of the record after the entry's change, or 0 if it has none."""
    return (entry["data"] or {}).get("version") or 0


def _is_deletion(entry: Entry) -> bool:
    """Tell whether the entry logs a deletion. Its data are then those of the last version."""
    return entry["type"].rpartition(".")[2] in _DELETION_VERBS
