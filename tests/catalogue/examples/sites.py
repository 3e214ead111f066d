"""Examples of the operations on sites, their pages, menus and redirects, and for visitors."""

from typing import Any, Final

from chalicelib.features.sites.entities.redirects import Redirect
from chalicelib.features.sites.entities.sites import Site
from chalicelib.features.sites.menus.entities import Menu
from chalicelib.features.sites.pages.entities.pages import Content, Page, Revision
from tests.catalogue.examples.example import ExampleFactories, Neighbours, example, new_fields
from tests.catalogue.tenant_fixture import TenantFixture
from tests.harness.menus import group_item, page_item, url_item

EXAMPLES: Final[ExampleFactories] = {
    "create_site": lambda _: example({"name": "Looms", "slug": "all-looms"}),
    "update_site": lambda _: example(
        {"name": "Difference Engines", "slug": "difference-site", "robots": {"disallow": ["/drafts"]}}
    ),
    "put_navigation_menu": lambda tenant: example(
        {
            "name": "Main menu",
            "items": [page_item(tenant.page), group_item("More", url_item("https://example.com/spindles", "Spindles"))],
        }
    ),
    "create_page": lambda tenant: example(
        {
            "title": "Spindles",
            "parentId": tenant.page.id,
            "blocks": [{"id": "intro", "type": "text", "text": "They **turn**."}],
        }
    ),
    "update_page": lambda _: example({"title": "Mills", "slug": "mills", "seo": {"description": "Where looms stand."}}),
    "publish_page": lambda _: example({}),
    "restore_page_revision": lambda tenant: example(target_path=tenant.page.path),
    "preview_page": lambda tenant: example(query={"expiresIn": 3600, "revisionId": tenant.organization.revision_id}),
    "preview_page_publicly": lambda tenant: example(query={"token": tenant.organization.preview_token}),
    "create_redirect": lambda _: example(
        {"fromPath": "/spindles", "toPath": "https://example.com/spindles", "statusCode": 308}
    ),
    "update_redirect": lambda _: example({"fromPath": "/former-looms", "toPath": "/mills", "statusCode": 302}),
    "resolve_site": lambda tenant: example(query={"host": tenant.site.record["host"], "path": "/looms"}),
    "get_page_by_path": lambda _: example(query={"path": "/looms"}),
}


def _site_ids(tenant: TenantFixture) -> dict[str, Any]:
    return {"organization_id": tenant.id, "site_id": tenant.site.id}


def build_sites(tenant: TenantFixture, n: int) -> Neighbours:
    yield Site(**new_fields(), organization_id=tenant.id, name=f"Neighbour {n}", slug=f"neighbouring-site-{n}")


def build_menus(tenant: TenantFixture, n: int) -> Neighbours:
    yield Menu(**new_fields() | {"id": f"neighbour-{n}"}, **_site_ids(tenant), name=f"Neighbour {n}")


def build_pages(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a published page of the site, and a revision of the page in the examples."""
    fields, slug = new_fields(), f"neighbour-{n}"
    page = Page(
        **fields,
        **_site_ids(tenant),
        title=f"Neighbour {n}",
        slug=slug,
        draft_revision_id=fields["id"],
        published_slug=slug,
        published_tree_version=1,
        published_revision_id=fields["id"],
        published_at=fields["created_at"],
        status="published",
    )
    yield page
    yield from page.derived_items
    fields = new_fields() | {"organization_id": tenant.id, "page_id": tenant.page.id}
    yield Revision(**fields, site_id=tenant.site.id, title=f"Draft {n}", slug="looms")
    yield Content(**fields, text=b"[]")


def build_redirects(tenant: TenantFixture, n: int) -> Neighbours:
    """Yield a redirect of the site. Some target the paths of others."""
    target = f"/neighbours/{n // 10}-of-them"
    redirect = Redirect(**new_fields(), **_site_ids(tenant), from_path=f"/neighbours/{n}", to_path=target)
    yield redirect
    yield from redirect.derived_items
