"""Publishing pages: the public content and paths, schedules, revisions, and former paths."""

from chalicelib.kernel.core.clock import now
from chalicelib.kernel.work.scheduler import read_oldest_due_task_and_entry_times
from tests.harness.audit_logs import list_entries
from tests.harness.sites import get_page_by_path

PAST = "2020-01-01T00:00:00.000Z"
DIVIDER = [{"id": "b", "type": "divider"}]


class TestPublishPage:
    def test_publishing_shows_the_draft_to_everyone_and_repeating_it_changes_nothing(
        self, api, site, pages, edith, organization
    ):
        looms = pages.draft("Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])
        assert pages.visit("/looms") is None
        record = api.post(f"{looms.path}/publish", caller=edith).json
        assert record | {"status": "published", "hasUnpublishedChanges": False} == record
        assert record["publishedRevisionId"] == record["draftRevisionId"] == looms.draft_revision_id
        assert record["publishedAt"] == record["updatedAt"]
        hidden_fields = {"draftRevisionId": None, "publishAt": None, "unpublishAt": None}
        assert get_page_by_path(api, site, "/looms").json == {**record, **hidden_fields}
        entries = list_entries(api, organization)
        assert pages.republish("Looms") == record
        assert list_entries(api, organization) == entries

    def test_an_earlier_revision_of_the_same_page_is_published_and_the_draft_stays(self, api, home_page, pages):
        pages.republish("Welcome", title="Hello")
        assert pages.visit("/") == "Hello"
        body = {"revisionId": home_page.draft_revision_id}
        record = api.post(f"{home_page.path}/publish", caller=home_page.site.owner, json=body).json
        assert (record["title"], record["hasUnpublishedChanges"]) == ("Hello", True)
        assert pages.visit("/") == "Welcome"
        other = api.post(f"{pages.draft('Looms').path}/publish", caller=home_page.site.owner, json=body)
        assert other.errors == {"/revisionId": "unknown"}

    def test_publishing_a_new_slug_moves_all_descendants_and_redirects_their_former_paths(self, api, pages):
        pages.publish("Machines", "Machines/Looms", "Machines/Looms/Hand looms")
        pages.update("Machines", slug="tools")
        assert pages.visit("/machines/looms") == "Looms"
        assert pages.republish("Machines")["path"] == "/tools"
        for path, title in {"": "Machines", "/looms": "Looms", "/looms/hand-looms": "Hand looms"}.items():
            assert pages.visit_all(f"/tools{path}", f"/machines{path}") == [title, f"/tools{path}"]

    def test_former_paths_redirect_after_any_number_of_moves(self, pages):
        pages.publish("A", slug="a0")
        pages.publish("A/B", slug="b0")
        for number in range(1, 7):
            pages.move(A=f"a{number}", B=f"b{number}")
        assert {*pages.visit_all("/a0/b0", "/a3/b2", "/a6/b5", "/a1/b6", "/a5/b5")} == {"/a6/b6"}

    def test_a_page_at_a_former_path_is_shown_and_former_paths_below_it_redirect(self, pages):
        pages.publish("Machines", "Machines/Looms")
        pages.move(Looms="weaving", Machines="tools")
        assert pages.visit("/machines/looms") == "/tools/weaving"
        pages.publish("Machines/New looms", slug="looms")
        pages.publish("Machines/Mills")  # Later children do not take over a former path.
        assert pages.visit_all("/machines/looms", "/machines/mills") == ["/tools/weaving", "/tools/mills"]
        pages.publish("New machines", slug="machines")
        assert pages.visit_all("/machines", "/machines/looms") == ["New machines", "/tools/weaving"]

    def test_former_paths_below_the_slug_of_the_home_page_redirect(self, pages):
        for title_path in ("Welcome/News", "News/Item"):
            pages.publish(title_path, slug="welcome")
        pages.move(Item="item")
        assert pages.visit("/welcome/welcome") == "/welcome/item"
        pages.move(News="press")
        assert pages.visit_all("/welcome", "/welcome/item") == ["/press", "/press/item"]

    def test_a_former_path_leads_to_its_page_and_not_to_an_unpublished_position(self, pages):
        pages.publish("Machines")
        pages.publish("Welcome/News", slug="welcome")
        pages.move(Machines="former-machines", News="former-welcome")
        pages.draft("Tools", slug="machines")
        pages.publish("Tools/Looms")
        pages.move(Tools="tools", Welcome="start")
        paths = pages.visit_all("/machines", "/machines/looms", "/welcome")
        assert paths == ["/former-machines", "/tools/looms", "/former-welcome"]

    def test_a_former_path_leads_to_its_page_and_not_to_one_that_was_hidden(self, pages):
        pages.publish("Tools", "Machines", "Machines/Looms", "Looms/Cards")
        pages.publish("Tools/Mills", slug="looms")
        pages.move(Mills="mills")
        pages.update("Looms", unpublishAt=PAST)
        pages.move(Tools="gear", Machines="tools", Looms="weaving")
        assert pages.visit_all("/tools/looms", "/machines/looms") == ["/gear/mills", "/tools/weaving"]

    def test_a_page_cannot_be_published_at_the_path_of_another(self, api, site, pages):
        pages.publish("Looms")
        pages.update("Looms", slug="weaving")
        other = pages.draft("New looms", slug="looms")
        response = api.post(f"{other.path}/publish", caller=site.owner)
        assert response.problem_and_pointers == ("409 slug_taken", ["/slug"])
        pages.republish("Looms")
        pages.republish("New looms")
        assert pages.visit("/looms") == "New looms"

    def test_a_page_is_public_below_a_draft_and_an_unpublished_page(self, pages):
        pages.draft("Machines")
        pages.publish("Machines/Looms", "Tools", "Mills")
        assert pages.visit_all("/machines/looms", "/machines") == ["Looms", None]
        pages.update("Machines", slug="engines")
        assert pages.visit("/machines/looms") == "Looms"
        pages.republish("Machines")
        assert pages.visit("/machines/looms") == "/engines/looms"
        pages.move(Tools="gear")
        pages.update("Tools", unpublishAt=PAST)
        pages.republish("Mills", parentId=pages["Tools"].id)
        assert pages.visit_all("/gear/mills", "/mills") == ["Mills", "/gear/mills"]
        pages.update("Welcome", unpublishAt=PAST)
        pages.publish("Welcome/News", slug="welcome")
        assert pages.visit("/welcome") == "News"

    def test_publishing_a_cycle_is_rejected(self, api, site, pages):
        parent, child = pages.publish("Above"), pages.publish("Above/Below")
        pages.update("Below", parentId=None)
        pages.update("Above", parentId=child.id)
        assert api.post(f"{parent.path}/publish", caller=site.owner).status_and_code == "409 cycle"
        pages.republish("Below")
        assert pages.republish("Above")["path"] == "/below/above"

    def test_a_new_home_page_is_at_the_root_after_it_is_published(self, pages):
        pages.publish("Welcome/Contact")
        pages.draft("Start", isHome=True)
        assert pages.visit_all("/", "/contact") == ["Welcome", "Contact"]
        pages.republish("Start")
        assert pages.visit_all("/", "/contact", "/start") == ["Start", "/welcome/contact", "/"]


class TestUnpublishPage:
    def test_a_past_time_unpublishes_a_page_but_not_its_children_until_it_is_published_again(
        self, api, organization, pages
    ):
        pages.publish("Looms", "Looms/Cards")
        record = pages.update("Looms", unpublishAt=PAST)
        assert record | {"status": "archived", "publishedRevisionId": None, "publishedAt": None} == record
        assert pages.visit_all("/looms", "/looms/cards") == [None, "Cards"]
        assert list_entries(api, organization)[0]["type"] == "page.unpublished"
        record = pages.republish("Looms")
        assert (record["status"], record["unpublishAt"]) == ("published", None)

    def test_unpublishing_frees_the_path_and_publishing_elsewhere_redirects_it(self, pages):
        pages.publish("Looms", "Mills")
        for title in ("Looms", "Mills"):
            pages.update(title, unpublishAt=PAST)
        pages.update("Looms", slug="old-looms")
        pages.publish("New looms", slug="looms")
        assert pages.visit("/looms") == "New looms"
        pages.republish("Looms")
        assert pages.visit("/old-looms") == "Looms"
        pages.move(Mills="grinding")
        assert pages.visit("/mills") == "/grinding"


class TestSchedule:
    def test_a_page_is_published_and_unpublished_on_schedule(self, api, site, clock, workers, organization, pages):
        clock.freeze("2027-03-21T09:00:00.000Z")
        looms = pages.draft("Looms", publishAt="2027-03-21T10:00:00Z", unpublishAt="2027-03-21T12:00:00+01:00")
        assert (looms.record["status"], looms.record["unpublishAt"]) == ("scheduled", "2027-03-21T11:00:00.000Z")
        states = []
        for _ in range(3):
            workers.run_until_idle()
            record = api.get(looms.path, caller=site.owner).json
            fields = (record[name] for name in ("status", "publishAt", "unpublishAt", "publishedAt"))
            states.append((*fields, pages.visit("/looms")))
            clock.shift(minutes=60)
        published_at, unpublish_at = "2027-03-21T10:00:00.000Z", "2027-03-21T11:00:00.000Z"
        assert states == [
            ("scheduled", published_at, unpublish_at, None, None),
            ("published", None, unpublish_at, published_at, "Looms"),
            ("archived", None, unpublish_at, None, None),
        ]
        entries = [(entry["type"], entry["actor"]["type"]) for entry in list_entries(api, organization)]
        assert entries[:3] == [("page.unpublished", "system"), ("page.published", "system"), ("page.created", "user")]

    def test_a_past_time_publishes_a_page_within_seconds_once_its_path_is_free(self, api, site, workers, clock, pages):
        pages.publish("Looms")
        pages.update("Looms", slug="weaving")
        other = pages.draft("New looms", slug="looms", publishAt=PAST)
        pages.draft("Mills", publishAt=PAST)
        pages.update("Welcome", title="Hello", publishAt=PAST)
        workers.deliver()
        assert pages.visit_all("/mills", "/", "/looms") == ["Mills", "Hello", "Looms"]
        assert api.get(other.path, caller=site.owner).json["status"] == "scheduled"
        pages.republish("Looms")
        clock.shift(minutes=2)
        workers.run_until_idle()
        assert pages.visit("/looms") == "New looms"

    def test_a_page_whose_path_is_not_free_is_tried_each_minute_and_is_no_overdue_task(self, workers, clock, pages):
        clock.freeze()
        pages.publish("Looms")
        pages.update("Looms", slug="weaving")
        pages.draft("New looms", slug="looms", publishAt=PAST)
        workers.deliver()
        for _ in range(4):
            assert read_oldest_due_task_and_entry_times().due_since is None
            clock.shift(minutes=1)
            assert read_oldest_due_task_and_entry_times().due_since == now()
            workers.run_sweep()
            assert len(workers.deliver()) == 1

    def test_a_page_without_its_schedule_stays_a_draft(self, api, site, run_tasks_after, pages):
        looms = pages.draft("Looms", publishAt="2099-01-01T00:00:00Z")
        assert pages.update("Looms", publishAt=None)["status"] == "draft"
        run_tasks_after(days=27_000)
        assert api.get(looms.path, caller=site.owner).json["status"] == "draft"


class TestPageRevisions:
    def test_revisions_of_a_page_are_listed_newest_first_without_blocks(self, api, home_page, ada, pages):
        pages.update("Welcome", title="Hello", blocks=DIVIDER)
        pages.update("Welcome", title="Hi")
        path = f"{home_page.path}/revisions"
        listed = api.get_items(path, caller=ada, query={"limit": 2})
        names = ("title", "createdBy", "blocks")
        assert [tuple(map(item.get, names)) for item in listed] == [
            (t, ada.id, None) for t in ("Hi", "Hello", "Welcome")
        ]
        assert api.get(f"{path}/{listed[1]['id']}", caller=ada).json == {**listed[1], "blocks": DIVIDER}
        other = f"{path}/{pages.draft('Looms').draft_revision_id}"
        assert api.get(other, caller=ada).status_and_code == "404 not_found"
        assert api.post(f"{other}/restore", caller=ada).status_and_code == "404 not_found"

    def test_restoring_creates_a_draft_and_publishes_nothing(self, api, site, home_page, pages):
        first, path = home_page.draft_revision_id, f"{home_page.path}/revisions"
        pages.republish("Welcome", title="Hello", blocks=DIVIDER, seo={"noindex": True})
        public = get_page_by_path(api, site, "/").json
        draft = api.post(f"{path}/{first}/restore", caller=site.owner).json
        assert (draft["title"], draft["blocks"], draft["seo"]["noindex"]) == ("Welcome", [], False)
        assert draft["draftRevisionId"] not in (first, public["publishedRevisionId"])
        assert api.get(f"{path}/{draft['draftRevisionId']}", caller=site.owner).json["restoredFrom"] == first
        assert get_page_by_path(api, site, "/").json == public
        assert len(api.get_items(path, caller=site.owner)) == 3

    def test_restoring_moves_the_page_back_unless_the_path_is_taken(self, api, site, pages):
        looms = pages.draft("Machines", "Machines/Looms")
        path = f"{looms.path}/revisions/{looms.draft_revision_id}/restore"
        pages.update("Looms", parentId=None, slug="weaving")
        assert api.post(path, caller=site.owner).json["path"] == "/machines/looms"
        pages.update("Looms", parentId=None, slug="weaving")
        pages.draft("Machines/Looms")
        assert api.post(path, caller=site.owner).json["path"] == "/weaving"
        pages.delete("Machines", "cascade")
        draft = api.post(path, caller=site.owner).json
        assert (draft["path"], draft["title"]) == ("/weaving", "Looms")
