"""Former names: the last five of a record lead to it for 90 days and are nobody else's; hosts that served, too."""

from dataclasses import dataclass
from typing import Final

import pytest

from chalicelib.features.sites.entities.sites import Site
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.unique_values import MAX_FORMER_NAMES
from chalicelib.kernel.transactions.unique_items import guard_key
from tests.harness import cloud
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, found
from tests.harness.platforms import Running, make_space, run_platform
from tests.harness.sites import make_site
from tests.harness.workers import Workers

TAKEN: Final = "409 slug_taken"


@dataclass(frozen=True)
class Kind:
    """A kind of record with a slug: where it is made, with what beside name and slug."""

    api: Api
    owner: Person
    listed_at: str
    body: Json

    def asked(self, slug: str) -> Answer:
        return self.api.post(self.listed_at, as_=self.owner, json={"name": "Looms", "slug": slug, **self.body})

    def made(self, slug: str) -> str:
        answer = self.asked(slug)
        assert answer.status == 201, answer.text
        return answer.location

    def renamed(self, path: str, *slugs: str) -> None:
        for slug in slugs:
            answer = self.api.patch(path, as_=self.owner, json={"slug": slug})
            assert answer.status == 200, answer.text

    def is_free(self, slug: str) -> bool:
        answer = self.asked(slug)
        if answer.status != 201:
            assert answer.code == TAKEN
            return False
        assert self.api.delete(answer.location, as_=self.owner).status in (202, 204)
        return True


@pytest.fixture(params=["organizations", "platforms", "sites", "spaces"])
def kind(request: pytest.FixtureRequest, api: Api, organization: Founded, ada: Person) -> Kind:
    """Each kind of record that has a slug."""
    if request.param == "sites":
        return Kind(api, ada, f"{organization.path}/sites", {})
    if request.param == "spaces":
        return Kind(api, ada, "/spaces", {"platformId": run_platform(api, organization).id})
    body: Json = {"organizationId": organization.id} if request.param == "platforms" else {}
    return Kind(api, ada, f"/{request.param}", body)


class TestRenaming:
    def test_holds_the_last_five(self, kind: Kind) -> None:
        path = kind.made("name-0")
        kind.renamed(path, *(f"name-{number}" for number in range(1, 9)))
        held = [number for number in range(9) if kind.asked(f"name-{number}").status == 409]
        assert held == [3, 4, 5, 6, 7, 8]
        assert len(held) == MAX_FORMER_NAMES + 1

    def test_holds_them_for_ninety_days(self, kind: Kind, clock: Clock) -> None:
        kind.renamed(kind.made("name-0"), "name-1")
        clock.shift(days=89)
        assert kind.asked("name-0").code == TAKEN
        clock.shift(days=2)
        assert kind.asked("name-0").status == 201

    def test_there_and_back_makes_no_list_longer(self, kind: Kind) -> None:
        path = kind.made("name-0")
        kind.renamed(path, *["name-1", "name-0"] * 4, "name-2", "name-3", "name-4")
        assert all(kind.asked(f"name-{number}").code == TAKEN for number in range(5))
        kind.renamed(path, "name-1")
        assert kind.api.get(path, as_=kind.owner).json["slug"] == "name-1"

    def test_lets_go_of_none_that_is_anothers_by_now(self, kind: Kind, clock: Clock) -> None:
        path = kind.made("name-0")
        kind.renamed(path, "name-1")
        clock.shift(days=91)
        other = kind.made("name-0")
        kind.renamed(path, *(f"name-{number}" for number in range(2, 9)))
        assert kind.asked("name-0").code == TAKEN
        assert kind.api.get(other, as_=kind.owner).json["slug"] == "name-0"

    def test_of_what_was_stored_before_holds_from_now_on(self, kind: Kind) -> None:
        path = kind.made("name-0")
        for item in cloud.stored():
            if item.get("slug") == "name-0":
                assert item.pop("former_slugs") == []
                cloud.put(item)
        kind.renamed(path, *(f"name-{number}" for number in range(1, 8)))
        assert kind.asked("name-0").status == 201
        assert kind.asked("name-2").code == TAKEN


class TestDeleting:
    def test_what_served_nobody_frees_its_name_and_keeps_the_former_ones(
        self, kind: Kind, clock: Clock, workers: Workers
    ) -> None:
        path = kind.made("name-0")
        kind.renamed(path, "name-1")
        assert kind.api.delete(path, as_=kind.owner).status in (202, 204)
        if kind.listed_at == "/organizations":
            clock.shift(days=31)
        workers.settle()
        assert kind.asked("name-0").code == TAKEN
        assert kind.asked("name-1").status == 201

    @pytest.mark.parametrize("again_a_draft", [False, True])
    def test_a_site_that_was_published_keeps_its_host(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock, *, again_a_draft: bool
    ) -> None:
        site = make_site(api, organization, slug="looms")
        if again_a_draft:
            assert api.patch(site.path, as_=site.owner, json={"status": "draft"}).status == 200
        host = site.record["host"]
        self.keeps(api, f"{found(api, stranger).path}/sites", {}, site.path, site.owner, stranger, clock)
        assert api.get("/sites/resolve", query={"host": host}).code == "404 not_found"

    @pytest.mark.parametrize("again_a_draft", [False, True])
    def test_a_platform_that_was_published_keeps_its_subdomain(
        self, api: Api, organization: Founded, stranger: Person, clock: Clock, *, again_a_draft: bool
    ) -> None:
        platform = run_platform(api, organization, published=True, slug="looms")
        if again_a_draft:
            path = f"{platform.path}/publish"
            assert api.patch(path, as_=platform.owner, json={"published": False}).status == 200
        body = {"organizationId": found(api, stranger).id}
        self.keeps(api, "/platforms", body, platform.path, platform.owner, stranger, clock)

    def keeps(
        self, api: Api, listed_at: str, body: Json, path: str, owner: Person, stranger: Person, clock: Clock
    ) -> None:
        kind = Kind(api, stranger, listed_at, body)
        own = Kind(api, owner, "", {})
        own.renamed(path, *(f"looms-{number}" for number in range(6)))
        assert kind.is_free("looms")
        assert not kind.is_free("looms-0")
        assert api.delete(path, as_=owner).status == 204
        assert kind.is_free("looms-0")  # The present one has taken its place among the last five.
        for number in range(1, 6):
            assert not kind.is_free(f"looms-{number}")
        clock.shift(days=91)
        assert kind.is_free("looms-5")


def test_a_former_slug_of_a_space_still_leads_to_it(api: Api, platform: Running) -> None:
    space = make_space(api, platform, slug="looms")
    api.patch(space.path, as_=platform.owner, json={"slug": "mills"})
    config = f"{platform.path}/resolve-config"
    for slug in ("looms", "mills"):
        matched = api.post(config, as_=platform.owner, json={"path": f"/spaces/{slug}"}).json["matched"]
        assert matched["space"]["id"] == space.id


def test_many_renames_are_of_as_many_writes_as_one(api: Api, organization: Founded) -> None:
    site = make_site(api, organization)
    sizes = set()
    for number in range(12):
        answer = api.patch(site.path, as_=site.owner, json={"slug": f"name-{number}"})
        (write,) = [call for call in answer.calls.made if call.name == "dynamodb:TransactWriteItems"]
        sizes.add(len(write.parameters["TransactItems"]))
    assert max(sizes) - min(sizes) <= 1
    guards = [table.get(guard_key(Site.by_slug, {"slug": f"name-{number}"})) for number in range(12)]
    assert [bool(guard) for guard in guards] == [False] * 6 + [True] * 6
