"""Sites and their pages."""

from dataclasses import dataclass, replace
from typing import Any

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.created_record import CreatedRecord
from tests.harness.organizations import CreatedOrganization


@dataclass(frozen=True)
class CreatedSite(CreatedRecord):
    """A site."""

    owner: Person

    collection_path = "/sites"


@dataclass(frozen=True)
class CreatedPage(CreatedRecord):
    """A page of a site."""

    site: CreatedSite

    @property
    def path(self) -> str:
        """The path of the record."""
        return f"{self.site.path}/pages/{self.id}"

    @property
    def draft_revision_id(self) -> str:
        """The id of the draft revision when the page was created or last read."""
        return str(self.record["draftRevisionId"])


def create_site(
    api: ApiClient, organization: CreatedOrganization, *, publish: bool = True, **fields: Any
) -> CreatedSite:
    """Create a site as the owner of an organization, and publish it by default."""
    owner = organization.owner
    answer = api.post(f"{organization.path}/sites", caller=owner, json={"name": "Engines", **fields})
    assert answer.status == 201, answer.text
    site = CreatedSite(answer.json, owner)
    if publish:
        answer = api.patch(site.path, caller=owner, json={"status": "published"})
        assert answer.status == 200, answer.text
    return replace(site, record=answer.json)


def create_draft_page(
    api: ApiClient, site: CreatedSite, title: str, *, parent: CreatedPage | None = None, **fields: Any
) -> CreatedPage:
    """Create a draft page as the owner of a site."""
    body = {"title": title, "parentId": parent and parent.id, **fields}
    answer = api.post(f"{site.path}/pages", caller=site.owner, json=body)
    assert answer.status == 201, answer.text
    return CreatedPage(answer.json, site)


def publish_page(api: ApiClient, page: CreatedPage, **body: Any) -> Json:
    """Publish the draft or an earlier revision of a page, and return the page."""
    answer = api.post(f"{page.path}/publish", caller=page.site.owner, json=body)
    assert answer.status == 200, answer.text
    return answer.json


def create_published_page(
    api: ApiClient, site: CreatedSite, title: str, *, parent: CreatedPage | None = None, **fields: Any
) -> CreatedPage:
    """Create a page as the owner of a site, and publish it."""
    page = create_draft_page(api, site, title, parent=parent, **fields)
    return replace(page, record=publish_page(api, page))


def update_page(api: ApiClient, page: CreatedPage, **fields: Any) -> Json:
    """Change a page as the owner of its site, and return it."""
    answer = api.patch(page.path, caller=page.site.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer.json


def publish_at(api: ApiClient, page: CreatedPage, slug: str) -> None:
    """Publish a page at another path."""
    update_page(api, page, slug=slug)
    publish_page(api, page)


def get_page_by_path(api: ApiClient, site: CreatedSite, path: str, *, caller: Any = None, **query: Any) -> ApiResponse:
    """Request the page at a path, by default anonymously, and return the response."""
    return api.get(f"{site.path}/pages/by-path", caller=caller, query={"path": path, **query})
