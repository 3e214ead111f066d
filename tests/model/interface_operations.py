"""The operations that the model knows: those of the documented interface, and some further ones."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from local.paths import ROOT

_ROLES: Final = ("member", "editor", "admin", "owner")
_GENERAL_SCOPES: Final = ("read", "write", "admin")


@dataclass(frozen=True)
class InterfaceOperation:
    """An operation, its access rule, and the event that it emits. `scope` and `event` are `-` if there is none."""

    id: str
    method: str
    path: str
    success: int
    access: str
    scope: str
    event: str

    @property
    def is_public_when_published(self) -> bool:
        """Whether everyone has access once the container is published."""
        return self.access.startswith("published|")

    @property
    def required_role(self) -> tuple[str, str]:
        """The kind of container in which a role is required, and the role, which is empty for `user` and the like."""
        kind, _, role = self.access.removeprefix("published|").partition(":")
        return kind, role


def _read_rows() -> Iterator[InterfaceOperation]:
    for file in ("tests/catalogue/interface.tsv", "tests/model/extra_operations.tsv"):
        with (ROOT / file).open(newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                columns = {name: value for name, value in row.items() if name != "group"}
                yield InterfaceOperation(columns.pop("operation_id"), success=int(columns.pop("success")), **columns)


OPERATIONS: Final = {row.id: row for row in _read_rows()}
"""The operations by id."""


def role_suffices(role: str | None, needed: str) -> bool:
    return role is not None and _ROLES.index(role) >= _ROLES.index(needed)


def expand_scopes(scopes: list[str]) -> set[str]:
    """Return the scopes together with those that they imply."""
    general = [_GENERAL_SCOPES.index(scope) for scope in scopes if scope in _GENERAL_SCOPES]
    expanded_scopes = {*scopes, *_GENERAL_SCOPES[: max(general, default=-1) + 1]}
    return expanded_scopes | {f"{scope.removesuffix(':write')}:read" for scope in scopes if scope.endswith(":write")}


def scopes_allow(scopes: list[str], row: InterfaceOperation) -> bool:
    expanded_scopes, (_, role) = expand_scopes(scopes), row.required_role
    if "admin" in expanded_scopes or row.scope in expanded_scopes:
        return True
    if row.scope.endswith(":read") and role in ("", "member"):
        return "read" in expanded_scopes
    return role in ("", "member", "editor") and "write" in expanded_scopes


_AREAS_OF_READ: Final = ("organizations", "events", "platforms", "domains", "taxonomy", "research", "sites")
_AREAS: Final = (
    *("organizations", "members", "api-keys", "audit-log", "domains", "channels", "webhooks", "platforms", "spaces"),
    *("taxonomy", "research", "sites", "events", "log-streams"),
)
_AREA_BY_EVENT_PREFIX: Final = {
    **dict.fromkeys(("organization.member", "platform.member", "space.member"), "members"),
    **dict.fromkeys(("organization.invitation", "platform.invitation"), "members"),
    "organization.api_key": "api-keys",
    "organization.audit_export": "audit-log",
    "platform.custom_domain": "domains",
    "organization.person_erased": "members",
    "organization.webhook": "webhooks",
    "organization.log_stream": "log-streams",
    "organization.integration_channel": "channels",
    "organization": "organizations",
    "platform": "platforms",
    "space": "spaces",
    "taxonomy": "taxonomy",
    "research": "research",
    "site": "sites",
    "page": "sites",
}


def readable_areas(scopes: list[str] | None) -> list[str] | None:
    """Return the areas whose events a subscriber receives that was created with these scopes, or None for all."""
    if scopes is None or "admin" in scopes:
        return None
    expanded = expand_scopes(scopes)
    areas_of_read = _AREAS_OF_READ if "read" in expanded else ()
    return [area for area in _AREAS if f"{area}:read" in expanded or area in areas_of_read]


def is_event_in_areas(event: str, areas: list[str] | None) -> bool:
    matching = (area for prefix, area in _AREA_BY_EVENT_PREFIX.items() if f"{event}.".startswith(f"{prefix}."))
    area = next(matching, "events")  # All others are events of the application.
    return areas is None or area in areas


def role_of_api_key(scopes: list[str]) -> str:
    expanded_scopes = expand_scopes(scopes)
    return "admin" if "admin" in expanded_scopes else "editor" if "write" in expanded_scopes else "member"
