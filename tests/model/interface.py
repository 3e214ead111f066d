"""The operations as the interface lists them, and those that the service has beyond that: what the model goes by."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from local.paths import ROOT

_ORDER: Final = ("member", "editor", "admin", "owner")
_GENERAL: Final = ("read", "write", "admin")


@dataclass(frozen=True)
class Row:
    """An operation: how it is called, by whom, and what it tells. `scope` and `event` are `-` where there is none."""

    id: str
    method: str
    path: str
    success: int
    access: str
    scope: str
    event: str

    @property
    def published(self) -> bool:
        """Whether everybody may, once the thing is published."""
        return self.access.startswith("published|")

    @property
    def judged(self) -> tuple[str, str]:
        """At what kind of place a role has to be held, and which; of `user` and the like no role."""
        kind, _, role = self.access.removeprefix("published|").partition(":")
        return kind, role


def _rows() -> Iterator[Row]:
    for file in ("tests/catalogue/interface.tsv", "tests/model/beyond.tsv"):
        with (ROOT / file).open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                words = {name: value for name, value in row.items() if name != "group"}
                yield Row(words.pop("operation_id"), success=int(words.pop("success")), **words)


OPERATIONS: Final = {row.id: row for row in _rows()}
"""By their ids."""


def covers(role: str | None, needed: str) -> bool:
    """Return whether a role is the needed one or above it."""
    return role is not None and _ORDER.index(role) >= _ORDER.index(needed)


def implied(scopes: list[str]) -> set[str]:
    """Return the general scopes and those of areas that an API key holds by these."""
    general = [_GENERAL.index(scope) for scope in scopes if scope in _GENERAL]
    held = {*scopes, *_GENERAL[: max(general, default=-1) + 1]}
    return held | {f"{scope.removesuffix(':write')}:read" for scope in scopes if scope.endswith(":write")}


def opens(scopes: list[str], row: Row) -> bool:
    """Return whether an API key may perform an operation."""
    held, (_, role) = implied(scopes), row.judged
    if "admin" in held or row.scope in held:
        return True
    if row.scope.endswith(":read") and role in ("", "member"):
        return "read" in held
    return role in ("", "member", "editor") and "write" in held


_OPEN: Final = ("organizations", "platforms", "domains", "taxonomy", "research", "sites")
_AREAS: Final = (
    "organizations",
    "members",
    "api-keys",
    "audit-log",
    "domains",
    "channels",
    "webhooks",
    "platforms",
    "spaces",
    "taxonomy",
    "research",
    "sites",
)
_OF_EVENTS: Final = {
    "organization.member": "members",
    "organization.invitation": "members",
    "platform.member": "members",
    "platform.invitation": "members",
    "space.member": "members",
    "organization.api_key": "api-keys",
    "organization.audit_export": "audit-log",
    "platform.custom_domain": "domains",
    "organization.webhook": "webhooks",
    "organization.integration_channel": "channels",
    "organization": "organizations",
    "platform": "platforms",
    "space": "spaces",
    "taxonomy": "taxonomy",
    "research": "research",
    "site": "sites",
    "page": "sites",
}


def told_of(scopes: list[str] | None) -> list[str] | None:
    """Return the areas of whose events a subscriber is told that somebody made or changed; None if of all."""
    if scopes is None or "admin" in scopes:
        return None
    held = implied(scopes)
    return [area for area in _AREAS if f"{area}:read" in held or ("read" in held and area in _OPEN)]


def lies_within(event: str, areas: list[str] | None) -> bool:
    """Return whether a type of event is of one of some areas."""
    area = next(area for begin, area in _OF_EVENTS.items() if f"{event}.".startswith(f"{begin}."))
    return areas is None or area in areas


def role_of_key(scopes: list[str]) -> str:
    """Return what an API key acts as in its organization."""
    held = implied(scopes)
    return "admin" if "admin" in held else "editor" if "write" in held else "member"
