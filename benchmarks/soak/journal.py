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
class StoredRecord:
    """A POST whose answer can be asked for again by its Idempotency-Key: by whom, and the answer's bytes."""

    tenant: int
    path: str
    body: Mapping[str, Any]
    key: str
    answer: bytes


@dataclass
class History:
    """What happened, as its callers saw it. Threads write to it at once."""

    received_events: list[ReceivedEvent] = field(default_factory=list)
    stored_records: list[StoredRecord] = field(default_factory=list)
    asked: "Counter[str]" = field(default_factory=Counter)
    answers: "Counter[str]" = field(default_factory=Counter)
    abandoned: int = 0
    tried_again: int = 0
    wrong: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def count(self, kind: str, status: int) -> None:
        """Count an answer."""
        with self._lock:
            self.asked[kind] += 1
            self.answers[str(status)] += 1

    def cut(self, *, again: bool) -> None:
        """Count a request that nobody knows the end of: it is asked again, or abandoned."""
        with self._lock:
            self.tried_again += again
            self.abandoned += not again

    def is_wrong(self, what: str) -> None:
        """Keep something that must not be."""
        with self._lock:
            self.wrong.append(f"{now_ms()}: {what}")
