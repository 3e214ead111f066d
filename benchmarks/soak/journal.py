"""The callers' record of a soak: each change that they requested, and its outcome."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from chalicelib.kernel.core.clock import now_ms

MUTATING: Final = ("POST", "PATCH", "PUT", "DELETE")


@dataclass(frozen=True)
class AcknowledgedChange:
    """A successful response to a change. `target` and `version` are those of the record in the response, if any.

    `event_ids` are those of the application events that the request wrote.
    """

    organization: str
    method: str
    path: str
    status: int
    target: str | None
    version: int | None
    event_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReplayableRequest:
    """A POST whose response can be requested again with its Idempotency-Key."""

    tenant_number: int
    path: str
    body: Mapping[str, Any]
    idempotency_key: str
    response_body: bytes


@dataclass
class Journal:
    """What callers observed. It is used by several threads."""

    acknowledged_changes: list[AcknowledgedChange] = field(default_factory=list)
    replayable_requests: list[ReplayableRequest] = field(default_factory=list)
    request_counts: "Counter[str]" = field(default_factory=Counter)
    status_counts: "Counter[str]" = field(default_factory=Counter)
    abandoned_count: int = 0
    retry_count: int = 0
    violations: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def count_response(self, request_kind: str, status: int) -> None:
        """Count a response."""
        with self._lock:
            self.request_counts[request_kind] += 1
            self.status_counts[str(status)] += 1

    def count_lost_connection(self, *, is_retried: bool) -> None:
        """Count a request without a response, which its caller either repeats or abandons."""
        with self._lock:
            self.retry_count += is_retried
            self.abandoned_count += not is_retried

    def add_violation(self, description: str) -> None:
        """Record a violation of a promise."""
        with self._lock:
            self.violations.append(f"{now_ms()}: {description}")
