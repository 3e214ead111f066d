"""Former slugs: the last five of a record are reserved and resolve for 90 days. Published hosts are reserved too."""

from dataclasses import dataclass, field
from typing import Final

import pytest

from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.unique_values import MAX_FORMER_NAMES
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.organizations import create_organization
from tests.harness.platforms import create_platform, create_space
from tests.harness.sites import create_site

TAKEN: Final = "409 slug_taken"
exhaustive_for_others = pytest.mark.parametrize(
    "slugged_type",
    ["sites", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("organizations", "platforms", "spaces"))],
    indirect=True,
)


@dataclass(frozen=True)
class SluggedType:
    """A type of record with a slug: where it is created, and with which further fields."""

    api: ApiClient
    owner: Person
    listed_at: str = ""
    body: Json = field(default_factory=dict)

    def post(self, slug):
        return self.api.post(self.listed_at, caller=self.owner, json={"name": "Looms", "slug": slug, **self.body})

    def create(self, slug):
        return self.post(slug).expect(201).location

    def rename(self, path: str, *slugs: str) -> None:
        for slug in slugs:
            self.api.patch(path, caller=self.owner, json={"slug": slug}).expect(200)

    def is_taken(self, slug):
        """Return whether a record with the slug cannot be created. If it can, it is deleted again."""
        response = self.post(slug)
        if response.status == 201:
            assert self.api.delete(response.location, caller=self.owner).status in (202, 204)
        else:
            assert response.status_and_code == TAKEN
        return response.status != 201


def slugs(*numbers: int) -> list[str]:
    return [f"name-{number}" for number in numbers]


@pytest.fixture(params=["organizations", "platforms", "sites", "spaces"])
def slugged_type(request, api, organization, ada):
    if request.param == "sites":
        return SluggedType(api, ada, f"{organization.path}/sites")
    if request.param == "spaces":
        return SluggedType(api, ada, "/spaces", {"platformId": create_platform(api, organization).id})
    fields = {"organizationId": organization.id} if request.param == "platforms" else {}
    return SluggedType(api, ada, f"/{request.param}", fields)


class TestRename:
    def test_the_last_five_former_slugs_are_reserved_for_ninety_days(self, slugged_type, clock):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, *slugs(*range(1, 9)))
        assert [slugged_type.post(slug).status for slug in slugs(*range(9))] == [201] * 3 + [409] * 6
        assert MAX_FORMER_NAMES == 5
        clock.shift(days=89)
        assert slugged_type.post("name-7").status_and_code == TAKEN
        clock.shift(days=2)
        assert slugged_type.post("name-7").status == 201

    @exhaustive_for_others
    def test_renaming_back_and_forth_does_not_lengthen_the_list(self, slugged_type):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, *slugs(1, 0) * 4, *slugs(2, 3, 4))
        assert {slugged_type.post(slug).status_and_code for slug in slugs(*range(5))} == {TAKEN}
        slugged_type.rename(path, "name-1")
        assert slugged_type.api.get(path, caller=slugged_type.owner).json["slug"] == "name-1"

    @exhaustive_for_others
    def test_a_former_slug_that_another_record_took_is_not_freed(self, slugged_type, clock):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, "name-1")
        clock.shift(days=91)
        path_of_other = slugged_type.create("name-0")
        slugged_type.rename(path, *slugs(*range(2, 9)))
        assert slugged_type.post("name-0").status_and_code == TAKEN
        assert slugged_type.api.get(path_of_other, caller=slugged_type.owner).json["slug"] == "name-0"

    def test_records_without_stored_former_slugs_reserve_later_ones(self, slugged_type):
        path = slugged_type.create("name-0")
        for item in memory_aws.all_items():
            if item.get("slug") == "name-0":
                assert item.pop("former_slugs") == []
                memory_aws.put_item(item)
        slugged_type.rename(path, *slugs(*range(1, 8)))
        assert slugged_type.post("name-0").status == 201
        assert slugged_type.post("name-2").status_and_code == TAKEN


class TestDelete:
    def test_an_unpublished_record_frees_its_slug_and_keeps_the_former_ones(self, slugged_type, clock, workers):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, "name-1")
        assert slugged_type.api.delete(path, caller=slugged_type.owner).status in (202, 204)
        if slugged_type.listed_at == "/organizations":
            clock.shift(days=31)
        workers.run_until_idle()
        assert slugged_type.post("name-0").status_and_code == TAKEN
        assert slugged_type.post("name-1").status == 201

    @pytest.mark.parametrize("unpublished", [False, True])
    @pytest.mark.parametrize("create", [create_site, create_platform])
    def test_the_host_of_a_published_site_or_platform_stays_reserved(
        self, api, organization, ada, stranger, clock, create, unpublished
    ):
        rivals, record = create_organization(api, stranger), create(api, organization, publish=True, slug="name-0")
        if create is create_site:
            others, path = SluggedType(api, stranger, f"{rivals.path}/sites"), record.path
        else:
            others = SluggedType(api, stranger, "/platforms", {"organizationId": rivals.id})
            path = f"{record.path}/publish"
        if unpublished:
            body = {"status": "draft"} if create is create_site else {"published": False}
            api.patch(path, caller=ada, json=body).expect(200)
        SluggedType(api, ada).rename(record.path, *slugs(*range(1, 7)))
        assert [others.is_taken(slug) for slug in slugs(0, 1)] == [False, True]
        assert api.delete(record.path, caller=ada).status == 204
        # The current slug is now one of the last five.
        assert [others.is_taken(slug) for slug in slugs(*range(1, 7))] == [False] + [True] * 5
        clock.shift(days=91)
        assert not others.is_taken("name-6")
        if create is create_site:
            assert api.get("/sites/resolve", query={"host": record.record["host"]}).status_and_code == "404 not_found"


def test_a_former_slug_of_a_space_resolves(api, platform):
    space = create_space(api, platform, slug="looms")
    api.patch(space.path, caller=platform.owner, json={"slug": "mills"})
    for slug in ("looms", "mills"):
        body = {"path": f"/spaces/{slug}"}
        matched = api.post(f"{platform.path}/resolve-config", caller=platform.owner, json=body).json["matched"]
        assert matched["space"]["id"] == space.id


def test_the_number_of_writes_does_not_grow_with_the_renames(api, organization):
    site = create_site(api, organization, slug="name-99")
    write_counts = set()
    for slug in slugs(*range(12)):
        response = api.patch(site.path, caller=site.owner, json={"slug": slug})
        (write,) = [call for call in response.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
        write_counts.add(len(write.parameters["TransactItems"]))
    assert max(write_counts) - min(write_counts) <= 1
    guards = [table.get(guard_key(Site.by_slug, {"slug": slug})) for slug in slugs(*range(12))]
    assert [bool(guard) for guard in guards] == [False] * 6 + [True] * 6
