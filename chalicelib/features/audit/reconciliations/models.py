"""Response models of reconciliations."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from chalicelib.kernel.http.fields import Timestamp
from chalicelib.kernel.http.models import Output, RecordOutput

ReconciliationStatus = Literal["queued", "running", "completed", "failed"]
FindingKind = Literal["unlogged", "differing", "missing", "newer"]


class FindingOut(Output):
    """A stored record that does not agree with the audit log.

    Somebody with access to the database may have added, changed or removed it without the service.
    """

    kind: FindingKind = Field(
        description="`unlogged`: no entry explains the record. `differing`: it is not as the service stored it last. "
        "`missing`: it is gone, although the last entry says that it exists. `newer`: a newer release seems to have "
        "stored it, so it cannot be compared. If one is being deployed, compare again after the deployment.",
        examples=["differing"],
    )
    type: str = Field(description="The type of the record.", examples=["organization.member"])
    id: str = Field(description="The id of the record.", examples=["01939d3c-0000-7000-8000-00000000000b"])
    fields: list[str] = Field(
        description="The fields that differ. Fields that no entry contains, such as hashes, are named together if any "
        "of them differs. `derivedItems` stands for items that the service derives from the record.",
        examples=[["role"]],
    )


class FindingCountsOut(Output):
    """The number of findings of each kind. With `hasMore`, there are at least as many."""

    unlogged: int = Field(default=0, ge=0, description="Records that no entry explains.", examples=[0])
    differing: int = Field(default=0, ge=0, description="Records that differ from what was stored.", examples=[1])
    missing: int = Field(default=0, ge=0, description="Records that are gone.", examples=[0])
    newer: int = Field(default=0, ge=0, description="Records that this release cannot compare.", examples=[0])


class ReconciliationOut(RecordOutput):
    """A comparison of all stored records of an organization with its audit log.

    Without findings, every member, role, API key, domain and other compared record is as the log says.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "organization.reconciliation.failed": {"error": "The comparison could not be finished. Start it again."}
    }
    no_store: ClassVar[bool] = True

    @classmethod
    def of(cls, record: object, **overrides: Any) -> Self:
        """Return the response. Before the end, findings can still turn out to be changes that were in flight."""
        output = super().of(record, **overrides)
        unconfirmed = {"findings": [], "finding_counts": FindingCountsOut(), "has_more": False}
        return output if output.status == "completed" else output.model_copy(update=unconfirmed)

    status: ReconciliationStatus = Field(
        description="`completed` and `failed` are final. A comparison that has found suspects stays `running` for a "
        "minute, and then checks them again: they can be changes in flight.",
        examples=["completed"],
    )
    checked_records: int = Field(ge=0, description="Records compared so far.", examples=[120])
    checked_entries: int = Field(ge=0, description="Entries compared so far.", examples=[340])
    findings: list[FindingOut] = Field(description="The first 100 findings. Empty until the status is `completed`.")
    finding_counts: FindingCountsOut = Field(description="The number of findings of each kind.")
    has_more: bool = Field(description="Whether there are further findings.", examples=[False])
    completed_at: Timestamp | None = Field(description="When the comparison ended.")
    error: str | None = Field(description="Why it failed.", examples=[None])
