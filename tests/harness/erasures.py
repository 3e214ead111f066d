"""Erasures of personal data, and the search for remaining data in the table."""

import json
from typing import Any

from tests.harness import snapshots
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller
from tests.harness.clock import Clock
from tests.harness.organizations import Founded
from tests.harness.workers import Workers

PAUSE_MINUTES = 2
"""Longer than the pauses of an erasure and than the lease of a slice that failed."""


def asked_to_erase(api: Api, organization: Founded, *, as_: Caller | None = None, **subject: Any) -> Answer:
    """Request an erasure, by default as the owner, and return the response."""
    return api.post(f"{organization.path}/erasures", as_=as_ or organization.owner, json=subject)


def begin_erasure(api: Api, organization: Founded, **subject: Any) -> str:
    """Create an erasure as the owner, and return its path."""
    answer = asked_to_erase(api, organization, **subject)
    assert answer.status == 202, answer.text
    return answer.location


def found_at(api: Api, organization: Founded, path: str) -> Json:
    """Read an erasure as the owner."""
    answer = api.get(path, as_=organization.owner)
    assert answer.status == 200, answer.text
    return answer.json


def finish(workers: Workers, clock: Clock) -> None:
    """Run the workers until all erasures are finished."""
    for _ in range(2):
        workers.settle()
        clock.shift(minutes=PAUSE_MINUTES)
    workers.settle()


def erased(api: Api, workers: Workers, clock: Clock, organization: Founded, **subject: Any) -> Json:
    """Create an erasure, complete it and return it."""
    path = begin_erasure(api, organization, **subject)
    finish(workers, clock)
    record = found_at(api, organization, path)
    assert (record["status"], record["error"]) == ("completed", None)
    return record


def left_of(*texts: str) -> list[tuple[str, str]]:
    """Return the keys of all items that contain one of the texts, ignoring case and stored idempotent responses."""
    items = {key: item for key, item in snapshots.stored().items() if not key[0].startswith("I#")}
    contents = {key: json.dumps(item, default=_to_json, ensure_ascii=False).lower() for key, item in items.items()}
    return [key for key, content in contents.items() if any(text.lower() in content for text in texts)]


def _to_json(value: bytes | frozenset[str]) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else sorted(value)
