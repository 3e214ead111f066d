"""The stored record of a reconciliation."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypedDict, get_args

from chalicelib.features.audit.reconciliations.models import FindingKind, ReconciliationOut, ReconciliationStatus
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import PublicJob

MAX_RUNNING_RECONCILIATIONS: Final = 3
"""Reconciliations of an organization that can run at the same time."""

Step = Literal["records", "entries", "search", "confirmation"]

ScanRange = dict[str, Any]
"""A partition: its `pk`, the `index` if it is a partition of one, and `after`, the position at which to continue."""


class Suspect(TypedDict):
    """A record that seems to disagree with the log, until the confirmation.

    `pk` and `sk` are its key. `entry_id` is the entry after which it should exist, if it is missing or outdated, or by
    which it was removed. `is_explained` tells whether the search of the log found an entry that explains the suspect.
    """

    kind: FindingKind
    type: str
    id: str
    pk: str
    sk: str
    entry_id: str | None
    is_explained: bool
    fields: list[str]


class Reconciliation(PublicJob):
    """The comparison of an organization's records with its log.

    `step`, `pending_ranges` and `log_cursor` are its progress: the partitions that are still to be read, and the
    position in the log. `suspects` are the records to check again at the end, and `has_more` tells whether there were
    too many of them. `finding_counts` has the number of findings by kind.
    """

    kind, parameter, task = "organization.reconciliation", "reconciliation_id", "reconciliations.run"
    pk, sk = "O#{organization_id}", "RECONCILIATION#{id}"
    in_organization = Collection("O#{organization_id}", "RECONCILIATION#{id}", newest_first=True)
    fields_omitted_from_lists = frozenset({"pending_ranges", "log_cursor", "suspects"})
    quota = Quota(
        "running reconciliations",
        "O#{organization_id}",
        MAX_RUNNING_RECONCILIATIONS,
        lambda reconciliation: reconciliation.lease_until is not None,
        "Wait until it has ended.",
    )
    output_model = ReconciliationOut

    organization_id: str
    status: ReconciliationStatus = "queued"
    step: Step = "records"
    pending_ranges: list[ScanRange] = field(default_factory=list)
    log_cursor: Item | None = None
    suspects: list[Item] = field(default_factory=list)
    checked_records: int = 0
    checked_entries: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    finding_counts: dict[FindingKind, int] = field(default_factory=lambda: dict.fromkeys(get_args(FindingKind), 0))
    has_more: bool = False
    completed_at: str | None = None
    error: str | None = None

    @property
    def as_requested(self) -> "Reconciliation":
        """The reconciliation as it was when it was requested, which is the diff base of its final log entry."""
        return Reconciliation(
            id=self.id, created_at=self.created_at, updated_at=self.created_at, organization_id=self.organization_id
        )

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the changes that remove the person's ids from the findings."""
        return person.redacted_field_changes({"findings": self.findings, "suspects": self.suspects})
