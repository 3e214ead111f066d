"""The pages of `docs/`: their names, titles, sections and HTML."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, join, normpath
from typing import Final

from markdown_it import MarkdownIt
from markupsafe import Markup

from local.generators.docs_site.text import Anchors, MarkdownRenderer, plain_text
from local.paths import ROOT

_SECTIONS: Final = {
    "Start": ("README.md", "docs/concepts.md", "docs/guides/tour.md", "docs/guides/local.md"),
    "Guides": ("docs/guides/*.md", "docs/guides/issuers/*.md"),
    "Operations": ("docs/operations/*.md",),
    "Reference": ("docs/permissions.md", "docs/glossary.md", "docs/reference/*.md"),
    "Project": ("docs/security.md", "docs/comparison.md", "docs/limitations.md", "CHANGELOG.md"),
    "Decisions": ("docs/adr/*.md",),
}
IMAGES: Final = ("docs/reference/performance.svg",)
"""The images that pages show."""

_EXTERNAL: Final = re.compile(r"[a-z]+:")


@dataclass(frozen=True)
class Heading:
    """A heading of a page, with its anchor and the text below it."""

    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Guide:
    """A page that is written in Markdown. `path` is its path in the repository."""

    path: str
    section: str

    @property
    def page(self) -> str:
        """Name of the page."""
        return page_name(self.path)

    @cached_property
    def source(self) -> str:
        """The Markdown."""
        return (ROOT / self.path).read_text(encoding="utf-8")

    @property
    def title(self) -> str:
        """Text of the first heading."""
        return self.headings[0].title

    @cached_property
    def headings(self) -> list[Heading]:
        """All headings, each with the text up to the next one."""
        return [*_iter_headings(self.source)]

    @property
    def summary(self) -> str:
        """The first sentence of the page."""
        text = next(heading.text for heading in self.headings if heading.text)
        return text.partition(". ")[0].rstrip(".") + "."


def page_name(path: str) -> str:
    """Return the name under which a file of the documentation is served. A page has no ending."""
    return path.removeprefix("docs/").removesuffix(".md").replace("/README", "").replace("/", "-").lower()


def list_guides() -> list[Guide]:
    """Return all pages, in the order of the navigation."""
    paths: dict[str, str] = {}
    for section, patterns in _SECTIONS.items():
        for pattern in patterns:
            for file in sorted(ROOT.glob(pattern), key=lambda file: (file.name != "README.md", file.name)):
                paths.setdefault(file.relative_to(ROOT).as_posix(), section)
    return [Guide(path, section) for path, section in paths.items()]


def render_guide(guide: Guide, guides: list[Guide]) -> Markup:
    """Return the HTML of a page. Links to other pages lead to these, and links to other files are only text."""
    pages = {
        **{each.path: f"/{each.page}" for each in guides},
        **{path: f"/{page_name(path)}" for path in IMAGES},
        "docs/README.md": "",
        "docs/adr": "/adr-0001-single-table",
    }

    def rewrite(target: str) -> str | None:
        if _EXTERNAL.match(target) or target.startswith(("#", "/")):
            return target
        file, _, anchor = target.partition("#")
        page = pages.get(normpath(join(dirname(guide.path), file)))
        return None if page is None else f"%BASE%/docs{page}" + (f"#{anchor}" if anchor else "")

    return MarkdownRenderer(rewrite).render(guide.source)


def _iter_headings(source: str) -> Iterator[Heading]:
    title, texts, anchors = "", list[str](), Anchors()
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type != "inline":
            continue
        if before and before.type == "heading_open":
            if title:
                yield Heading(title, anchors.add(title), " ".join(texts))
            title, texts = plain_text(token), []
        else:
            texts.append(plain_text(token))
    yield Heading(title, anchors.add(title), " ".join(texts))
