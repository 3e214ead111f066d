"""A parser for rendered pages, which checks that they contain nothing harmful."""

import re
from base64 import b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any, Final

from chalicelib.features.platforms.models.schemas import ThemePatch
from chalicelib.features.sites.pages.entities.renderings import Rendering
from chalicelib.features.sites.rendering.logic.content import repeats_title
from chalicelib.features.sites.rendering.logic.markdown import ATTRIBUTES, ELEMENTS
from chalicelib.features.sites.rendering.logic.page_document import render_document
from chalicelib.features.sites.rendering.models.view import Blocks, View
from chalicelib.kernel.operations.results import RawResponse

_DOCUMENT_ELEMENTS: Final = {"html", "head", "meta", "title", "link", "style", "body"}
_VOID_ELEMENTS: Final = {"br", "hr", "img", "link", "meta"}
_SANITISER_ATTRIBUTES: Final = {"a": {"rel"}, "img": {"loading"}}
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*(?=:)")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.children)

    def find_all(self, *tags: str) -> list["Element"]:
        """Return its descendants with one of the tags, or all descendants, in document order."""
        children = [part for part in self.children if isinstance(part, Element)]
        elements = [element for part in children for element in (part, *part.find_all())]
        return [element for element in elements if not tags or element.tag in tags]

    def find_one(self, tag: str, **attributes: str) -> "Element":
        """Return its only descendant with a tag and attributes."""
        expected = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        (element,) = [e for e in self.find_all(tag) if expected.items() <= e.attributes.items()]
        return element


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(element.attributes) == len(attrs), f"{tag} has an attribute twice"
        self.open[-1].children.append(element)
        if tag not in _VOID_ELEMENTS:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"{tag} overlaps another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


def parse_html(document: str) -> Element:
    """Return the root of a document, whose elements must be properly nested."""
    parser = _Parser()
    parser.feed(document)
    parser.close()
    assert parser.open == [parser.root]
    return parser.root


def build_view(*blocks: dict[str, Any], **fields: Any) -> View:
    """Return the view of a page with blocks. `fields` replace the defaults of the other fields."""
    view_fields = {"lang": "en", "title": "Looms", "site_name": "The Mill", **fields}
    rendering = Rendering(blocks, without_first=repeats_title(blocks, view_fields["title"]))
    return View(**view_fields, blocks=Blocks("1", lambda: rendering.html_or_placeholder))


def render_blocks(*blocks: dict[str, Any], **fields: Any) -> Element:
    """Render a page with blocks, check that it is harmless, and return its elements."""
    return parse_harmless_document(render_document(build_view(*blocks, **fields), {}))


def build_theme(**fields: Any) -> dict[str, Any]:
    """Return a theme as a platform stores it. `fields` replace the defaults."""
    return {**ThemePatch().to_stored_fields_with_defaults(), **fields}


def parse_harmless_document(document: RawResponse) -> Element:
    """Return the elements of a document, after checking that elements, attributes and URLs are harmless."""
    root = parse_html(document.text)
    body = root.find_one("body")
    assert {e.tag for e in body.find_all()} <= ELEMENTS
    assert {e.tag for e in root.find_all()} - _DOCUMENT_ELEMENTS <= ELEMENTS
    for element in body.find_all():
        allowed = ATTRIBUTES["*"] | ATTRIBUTES.get(element.tag, frozenset())
        assert element.attributes.keys() <= allowed | _SANITISER_ATTRIBUTES.get(element.tag, set()), element
    for element in root.find_all():
        assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "http-equiv")]
        for name in ("href", "src"):
            url = re.sub(r"[\x00-\x20]", "", element.attributes.get(name, "")).lower()
            scheme = _SCHEME.match(url)
            assert not scheme or scheme[0] in ("http", "https", "mailto") or url == "data:,", element
    style = root.find_one("style").text
    policy = document.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    return root
