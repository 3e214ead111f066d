"""Publishing pages: the public content and paths, schedules, revisions, and former paths."""

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
    def test_publishing_shows_the_draft_to_everyone(self, api: Api, site: Published, edith: Person) -> None:
        looms = write_page(api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])
        assert visit(api, site, "/looms").status == 404
        answer = api.post(f"{looms.path}/publish", as_=edith)
        page_record = answer.json
        assert (answer.status, page_record["status"], page_record["hasUnpublishedChanges"]) == (200, "published", False)
        assert page_record["publishedRevisionId"] == page_record["draftRevisionId"] == looms.draft_revision_id
        assert page_record["publishedAt"] == page_record["updatedAt"]
        public = visit(api, site, "/looms").json
        hidden_fields = {"draftRevisionId": None, "publishAt": None, "unpublishAt": None}
        assert public == {**page_record, **hidden_fields}

    def test_publishing_twice_changes_nothing(self, api: Api, home: Leaf, organization: Founded) -> None:
        entries = len(log_of(api, organization))
        assert publish_page(api, home) == home.record
        assert len(log_of(api, organization)) == entries

    def test_an_earlier_revision_is_published_and_the_draft_stays(self, api: Api, site: Published, home: Leaf) -> None:
        first = home.draft_revision_id
        edit(api, home, title="Hello")
        publish_page(api, home)
        assert visit(api, site, "/").json["title"] == "Hello"
        page_record = publish_page(api, home, revisionId=first)
        assert (page_record["title"], page_record["hasUnpublishedChanges"]) == ("Hello", True)
        assert visit(api, site, "/").json["title"] == "Welcome"

    def test_a_revision_of_another_page_is_rejected(self, api: Api, site: Published, home: Leaf) -> None:
        other = write_page(api, site, "Looms")
        body = {"revisionId": other.draft_revision_id}
        assert api.post(f"{home.path}/publish", as_=site.owner, json=body).faults == {"/revisionId": "unknown"}

    def test_publishing_a_new_slug_moves_all_descendants_and_redirects_their_former_paths(
        self, api: Api, site: Published
    ) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        page_of(api, site, "Hand looms", below=looms)
        edit(api, machines, slug="tools")
        assert visit(api, site, "/machines/looms").status == 200
        answer = api.post(f"{machines.path}/publish", as_=site.owner)
        assert answer.json["path"] == "/tools"
        for former_path, path in (
            ("/machines", "/tools"),
            ("/machines/looms", "/tools/looms"),
            ("/machines/looms/hand-looms", "/tools/looms/hand-looms"),
        ):
            assert visit(api, site, path).status == 200
            response = visit(api, site, former_path)
            assert (response.status, response.location) == (
                301,
                f"{site.path}/pages/by-path?path={path.replace('/', '%2F')}",
            )

    def test_former_paths_redirect_after_any_number_of_moves(self, api: Api, site: Published) -> None:
        a = page_of(api, site, "A", slug="a0")
        b = page_of(api, site, "B", slug="b0", below=a)
        for number in range(1, 7):
            for page, name in ((a, "a"), (b, "b")):
                edit(api, page, slug=f"{name}{number}")
                publish_page(api, page)
        for path in ("/a0/b0", "/a3/b2", "/a6/b5", "/a1/b6", "/a5/b5"):
            assert visit(api, site, path).location.endswith("%2Fa6%2Fb6"), path

    def test_a_page_at_a_former_path_is_shown_and_former_paths_below_it_redirect(
        self, api: Api, site: Published
    ) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        other = page_of(api, site, "Machines", slug="machines")
        assert visit(api, site, "/machines").json["id"] == other.id
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_later_child_does_not_take_over_a_former_path(self, api: Api, site: Published) -> None:
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

    def test_former_paths_below_the_slug_of_the_home_page_redirect(self, api: Api, site: Published, home: Leaf) -> None:
        news = page_of(api, site, "News", slug="welcome", below=home)
        item = page_of(api, site, "Item", slug="welcome", below=news)
        edit(api, item, slug="item")
        publish_page(api, item)
        assert visit(api, site, "/welcome/welcome").location.endswith("%2Fwelcome%2Fitem")
        edit(api, news, slug="press")
        publish_page(api, news)
        assert visit(api, site, "/welcome").location.endswith("%2Fpress")
        assert visit(api, site, "/welcome/item").location.endswith("%2Fpress%2Fitem")

    def test_a_former_path_leads_to_its_page_and_not_to_an_unpublished_position(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        for machines in (page_of(api, site, "Machines"), page_of(api, site, "Welcome", slug="welcome", below=home)):
            edit(api, machines, slug=f"former-{machines.record['slug']}")
            publish_page(api, machines)
        hidden_page = write_page(api, site, "Tools", slug="machines")
        page_of(api, site, "Looms", below=hidden_page)
        for page, slug in ((hidden_page, "tools"), (home, "start")):
            edit(api, page, slug=slug)
            publish_page(api, page)
        assert visit(api, site, "/machines").location.endswith("path=%2Fformer-machines")
        assert visit(api, site, "/machines/looms").location.endswith("path=%2Ftools%2Flooms")
        assert visit(api, site, "/welcome").location.endswith("path=%2Fformer-welcome")

    def test_a_former_path_leads_to_its_page_and_not_to_one_that_was_hidden(self, api: Api, site: Published) -> None:
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

    def test_a_page_cannot_be_published_at_the_path_of_another(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, slug="weaving")
        other = write_page(api, site, "Looms", slug="looms")
        response = api.post(f"{other.path}/publish", as_=site.owner)
        assert (response.code, set(response.faults)) == ("409 slug_taken", {"/slug"})
        publish_page(api, looms)
        publish_page(api, other)
        assert visit(api, site, "/looms").json["id"] == other.id

    def test_a_page_is_public_below_a_draft(self, api: Api, site: Published) -> None:
        machines = write_page(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        assert visit(api, site, "/machines/looms").status == 200
        assert visit(api, site, "/machines").status == 404
        edit(api, machines, slug="tools")
        assert visit(api, site, "/machines/looms").status == 200
        publish_page(api, machines)
        assert visit(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_page_is_public_below_an_unpublished_page_that_has_moved(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        edit(api, machines, slug="tools")
        publish_page(api, machines)
        edit(api, machines, unpublishAt=PAST)
        looms = page_of(api, site, "Looms")
        edit(api, looms, parentId=machines.id)
        publish_page(api, looms)
        assert visit(api, site, "/tools/looms").json["id"] == looms.id
        assert visit(api, site, "/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_page_is_public_below_an_unpublished_home_page(self, api: Api, site: Published, home: Leaf) -> None:
        edit(api, home, unpublishAt=PAST)
        child = page_of(api, site, "Welcome", slug="welcome", below=home)
        assert visit(api, site, "/welcome").json["id"] == child.id

    def test_publishing_a_cycle_is_rejected(self, api: Api, site: Published) -> None:
        parent = page_of(api, site, "Above")
        child = page_of(api, site, "Below", below=parent)
        edit(api, child, parentId=None)
        edit(api, parent, parentId=child.id)
        assert api.post(f"{parent.path}/publish", as_=site.owner).code == "409 cycle"
        publish_page(api, child)
        assert publish_page(api, parent)["path"] == "/below/above"

    def test_a_new_home_page_is_at_the_root_after_it_is_published(self, api: Api, site: Published, home: Leaf) -> None:
        contact = page_of(api, site, "Contact", below=home)
        start = write_page(api, site, "Start", isHome=True)
        assert visit(api, site, "/").json["id"] == home.id
        assert visit(api, site, "/contact").json["id"] == contact.id
        publish_page(api, start)
        assert visit(api, site, "/").json["id"] == start.id
        assert visit(api, site, "/contact").location.endswith("%2Fwelcome%2Fcontact")
        assert visit(api, site, "/start").location.endswith("path=%2F")


@pytest.mark.usefixtures("home")
class TestUnpublishPage:
    def test_a_past_time_unpublishes_a_page(self, api: Api, site: Published, organization: Founded) -> None:
        looms = page_of(api, site, "Looms")
        unpublished_page = edit(api, looms, unpublishAt=PAST)
        fields = (unpublished_page["status"], unpublished_page["publishedRevisionId"], unpublished_page["publishedAt"])
        assert fields == ("archived", None, None)
        assert visit(api, site, "/looms").status == 404
        assert log_of(api, organization)[0]["type"] == "page.unpublished"
        republished_page = publish_page(api, looms)
        assert (republished_page["status"], republished_page["unpublishAt"]) == ("published", None)

    def test_unpublishing_frees_the_path(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, unpublishAt=PAST, slug="old-looms")
        other = page_of(api, site, "Looms", slug="looms")
        assert visit(api, site, "/looms").json["id"] == other.id
        publish_page(api, looms)
        assert visit(api, site, "/old-looms").json["id"] == looms.id

    def test_unpublishing_keeps_published_children(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        edit(api, machines, unpublishAt=PAST)
        assert visit(api, site, "/machines").status == 404
        assert visit(api, site, "/machines/looms").status == 200

    def test_publishing_again_elsewhere_redirects_the_former_path(self, api: Api, site: Published) -> None:
        looms = page_of(api, site, "Looms")
        edit(api, looms, unpublishAt=PAST)
        edit(api, looms, slug="weaving")
        publish_page(api, looms)
        assert visit(api, site, "/looms").location.endswith("%2Fweaving")


@pytest.mark.usefixtures("home")
class TestSchedule:
    def test_a_page_is_published_and_unpublished_on_schedule(
        self, api: Api, site: Published, clock: Clock, workers: Workers, organization: Founded
    ) -> None:
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        looms = write_page(
            api, site, "Looms", publishAt="2027-03-21T10:00:00Z", unpublishAt="2027-03-21T12:00:00+01:00"
        )
        assert (looms.record["status"], looms.record["unpublishAt"]) == ("scheduled", "2027-03-21T11:00:00.000Z")
        workers.settle()
        assert visit(api, site, "/looms").status == 404, timestamp
        clock.shift(minutes=60)
        workers.settle()
        current = api.get(looms.path, as_=site.owner).json
        assert (current["status"], current["publishAt"], current["publishedAt"]) == (
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

    def test_a_past_time_publishes_a_page_within_seconds(
        self, api: Api, site: Published, home: Leaf, workers: Workers
    ) -> None:
        looms = write_page(api, site, "Looms", publishAt=PAST)
        edit(api, home, title="Hello", publishAt=PAST)
        workers.deliver()
        assert visit(api, site, "/looms").json["id"] == looms.id
        assert visit(api, site, "/").json["title"] == "Hello"

    def test_a_scheduled_page_waits_for_a_free_path(
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

    def test_a_page_without_its_schedule_stays_a_draft(
        self, api: Api, site: Published, workers: Workers, clock: Clock
    ) -> None:
        looms = write_page(api, site, "Looms", publishAt="2099-01-01T00:00:00Z")
        assert edit(api, looms, publishAt=None)["status"] == "draft"
        clock.shift(days=27_000)
        workers.settle()
        assert api.get(looms.path, as_=site.owner).json["status"] == "draft"


class TestPageRevisions:
    def test_revisions_are_listed_newest_first_without_blocks(self, api: Api, home: Leaf, ada: Person) -> None:
        edit(api, home, title="Hello", blocks=[{"id": "b", "type": "divider"}])
        edit(api, home, title="Hi")
        listed = api.items(f"{home.path}/revisions", as_=home.site.owner, query={"limit": 2})
        assert [item["title"] for item in listed] == ["Hi", "Hello", "Welcome"]
        assert {item["createdBy"] for item in listed} == {ada.id}
        assert all("blocks" not in item for item in listed)
        revision = api.get(f"{home.path}/revisions/{listed[1]['id']}", as_=home.site.owner).json
        assert revision == {**listed[1], "blocks": [{"id": "b", "type": "divider"}]}

    def test_a_revision_of_another_page_is_not_found(self, api: Api, site: Published, home: Leaf) -> None:
        other = write_page(api, site, "Looms")
        path = f"{home.path}/revisions/{other.draft_revision_id}"
        assert api.get(path, as_=site.owner).code == "404 not_found"
        assert api.post(f"{path}/restore", as_=site.owner).code == "404 not_found"


@pytest.mark.usefixtures("home")
class TestRestorePageRevision:
    def test_restoring_creates_a_draft_and_publishes_nothing(self, api: Api, site: Published, home: Leaf) -> None:
        first = home.draft_revision_id
        edit(api, home, title="Hello", blocks=[{"id": "b", "type": "divider"}], seo={"noindex": True})
        publish_page(api, home)
        public = visit(api, site, "/").json
        draft = api.post(f"{home.path}/revisions/{first}/restore", as_=site.owner).json
        assert (draft["title"], draft["blocks"], draft["seo"]["noindex"]) == ("Welcome", [], False)
        assert draft["draftRevisionId"] not in (first, public["publishedRevisionId"])
        newest = api.get(f"{home.path}/revisions/{draft['draftRevisionId']}", as_=site.owner).json
        assert newest["restoredFrom"] == first
        assert visit(api, site, "/").json == public
        assert len(api.items(f"{home.path}/revisions", as_=site.owner)) == 3

    def test_restoring_moves_the_page_back_unless_the_path_is_taken(self, api: Api, site: Published) -> None:
        machines = write_page(api, site, "Machines")
        looms = write_page(api, site, "Looms", below=machines)
        edit(api, looms, parentId=None, slug="weaving")
        path = f"{looms.path}/revisions/{looms.draft_revision_id}/restore"
        assert api.post(path, as_=site.owner).json["path"] == "/machines/looms"
        edit(api, looms, parentId=None, slug="weaving")
        write_page(api, site, "Looms", below=machines)
        assert api.post(path, as_=site.owner).json["path"] == "/weaving"
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        draft = api.post(path, as_=site.owner).json
        assert (draft["path"], draft["title"]) == ("/weaving", "Looms")
