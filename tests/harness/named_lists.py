"""Lists of records with names, which are searched by name, and the rows that find them."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Issuer, Person
from tests.harness.leads import post_lead
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
)
from tests.harness.platforms import create_platform
from tests.harness.sites import create_site

LISTS = ("members", "platforms", "sites", "leads")
NAMES = ("Ada Lovelace", "Åse Ödegård", "Jean-Luc Lovell", "Zoë  Ångström", "lovelock ltd")
_numbers = count(1)


@dataclass(frozen=True)
class NamedList:
    """A list of records with names, and a function that adds one."""

    api: ApiClient
    path: str
    caller: Person
    add: Callable[..., object]
    name_field: str = "name"
    query: tuple[tuple[str, str], ...] = ()

    def read(self, **query: object) -> list[Json]:
        return self.api.get_items(self.path, caller=self.caller, query={**dict(self.query), **query})

    def names(self, **query: object) -> list[str]:
        return [each[self.name_field] for each in self.read(**query)]


def build_list(
    api: ApiClient, issuer: Issuer, operator: Person, organization: CreatedOrganization, kind: str
) -> NamedList:
    owner = organization.owner
    if kind == "members":

        def add_member(name: str, **claims: str) -> Person:
            person = issuer.create_person(f"u{next(_numbers):05}", name, **claims)
            add_organization_member(organization, person, "member")
            return person

        return NamedList(api, f"{organization.path}/members", owner, add_member)
    if kind == "platforms":

        def add_platform(name: str, **fields: Any) -> object:
            return create_platform(api, organization, name=name, slug=f"u{next(_numbers):05}", **fields)

        return NamedList(api, "/platforms", owner, add_platform, query=(("organizationId", organization.id),))
    if kind == "sites":

        def add_site(name: str, **fields: Any) -> object:
            return create_site(api, organization, publish=False, name=name, slug=f"u{next(_numbers):05}", **fields)

        return NamedList(api, f"{organization.path}/sites", owner, add_site)

    def add_lead(name: str, **fields: Any) -> Json:
        email = fields.pop("email", f"u{next(_numbers):05}@example.org")
        return post_lead(api, email, contactName=name, **fields).expect(201).json

    return NamedList(api, "/marketing-leads", operator, add_lead, "contactName")


def row_key(row: Json) -> tuple[str, str]:
    return row["pk"], row["sk"]


def forget_rows() -> None:
    for row in name_rows():
        memory_aws.delete_item({"pk": row["pk"], "sk": row["sk"]})


def name_rows() -> list[Json]:
    return [item for item in memory_aws.all_items() if "#NAMES#" in item["pk"]]
