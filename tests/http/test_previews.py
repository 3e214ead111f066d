"""Previews: a page as it would be, for members, and by a link for whoever has it."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from tests.harness.api import Answer, Api, Json
from tests.harness.callers import Caller, Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, make_key
from tests.harness.sites import Leaf, Published, edit, make_site, page_of, publish_page, write_page

HTML = {"Accept": "text/html"}


@pytest.fixture
def draft(api: Api, site: Published, home: Leaf) -> Leaf:
    """A page that nobody has published."""
    assert home.id
    return write_page(api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])


def preview(api: Api, page: Leaf, *, as_: Caller | None = None, **query: object) -> Json:
    """A preview that a member is given; the owner of the site, unless it is said who."""
    answer = api.get(f"{page.path}/preview", as_=as_ or page.site.owner, query=query)
    assert answer.status == 200, answer.text
    return answer.json


def follow(api: Api, page: Leaf, token: str, **words: object) -> Answer:
    """What whoever has the link is answered."""
    return api.get(f"{page.path}/preview-public", query={"token": token}, **words)


class TestPreviewPage:
    def test_shows_the_draft_and_a_link_to_it(self, api: Api, draft: Leaf, mary: Person, clock: Clock) -> None:
        clock.freeze("2027-03-21T09:00:00.000Z")
        answer = api.get(f"{draft.path}/preview", as_=mary)
        shown = answer.json
        assert (shown["page"], shown["blocks"]) == (draft.record, draft.record["blocks"])
        assert shown["expiresAt"] == "2027-03-22T09:00:00.000Z"
        link = urlsplit(shown["previewUrl"])
        assert (link.path, parse_qs(link.query)) == (f"{draft.path}/preview-public", {"token": [shown["token"]]})
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"

    def test_or_an_earlier_revision_where_that_was(self, api: Api, site: Published, draft: Leaf) -> None:
        machines = write_page(api, site, "Machines")
        edit(api, draft, title="Weaving", slug="weaving", parentId=machines.id)
        moved = edit(api, draft, title="Weavers", parentId=None)
        first = preview(api, draft, revisionId=draft.draft_revision_id)["page"]
        assert (first["title"], first["path"]) == ("Looms", "/looms")
        second = api.items(f"{draft.path}/revisions", as_=site.owner)[1]["id"]
        assert preview(api, draft, revisionId=second)["page"]["path"] == "/machines/weaving"
        assert preview(api, draft)["page"] == moved
        strange = api.get(f"{draft.path}/preview", as_=site.owner, query={"revisionId": site.id})
        assert strange.faults == {"query/revisionId": "unknown"}

    def test_members_make_links_for_a_day_and_editors_for_longer(
        self, api: Api, draft: Leaf, organization: Founded, mary: Person, edith: Person
    ) -> None:
        at, day = f"{draft.path}/preview", 24 * 3600
        reader, writer = (make_key(api, organization, f"sites:{verb}") for verb in ("read", "write"))
        for caller, longer in ((mary, 403), (edith, 200), (reader, 403), (writer, 200)):
            assert api.get(at, as_=caller, query={"expiresIn": day}).status == 200
            assert api.get(at, as_=caller, query={"expiresIn": day + 1}).status == longer
        for seconds in (0, 30 * day + 1):
            refused = api.get(at, as_=edith, query={"expiresIn": seconds})
            assert refused.faults == {"query/expiresIn": "out_of_range"}

    def test_as_html_it_says_what_it_is(self, api: Api, draft: Leaf) -> None:
        answer = api.get(f"{draft.path}/preview", as_=draft.site.owner, headers=HTML)
        assert "<strong>Preview.</strong>" in answer.text
        assert "They weave." in answer.text
        assert (answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]) == ("private, no-store", "noindex")
        assert answer.headers["Referrer-Policy"] == "no-referrer"


class TestPreviewPagePublicly:
    def test_shows_the_same_to_whoever_has_the_link(self, api: Api, draft: Leaf, stranger: Person) -> None:
        shown = preview(api, draft)
        for caller in (None, stranger):
            answer = follow(api, draft, shown["token"], as_=caller)
            assert (answer.status, answer.json) == (200, shown)
            assert answer.headers["Cache-Control"] == "private, no-store"
            assert answer.headers["X-Robots-Tag"] == "noindex"
        assert "They weave." in follow(api, draft, shown["token"], headers=HTML).text

    def test_stays_with_its_revision(self, api: Api, draft: Leaf) -> None:
        shown = preview(api, draft)
        edit(api, draft, title="Weaving", blocks=[])
        publish_page(api, draft)
        later = follow(api, draft, shown["token"]).json["page"]
        assert (later["title"], later["blocks"]) == ("Looms", draft.record["blocks"])

    def test_of_a_site_that_is_a_draft(self, api: Api, organization: Founded) -> None:
        page = page_of(api, make_site(api, organization, published=False), "Welcome")
        assert follow(api, page, preview(api, page)["token"]).status == 200

    def test_ends_with_its_time(self, api: Api, draft: Leaf, clock: Clock) -> None:
        token = preview(api, draft, expiresIn=60)["token"]
        clock.shift(seconds=58)
        assert follow(api, draft, token).status == 200
        clock.shift(seconds=3)
        assert follow(api, draft, token).code == "404 not_found"

    def test_ends_when_all_previews_are_revoked(self, api: Api, draft: Leaf) -> None:
        token = preview(api, draft)["token"]
        assert edit(api, draft, revokePreviews=True)["version"] == draft.record["version"] + 1
        assert follow(api, draft, token).code == "404 not_found"
        assert follow(api, draft, preview(api, draft)["token"]).status == 200

    def test_ends_with_the_membership_of_who_made_it(
        self, api: Api, draft: Leaf, organization: Founded, mary: Person
    ) -> None:
        token = preview(api, draft, as_=mary)["token"]
        assert api.delete(f"{organization.path}/members/{mary.id}", as_=organization.owner).status == 204
        assert follow(api, draft, token).code == "404 not_found"

    def test_for_longer_than_a_day_ends_with_the_role_that_it_takes(
        self, api: Api, draft: Leaf, organization: Founded, edith: Person, clock: Clock
    ) -> None:
        week, hour = (preview(api, draft, as_=edith, expiresIn=seconds)["token"] for seconds in (7 * 86_400, 3600))
        path, role = f"{organization.path}/members/{edith.id}", {"role": "member"}
        assert follow(api, draft, week).status == 200
        assert api.patch(path, as_=organization.owner, json=role).status == 200
        assert follow(api, draft, week).code == "404 not_found"
        assert follow(api, draft, hour).status == 200
        clock.shift(days=6.5)
        assert follow(api, draft, week).status == 200  # As any member's that was made today.

    def test_ends_with_the_api_key_that_made_it(self, api: Api, draft: Leaf, organization: Founded) -> None:
        key = make_key(api, organization, "sites:read")
        token = preview(api, draft, as_=key)["token"]
        assert follow(api, draft, token).status == 200
        assert api.delete(f"{organization.path}/api-keys/{key.id}", as_=organization.owner).status == 204
        assert follow(api, draft, token).code == "404 not_found"

    def test_ends_with_the_page_the_site_and_the_organization(
        self, api: Api, draft: Leaf, organization: Founded, site: Published
    ) -> None:
        token, other = preview(api, draft)["token"], write_page(api, site, "Mills")
        another = preview(api, other)["token"]
        api.delete(draft.path, as_=site.owner)
        assert follow(api, draft, token).code == "404 not_found"
        assert follow(api, other, another).status == 200
        api.delete(organization.path, as_=organization.owner)
        assert follow(api, other, another).code == "404 not_found"

    def test_whatever_is_wrong_with_a_token_is_one_and_the_same(
        self, api: Api, draft: Leaf, site: Published, home: Leaf, clock: Clock
    ) -> None:
        token = preview(api, draft)["token"]
        data = from_base64url(token)
        altered = [to_base64url(bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]])) for at in range(0, len(data), 7)]
        wrong = [
            "",
            "x",
            "é",
            "=",
            token[:-1],
            f"{token}=",
            f"{token}A",
            token.upper(),
            to_base64url(data[:-1]),
            base64.b64encode(data).decode(),
            "A" * 5000,
            preview(api, home)["token"],
            *altered,
        ]
        answers = {str(follow(api, draft, each).refusal) for each in wrong if each != token}
        missing = api.get(f"{site.path}/pages/{site.id}/preview-public", query={"token": token})
        without = api.get(f"{draft.path}/preview-public")
        clock.shift(days=2)
        ended = follow(api, draft, token)
        assert answers == {str(answer.refusal) for answer in (missing, without, ended)}
        assert len(answers) == 1
        assert missing.code == "404 not_found"
