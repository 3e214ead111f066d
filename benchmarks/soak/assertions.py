"""What must be so after a soak: each promise by itself, as a list of what breaks it.

Functions of what was told and what was found, so that each can be shown to see what it looks for.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from benchmarks.soak.journal import ReceivedEvent

Entry = Mapping[str, Any]

_DELETION_VERBS: Final = ("deleted", "removed", "revoked")
_TYPES_CHANGED_BY_WORKERS: Final = ("organization.audit_export", "organization.invitation")
"""What workers change without a word: that an export is running, that an invitation was sent."""


def acknowledged_without_entry(changes: Iterable[ReceivedEvent], entries: Mapping[str, Sequence[Entry]]) -> list[str]:
    """Return each acknowledged version of a record that its organization's log does not have exactly once."""
    entry_counts = Counter(
        (log, entry["target"]["id"], _version(entry))
        for log in entries
        for entry in entries[log]
        if not _is_deletion(entry)
    )
    acknowledged = {(one.organization, one.target, one.version): one for one in changes if one.target and one.version}
    return [
        f"{one.method} {one.path} was answered {one.status}, and the log has version {version} {entry_counts[place]} times"
        for place, one in acknowledged.items()
        if entry_counts[place] != 1 and (version := place[2])
    ]


def gaps(entries: Sequence[Entry]) -> list[str]:
    """Return where a log's sequence, or the versions of one of its records in that order, leave something out."""
    ordered = sorted(entries, key=lambda entry: entry["sequence"] or 0)
    sequences = [entry["sequence"] for entry in ordered]
    violations = [] if sequences == list(range(1, len(ordered) + 1)) else ["the sequence is not 1, 2, …"]
    versions: dict[str, list[int]] = defaultdict(list)
    for entry in ordered:
        if _version(entry) and not _is_deletion(entry) and entry["target"]["type"] not in _TYPES_CHANGED_BY_WORKERS:
            versions[f"{entry['target']['type']} {entry['target']['id']}"].append(_version(entry))
    # A record's own order is its version: two of its entries may have changed places on their way into the log.
    return violations + [
        f"{target} has the versions {sorted(had)}"
        for target, had in versions.items()
        if sorted(had) != list(range(min(had), min(had) + len(had)))
    ]


def torn(entries: Iterable[Entry], versions: Mapping[str, int], deleted_ids: Collection[str]) -> list[str]:
    """Return each record of which its entries say something else: another version, or that it is deleted, or is not.

    `versions`: of the records that are there, by id.
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
            f"{target} has version {version}, and its log {logged_versions.get(target)}"
            for target, version in versions.items()
            if logged_versions.get(target) != version
        ),
        *(
            f"{target} is there, and its log says that it is deleted"
            for target in versions
            if target in logged_deletions
        ),
        *(f"{target} is gone, and its log does not say so" for target in deleted_ids if target not in logged_deletions),
    ]


def halves(entries: Iterable[Entry], listed_ids: Collection[str], creation_events: Collection[str]) -> list[str]:
    """Return what is half there: a record that the log says was made, and none lists, or one that is listed only.

    `events`: what the log says when such a record is made. So also what nobody was told of is looked at.
    """
    entries = list(entries)
    deleted_ids = {entry["target"]["id"] for entry in entries if _is_deletion(entry)}
    created_ids = {entry["target"]["id"] for entry in entries if entry["type"] in creation_events} - deleted_ids
    return [
        *(f"{target} was made, as the log says, and is nowhere" for target in created_ids.difference(listed_ids)),
        *(f"{target} is there, and the log does not know of it" for target in set(listed_ids) - created_ids),
    ]


def untold(entries: Iterable[Entry], arrived_ids: Collection[str], explained_ids: Collection[str]) -> list[str]:
    """Return each event that did not reach a webhook whose deliveries don't say why."""
    return [
        f"{entry['type']} {entry['id']}"
        for entry in entries
        if entry["id"] not in arrived_ids and entry["id"] not in explained_ids
    ]


def _version(entry: Entry) -> int:
    """Return the version of the record after what the entry tells; 0: it has none."""
    return (entry["data"] or {}).get("version") or 0


def _is_deletion(entry: Entry) -> bool:
    """Tell whether the record is gone by it: its data are then those of the last version."""
    return entry["type"].rpartition(".")[2] in _DELETION_VERBS
