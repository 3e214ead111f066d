"""Sites and their pages."""

from dataclasses import dataclass, replace
from typing import Any

from tests.harness.api import Answer, Api, Json
from tests.harness.builders import Made
from tests.harness.callers import Person
from tests.harness.organizations import Founded


@dataclass(frozen=True)
class Published(Made):
    """A site."""

    owner: Person

    listed_at = "/sites"


@dataclass(frozen=True)
class Leaf(Made):
    """A page of a site."""

    site: Published

    @property
    def path(self) -> str:
        """The path of the record."""
        return f"{self.site.path}/pages/{self.id}"

    @property
    def draft_revision_id(self) -> str:
        """The id of the draft revision when the page was created or last read."""
        return str(self.record["draftRevisionId"])


def make_site(api: Api, organization: Founded, *, published: bool = True, **fields: Any) -> Published:
    """Create a site as the owner of an organization, and publish it by default."""
    owner = organization.owner
    answer = api.post(f"{organization.path}/sites", as_=owner, json={"name": "Engines", **fields})
    assert answer.status == 201, answer.text
    site = Published(answer.json, owner)
    if published:
        answer = api.patch(site.path, as_=owner, json={"status": "published"})
        assert answer.status == 200, answer.text
    return replace(site, record=answer.json)


def write_page(api: Api, site: Published, title: str, *, below: Leaf | None = None, **fields: Any) -> Leaf:
    """Create a draft page as the owner of a site."""
    body = {"title": title, "parentId": below and below.id, **fields}
    answer = api.post(f"{site.path}/pages", as_=site.owner, json=body)
    assert answer.status == 201, answer.text
    return Leaf(answer.json, site)


def publish_page(api: Api, page: Leaf, **body: Any) -> Json:
    """Publish the draft or an earlier revision of a page, and return the page."""
    answer = api.post(f"{page.path}/publish", as_=page.site.owner, json=body)
    assert answer.status == 200, answer.text
    return answer.json


def page_of(api: Api, site: Published, title: str, *, below: Leaf | None = None, **fields: Any) -> Leaf:
    """Create a page as the owner of a site, and publish it."""
    page = write_page(api, site, title, below=below, **fields)
    return replace(page, record=publish_page(api, page))


def edit(api: Api, page: Leaf, **fields: Any) -> Json:
    """Change a page as the owner of its site, and return it."""
    answer = api.patch(page.path, as_=page.site.owner, json=fields)
    assert answer.status == 200, answer.text
    return answer.json


def visit(api: Api, site: Published, path: str, *, as_: Any = None, **query: Any) -> Answer:
    """Request the page at a path, by default anonymously, and return the response."""
    return api.get(f"{site.path}/pages/by-path", as_=as_, query={"path": path, **query})
