"""Publishing pages: what is public, where, and since when; revisions, and what was before."""

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.logs import log_of
from tests.harness.organizations import Founded
from tests.harness.sites import Leaf, Published, edit, page_of, publish_page, visit, write_page
from tests.harness.workers import Workers

PAST = "2020-01-01T00:00:00.000Z"


@pytest.mark.usefixtures("home")
class TestPublishPage:
    def test_shows_the_draft_to_everybody(self, api: Api, site: Published, edith: Person) -> None:
        looms = write_page(api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])
        assert visit(api, site, "/looms").status == 404
        answer = api.post(f"{looms.path}/publish", as_=edith)
        published = answer.json
        assert (answer.status, published["status"], published["hasUnpublishedChanges"]) == (200, "published", False)
        assert published["publishedRevisionId"] == published["draftRevisionId"] == looms.draft_revision_id
        assert published["publishedAt"] == published["updatedAt"]
        shown = visit(api, site, "/looms").json
        hidden = {"draftRevisionId": None, "publishAt": None, "unpublishAt": None}
        assert shown == {**published, **hidden}

    def test_again_changes_nothing(self, api: Api, home: Leaf, organization: Founded) -> None:
        entries = len(log_of(api, organization))
        assert publish_page(api, home) == home.record
        assert len(log_of(api, organization)) == entries

    def test_an_earlier_revision_while_the_draft_stays(self, api: Api, site: Published, home: Leaf) -> None:
        first = home.draft_revision_id
        edit(api, home, title="Hello")
        publish_page(api, home)
        assert visit(api, site, "/").json["title"] == "Hello"
        published = publish_page(api, home, revisionId=first)
        assert (published["title"], published["hasUnpublishedChanges"]) == ("Hello", True)
        assert visit(api, site, "/").json["title"] == "Welcome"

    def test_no_revision_of_another_page(self, api: Api, site: Published, home: Leaf) -> None:
        other = write_page(api, site, "Looms")
        body = {"revisionId": other.draft_revision_id}
        assert api.post(f"{home.path}/publish", as_=site.owner, json=body).faults == {"/revisionId": "unknown"}

    def test_another_path_at_once_for_all_below_and_the_former_ones_lead_there(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        page_of(api, site, "Hand looms", below=looms)
        edit(api, machines, slug="tools")
        assert visit(api, site, "/machines/looms").status == 200
        answer = api.post(f"{machines.path}/publish", as_=site.owner)
        assert answer.json["path"] == "/tools"
        for former, now in (
            ("/machines", "/tools"),
            ("/machines/looms", "/tools/looms"),
            ("/machines/looms/hand-looms", "/tools/looms/hand-looms"),
        ):
            assert visit(api, site, now).status == 200
            moved = visit(api, site, former)
            assert (moved.status, moved.location) == (301, f"{site.path}/pages/by-path?path={now.replace('/', '%2F')}")

    def test_former_paths_lead_on_however_often_any_of_them_moves(self, api: Api, site: Published) -> None:
        a = page_of(api, site, "A", slug="a0")
        b = page_of(api, site, "B", slug="b0", below=a)
        for number in range(1, 7):
            for page, name in ((a, "a"), (b, "b")):
                edit(api, page, slug=f"{name}{number}")
                publish_page(api, page)
        for path in ("/a0/b0", "/a3/b2", "/a6/b5", "/a1/b6", "/a5/b5"):
            assert visit(api, site, path).location.endswith("%2Fa6%2Fb6"), path

    def test_who_took_the_place_is_shown_there_and_what_was_below_the_other_leads_on(
        self, api: Api, site: Published
    ) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        other = page_of(api, site, "Machines", slug="machines")
        assert visit(api, site, "/machines").json["id"] == other.id
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_who_came_below_later_does_not_catch_the_links_of_who_was_there(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        for page, slug in ((looms, "weaving"), (machines, "tools")):
            edit(api, page, slug=slug)
            publish_page(api, page)
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Fweaving")
        page_of(api, site, "Looms", slug="looms", below=machines)
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Fweaving")
        page_of(api, site, "Mills", below=machines)
        assert visit(api, site, "/machines/mills").location.endswith("%2Ftools%2Fmills")

    def test_what_was_at_the_slug_of_the_home_leads_on(self, api: Api, site: Published, home: Leaf) -> None:
        news = page_of(api, site, "News", slug="welcome", below=home)
        item = page_of(api, site, "Item", slug="welcome", below=news)
        edit(api, item, slug="item")
        publish_page(api, item)
        assert visit(api, site, "/welcome/welcome").location.endswith("%2Fwelcome%2Fitem")
        edit(api, news, slug="press")
        publish_page(api, news)
        assert visit(api, site, "/welcome").location.endswith("%2Fpress")
        assert visit(api, site, "/welcome/item").location.endswith("%2Fpress%2Fitem")

    def test_where_others_were_placed_but_never_shown_who_was_shown_there_is_found(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        for machines in (page_of(api, site, "Machines"), page_of(api, site, "Welcome", slug="welcome", below=home)):
            edit(api, machines, slug=f"former-{machines.record['slug']}")
            publish_page(api, machines)
        placed = write_page(api, site, "Tools", slug="machines")
        page_of(api, site, "Looms", below=placed)
        for page, slug in ((placed, "tools"), (home, "start")):
            edit(api, page, slug=slug)
            publish_page(api, page)
        assert visit(api, site, "/machines").location.endswith("path=%2Fformer-machines")
        assert visit(api, site, "/machines/looms").location.endswith("path=%2Ftools%2Flooms")
        assert visit(api, site, "/welcome").location.endswith("path=%2Fformer-welcome")

    def test_where_one_was_hidden_when_those_above_moved_who_was_shown_there_is_found(
        self, api: Api, site: Published
    ) -> None:
        tools, machines = page_of(api, site, "Tools"), page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        page_of(api, site, "Cards", below=looms)
        mills = page_of(api, site, "Looms", below=tools)
        edit(api, mills, slug="mills")
        publish_page(api, mills)
        edit(api, looms, unpublishAt=PAST)
        for page, slug in ((tools, "gear"), (machines, "tools")):
            edit(api, page, slug=slug)
            publish_page(api, page)
        edit(api, looms, slug="weaving")
        publish_page(api, looms)
        assert visit(api, site, "/tools/looms").location.endswith("path=%2Fgear%2Fmills")
        assert visit(api, site, "/machines/looms").location.endswith("path=%2Ftools%2Fweaving")

    def test_not_where_another_page_is_published_still(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, slug="weaving")
        other = write_page(api, site, "Looms", slug="looms")
        refused = api.post(f"{other.path}/publish", as_=site.owner)
        assert (refused.code, set(refused.faults)) == ("409 slug_taken", {"/slug"})
        publish_page(api, looms)
        publish_page(api, other)
        assert visit(api, site, "/looms").json["id"] == other.id

    def test_below_a_page_that_is_no_more_than_a_draft(self, api: Api, site: Published) -> None:
        machines = write_page(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        assert visit(api, site, "/machines/looms").status == 200
        assert visit(api, site, "/machines").status == 404
        edit(api, machines, slug="tools")
        assert visit(api, site, "/machines/looms").status == 200
        publish_page(api, machines)
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_below_a_page_that_has_been_elsewhere_and_is_taken_back(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        edit(api, machines, unpublishAt=PAST)
        looms = page_of(api, site, "Looms")
        edit(api, looms, parentId=machines.id)
        publish_page(api, looms)
        assert visit(api, site, "/tools/looms").json["id"] == looms.id
        assert visit(api, site, "/looms").location.endswith("%2Ftools%2Flooms")

    def test_below_a_home_that_is_taken_back_by_the_slug_of_that(self, api: Api, site: Published, home: Leaf) -> None:
        edit(api, home, unpublishAt=PAST)
        below = page_of(api, site, "Welcome", slug="welcome", below=home)
        assert visit(api, site, "/welcome").json["id"] == below.id

    def test_what_is_to_be_below_a_page_that_is_published_below_it(self, api: Api, site: Published) -> None:
        above = page_of(api, site, "Above")
        below = page_of(api, site, "Below", below=above)
        edit(api, below, parentId=None)
        edit(api, above, parentId=below.id)
        assert api.post(f"{above.path}/publish", as_=site.owner).code == "409 cycle"
        publish_page(api, below)
        assert publish_page(api, above)["path"] == "/below/above"

    def test_the_home_of_the_drafts_is_at_the_root_once_it_is_published(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        contact = page_of(api, site, "Contact", below=home)
        start = write_page(api, site, "Start", isHome=True)
        assert visit(api, site, "/").json["id"] == home.id
        assert visit(api, site, "/contact").json["id"] == contact.id
        publish_page(api, start)
        assert visit(api, site, "/").json["id"] == start.id
        assert visit(api, site, "/contact").location.endswith("%2Fwelcome%2Fcontact")
        assert visit(api, site, "/start").location.endswith("path=%2F")


@pytest.mark.usefixtures("home")
class TestUnpublishing:
    def test_by_a_time_that_is_past(self, api: Api, site: Published, organization: Founded) -> None:
        looms = page_of(api, site, "Looms")
        taken_back = edit(api, looms, unpublishAt=PAST)
        told = (taken_back["status"], taken_back["publishedRevisionId"], taken_back["publishedAt"])
        assert told == ("archived", None, None)
        assert visit(api, site, "/looms").status == 404
        assert log_of(api, organization)[0]["type"] == "page.unpublished"
        again = publish_page(api, looms)
        assert (again["status"], again["unpublishAt"]) == ("published", None)

    def test_frees_the_place_for_another(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, unpublishAt=PAST, slug="old-looms")
        other = page_of(api, site, "Looms", slug="looms")
        assert visit(api, site, "/looms").json["id"] == other.id
        publish_page(api, looms)
        assert visit(api, site, "/old-looms").json["id"] == looms.id

    def test_leaves_what_is_published_below(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, unpublishAt=PAST)
        assert visit(api, site, "/machines").status == 404
        assert visit(api, site, "/machines/looms").status == 200

    def test_published_elsewhere_later_the_former_path_leads_there(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, unpublishAt=PAST)
        edit(api, looms, slug="weaving")
        publish_page(api, looms)
        assert visit(api, site, "/looms").location.endswith("%2Fweaving")


@pytest.mark.usefixtures("home")
class TestScheduled:
    def test_is_published_and_taken_back_at_its_time(
        self, api: Api, site: Published, clock: Clock, workers: Workers, organization: Founded
    ) -> None:
        moment = clock.freeze("2027-03-21T09:00:00.000Z")
        looms = write_page(
            api, site, "Looms", publishAt="2027-03-21T10:00:00Z", unpublishAt="2027-03-21T12:00:00+01:00"
        )
        assert (looms.record["status"], looms.record["unpublishAt"]) == ("scheduled", "2027-03-21T11:00:00.000Z")
        workers.settle()
        assert visit(api, site, "/looms").status == 404, moment
        clock.shift(minutes=60)
        workers.settle()
        shown = api.get(looms.path, as_=site.owner).json
        assert (shown["status"], shown["publishAt"], shown["publishedAt"]) == (
            "published",
            None,
            "2027-03-21T10:00:00.000Z",
        )
        assert visit(api, site, "/looms").status == 200
        clock.shift(minutes=60)
        workers.settle()
        assert api.get(looms.path, as_=site.owner).json["status"] == "archived"
        assert visit(api, site, "/looms").status == 404
        entries = [(entry["type"], entry["actor"]["type"]) for entry in log_of(api, organization)]
        assert entries[:3] == [("page.unpublished", "system"), ("page.published", "system"), ("page.created", "user")]

    def test_at_a_time_that_is_past_within_seconds(
        self, api: Api, site: Published, home: Leaf, workers: Workers
    ) -> None:
        looms = write_page(api, site, "Looms", publishAt=PAST)
        edit(api, home, title="Hello", publishAt=PAST)
        workers.deliver()
        assert visit(api, site, "/looms").json["id"] == looms.id
        assert visit(api, site, "/").json["title"] == "Hello"

    def test_where_another_is_it_waits_until_there_is_room(
        self, api: Api, site: Published, workers: Workers, clock: Clock
    ) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, slug="weaving")
        other = write_page(api, site, "Looms", slug="looms", publishAt=PAST)
        workers.settle()
        assert api.get(other.path, as_=site.owner).json["status"] == "scheduled"
        publish_page(api, looms)
        clock.shift(minutes=2)
        workers.settle()
        assert visit(api, site, "/looms").json["id"] == other.id

    def test_taken_away_it_stays_as_it_is(self, api: Api, site: Published, workers: Workers, clock: Clock) -> None:
        looms = write_page(api, site, "Looms", publishAt="2099-01-01T00:00:00Z")
        assert edit(api, looms, publishAt=None)["status"] == "draft"
        clock.shift(days=27_000)
        workers.settle()
        assert api.get(looms.path, as_=site.owner).json["status"] == "draft"


class TestPageRevisions:
    def test_are_listed_newest_first_without_blocks(self, api: Api, home: Leaf, ada: Person) -> None:
        edit(api, home, title="Hello", blocks=[{"id": "b", "type": "divider"}])
        edit(api, home, title="Hi")
        listed = api.items(f"{home.path}/revisions", as_=home.site.owner, query={"limit": 2})
        assert [item["title"] for item in listed] == ["Hi", "Hello", "Welcome"]
        assert {item["createdBy"] for item in listed} == {ada.id}
        assert all("blocks" not in item for item in listed)
        one = api.get(f"{home.path}/revisions/{listed[1]['id']}", as_=home.site.owner).json
        assert one == {**listed[1], "blocks": [{"id": "b", "type": "divider"}]}

    def test_are_of_their_page_only(self, api: Api, site: Published, home: Leaf) -> None:
        other = write_page(api, site, "Looms")
        path = f"{home.path}/revisions/{other.draft_revision_id}"
        assert api.get(path, as_=site.owner).code == "404 not_found"
        assert api.post(f"{path}/restore", as_=site.owner).code == "404 not_found"


@pytest.mark.usefixtures("home")
class TestRestorePageRevision:
    def test_makes_a_new_draft_and_publishes_nothing(self, api: Api, site: Published, home: Leaf) -> None:
        first = home.draft_revision_id
        edit(api, home, title="Hello", blocks=[{"id": "b", "type": "divider"}], seo={"noindex": True})
        publish_page(api, home)
        shown = visit(api, site, "/").json
        restored = api.post(f"{home.path}/revisions/{first}/restore", as_=site.owner).json
        assert (restored["title"], restored["blocks"], restored["seo"]["noindex"]) == ("Welcome", [], False)
        assert restored["draftRevisionId"] not in (first, shown["publishedRevisionId"])
        newest = api.get(f"{home.path}/revisions/{restored['draftRevisionId']}", as_=site.owner).json
        assert newest["restoredFrom"] == first
        assert visit(api, site, "/").json == shown
        assert len(api.items(f"{home.path}/revisions", as_=site.owner)) == 3

    def test_goes_back_to_where_it_was_unless_another_is_there(self, api: Api, site: Published) -> None:
        machines = write_page(api, site, "Machines")
        looms = write_page(api, site, "Looms", below=machines)
        edit(api, looms, parentId=None, slug="weaving")
        path = f"{looms.path}/revisions/{looms.draft_revision_id}/restore"
        assert api.post(path, as_=site.owner).json["path"] == "/machines/looms"
        edit(api, looms, parentId=None, slug="weaving")
        write_page(api, site, "Looms", below=machines)
        assert api.post(path, as_=site.owner).json["path"] == "/weaving"
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        restored = api.post(path, as_=site.owner).json
        assert (restored["path"], restored["title"]) == ("/weaving", "Looms")
