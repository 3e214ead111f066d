"""Sitemaps as crawlers read them: only what the schemas of the protocol allow."""

from functools import cache
from typing import Final
from xml.etree import ElementTree as ET

from xmlschema import XMLSchema

from local.paths import ROOT
from tests.harness.api import Answer, Api
from tests.harness.sites import Published

NAMESPACE: Final = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


@cache
def schema(name: str) -> XMLSchema:
    """Return a schema of the protocol: of `sitemap` or `siteindex`."""
    return XMLSchema(ROOT / "tests" / "harness" / "schemas" / f"{name}.xsd")


def ask(api: Api, site: Published, **query: int) -> Answer:
    """Ask for the sitemap of a site as anybody."""
    return api.get(f"{site.path}/sitemap.xml", query=query)


def listed(answer: Answer) -> dict[str, str]:
    """Return what a sitemap lists, in its order, and since when each is as it is."""
    return _read(answer, "urlset", "sitemap") if "<url>" in answer.text else {}


def parts(answer: Answer) -> dict[str, str]:
    """Return which sitemaps an index lists."""
    return _read(answer, "sitemapindex", "siteindex")


def _read(answer: Answer, whole: str, name: str) -> dict[str, str]:
    assert answer.status == 200, answer.text
    assert answer.headers["Content-Type"] == "application/xml"
    schema(name).validate(answer.text)
    root = ET.fromstring(answer.text)  # noqa: S314 - the service's own
    assert root.tag == NAMESPACE + whole
    entries = [{part.tag.removeprefix(NAMESPACE): str(part.text) for part in entry} for entry in root]
    assert len({entry["loc"] for entry in entries}) == len(entries)
    return {entry["loc"]: entry["lastmod"] for entry in entries}
