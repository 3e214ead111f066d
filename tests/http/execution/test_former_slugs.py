"""Former slugs: the last five of a record are reserved and resolve for 90 days. Published hosts are reserved too."""

from dataclasses import dataclass
from typing import Final

import pytest

from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.unique_values import MAX_FORMER_NAMES
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.harness import memory_aws
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.platforms import create_platform, create_space
from tests.harness.sites import create_site

TAKEN: Final = "409 slug_taken"


@dataclass(frozen=True)
class SluggedType:
    """A type of record with a slug: where it is created, and with which further fields."""

    api: ApiClient
    owner: Person
    listed_at: str
    body: Json

    def request_creation(self, slug: str) -> ApiResponse:
        return self.api.post(self.listed_at, caller=self.owner, json={"name": "Looms", "slug": slug, **self.body})

    def create(self, slug: str) -> str:
        response = self.request_creation(slug)
        assert response.status == 201, response.text
        return response.location

    def rename(self, path: str, *slugs: str) -> None:
        for slug in slugs:
            response = self.api.patch(path, caller=self.owner, json={"slug": slug})
            assert response.status == 200, response.text

    def is_free(self, slug: str) -> bool:
        response = self.request_creation(slug)
        if response.status != 201:
            assert response.status_and_code == TAKEN
            return False
        assert self.api.delete(response.location, caller=self.owner).status in (202, 204)
        return True


@pytest.fixture(params=["organizations", "platforms", "sites", "spaces"])
def slugged_type(
    request: pytest.FixtureRequest, api: ApiClient, organization: CreatedOrganization, ada: Person
) -> SluggedType:
    """Each type of record that has a slug."""
    if request.param == "sites":
        return SluggedType(api, ada, f"{organization.path}/sites", {})
    if request.param == "spaces":
        return SluggedType(api, ada, "/spaces", {"platformId": create_platform(api, organization).id})
    body: Json = {"organizationId": organization.id} if request.param == "platforms" else {}
    return SluggedType(api, ada, f"/{request.param}", body)


class TestRename:
    def test_the_last_five_former_slugs_are_reserved(self, slugged_type):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, *(f"name-{number}" for number in range(1, 9)))
        reserved = [number for number in range(9) if slugged_type.request_creation(f"name-{number}").status == 409]
        assert reserved == [3, 4, 5, 6, 7, 8]
        assert len(reserved) == MAX_FORMER_NAMES + 1

    def test_a_former_slug_is_reserved_for_ninety_days(self, slugged_type, clock):
        slugged_type.rename(slugged_type.create("name-0"), "name-1")
        clock.shift(days=89)
        assert slugged_type.request_creation("name-0").status_and_code == TAKEN
        clock.shift(days=2)
        assert slugged_type.request_creation("name-0").status == 201

    def test_renaming_back_and_forth_does_not_lengthen_the_list(self, slugged_type):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, *["name-1", "name-0"] * 4, "name-2", "name-3", "name-4")
        assert all(slugged_type.request_creation(f"name-{number}").status_and_code == TAKEN for number in range(5))
        slugged_type.rename(path, "name-1")
        assert slugged_type.api.get(path, caller=slugged_type.owner).json["slug"] == "name-1"

    def test_a_former_slug_that_another_record_took_is_not_freed(self, slugged_type, clock):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, "name-1")
        clock.shift(days=91)
        path_of_other = slugged_type.create("name-0")
        slugged_type.rename(path, *(f"name-{number}" for number in range(2, 9)))
        assert slugged_type.request_creation("name-0").status_and_code == TAKEN
        assert slugged_type.api.get(path_of_other, caller=slugged_type.owner).json["slug"] == "name-0"

    def test_records_without_stored_former_slugs_reserve_later_ones(self, slugged_type):
        path = slugged_type.create("name-0")
        for item in memory_aws.all_items():
            if item.get("slug") == "name-0":
                assert item.pop("former_slugs") == []
                memory_aws.put_item(item)
        slugged_type.rename(path, *(f"name-{number}" for number in range(1, 8)))
        assert slugged_type.request_creation("name-0").status == 201
        assert slugged_type.request_creation("name-2").status_and_code == TAKEN


class TestDelete:
    def test_an_unpublished_record_frees_its_slug_and_keeps_the_former_ones(self, slugged_type, clock, workers):
        path = slugged_type.create("name-0")
        slugged_type.rename(path, "name-1")
        assert slugged_type.api.delete(path, caller=slugged_type.owner).status in (202, 204)
        if slugged_type.listed_at == "/organizations":
            clock.shift(days=31)
        workers.run_until_idle()
        assert slugged_type.request_creation("name-0").status_and_code == TAKEN
        assert slugged_type.request_creation("name-1").status == 201

    @pytest.mark.parametrize("unpublished", [False, True])
    def test_the_host_of_a_published_site_stays_reserved(self, api, organization, stranger, clock, *, unpublished):
        site = create_site(api, organization, slug="looms")
        if unpublished:
            assert api.patch(site.path, caller=site.owner, json={"status": "draft"}).status == 200
        host = site.record["host"]
        self.assert_names_stay_reserved(
            api, f"{create_organization(api, stranger).path}/sites", {}, site.path, site.owner, stranger, clock
        )
        assert api.get("/sites/resolve", query={"host": host}).status_and_code == "404 not_found"

    @pytest.mark.parametrize("unpublished", [False, True])
    def test_the_subdomain_of_a_published_platform_stays_reserved(
        self, api, organization, stranger, clock, *, unpublished
    ):
        platform = create_platform(api, organization, publish=True, slug="looms")
        if unpublished:
            path = f"{platform.path}/publish"
            assert api.patch(path, caller=platform.owner, json={"published": False}).status == 200
        body = {"organizationId": create_organization(api, stranger).id}
        self.assert_names_stay_reserved(api, "/platforms", body, platform.path, platform.owner, stranger, clock)

    def assert_names_stay_reserved(
        self, api: ApiClient, listed_at: str, body: Json, path: str, owner: Person, stranger: Person, clock: Clock
    ) -> None:
        type_of_stranger = SluggedType(api, stranger, listed_at, body)
        type_of_owner = SluggedType(api, owner, "", {})
        type_of_owner.rename(path, *(f"looms-{number}" for number in range(6)))
        assert type_of_stranger.is_free("looms")
        assert not type_of_stranger.is_free("looms-0")
        assert api.delete(path, caller=owner).status == 204
        assert type_of_stranger.is_free("looms-0")  # The current slug is now one of the last five.
        for number in range(1, 6):
            assert not type_of_stranger.is_free(f"looms-{number}")
        clock.shift(days=91)
        assert type_of_stranger.is_free("looms-5")


def test_a_former_slug_of_a_space_resolves(api, platform):
    space = create_space(api, platform, slug="looms")
    api.patch(space.path, caller=platform.owner, json={"slug": "mills"})
    config = f"{platform.path}/resolve-config"
    for slug in ("looms", "mills"):
        matched = api.post(config, caller=platform.owner, json={"path": f"/spaces/{slug}"}).json["matched"]
        assert matched["space"]["id"] == space.id


def test_the_number_of_writes_does_not_grow_with_the_renames(api, organization):
    site = create_site(api, organization)
    write_counts = set()
    for number in range(12):
        response = api.patch(site.path, caller=site.owner, json={"slug": f"name-{number}"})
        (write,) = [call for call in response.calls.call_list if call.name == "dynamodb:TransactWriteItems"]
        write_counts.add(len(write.parameters["TransactItems"]))
    assert max(write_counts) - min(write_counts) <= 1
    guards = [table.get(guard_key(Site.by_slug, {"slug": f"name-{number}"})) for number in range(12)]
    assert [bool(guard) for guard in guards] == [False] * 6 + [True] * 6
