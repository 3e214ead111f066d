"""Previews: unpublished pages for members, and for everyone who has a link."""

import base64
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.kernel.core.encoding import from_base64url, to_base64url
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.sites import (
    CreatedPage,
    CreatedSite,
    create_draft_page,
    create_published_page,
    create_site,
    publish_page,
    update_page,
)

ACCEPT_HTML = {"Accept": "text/html"}


@pytest.fixture
def draft(api: ApiClient, site: CreatedSite, home_page: CreatedPage) -> CreatedPage:
    """A page that has never been published."""
    assert home_page.id
    return create_draft_page(api, site, "Looms", blocks=[{"id": "b", "type": "text", "text": "They weave."}])


def get_preview(api: ApiClient, page: CreatedPage, *, caller: Caller | None = None, **query: object) -> Json:
    """Return the preview of a page for a member, by default the owner of the site."""
    answer = api.get(f"{page.path}/preview", caller=caller or page.site.owner, query=query)
    assert answer.status == 200, answer.text
    return answer.json


def open_link(api: ApiClient, page: CreatedPage, token: str, **options: object) -> ApiResponse:
    """Return the response to a request with a preview link's token."""
    return api.get(f"{page.path}/preview-public", query={"token": token}, **options)


class TestPreviewPage:
    def test_a_preview_shows_the_draft_and_a_link(self, api, draft, mary, clock):
        clock.freeze("2027-03-21T09:00:00.000Z")
        answer = api.get(f"{draft.path}/preview", caller=mary)
        preview = answer.json
        assert (preview["page"], preview["blocks"]) == (draft.record, draft.record["blocks"])
        assert preview["expiresAt"] == "2027-03-22T09:00:00.000Z"
        link = urlsplit(preview["previewUrl"])
        assert (link.path, parse_qs(link.query)) == (f"{draft.path}/preview-public", {"token": [preview["token"]]})
        assert answer.headers["Cache-Control"] == "private, no-store"
        assert answer.headers["X-Robots-Tag"] == "noindex"

    def test_a_preview_of_a_revision_shows_its_position_at_that_time(self, api, site, draft):
        machines = create_draft_page(api, site, "Machines")
        update_page(api, draft, title="Weaving", slug="weaving", parentId=machines.id)
        current = update_page(api, draft, title="Weavers", parentId=None)
        first = get_preview(api, draft, revisionId=draft.draft_revision_id)["page"]
        assert (first["title"], first["path"]) == ("Looms", "/looms")
        second = api.get_items(f"{draft.path}/revisions", caller=site.owner)[1]["id"]
        assert get_preview(api, draft, revisionId=second)["page"]["path"] == "/machines/weaving"
        assert get_preview(api, draft)["page"] == current
        response = api.get(f"{draft.path}/preview", caller=site.owner, query={"revisionId": site.id})
        assert response.errors == {"query/revisionId": "unknown"}

    def test_members_create_links_for_a_day_and_editors_for_longer(self, api, draft, organization, mary, edith):
        path, day = f"{draft.path}/preview", 24 * 3600
        read_key, write_key = (create_api_key(api, organization, f"sites:{verb}") for verb in ("read", "write"))
        for caller, status in ((mary, 403), (edith, 200), (read_key, 403), (write_key, 200)):
            assert api.get(path, caller=caller, query={"expiresIn": day}).status == 200
            assert api.get(path, caller=caller, query={"expiresIn": day + 1}).status == status
        for seconds in (0, 30 * day + 1):
            response = api.get(path, caller=edith, query={"expiresIn": seconds})
            assert response.errors == {"query/expiresIn": "out_of_range"}

    def test_a_preview_as_html_is_labelled(self, api, draft):
        answer = api.get(f"{draft.path}/preview", caller=draft.site.owner, headers=ACCEPT_HTML)
        assert "<strong>Preview.</strong>" in answer.text
        assert "They weave." in answer.text
        assert (answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]) == ("private, no-store", "noindex")
        assert answer.headers["Referrer-Policy"] == "no-referrer"


class TestPreviewPagePublicly:
    def test_the_link_shows_the_same_preview(self, api, draft, stranger):
        preview = get_preview(api, draft)
        for caller in (None, stranger):
            answer = open_link(api, draft, preview["token"], caller=caller)
            assert (answer.status, answer.json) == (200, preview)
            assert answer.headers["Cache-Control"] == "private, no-store"
            assert answer.headers["X-Robots-Tag"] == "noindex"
        assert "They weave." in open_link(api, draft, preview["token"], headers=ACCEPT_HTML).text

    def test_the_link_shows_its_revision_when_the_page_has_changed(self, api, draft):
        preview = get_preview(api, draft)
        update_page(api, draft, title="Weaving", blocks=[])
        publish_page(api, draft)
        page = open_link(api, draft, preview["token"]).json["page"]
        assert (page["title"], page["blocks"]) == ("Looms", draft.record["blocks"])

    def test_the_link_works_for_a_draft_site(self, api, organization):
        page = create_published_page(api, create_site(api, organization, publish=False), "Welcome")
        assert open_link(api, page, get_preview(api, page)["token"]).status == 200

    def test_the_link_expires(self, api, draft, clock):
        token = get_preview(api, draft, expiresIn=60)["token"]
        clock.shift(seconds=58)
        assert open_link(api, draft, token).status == 200
        clock.shift(seconds=3)
        assert open_link(api, draft, token).status_and_code == "404 not_found"

    def test_revoking_all_previews_invalidates_the_link(self, api, draft):
        token = get_preview(api, draft)["token"]
        assert update_page(api, draft, revokePreviews=True)["version"] == draft.record["version"] + 1
        assert open_link(api, draft, token).status_and_code == "404 not_found"
        assert open_link(api, draft, get_preview(api, draft)["token"]).status == 200

    def test_the_link_is_invalid_when_its_creator_is_no_longer_a_member(self, api, draft, organization, mary):
        token = get_preview(api, draft, caller=mary)["token"]
        assert api.delete(f"{organization.path}/members/{mary.id}", caller=organization.owner).status == 204
        assert open_link(api, draft, token).status_and_code == "404 not_found"

    def test_a_link_for_longer_than_a_day_is_invalid_when_its_creator_is_demoted(
        self, api, draft, organization, edith, clock
    ):
        week_token, hour_token = (
            get_preview(api, draft, caller=edith, expiresIn=seconds)["token"] for seconds in (7 * 86_400, 3600)
        )
        path, role = f"{organization.path}/members/{edith.id}", {"role": "member"}
        assert open_link(api, draft, week_token).status == 200
        assert api.patch(path, caller=organization.owner, json=role).status == 200
        assert open_link(api, draft, week_token).status_and_code == "404 not_found"
        assert open_link(api, draft, hour_token).status == 200
        clock.shift(days=6.5)
        assert open_link(api, draft, week_token).status == 200  # As valid as a link that any member creates for a day.

    def test_the_link_is_invalid_when_the_api_key_that_created_it_is_revoked(self, api, draft, organization):
        key = create_api_key(api, organization, "sites:read")
        token = get_preview(api, draft, caller=key)["token"]
        assert open_link(api, draft, token).status == 200
        assert api.delete(f"{organization.path}/api-keys/{key.id}", caller=organization.owner).status == 204
        assert open_link(api, draft, token).status_and_code == "404 not_found"

    def test_the_link_is_invalid_when_the_page_or_the_organization_is_deleted(self, api, draft, organization, site):
        token, other = get_preview(api, draft)["token"], create_draft_page(api, site, "Mills")
        other_token = get_preview(api, other)["token"]
        api.delete(draft.path, caller=site.owner)
        assert open_link(api, draft, token).status_and_code == "404 not_found"
        assert open_link(api, other, other_token).status == 200
        api.delete(organization.path, caller=organization.owner)
        assert open_link(api, other, other_token).status_and_code == "404 not_found"

    def test_every_invalid_token_gets_the_same_response(self, api, draft, site, home_page, clock):
        token = get_preview(api, draft)["token"]
        data = from_base64url(token)
        altered_tokens = [
            to_base64url(bytes([*data[:path], data[path] ^ 1, *data[path + 1 :]])) for path in range(0, len(data), 7)
        ]
        invalid_tokens = [
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
            get_preview(api, home_page)["token"],
            *altered_tokens,
        ]
        answers = {
            str(open_link(api, draft, invalid_token).comparable_problem)
            for invalid_token in invalid_tokens
            if invalid_token != token
        }
        missing = api.get(f"{site.path}/pages/{site.id}/preview-public", query={"token": token})
        without_token = api.get(f"{draft.path}/preview-public")
        clock.shift(days=2)
        expired_response = open_link(api, draft, token)
        assert answers == {str(answer.comparable_problem) for answer in (missing, without_token, expired_response)}
        assert len(answers) == 1
        assert missing.status_and_code == "404 not_found"
