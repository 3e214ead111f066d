"""What callers know when a soak ends: each change they asked for, and what became of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

from chalicelib.kernel.core.clock import now_ms

MUTATING: Final = ("POST", "PATCH", "PUT", "DELETE")


@dataclass(frozen=True)
class ReceivedEvent:
    """An answer to a change, as it was told: `target` and `version` are those of the record in it, if it has one."""

    organization: str
    method: str
    path: str
    status: int
    target: str | None
    version: int | None


@dataclass(frozen=True)
class ReplayableRequest:
    """A POST whose answer can be asked for again by its Idempotency-Key: by whom, and the answer's bytes."""

    tenant_number: int
    path: str
    body: Mapping[str, Any]
    idempotency_key: str
    response_body: bytes


@dataclass
class Journal:
    """What happened, as its callers saw it. Threads write to it at once."""

    acknowledged_changes: list[ReceivedEvent] = field(default_factory=list)
    replayable_requests: list[ReplayableRequest] = field(default_factory=list)
    request_counts: "Counter[str]" = field(default_factory=Counter)
    status_counts: "Counter[str]" = field(default_factory=Counter)
    abandoned_count: int = 0
    retry_count: int = 0
    violations: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def count_response(self, request_kind: str, status: int) -> None:
        """Count an answer."""
        with self._lock:
            self.request_counts[request_kind] += 1
            self.status_counts[str(status)] += 1

    def count_lost_connection(self, *, is_retried: bool) -> None:
        """Count a request that nobody knows the end of: it is asked again, or abandoned."""
        with self._lock:
            self.retry_count += is_retried
            self.abandoned_count += not is_retried

    def add_violation(self, description: str) -> None:
        """Keep something that must not be."""
        with self._lock:
            self.violations.append(f"{now_ms()}: {description}")
