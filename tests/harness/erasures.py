"""Erasures of personal data, and the search for remaining data in the table."""

import json
from typing import Any

from tests.harness import snapshots
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization
from tests.harness.workers import Workers

PAUSE_MINUTES = 2
"""Longer than the pauses of an erasure and than the lease of a slice that failed."""


def post_erasure(
    api: ApiClient, organization: CreatedOrganization, *, caller: Caller | None = None, **subject: Any
) -> ApiResponse:
    return api.post(f"{organization.path}/erasures", caller=caller or organization.owner, json=subject)


def create_erasure(api: ApiClient, organization: CreatedOrganization, **subject: Any) -> str:
    return post_erasure(api, organization, **subject).expect(202).location


def get_erasure(api: ApiClient, organization: CreatedOrganization, path: str) -> Json:
    return api.get(path, caller=organization.owner).expect(200).json


def finish_erasures(workers: Workers, clock: Clock) -> None:
    for _ in range(2):
        workers.run_until_idle()
        clock.shift(minutes=PAUSE_MINUTES)
    workers.run_until_idle()


def complete_erasure(
    api: ApiClient, workers: Workers, clock: Clock, organization: CreatedOrganization, **subject: Any
) -> Json:
    path = create_erasure(api, organization, **subject)
    finish_erasures(workers, clock)
    record = get_erasure(api, organization, path)
    assert (record["status"], record["error"]) == ("completed", None)
    return record


class PersonEraser:
    """Erasures in an organization. A call completes one and returns the counts of erased records and entries."""

    def __init__(self, api: ApiClient, organization: CreatedOrganization, workers: Workers, clock: Clock) -> None:
        self._api, self._organization, self._workers, self._clock = api, organization, workers, clock

    def __call__(self, **identity: object) -> tuple[int, int]:
        record = complete_erasure(self._api, self._workers, self._clock, self._organization, **identity)
        return record["erasedRecords"], record["erasedEntries"]

    def begin(self, **identity: object) -> str:
        return create_erasure(self._api, self._organization, **identity)

    def finish(self) -> None:
        finish_erasures(self._workers, self._clock)

    def get(self, path: str, *, caller: Caller | None = None) -> Json:
        return self._api.get(path, caller=caller or self._organization.owner).expect(200).json


def keys_of_items_containing(*texts: str) -> list[tuple[str, str]]:
    """Return the keys of all items that contain one of the texts, ignoring case and stored idempotent responses."""
    items = {key: item for key, item in snapshots.items_by_key().items() if not key[0].startswith("I#")}
    contents = {key: json.dumps(item, default=to_json_value, ensure_ascii=False).lower() for key, item in items.items()}
    return [key for key, content in contents.items() if any(text.lower() in content for text in texts)]


def to_json_value(value: bytes | frozenset[str]) -> Any:
    """Return bytes as text and a set as a sorted list, because JSON has neither."""
    return value.decode(errors="replace") if isinstance(value, bytes) else sorted(value)
