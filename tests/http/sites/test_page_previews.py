"""Previews: unpublished pages for members, and for everyone who has a link."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.kernel.core.encoding import from_base64url
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key, set_role
from tests.harness.sites import CreatedPage, create_published_page, create_site

ACCEPT_HTML = {"Accept": "text/html"}
DAY_SECONDS = 24 * 3600


@pytest.fixture
def draft(pages):
    """A page that has never been published."""
    return pages.draft("Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])


def get_preview(api: ApiClient, page: CreatedPage, caller: Caller | None = None, **query: object) -> Json:
    """Return the preview of a page for a member, by default the owner of the site."""
    return api.get(f"{page.path}/preview", caller=caller or page.site.owner, query=query).expect(200).json


def open_link(api: ApiClient, page: CreatedPage, token: str, **options: object) -> ApiResponse:
    """Return the response to a request with a preview link's token."""
    return api.get(f"{page.path}/preview-public", query={"token": token}, **options)


def cache_headers(answer):
    return answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]


def is_valid(api, page, token):
    answer = open_link(api, page, token)
    assert answer.status == 200 or answer.status_and_code == "404 not_found"
    return answer.status == 200


class TestPreviewPage:
    def test_a_preview_shows_the_draft_and_a_link_for_a_day(self, api, draft, mary, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        preview = get_preview(api, draft, mary)
        assert (preview["page"], preview["blocks"]) == (draft.record, draft.record["blocks"])
        assert preview["expiresAt"] == "2027-03-22T09:00:00.000Z"
        link = urlsplit(preview["previewUrl"])
        assert (link.path, parse_qs(link.query)) == (f"{draft.path}/preview-public", {"token": [preview["token"]]})
        html = api.get(f"{draft.path}/preview", caller=mary, headers=ACCEPT_HTML)
        assert ("<strong>Preview.</strong>" in html.text, "They weave." in html.text) == (True, True)
        assert cache_headers(html) == ("private, no-store", "noindex")

    def test_a_preview_of_a_revision_shows_its_position_at_that_time(self, api, site, draft, pages):
        pages.update("Looms", title="Weaving", slug="weaving", parentId=pages.draft("Machines").id)
        current = pages.update("Looms", title="Weavers", parentId=None)
        first = get_preview(api, draft, revisionId=draft.draft_revision_id)["page"]
        assert (first["title"], first["path"]) == ("Looms", "/looms")
        second = api.get_items(f"{draft.path}/revisions", caller=site.owner)[1]["id"]
        assert get_preview(api, draft, revisionId=second)["page"]["path"] == "/machines/weaving"
        assert get_preview(api, draft)["page"] == current
        response = api.get(f"{draft.path}/preview", caller=site.owner, query={"revisionId": site.id})
        assert response.errors == {"query/revisionId": "unknown"}

    def test_members_create_links_for_a_day_and_editors_for_longer(self, api, draft, organization, mary, edith):
        path = f"{draft.path}/preview"
        read_key, write_key = (create_api_key(api, organization, f"sites:{verb}") for verb in ("read", "write"))
        for caller, status in ((mary, 403), (edith, 200), (read_key, 403), (write_key, 200)):
            assert api.get(path, caller=caller, query={"expiresIn": DAY_SECONDS}).status == 200
            assert api.get(path, caller=caller, query={"expiresIn": DAY_SECONDS + 1}).status == status
        for seconds in (0, 30 * DAY_SECONDS + 1):
            response = api.get(path, caller=edith, query={"expiresIn": seconds})
            assert response.errors == {"query/expiresIn": "out_of_range"}


class TestPreviewPagePublicly:
    def test_the_link_shows_the_same_preview_even_when_the_page_has_changed(self, api, draft, stranger, pages):
        preview = get_preview(api, draft)
        for caller in (None, stranger):
            answer = open_link(api, draft, preview["token"], caller=caller)
            assert (answer.json, cache_headers(answer)) == (preview, ("private, no-store", "noindex"))
        assert "They weave." in open_link(api, draft, preview["token"], headers=ACCEPT_HTML).text
        pages.republish("Looms", title="Weaving", blocks=[])
        page = open_link(api, draft, preview["token"]).json["page"]
        assert (page["title"], page["blocks"]) == ("Looms", draft.record["blocks"])

    def test_the_link_works_for_a_draft_site(self, api, organization):
        page = create_published_page(api, create_site(api, organization, publish=False), "Welcome")
        assert is_valid(api, page, get_preview(api, page)["token"])

    def test_the_link_expires_and_all_links_of_a_page_can_be_revoked(self, api, draft, clock, pages):
        token, longer = (get_preview(api, draft, expiresIn=seconds)["token"] for seconds in (60, 600))
        clock.shift(seconds=58)
        assert is_valid(api, draft, token)
        clock.shift(seconds=3)
        assert [is_valid(api, draft, each) for each in (token, longer)] == [False, True]
        assert pages.update("Looms", revokePreviews=True)["version"] == draft.record["version"] + 1
        assert not is_valid(api, draft, longer)
        assert is_valid(api, draft, get_preview(api, draft)["token"])

    def test_the_link_is_invalid_when_its_creator_has_lost_access(self, api, draft, organization, mary):
        key = create_api_key(api, organization, "sites:read")
        for caller, path in ((mary, organization.member_path(mary)), (key, organization.api_key_path(key))):
            token = get_preview(api, draft, caller=caller)["token"]
            assert is_valid(api, draft, token)
            assert api.delete(path, caller=organization.owner).status == 204
            assert not is_valid(api, draft, token)

    def test_a_link_for_longer_than_a_day_is_invalid_when_its_creator_is_demoted(
        self, api, draft, organization, edith, clock
    ):
        week, hour = (get_preview(api, draft, edith, expiresIn=s)["token"] for s in (7 * DAY_SECONDS, 3600))
        assert is_valid(api, draft, week)
        assert set_role(api, organization, edith, "member").status == 200
        assert [is_valid(api, draft, token) for token in (week, hour)] == [False, True]
        clock.shift(days=6.5)
        assert is_valid(api, draft, week)  # As valid as a link that any member creates for a day.

    def test_the_link_is_invalid_when_the_page_or_the_organization_is_deleted(self, api, draft, organization, pages):
        links = [(page, get_preview(api, page)["token"]) for page in (draft, pages.draft("Mills"))]
        pages.delete("Looms")
        assert [is_valid(api, *link) for link in links] == [False, True]
        api.delete(organization.path, caller=organization.owner)
        assert [is_valid(api, *link) for link in links] == [False, False]

    def test_every_invalid_token_gets_the_same_response(self, api, draft, site, home_page, clock):
        token = get_preview(api, draft)["token"]
        invalid_tokens = ["", "x", "é", "=", token[:-1], f"{token}A", token.swapcase(), "A" * 5000]
        invalid_tokens += [base64.b64encode(from_base64url(token)).decode(), get_preview(api, home_page)["token"]]
        answers = [open_link(api, draft, invalid) for invalid in invalid_tokens if invalid != token]
        answers.append(api.get(f"{draft.path}/preview-public"))
        answers.append(api.get(f"{site.path}/pages/{site.id}/preview-public", query={"token": token}))
        clock.shift(days=2)
        answers.append(open_link(api, draft, token))
        assert {answer.status_and_code for answer in answers} == {"404 not_found"}
        assert len({str(answer.comparable_problem) for answer in answers}) == 1
