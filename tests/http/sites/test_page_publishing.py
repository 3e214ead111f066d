"""Publishing pages: the public content and paths, schedules, revisions, and former paths."""

import pytest

from tests.harness.audit_logs import list_entries
from tests.harness.sites import (
    create_draft_page,
    create_published_page,
    get_page_by_path,
    publish_page,
    update_page,
)

PAST = "2020-01-01T00:00:00.000Z"


@pytest.mark.usefixtures("home_page")
class TestPublishPage:
    def test_publishing_shows_the_draft_to_everyone(self, api, site, edith):
        looms = create_draft_page(api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])
        assert get_page_by_path(api, site, "/looms").status == 404
        answer = api.post(f"{looms.path}/publish", caller=edith)
        page_record = answer.json
        assert (answer.status, page_record["status"], page_record["hasUnpublishedChanges"]) == (200, "published", False)
        assert page_record["publishedRevisionId"] == page_record["draftRevisionId"] == looms.draft_revision_id
        assert page_record["publishedAt"] == page_record["updatedAt"]
        public = get_page_by_path(api, site, "/looms").json
        hidden_fields = {"draftRevisionId": None, "publishAt": None, "unpublishAt": None}
        assert public == {**page_record, **hidden_fields}

    def test_publishing_twice_changes_nothing(self, api, home_page, organization):
        entries = len(list_entries(api, organization))
        assert publish_page(api, home_page) == home_page.record
        assert len(list_entries(api, organization)) == entries

    def test_an_earlier_revision_is_published_and_the_draft_stays(self, api, site, home_page):
        first = home_page.draft_revision_id
        update_page(api, home_page, title="Hello")
        publish_page(api, home_page)
        assert get_page_by_path(api, site, "/").json["title"] == "Hello"
        page_record = publish_page(api, home_page, revisionId=first)
        assert (page_record["title"], page_record["hasUnpublishedChanges"]) == ("Hello", True)
        assert get_page_by_path(api, site, "/").json["title"] == "Welcome"

    def test_a_revision_of_another_page_is_rejected(self, api, site, home_page):
        other = create_draft_page(api, site, "Looms")
        body = {"revisionId": other.draft_revision_id}
        assert api.post(f"{home_page.path}/publish", caller=site.owner, json=body).errors == {"/revisionId": "unknown"}

    def test_publishing_a_new_slug_moves_all_descendants_and_redirects_their_former_paths(self, api, site):
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        create_published_page(api, site, "Hand looms", parent=looms)
        update_page(api, machines, slug="tools")
        assert get_page_by_path(api, site, "/machines/looms").status == 200
        answer = api.post(f"{machines.path}/publish", caller=site.owner)
        assert answer.json["path"] == "/tools"
        for former_path, path in (
            ("/machines", "/tools"),
            ("/machines/looms", "/tools/looms"),
            ("/machines/looms/hand-looms", "/tools/looms/hand-looms"),
        ):
            assert get_page_by_path(api, site, path).status == 200
            response = get_page_by_path(api, site, former_path)
            assert (response.status, response.location) == (
                301,
                f"{site.path}/pages/by-path?path={path.replace('/', '%2F')}",
            )

    def test_former_paths_redirect_after_any_number_of_moves(self, api, site):
        a = create_published_page(api, site, "A", slug="a0")
        b = create_published_page(api, site, "B", slug="b0", parent=a)
        for number in range(1, 7):
            for page, name in ((a, "a"), (b, "b")):
                update_page(api, page, slug=f"{name}{number}")
                publish_page(api, page)
        for path in ("/a0/b0", "/a3/b2", "/a6/b5", "/a1/b6", "/a5/b5"):
            assert get_page_by_path(api, site, path).location.endswith("%2Fa6%2Fb6"), path

    def test_a_page_at_a_former_path_is_shown_and_former_paths_below_it_redirect(self, api, site):
        machines = create_published_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        update_page(api, machines, slug="tools")
        publish_page(api, machines)
        other = create_published_page(api, site, "Machines", slug="machines")
        assert get_page_by_path(api, site, "/machines").json["id"] == other.id
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_later_child_does_not_take_over_a_former_path(self, api, site):
        machines = create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        for page, slug in ((looms, "weaving"), (machines, "tools")):
            update_page(api, page, slug=slug)
            publish_page(api, page)
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("%2Ftools%2Fweaving")
        create_published_page(api, site, "Looms", slug="looms", parent=machines)
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("%2Ftools%2Fweaving")
        create_published_page(api, site, "Mills", parent=machines)
        assert get_page_by_path(api, site, "/machines/mills").location.endswith("%2Ftools%2Fmills")

    def test_former_paths_below_the_slug_of_the_home_page_redirect(self, api, site, home_page):
        news = create_published_page(api, site, "News", slug="welcome", parent=home_page)
        item = create_published_page(api, site, "Item", slug="welcome", parent=news)
        update_page(api, item, slug="item")
        publish_page(api, item)
        assert get_page_by_path(api, site, "/welcome/welcome").location.endswith("%2Fwelcome%2Fitem")
        update_page(api, news, slug="press")
        publish_page(api, news)
        assert get_page_by_path(api, site, "/welcome").location.endswith("%2Fpress")
        assert get_page_by_path(api, site, "/welcome/item").location.endswith("%2Fpress%2Fitem")

    def test_a_former_path_leads_to_its_page_and_not_to_an_unpublished_position(self, api, site, home_page):
        for machines in (
            create_published_page(api, site, "Machines"),
            create_published_page(api, site, "Welcome", slug="welcome", parent=home_page),
        ):
            update_page(api, machines, slug=f"former-{machines.record['slug']}")
            publish_page(api, machines)
        hidden_page = create_draft_page(api, site, "Tools", slug="machines")
        create_published_page(api, site, "Looms", parent=hidden_page)
        for page, slug in ((hidden_page, "tools"), (home_page, "start")):
            update_page(api, page, slug=slug)
            publish_page(api, page)
        assert get_page_by_path(api, site, "/machines").location.endswith("path=%2Fformer-machines")
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("path=%2Ftools%2Flooms")
        assert get_page_by_path(api, site, "/welcome").location.endswith("path=%2Fformer-welcome")

    def test_a_former_path_leads_to_its_page_and_not_to_one_that_was_hidden(self, api, site):
        tools, machines = create_published_page(api, site, "Tools"), create_published_page(api, site, "Machines")
        looms = create_published_page(api, site, "Looms", parent=machines)
        create_published_page(api, site, "Cards", parent=looms)
        mills = create_published_page(api, site, "Looms", parent=tools)
        update_page(api, mills, slug="mills")
        publish_page(api, mills)
        update_page(api, looms, unpublishAt=PAST)
        for page, slug in ((tools, "gear"), (machines, "tools")):
            update_page(api, page, slug=slug)
            publish_page(api, page)
        update_page(api, looms, slug="weaving")
        publish_page(api, looms)
        assert get_page_by_path(api, site, "/tools/looms").location.endswith("path=%2Fgear%2Fmills")
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("path=%2Ftools%2Fweaving")

    def test_a_page_cannot_be_published_at_the_path_of_another(self, api, site):
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, slug="weaving")
        other = create_draft_page(api, site, "Looms", slug="looms")
        response = api.post(f"{other.path}/publish", caller=site.owner)
        assert (response.status_and_code, set(response.errors)) == ("409 slug_taken", {"/slug"})
        publish_page(api, looms)
        publish_page(api, other)
        assert get_page_by_path(api, site, "/looms").json["id"] == other.id

    def test_a_page_is_public_below_a_draft(self, api, site):
        machines = create_draft_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        assert get_page_by_path(api, site, "/machines/looms").status == 200
        assert get_page_by_path(api, site, "/machines").status == 404
        update_page(api, machines, slug="tools")
        assert get_page_by_path(api, site, "/machines/looms").status == 200
        publish_page(api, machines)
        assert get_page_by_path(api, site, "/machines/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_page_is_public_below_an_unpublished_page_that_has_moved(self, api, site):
        machines = create_published_page(api, site, "Machines")
        update_page(api, machines, slug="tools")
        publish_page(api, machines)
        update_page(api, machines, unpublishAt=PAST)
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, parentId=machines.id)
        publish_page(api, looms)
        assert get_page_by_path(api, site, "/tools/looms").json["id"] == looms.id
        assert get_page_by_path(api, site, "/looms").location.endswith("%2Ftools%2Flooms")

    def test_a_page_is_public_below_an_unpublished_home_page(self, api, site, home_page):
        update_page(api, home_page, unpublishAt=PAST)
        child = create_published_page(api, site, "Welcome", slug="welcome", parent=home_page)
        assert get_page_by_path(api, site, "/welcome").json["id"] == child.id

    def test_publishing_a_cycle_is_rejected(self, api, site):
        parent = create_published_page(api, site, "Above")
        child = create_published_page(api, site, "Below", parent=parent)
        update_page(api, child, parentId=None)
        update_page(api, parent, parentId=child.id)
        assert api.post(f"{parent.path}/publish", caller=site.owner).status_and_code == "409 cycle"
        publish_page(api, child)
        assert publish_page(api, parent)["path"] == "/below/above"

    def test_a_new_home_page_is_at_the_root_after_it_is_published(self, api, site, home_page):
        contact = create_published_page(api, site, "Contact", parent=home_page)
        start = create_draft_page(api, site, "Start", isHome=True)
        assert get_page_by_path(api, site, "/").json["id"] == home_page.id
        assert get_page_by_path(api, site, "/contact").json["id"] == contact.id
        publish_page(api, start)
        assert get_page_by_path(api, site, "/").json["id"] == start.id
        assert get_page_by_path(api, site, "/contact").location.endswith("%2Fwelcome%2Fcontact")
        assert get_page_by_path(api, site, "/start").location.endswith("path=%2F")


@pytest.mark.usefixtures("home_page")
class TestUnpublishPage:
    def test_a_past_time_unpublishes_a_page(self, api, site, organization):
        looms = create_published_page(api, site, "Looms")
        unpublished_page = update_page(api, looms, unpublishAt=PAST)
        fields = (unpublished_page["status"], unpublished_page["publishedRevisionId"], unpublished_page["publishedAt"])
        assert fields == ("archived", None, None)
        assert get_page_by_path(api, site, "/looms").status == 404
        assert list_entries(api, organization)[0]["type"] == "page.unpublished"
        republished_page = publish_page(api, looms)
        assert (republished_page["status"], republished_page["unpublishAt"]) == ("published", None)

    def test_unpublishing_frees_the_path(self, api, site):
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, unpublishAt=PAST, slug="old-looms")
        other = create_published_page(api, site, "Looms", slug="looms")
        assert get_page_by_path(api, site, "/looms").json["id"] == other.id
        publish_page(api, looms)
        assert get_page_by_path(api, site, "/old-looms").json["id"] == looms.id

    def test_unpublishing_keeps_published_children(self, api, site):
        machines = create_published_page(api, site, "Machines")
        create_published_page(api, site, "Looms", parent=machines)
        update_page(api, machines, unpublishAt=PAST)
        assert get_page_by_path(api, site, "/machines").status == 404
        assert get_page_by_path(api, site, "/machines/looms").status == 200

    def test_publishing_again_elsewhere_redirects_the_former_path(self, api, site):
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, unpublishAt=PAST)
        update_page(api, looms, slug="weaving")
        publish_page(api, looms)
        assert get_page_by_path(api, site, "/looms").location.endswith("%2Fweaving")


@pytest.mark.usefixtures("home_page")
class TestSchedule:
    def test_a_page_is_published_and_unpublished_on_schedule(self, api, site, clock, workers, organization):
        timestamp = clock.freeze("2027-03-21T09:00:00.000Z")
        looms = create_draft_page(
            api, site, "Looms", publishAt="2027-03-21T10:00:00Z", unpublishAt="2027-03-21T12:00:00+01:00"
        )
        assert (looms.record["status"], looms.record["unpublishAt"]) == ("scheduled", "2027-03-21T11:00:00.000Z")
        workers.run_until_idle()
        assert get_page_by_path(api, site, "/looms").status == 404, timestamp
        clock.shift(minutes=60)
        workers.run_until_idle()
        current = api.get(looms.path, caller=site.owner).json
        assert (current["status"], current["publishAt"], current["publishedAt"]) == (
            "published",
            None,
            "2027-03-21T10:00:00.000Z",
        )
        assert get_page_by_path(api, site, "/looms").status == 200
        clock.shift(minutes=60)
        workers.run_until_idle()
        assert api.get(looms.path, caller=site.owner).json["status"] == "archived"
        assert get_page_by_path(api, site, "/looms").status == 404
        entries = [(entry["type"], entry["actor"]["type"]) for entry in list_entries(api, organization)]
        assert entries[:3] == [("page.unpublished", "system"), ("page.published", "system"), ("page.created", "user")]

    def test_a_past_time_publishes_a_page_within_seconds(self, api, site, home_page, workers):
        looms = create_draft_page(api, site, "Looms", publishAt=PAST)
        update_page(api, home_page, title="Hello", publishAt=PAST)
        workers.deliver()
        assert get_page_by_path(api, site, "/looms").json["id"] == looms.id
        assert get_page_by_path(api, site, "/").json["title"] == "Hello"

    def test_a_scheduled_page_waits_for_a_free_path(self, api, site, workers, clock):
        looms = create_published_page(api, site, "Looms")
        update_page(api, looms, slug="weaving")
        other = create_draft_page(api, site, "Looms", slug="looms", publishAt=PAST)
        workers.run_until_idle()
        assert api.get(other.path, caller=site.owner).json["status"] == "scheduled"
        publish_page(api, looms)
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert get_page_by_path(api, site, "/looms").json["id"] == other.id

    def test_a_page_without_its_schedule_stays_a_draft(self, api, site, workers, clock):
        looms = create_draft_page(api, site, "Looms", publishAt="2099-01-01T00:00:00Z")
        assert update_page(api, looms, publishAt=None)["status"] == "draft"
        clock.shift(days=27_000)
        workers.run_until_idle()
        assert api.get(looms.path, caller=site.owner).json["status"] == "draft"


class TestPageRevisions:
    def test_revisions_are_listed_newest_first_without_blocks(self, api, home_page, ada):
        update_page(api, home_page, title="Hello", blocks=[{"id": "b", "type": "divider"}])
        update_page(api, home_page, title="Hi")
        listed = api.get_items(f"{home_page.path}/revisions", caller=home_page.site.owner, query={"limit": 2})
        assert [item["title"] for item in listed] == ["Hi", "Hello", "Welcome"]
        assert {item["createdBy"] for item in listed} == {ada.id}
        assert all("blocks" not in item for item in listed)
        revision = api.get(f"{home_page.path}/revisions/{listed[1]['id']}", caller=home_page.site.owner).json
        assert revision == {**listed[1], "blocks": [{"id": "b", "type": "divider"}]}

    def test_a_revision_of_another_page_is_not_found(self, api, site, home_page):
        other = create_draft_page(api, site, "Looms")
        path = f"{home_page.path}/revisions/{other.draft_revision_id}"
        assert api.get(path, caller=site.owner).status_and_code == "404 not_found"
        assert api.post(f"{path}/restore", caller=site.owner).status_and_code == "404 not_found"


@pytest.mark.usefixtures("home_page")
class TestRestorePageRevision:
    def test_restoring_creates_a_draft_and_publishes_nothing(self, api, site, home_page):
        first = home_page.draft_revision_id
        update_page(api, home_page, title="Hello", blocks=[{"id": "b", "type": "divider"}], seo={"noindex": True})
        publish_page(api, home_page)
        public = get_page_by_path(api, site, "/").json
        draft = api.post(f"{home_page.path}/revisions/{first}/restore", caller=site.owner).json
        assert (draft["title"], draft["blocks"], draft["seo"]["noindex"]) == ("Welcome", [], False)
        assert draft["draftRevisionId"] not in (first, public["publishedRevisionId"])
        newest = api.get(f"{home_page.path}/revisions/{draft['draftRevisionId']}", caller=site.owner).json
        assert newest["restoredFrom"] == first
        assert get_page_by_path(api, site, "/").json == public
        assert len(api.get_items(f"{home_page.path}/revisions", caller=site.owner)) == 3

    def test_restoring_moves_the_page_back_unless_the_path_is_taken(self, api, site):
        machines = create_draft_page(api, site, "Machines")
        looms = create_draft_page(api, site, "Looms", parent=machines)
        update_page(api, looms, parentId=None, slug="weaving")
        path = f"{looms.path}/revisions/{looms.draft_revision_id}/restore"
        assert api.post(path, caller=site.owner).json["path"] == "/machines/looms"
        update_page(api, looms, parentId=None, slug="weaving")
        create_draft_page(api, site, "Looms", parent=machines)
        assert api.post(path, caller=site.owner).json["path"] == "/weaving"
        api.delete(machines.path, caller=site.owner, query={"strategy": "cascade"})
        draft = api.post(path, caller=site.owner).json
        assert (draft["path"], draft["title"]) == ("/weaving", "Looms")
