"""Seeds the service in memory, with interruptions, and reads the resulting records."""

import json
import re
from typing import Any, Final

import httpx

from local.seed.callers import Json, Service
from local.seed.content.company import OWNER
from local.seed.leads import operator_caller
from local.seed.organization import person_by_username
from tests.harness.api import STAGE_PATH, ApiClient

_IN_ORGANIZATION: Final = (
    "members",
    "invitations",
    "api-keys",
    "webhooks",
    "integration-channels",
    "domains/inventory",
    "events",
)
_IN_PLATFORMS: Final = ("members", "modules", "project-blocks", "spaces", "taxonomy-nodes", "taxonomy-attachments")
_IN_SPACES: Final = ("members", "capabilities", "module-overrides")
_IN_SITES: Final = ("pages", "navigation", "redirects")

_VARYING_FIELDS: Final = ("version", "hint")
"""Fields that differ between equal records."""
_VARYING_VALUES: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z")
"""Values that differ between equal records: ids and times."""

Records = dict[str, list[Json]]


class InMemoryTransport(httpx.BaseTransport):
    """A transport of httpx that calls the service in memory.

    `fail_at_change`: the number of the changing request, counted from 1, at which the seed is interrupted: before the
    service receives it or, with `fail_after_response`, after the service has processed it.
    """

    def __init__(self, api: ApiClient, *, fail_at_change: int | None = None, fail_after_response: bool = False) -> None:
        self._api, self._fail_at_change, self._fail_after_response = api, fail_at_change, fail_after_response
        self.change_count = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response of the service, or raise ConnectError."""
        self.change_count += request.method != "GET"
        is_interrupted = request.method != "GET" and self.change_count == self._fail_at_change
        if is_interrupted and not self._fail_after_response:
            raise httpx.ConnectError("the seed was interrupted")
        answer = self._api.request(
            request.method,
            request.url.raw_path.decode().removeprefix(STAGE_PATH),
            body=request.read(),
            headers=dict(request.headers),
        )
        if is_interrupted:
            raise httpx.ConnectError("the seed was interrupted")
        return httpx.Response(answer.status, headers=answer.headers, content=answer.text.encode(), request=request)


def read_all_records(service: Service) -> Records:
    """Return all records of a seed as the owner sees them, by collection, with the log of the organization."""
    owner = service.caller_for(person_by_username(OWNER))
    records: Records = {
        "organizations": owner.list_all("/organizations"),
        "leads": operator_caller(service).list_all("/marketing-leads"),
    }

    def read(parent: str, collections: tuple[str, ...]) -> None:
        for collection in collections:
            paths = [f"/{parent}/{record['id']}/{collection}" for record in records[parent]]
            records[f"{parent}/{collection}"] = [item for path in paths for item in owner.list_all(path)]

    def read_each(collection: str, listed: list[Json]) -> list[Json]:
        return [owner.get(f"/{collection}/{record['id']}") for record in listed]

    read("organizations", (*_IN_ORGANIZATION, "sites", "audit-log"))
    records["platforms"] = read_each("platforms", owner.list_all("/platforms"))
    read("platforms", _IN_PLATFORMS)
    records["spaces"] = records.pop("platforms/spaces")
    read("spaces", _IN_SPACES)
    records["sites"] = records.pop("organizations/sites")
    read("sites", _IN_SITES)
    for collection in ("artefacts", "outputs", "venues"):
        records[collection] = owner.list_all(f"/research/{collection}")
    records["sites/pages"] = [
        p for site in records["sites"] for p in read_each(f"sites/{site['id']}/pages", records["sites/pages"])
    ]
    return records


def comparable_records(records: Records) -> dict[str, list[str]]:
    """Return the records without ids, times, the log and revoked records, so that those of two seeds are equal."""
    return {
        collection: sorted(_without_varying(record) for record in listed if record.get("status") != "revoked")
        for collection, listed in records.items()
        if collection != "organizations/audit-log"
    }


def _without_varying(record: Json) -> str:
    fields: Any = {name: value for name, value in record.items() if name not in _VARYING_FIELDS}
    return _VARYING_VALUES.sub("…", json.dumps(fields, sort_keys=True, ensure_ascii=False))
