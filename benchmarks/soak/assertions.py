"""The conditions that hold after a soak. Each function returns the violations of one of them.

They are pure functions of what callers received and what was found afterwards, so tests can show that they detect
violations.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from benchmarks.soak.journal import AcknowledgedChange

Entry = Mapping[str, Any]

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
        for entry in entries[log]
        if not _is_deletion(entry)
    )
    acknowledged = {(one.organization, one.target, one.version): one for one in changes if one.target and one.version}
    return [
        f"{one.method} {one.path} returned {one.status}, but version {version} has {entry_counts[key]} entries"
        for key, one in acknowledged.items()
        if entry_counts[key] != 1 and (version := key[2])
    ]


def find_gaps(entries: Sequence[Entry]) -> list[str]:
    """Return the gaps in a log's sequence and in the versions of its records."""
    ordered = sorted(entries, key=lambda entry: entry["sequence"] or 0)
    sequences = [entry["sequence"] for entry in ordered]
    violations = [] if sequences == list(range(1, len(ordered) + 1)) else ["the sequence is not 1, 2, …"]
    versions: dict[str, list[int]] = defaultdict(list)
    for entry in ordered:
        if _version(entry) and not _is_deletion(entry) and entry["target"]["type"] not in _TYPES_CHANGED_BY_WORKERS:
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
    for entry in entries:
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
    entries = list(entries)
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


def _version(entry: Entry) -> int:
    """Return the version of the record after the entry's change, or 0 if it has none."""
    return (entry["data"] or {}).get("version") or 0


def _is_deletion(entry: Entry) -> bool:
    """Tell whether the entry logs a deletion. Its data are then those of the last version."""
    return entry["type"].rpartition(".")[2] in _DELETION_VERBS
