"""The stored record of a verification of all logs."""

from dataclasses import field
from typing import Any, Final, Literal

from chalicelib.features.audit.log_verifications.models import LogVerificationOut, LogVerificationStatus
from chalicelib.kernel.storage.entity import Collection, Item
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS
from chalicelib.kernel.storage.log_rules import OUTSIDE_ORGANIZATIONS
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.work.jobs import Job

_PARTITION: Final = "LOG-VERIFICATIONS"

Source = Literal["organizations", "anchors", "none"]
"""Where the next logs are found: in the list of organizations, or among the anchors. `none`: all logs are found."""


class LogVerification(Job):
    """A verification of all logs in progress.

    `pending_logs` are the logs that were found and are still to be verified, and `log_position` is the position in the
    first of them. `source` and `source_position` tell where to find the next ones.
    """

    kind, parameter, task = "system.log_verification", "log_verification_id", "log_verifications.run"
    pk, sk = _PARTITION, "V#{id}"
    all_verifications = Collection(_PARTITION, "V#{id}", newest_first=True)
    log_rules, mac_exemption = OUTSIDE_ORGANIZATIONS, OUTSIDE_ORGANIZATIONS.exemption
    quota = Quota(
        "running verifications of all logs",
        _PARTITION,
        1,
        lambda verification: verification.lease_until is not None,
        "Wait until it has ended.",
    )
    output_model = LogVerificationOut

    status: LogVerificationStatus = "queued"
    source: Source = "organizations"
    source_position: Item | None = None
    pending_logs: list[str] = field(default_factory=lambda: [*SYSTEM_LOGS])
    log_position: Item | None = None
    logs_checked: int = 0
    entries_checked: int = 0
    failure_count: int = 0
    log_failures: list[dict[str, Any]] = field(default_factory=list)
    started_at: str | None = None
    completed_at: str | None = None
    error: str | None = None

    @property
    def as_requested(self) -> "LogVerification":
        """The verification as it was when it was requested, which is the diff base of its final log entry."""
        return LogVerification(id=self.id, created_at=self.created_at, updated_at=self.created_at)
