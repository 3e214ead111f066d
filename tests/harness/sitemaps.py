"""Sitemaps, validated with the schemas of the protocol."""

from functools import cache
from typing import Final
from xml.etree import ElementTree as ET

from xmlschema import XMLSchema

from local.paths import ROOT
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.sites import CreatedSite

NAMESPACE: Final = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@cache
def load_schema(name: str) -> XMLSchema:
    """Load a schema of the protocol: `sitemap` or `siteindex`."""
    return XMLSchema(ROOT / "tests" / "harness" / "schemas" / f"{name}.xsd")


def get_sitemap(api: ApiClient, site: CreatedSite, **query: int) -> ApiResponse:
    return api.get(f"{site.path}/sitemap.xml", query=query)


def sitemap_urls(answer: ApiResponse) -> dict[str, str]:
    """Return the URLs of a sitemap with their times of modification, in order."""
    return _parse(answer, "urlset", "sitemap") if "<url>" in answer.text else {}


def sitemap_index_urls(answer: ApiResponse) -> dict[str, str]:
    """Return the URLs of the sitemaps in an index, with their times of modification."""
    return _parse(answer, "sitemapindex", "siteindex")


def _parse(answer: ApiResponse, root_tag: str, schema_name: str) -> dict[str, str]:
    assert answer.expect(200).headers["Content-Type"] == "application/xml"
    load_schema(schema_name).validate(answer.text)
    root = ET.fromstring(answer.text)  # noqa: S314 - a response of the service
    assert root.tag == NAMESPACE + root_tag
    entries = [{part.tag.removeprefix(NAMESPACE): str(part.text) for part in entry} for entry in root]
    assert len({entry["loc"] for entry in entries}) == len(entries)
    return {entry["loc"]: entry["lastmod"] for entry in entries}
