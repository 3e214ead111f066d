"""Response models of verifications of all logs."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from chalicelib.features.audit.log.models import WholeLogFailure
from chalicelib.kernel.http.fields import Timestamp, Uuid
from chalicelib.kernel.http.models import Output, RecordOutput

LogVerificationStatus = Literal["queued", "running", "completed", "failed"]


class LogFailureOut(Output):
    """A log that is not intact, and where it begins to differ from what the service wrote.

    Verify the log itself to see the details, and keep its exports as evidence.
    """

    log_id: str = Field(
        description="The organization's id, or `system-0` to `system-15` for the logs of the service itself.",
        examples=["01939d3c-0000-7000-8000-00000000000a"],
    )
    organization_id: Uuid | None = Field(description="Null for a log of the service itself.")
    failure: WholeLogFailure = Field(
        description="What `GET …/audit-log/verify-integrity` reports. In addition, `suppressed`: entries were removed "
        "before they received a sequence. `anchor_rewritten`: the file of the newest anchor was written again.",
        examples=["modified"],
    )
    first_invalid_sequence: int | None = Field(ge=1, description="The first entry that is affected.", examples=[7])


class LogVerificationOut(RecordOutput):
    """A verification of all logs against their signed heads and their newest anchors.

    Without failures, every log is as the service wrote it.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "system.log_verification.requested": {"status": "queued", "logs_checked": 0, "completed_at": None},
        "system.log_verification.failed": {
            "status": "failed",
            "error": "The verification could not be finished. Start it again.",
        },
    }
    no_store: ClassVar[bool] = True

    status: LogVerificationStatus = Field(
        description="`completed` and `failed` are final. A completed verification can have failures.",
        examples=["completed"],
    )
    logs_checked: int = Field(ge=0, description="Logs verified so far.", examples=[1_204])
    entries_checked: int = Field(ge=0, description="Entries verified so far.", examples=[98_310])
    failure_count: int = Field(ge=0, description="Logs that are not intact.", examples=[0])
    log_failures: list[LogFailureOut] = Field(
        serialization_alias="failures", description="The first 100 logs that are not intact.", examples=[[]]
    )
    started_at: Timestamp | None = Field(description="When a worker began.")
    completed_at: Timestamp | None = Field(description="When the verification ended.")
    error: str | None = Field(description="Why it could not be finished.", examples=[None])
