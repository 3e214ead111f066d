"""Erasures, asked for over HTTP and done by the workers, and what is left of somebody in the table."""

import json
from typing import Any

from tests.harness import snapshots
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller
from tests.harness.clock import Clock
from tests.harness.organizations import Founded
from tests.harness.workers import Workers

PAUSE_MINUTES = 2
"""Longer than an erasure pauses, and than a turn of it takes that came to nothing is waited for."""


def asked_to_erase(api: Api, organization: Founded, *, as_: Caller | None = None, **whom: Any) -> Answer:
    """Return the answer to the request to erase somebody, made by the owner or whoever is named."""
    return api.post(f"{organization.path}/erasures", as_=as_ or organization.owner, json=whom)


def begin_erasure(api: Api, organization: Founded, **whom: Any) -> str:
    """Let the owner have somebody erased, and return where the erasure is found."""
    answer = asked_to_erase(api, organization, **whom)
    assert answer.status == 202, answer.text
    return answer.location


def found_at(api: Api, organization: Founded, path: str) -> Json:
    """Return an erasure as the owner finds it."""
    answer = api.get(path, as_=organization.owner)
    assert answer.status == 200, answer.text
    return answer.json


def finish(workers: Workers, clock: Clock) -> None:
    """Let the workers finish what they have begun."""
    for _ in range(2):
        workers.settle()
        clock.shift(minutes=PAUSE_MINUTES)
    workers.settle()


def erased(api: Api, workers: Workers, clock: Clock, organization: Founded, **whom: Any) -> Json:
    """Return the erasure of somebody once it is completed."""
    path = begin_erasure(api, organization, **whom)
    finish(workers, clock)
    record = found_at(api, organization, path)
    assert (record["status"], record["error"]) == ("completed", None)
    return record


def left_of(*marks: str) -> list[tuple[str, str]]:
    """Return the keys of all items that hold one of these texts, however it is spelt; but for answers kept a day."""
    items = {key: item for key, item in snapshots.stored().items() if not key[0].startswith("I#")}
    texts = {key: json.dumps(item, default=_text, ensure_ascii=False).lower() for key, item in items.items()}
    return [key for key, text in texts.items() if any(mark.lower() in text for mark in marks)]


def _text(value: bytes | frozenset[str]) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else sorted(value)
