"""Pages: create, list, get, change, delete."""

import pytest

from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, make_key
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, visit, write_page
from tests.harness.workers import Workers

WORDS = [{"id": "b1", "type": "text", "text": "A loom **weaves**."}]
NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class TestCreatePage:
    def test_with_a_title_it_is_a_draft_and_the_first_is_the_home(self, api: Api, site: Published) -> None:
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "All about Looms"})
        own = ("id", "createdAt", "updatedAt", "draftRevisionId")
        assert {name: value for name, value in answer.json.items() if name not in own} == {
            "version": 1,
            "siteId": site.id,
            "title": "All about Looms",
            "slug": "all-about-looms",
            "parentId": None,
            "seo": NO_SEO,
            "publishAt": None,
            "unpublishAt": None,
            "isHome": True,
            "path": "/",
            "status": "draft",
            "hasUnpublishedChanges": True,
            "publishedRevisionId": None,
            "publishedAt": None,
            "blocks": [],
        }
        assert api.get(answer.location, as_=site.owner).json == answer.json
        assert not write_page(api, site, "Mills").record["isHome"]

    def test_below_another_its_path_is_longer(self, api: Api, site: Published, home: Leaf) -> None:
        machines = write_page(api, site, "Machines")
        looms = write_page(api, site, "Looms", below=machines, blocks=WORDS)
        assert (machines.record["path"], looms.record["path"]) == ("/machines", "/machines/looms")
        assert looms.record["blocks"] == WORDS
        assert write_page(api, site, "Contact", below=home).record["path"] == "/contact"

    def test_it_may_be_called_what_no_host_may_be(self, api: Api, site: Published, home: Leaf) -> None:
        assert write_page(api, site, "About", below=home).record["path"] == "/about"
        assert write_page(api, site, "Help", slug="help").record["path"] == "/help"
        refused = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Admin", "slug": "admin"})
        assert refused.faults == {"/slug": "malformed"}

    def test_siblings_have_different_slugs_and_so_have_those_below_the_home(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        write_page(api, site, "Looms")
        below = write_page(api, site, "Mills", below=home)
        for slug, parent in (("looms", None), ("mills", None), ("looms", home.id), ("mills", home.id)):
            body = {"title": "Another", "slug": slug, "parentId": parent}
            assert api.post(f"{site.path}/pages", as_=site.owner, json=body).code == "409 slug_taken"
        assert write_page(api, site, "Looms").record["slug"].startswith("looms-")
        assert write_page(api, site, "Looms", below=below).record["slug"] == "looms"

    def test_at_most_ten_deep(self, api: Api, site: Published, home: Leaf) -> None:
        page = home
        for level in range(2, 11):
            page = write_page(api, site, f"Level {level}", below=page)
        assert page.record["path"].count("/") == 9
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Deeper", "parentId": page.id})
        assert answer.faults == {"/parentId": "too_deep"}

    def test_not_below_what_is_no_page_of_the_site(self, api: Api, organization: Founded, site: Published) -> None:
        elsewhere = write_page(api, make_site(api, organization, name="Mills"), "Welcome")
        for parent in (elsewhere.id, site.id):
            body = {"title": "Looms", "parentId": parent}
            assert api.post(f"{site.path}/pages", as_=site.owner, json=body).faults == {"/parentId": "unknown"}

    def test_blocks_that_are_wrong_are_told_where(self, api: Api, site: Published) -> None:
        blocks = [
            {"id": "a", "type": "heading", "level": 7, "text": "x"},
            {"id": "a", "type": "marquee"},
            {"id": "c", "type": "button", "label": "Go", "url": "javascript:alert(1)"},
        ]
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Looms", "blocks": blocks})
        assert answer.faults == {
            "/blocks/0/level": "out_of_range",
            "/blocks/1/type": "not_one_of",
            "/blocks/2/url": "malformed",
        }

    def test_of_more_than_a_quarter_of_a_megabyte_it_is_too_large(self, api: Api, site: Published) -> None:
        def long(size: int) -> list[dict[str, str]]:
            return [{"id": "b", "type": "text", "text": "x" * size}]

        most = 256 * 1024 - len('[{"id":"b","type":"text","text":""}]')
        assert write_page(api, site, "Long", blocks=long(most)).record["blocks"] == long(most)
        answer = api.post(f"{site.path}/pages", as_=site.owner, json={"title": "Longer", "blocks": long(most + 1)})
        assert answer.code == "413 payload_too_large"

    def test_an_editor_may_and_a_member_may_not(
        self, api: Api, site: Published, edith: Person, mary: Person, organization: Founded
    ) -> None:
        body = {"title": "Looms"}
        assert api.post(f"{site.path}/pages", as_=edith, json=body).status == 201
        assert api.post(f"{site.path}/pages", as_=mary, json=body).code == "403 insufficient_role"
        reader = make_key(api, organization, "sites:read")
        assert api.post(f"{site.path}/pages", as_=reader, json=body).code == "403 insufficient_scope"


class TestGetPage:
    def test_is_for_members_published_or_not(self, api: Api, home: Leaf, mary: Person, stranger: Person) -> None:
        assert api.get(home.path, as_=mary).json == home.record
        assert api.get(home.path, as_=stranger).code == "404 not_found"
        assert api.get(home.path).code == "401 unauthenticated"

    def test_is_of_its_site_only(self, api: Api, organization: Founded, home: Leaf) -> None:
        elsewhere = make_site(api, organization, name="Mills")
        assert api.get(f"{elsewhere.path}/pages/{home.id}", as_=home.site.owner).code == "404 not_found"


@pytest.mark.usefixtures("home")
class TestListPages:
    def test_without_blocks_in_the_order_they_were_created(self, api: Api, site: Published, mary: Person) -> None:
        pages = [write_page(api, site, title, blocks=WORDS) for title in ("Looms", "Mills")]
        listed = api.items(f"{site.path}/pages", as_=mary, query={"limit": 2})
        bare = [{name: v for name, v in page.record.items() if name != "blocks"} for page in pages]
        assert listed[1:] == bare

    def test_by_parent_status_and_the_beginning_of_their_titles(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        page_of(api, site, "Looms", below=machines)
        write_page(api, site, "Łódź mills", below=machines)
        write_page(api, site, "Looming", publishAt="2099-01-01T00:00:00Z")

        def titles(**query: str) -> list[str]:
            return [page["title"] for page in api.items(f"{site.path}/pages", as_=site.owner, query=query)]

        assert titles(parentId=machines.id) == ["Looms", "Łódź mills"]
        assert titles(status="published") == ["Welcome", "Machines", "Looms"]
        assert titles(status="scheduled") == ["Looming"]
        assert titles(q="LOO") == ["Looming", "Looms"]
        assert titles(q="loo", status="published", parentId=machines.id) == ["Looms"]


@pytest.mark.usefixtures("home")
class TestUpdatePage:
    def test_makes_a_draft_and_nothing_of_it_is_public(self, api: Api, site: Published, home: Leaf) -> None:
        shown = visit(api, site, "/").json
        changed = edit(api, home, title="Hello", blocks=WORDS, seo={"description": "Hi"})
        assert (changed["title"], changed["blocks"]) == ("Hello", WORDS)
        assert changed["seo"] == {**NO_SEO, "description": "Hi"}
        assert changed["hasUnpublishedChanges"]
        assert changed["draftRevisionId"] != home.record["draftRevisionId"]
        assert changed["publishedRevisionId"] == home.record["publishedRevisionId"]
        assert visit(api, site, "/").json == shown

    def test_of_nothing_makes_no_revision(self, api: Api, home: Leaf, organization: Founded) -> None:
        entries = len(log_of(api, organization))
        assert edit(api, home) == home.record
        assert edit(api, home, title="Welcome", blocks=[]) == home.record
        assert len(log_of(api, organization)) == entries

    def test_moves_all_that_is_below(self, api: Api, site: Published) -> None:
        machines, tools = write_page(api, site, "Machines"), write_page(api, site, "Tools")
        looms = write_page(api, site, "Looms", below=machines)
        write_page(api, site, "Hand looms", below=looms)
        edit(api, looms, parentId=tools.id, slug="weaving")
        paths = [page["path"] for page in api.items(f"{site.path}/pages", as_=site.owner)]
        assert paths == ["/", "/machines", "/tools", "/tools/weaving", "/tools/weaving/hand-looms"]

    def test_not_below_itself_nor_too_deep(self, api: Api, site: Published, home: Leaf) -> None:
        top = write_page(api, site, "Top")
        line = [top]
        for level in range(2, 11):
            line.append(write_page(api, site, f"Level {level}", below=line[-1]))
        answer = api.patch(top.path, as_=site.owner, json={"parentId": line[2].id})
        assert (answer.code, set(answer.faults)) == ("409 cycle", {"/parentId"})
        answer = api.patch(top.path, as_=site.owner, json={"parentId": home.id})
        assert answer.faults == {"/parentId": "too_deep"}

    def test_another_version_than_the_one_that_was_read_stays(self, api: Api, home: Leaf) -> None:
        tag = api.get(home.path, as_=home.site.owner).etag
        edit(api, home, title="Hello")
        late = api.patch(home.path, as_=home.site.owner, json={"title": "Hi"}, headers={"If-Match": tag})
        assert late.code == "412 precondition_failed"

    def test_another_page_becomes_the_home_and_none_is_left_without(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        below = write_page(api, site, "Contact", below=home)
        other = write_page(api, site, "Start")
        refused = api.patch(home.path, as_=site.owner, json={"isHome": False})
        assert refused.faults == {"/isHome": "required"}
        assert (edit(api, other, isHome=True)["path"], edit(api, home)["path"]) == ("/", "/welcome")
        assert api.get(below.path, as_=site.owner).json["path"] == "/welcome/contact"
        assert api.get(site.path, as_=site.owner).json["homePageId"] == other.id

    def test_what_would_be_at_the_path_of_another_keeps_it_from_being_the_home(self, api: Api, site: Published) -> None:
        start = write_page(api, site, "Start")
        write_page(api, site, "Contact", below=start)
        write_page(api, site, "Contact", slug="contact")
        answer = api.patch(start.path, as_=site.owner, json={"isHome": True})
        assert (answer.code, set(answer.faults)) == ("409 slug_taken", {"/isHome"})
        assert "contact" in answer.json["detail"]


@pytest.mark.usefixtures("home")
class TestDeletePage:
    def test_is_gone_with_its_revisions_and_its_slug_is_free(self, api: Api, site: Published, workers: Workers) -> None:
        looms = page_of(api, site, "Looms")
        assert api.delete(looms.path, as_=site.owner).status == 204
        for path in (looms.path, f"{looms.path}/revisions"):
            assert api.get(path, as_=site.owner).code == "404 not_found"
        assert visit(api, site, "/looms").status == 404
        workers.settle()
        assert page_of(api, site, "Looms").record["path"] == "/looms"

    def test_with_pages_below_it_stays_unless_they_go_too(self, api: Api, site: Published) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        refused = api.delete(machines.path, as_=site.owner)
        assert (refused.code, set(refused.faults)) == ("409 not_empty", {"query/strategy"})
        assert api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"}).status == 204
        assert api.get(looms.path, as_=site.owner).code == "404 not_found"
        assert visit(api, site, "/machines/looms").status == 404
        assert [page["title"] for page in api.items(f"{site.path}/pages", as_=site.owner)] == ["Welcome"]

    def test_what_is_published_below_it_though_its_draft_is_elsewhere_stays_as_a_draft(
        self, api: Api, site: Published, organization: Founded, workers: Workers
    ) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        edit(api, looms, parentId=None)
        assert api.delete(machines.path, as_=site.owner).code == "409 not_empty"
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        workers.settle()
        kept = api.get(looms.path, as_=site.owner).json
        assert (kept["status"], kept["path"], kept["publishedRevisionId"]) == ("archived", "/looms", None)
        assert log_of(api, organization)[0]["type"] == "page.unpublished"

    def test_what_is_kept_as_a_draft_has_nothing_below_it_that_is_not_published(
        self, api: Api, site: Published, workers: Workers
    ) -> None:
        machines = page_of(api, site, "Machines")
        looms = page_of(api, site, "Looms", below=machines)
        cards = page_of(api, site, "Cards", below=looms)
        edit(api, looms, parentId=None)
        edit(api, cards, parentId=None)
        api.delete(machines.path, as_=site.owner, query={"strategy": "cascade"})
        workers.settle()
        assert api.delete(looms.path, as_=site.owner).status == 204

    def test_without_its_home_a_site_has_none_until_there_is_another(
        self, api: Api, site: Published, home: Leaf
    ) -> None:
        api.delete(home.path, as_=site.owner)
        assert api.get(site.path, as_=site.owner).json["homePageId"] is None
        assert visit(api, site, "/").status == 404
        assert write_page(api, site, "Start").record["isHome"]
