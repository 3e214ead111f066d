"""Sites and their pages."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.callers import Person
from tests.harness.organizations import CreatedOrganization
from tests.harness.record_clients import CreatedRecord


@dataclass(frozen=True)
class CreatedSite(CreatedRecord):
    owner: Person

    collection_path = "/sites"

    @property
    def url(self) -> str:
        """The URL of its host when it was created or last read, on the local stage."""
        return f"http://{self.record['host']}:8000"


@dataclass(frozen=True)
class CreatedPage(CreatedRecord):
    site: CreatedSite

    collection_path = "{site.path}/pages"

    @property
    def draft_revision_id(self) -> str:
        """The id of the draft revision when the page was created or last read."""
        return str(self.record["draftRevisionId"])


def create_site(
    api: ApiClient, organization: CreatedOrganization, *, publish: bool = True, **fields: Any
) -> CreatedSite:
    owner = organization.owner
    answer = api.post(f"{organization.path}/sites", caller=owner, json={"name": "Engines", **fields}).expect(201)
    site = CreatedSite(answer.json, owner)
    if publish:
        answer = api.patch(site.path, caller=owner, json={"status": "published"}).expect(200)
    return replace(site, record=answer.json)


def create_draft_page(
    api: ApiClient, site: CreatedSite, title: str, *, parent: CreatedPage | None = None, **fields: Any
) -> CreatedPage:
    body = {"title": title, "parentId": parent and parent.id, **fields}
    return CreatedPage(api.post(f"{site.path}/pages", caller=site.owner, json=body).expect(201).json, site)


def publish_page(api: ApiClient, page: CreatedPage, **body: Any) -> Json:
    return api.post(f"{page.path}/publish", caller=page.site.owner, json=body).expect(200).json


def create_published_page(
    api: ApiClient, site: CreatedSite, title: str, *, parent: CreatedPage | None = None, **fields: Any
) -> CreatedPage:
    page = create_draft_page(api, site, title, parent=parent, **fields)
    return replace(page, record=publish_page(api, page))


def update_page(api: ApiClient, page: CreatedPage, **fields: Any) -> Json:
    return api.patch(page.path, caller=page.site.owner, json=fields).expect(200).json


def get_page_by_path(api: ApiClient, site: CreatedSite, path: str, *, caller: Any = None, **query: Any) -> ApiResponse:
    """Request the page at a path, by default anonymously, and return the response."""
    return api.get(f"{site.path}/pages/by-path", caller=caller, query={"path": path, **query})


class SitePages:
    """The pages of a site by title: its owner creates and moves them, and visitors request paths."""

    def __init__(self, api: ApiClient, site: CreatedSite, *pages: CreatedPage) -> None:
        self.site = site
        self._api = api
        self._pages = {str(page.record["title"]): page for page in pages}

    def __getitem__(self, title: str) -> CreatedPage:
        return self._pages[title]

    def __iter__(self) -> Iterator[CreatedPage]:
        return iter(self._pages.values())

    def post(self, **body: Any) -> ApiResponse:
        return self._api.post(f"{self.site.path}/pages", caller=self.site.owner, json=body)

    def patch(self, title: str, /, **fields: Any) -> ApiResponse:
        return self._api.patch(self._pages[title].path, caller=self.site.owner, json=fields)

    def draft(self, *title_paths: str, **fields: Any) -> CreatedPage:
        """Create drafts and return the last one. `Machines/Looms` creates the page Looms below Machines."""
        for title_path in title_paths:
            *ancestors, title = title_path.split("/")
            parent = self._pages[ancestors[-1]] if ancestors else None
            self._pages[title] = create_draft_page(self._api, self.site, title, parent=parent, **fields)
        return self._pages[title]

    def publish(self, *title_paths: str, **fields: Any) -> CreatedPage:
        """Create and publish pages like `draft`, and return the last one as published."""
        for title_path in title_paths:
            page = self.draft(title_path, **fields)
            self._pages[page.record["title"]] = replace(page, record=publish_page(self._api, page))
        return self._pages[page.record["title"]]

    def update(self, title: str, /, **fields: Any) -> Json:
        return update_page(self._api, self._pages[title], **fields)

    def republish(self, title: str, /, **fields: Any) -> Json:
        """Change a page, publish it, and return it."""
        if fields:
            self.update(title, **fields)
        return publish_page(self._api, self._pages[title])

    def move(self, **slugs: str) -> None:
        """Publish pages, by title, at other slugs, one after the other."""
        for title, slug in slugs.items():
            self.republish(title, slug=slug)

    def delete(self, title: str, strategy: str | None = None) -> ApiResponse:
        query = {"strategy": strategy} if strategy else None
        return self._api.delete(self._pages[title].path, caller=self.site.owner, query=query)

    def visit(self, path: str, **options: Any) -> str | None:
        """Return the title of the page at a path, or the path to which it redirects, or None."""
        answer = get_page_by_path(self._api, self.site, path, **options)
        if answer.status == 301:
            location = urlsplit(answer.location)
            assert location.path == f"{self.site.path}/pages/by-path"
            return parse_qs(location.query)["path"][0]
        assert answer.status == 200 or answer.status_and_code == "404 not_found"
        return str(answer.json["title"]) if answer.status == 200 else None

    def visit_all(self, *paths: str) -> list[str | None]:
        return [self.visit(path) for path in paths]
