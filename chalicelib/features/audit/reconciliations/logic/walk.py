"""The steps of a reconciliation: all records, all entries, a search for explanations, and the confirmation."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from chalicelib.features.audit.reconciliations.entities import Reconciliation, ScanRange, Suspect
from chalicelib.features.audit.reconciliations.logic import entry_checks, record_checks
from chalicelib.features.audit.reconciliations.logic.comparison import id_in_key
from chalicelib.features.audit.reconciliations.logic.log_reader import LogReader
from chalicelib.features.audit.reconciliations.logic.record_checks import RecordCheck
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Container, Entity, Item, Partition
from chalicelib.kernel.storage.log_rules import EntryContent
from chalicelib.kernel.storage.record_types import container_content_ranges

MAX_SUSPECTS: Final = 200
"""Suspected deviations that a reconciliation stores and examines. If there are more, it sets `has_more`."""

MAX_FINDINGS: Final = 100
"""Findings that a reconciliation stores. If there are more, it sets `has_more`."""

_PAGE_SIZE: Final = 50
_KINDS_WITH_COMPARED_CHILDREN: Final = ("page",)
"""Kinds whose child records are compared: the revisions of pages. Others have deliveries, which are exempt."""


Explanation = Callable[[EntryContent], bool]


@dataclass
class Walk:
    """A reconciliation in progress. Each method advances it by a page, and returns the fields to store.

    `is_wanted`: whether a suspect is checked further. `reader` counts the reads since it was created.
    """

    reconciliation: Reconciliation
    is_wanted: Callable[[Suspect], bool] = lambda _suspect: True
    reader: LogReader = field(init=False)
    _explanations: dict[tuple[Any, ...], Explanation | None] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.reader = LogReader(self.reconciliation.organization_id)

    def advance(self) -> dict[str, Any]:
        """Process the next page, and return the changed fields."""
        return {
            "records": self._check_record_page,
            "entries": self._check_entry_page,
            "search": self._search_log_page,
            "confirmation": self._confirm_suspects,
        }[self.reconciliation.step]()

    def _check_record_page(self) -> dict[str, Any]:
        log_id = self.reconciliation.organization_id
        scan_range, *pending = self.reconciliation.pending_ranges or container_content_ranges(Organization, log_id)
        index = scan_range.get("index")
        page = table.query(Partition(scan_range["pk"], index), after=scan_range.get("after"), limit=_PAGE_SIZE)
        self.reader.read_count += 1 + len(page.items)
        pending = [{**scan_range, "after": page.last_evaluated_key}, *pending] if page.last_evaluated_key else pending
        if index:
            pending, items = [*_ranges_of_containers(self.reader, page.items), *pending], list[Item]()
        else:
            items = [item for item in page.items if record_checks.record_types_at_key(item["pk"], item["sk"])]
            pending = [*_ranges_of_children(items), *pending]  # First, so that there are those of one page at most.
        return {
            **self._with_suspects(record_checks.find_suspects(self.reader, [] if index else page.items)),
            "checked_records": self.reconciliation.checked_records + len(items),
            "pending_ranges": pending,
            "step": "records" if pending else "entries",
        }

    def _check_entry_page(self) -> dict[str, Any]:
        entries, cursor = self.reader.read_page(self.reconciliation.log_cursor)
        found = self._with_suspects(entry_checks.find_suspects(self.reader, entries))
        return {
            **found,
            "checked_entries": self.reconciliation.checked_entries + len(entries),
            "log_cursor": cursor,
            "step": "entries" if cursor else "search" if found["suspects"] else "confirmation",
        }

    def _search_log_page(self) -> dict[str, Any]:
        """Search a page of the log for entries that explain suspects. An index may not have shown them."""
        entries, cursor = self.reader.read_page(self.reconciliation.log_cursor)
        suspects = [
            {**each, "is_explained": each["is_explained"] or self._is_explained_by_any(each, entries)}
            for each in self.reconciliation.suspects
        ]
        return {"suspects": suspects, "log_cursor": cursor, "step": "search" if cursor else "confirmation"}

    def _is_explained_by_any(self, suspect: Item, entries: Sequence[EntryContent]) -> bool:
        identity = (suspect["pk"], suspect["sk"], suspect["entry_id"], suspect["kind"])
        if identity not in self._explanations:
            self._explanations[identity] = self._find_explanation_or_none(suspect)
        explains = self._explanations[identity]
        return explains is not None and any(map(explains, entries))

    def _find_explanation_or_none(self, suspect: Item) -> Explanation | None:
        """Return the function that tells whether an entry explains a suspect; None if none can."""
        key = (suspect["pk"], suspect["sk"])
        if suspect["entry_id"]:
            entry = self.reader.get_entry_or_none(suspect["entry_id"]) if suspect["kind"] == "missing" else None
            expected = [
                each for each in entry_checks.list_expected_records([entry] if entry else []) if each.key == key
            ]
            return entry_checks.AbsenceCheck(self.reader, expected[0]).is_explained_by if expected else None
        item = self.reader.get_items([key]).get(key)
        record = record_checks.read_record_or_suspect(item) if item and suspect["kind"] == "unlogged" else None
        return RecordCheck(self.reader, record, item or {}).is_explained_by if isinstance(record, Entity) else None

    def _confirm_suspects(self) -> dict[str, Any]:
        """Check the first suspect again, and make it a finding if it still disagrees."""
        if not self.reconciliation.suspects:
            return {}
        suspect, *remaining = self.reconciliation.suspects
        findings = [*self.reconciliation.findings]
        findings += [
            {name: each[name] for name in ("kind", "type", "id", "fields")} for each in self.check_again(suspect)
        ]
        unique = [each for number, each in enumerate(findings) if _is_first_about_record(findings, number)]
        new = Counter(each["kind"] for each in unique[len(self.reconciliation.findings) :])
        return {
            "suspects": remaining,
            "findings": unique[:MAX_FINDINGS],
            "finding_counts": {kind: count + new[kind] for kind, count in self.reconciliation.finding_counts.items()},
            "has_more": self.reconciliation.has_more or len(unique) > MAX_FINDINGS,
        }

    def check_again(self, suspect: Item) -> list[Suspect]:
        """Return the suspects that remain of one when its record is read again."""
        is_explained = suspect["is_explained"]
        if suspect["entry_id"]:
            entry = None if is_explained else self.reader.get_entry_or_none(suspect["entry_id"])
            found = entry_checks.find_suspects(self.reader, [entry], is_final=True) if entry else []
            return [each for each in found if (each["type"], each["id"]) == (suspect["type"], suspect["id"])]
        items = self.reader.get_items([(suspect["pk"], suspect["sk"])])
        return record_checks.find_suspects(
            self.reader, [*items.values()], is_final=True, is_explained_by_log=is_explained
        )

    def _with_suspects(self, found: Sequence[Suspect]) -> dict[str, Any]:
        suspects = [*self.reconciliation.suspects, *({**each} for each in found if self.is_wanted(each))]
        has_more = self.reconciliation.has_more or len(suspects) > MAX_SUSPECTS
        return {"suspects": suspects[:MAX_SUSPECTS], "has_more": has_more}


def _is_first_about_record(findings: Sequence[dict[str, Any]], number: int) -> bool:
    record = (findings[number]["type"], findings[number]["id"])
    return all((each["type"], each["id"]) != record for each in findings[:number])


def _ranges_of_containers(reader: LogReader, index_items: Sequence[Item]) -> list[ScanRange]:
    """Return the partitions of the containers that a list names and that exist. Their attributes may be altered."""
    keys = reader.get_items([(item["pk"], item["sk"]) for item in index_items])
    containers = [(record_type, key) for key in keys for record_type in record_checks.record_types_at_key(*key)]
    return [
        each
        for record_type, (pk, _) in containers
        if issubclass(record_type, Container)
        for each in container_content_ranges(record_type, pk.partition("#")[2])
    ]


def _ranges_of_children(items: Sequence[Item]) -> list[ScanRange]:
    """Return the partitions with the compared child records of some records."""
    keys = [(item["pk"], item["sk"]) for item in items]
    owners = [(record_type, key) for key in keys for record_type in record_checks.record_types_at_key(*key)]
    return [
        {"pk": record_type.child_partition.format(id=id_in_key(record_type, key))}
        for record_type, key in owners
        if record_type.kind in _KINDS_WITH_COMPARED_CHILDREN
    ]
