"""A service that is seeded: how it is called in memory, how a seed ends too early, and all that is there then."""

import json
import re
from typing import Any, Final

import httpx

from local.seed.callers import Json, Service
from local.seed.content.company import OWNER
from local.seed.leads import operator
from local.seed.organization import named
from tests.harness.api import STAGE, Api

_IN_ORGANIZATION: Final = (
    "members",
    "invitations",
    "api-keys",
    "webhooks",
    "integration-channels",
    "domains/inventory",
)
_IN_PLATFORMS: Final = ("members", "modules", "project-blocks", "spaces", "taxonomy-nodes", "taxonomy-attachments")
_IN_SPACES: Final = ("members", "capabilities", "module-overrides")
_IN_SITES: Final = ("pages", "navigation", "redirects")

_MARKS: Final = ("version", "hint")
"""Fields in which two records differ though they are the same."""
_OWN: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+Z")
"""What only one record has: an id, a time."""

There = dict[str, list[Json]]


class InMemory(httpx.BaseTransport):
    """Brings requests to the service in memory, and its answers back.

    `ends`: at which of its changes, counted from 1, the seed ends, if at any: before the service has got it or, with
    `answered`, when it has done it.
    """

    def __init__(self, api: Api, *, ends: int | None = None, answered: bool = False) -> None:
        self._api, self._ends, self._answered = api, ends, answered
        self.changes = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the service's answer, or raise ConnectError."""
        self.changes += request.method != "GET"
        ending = request.method != "GET" and self.changes == self._ends
        if ending and not self._answered:
            raise httpx.ConnectError("the seed ended")
        answer = self._api.request(
            request.method,
            request.url.raw_path.decode().removeprefix(STAGE),
            body=request.read(),
            headers=dict(request.headers),
        )
        if ending:
            raise httpx.ConnectError("the seed ended")
        return httpx.Response(answer.status, headers=answer.headers, content=answer.text.encode(), request=request)


def all_there(service: Service) -> There:
    """Return every record that a seed leaves, as the owner sees it, by what it is; and the organization's log."""
    owner = service.called_by(named(OWNER))
    found: There = {
        "organizations": owner.items("/organizations"),
        "leads": operator(service).items("/marketing-leads"),
    }

    def read(above: str, whats: tuple[str, ...]) -> None:
        for what in whats:
            paths = [f"/{above}/{record['id']}/{what}" for record in found[above]]
            found[f"{above}/{what}"] = [item for path in paths for item in owner.items(path)]

    def whole(above: str, listed: list[Json]) -> list[Json]:
        return [owner.get(f"/{above}/{record['id']}") for record in listed]

    read("organizations", (*_IN_ORGANIZATION, "sites", "audit-log"))
    found["platforms"] = whole("platforms", owner.items("/platforms"))
    read("platforms", _IN_PLATFORMS)
    found["spaces"] = found.pop("platforms/spaces")
    read("spaces", _IN_SPACES)
    found["sites"] = found.pop("organizations/sites")
    read("sites", _IN_SITES)
    for what in ("artefacts", "outputs", "venues"):
        found[what] = owner.items(f"/research/{what}")
    found["sites/pages"] = [
        p for site in found["sites"] for p in whole(f"sites/{site['id']}/pages", found["sites/pages"])
    ]
    return found


def said(there: There) -> dict[str, list[str]]:
    """Return what records say but for what only one record can: of two seeds the same. Without the log, and what was
    revoked.
    """
    kept = {what: records for what, records in there.items() if what != "organizations/audit-log"}
    return {
        what: sorted(_plain(record) for record in records if record.get("status") != "revoked")
        for what, records in kept.items()
    }


def _plain(record: Json) -> str:
    kept: Any = {name: value for name, value in record.items() if name not in _MARKS}
    return _OWN.sub("…", json.dumps(kept, sort_keys=True, ensure_ascii=False))
