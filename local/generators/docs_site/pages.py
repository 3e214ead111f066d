"""All pages of the documentation, by the names of their files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from chalicelib.entrypoints.static_files import fingerprint
from local.generators.docs_site.guide_pages import IMAGES, Guide, list_guides, page_name, render_guide
from local.generators.docs_site.reference_pages import ResourceView, list_resources
from local.generators.docs_site.search_index import search_index
from local.generators.docs_site.text import MarkdownRenderer
from local.paths import ROOT

FOLDER: Final = ROOT / "chalicelib/entrypoints/docs/pages"
"""The folder of the generated files."""

BASE: Final = "%BASE%"
"""Stands for the path of the service in links. The service replaces it."""


def build_site() -> dict[str, str]:
    """Return the content of each file of the site: pages, their Markdown, the search index and llms.txt."""
    document = json.loads((ROOT / "openapi.json").read_bytes())
    resources, guides = list_resources(document), list_guides()
    return dict(_iter_files(document, resources, guides))


def _iter_files(
    document: Mapping[str, Any], resources: Sequence[ResourceView], guides: Sequence[Guide]
) -> Iterator[tuple[str, str]]:
    sections = [(name, [*members]) for name, members in groupby(guides, lambda guide: guide.section)]
    shared = {"resources": resources, "sections": sections, "versions": _asset_versions()}
    introduction = markdown().render(document["info"]["description"])
    yield "index.html", _render("index.html.jinja", **shared, introduction=introduction, current="")
    for resource in resources:
        yield (
            f"{resource.page}.html",
            _render("resource.html.jinja", **shared, resource=resource, current=resource.page),
        )
    for guide in guides:
        content = render_guide(guide, [*guides])
        yield (
            f"{guide.page}.html",
            _render("guide.html.jinja", **shared, guide=guide, content=content, current=guide.page),
        )
        yield f"{guide.page}.md", guide.source
    for image in IMAGES:
        yield page_name(image), (ROOT / image).read_text(encoding="utf-8")
    yield "search.json", search_index(resources, guides)
    yield "llms.txt", _render("llms.txt.jinja", **shared)


def _asset_versions() -> Mapping[str, str]:
    return {name: fingerprint(FOLDER.parent / name) for name in ("docs.css", "docs.js", "favicon.svg")}


@cache
def markdown() -> MarkdownRenderer:
    """Return the renderer of the texts of the OpenAPI document, whose links start at the service."""
    return MarkdownRenderer(
        lambda target: target if target.startswith(("http", "#")) else f"{BASE}/{target.lstrip('/')}"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(enabled_extensions=("html.jinja",)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markdown": lambda text: markdown().render(text),
        "inline": lambda text: markdown().render_inline(text),
        "breakable": _breakable,
    }
    return environment


def _breakable(path: str) -> Markup:
    """Return a path that a narrow window may break before each slash."""
    return Markup("<wbr>/").join(path.split("/"))


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(base=BASE, **values)


def main() -> None:
    """Replace the generated files."""
    FOLDER.mkdir(exist_ok=True)
    files = build_site()
    for outdated in {file.name for file in FOLDER.iterdir()} - files.keys():
        (FOLDER / outdated).unlink()
    for name, content in files.items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
