"""Rendered pages as a browser takes them apart, and the law that nothing in them can do harm."""

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

_AROUND: Final = {"html", "head", "meta", "title", "link", "style", "body"}
_EMPTY: Final = {"br", "hr", "img", "link", "meta"}
_SET_BY_THE_SANITISER: Final = {"a": {"rel"}, "img": {"loading"}}
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*(?=:)")


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    inner: list["Element | str"] = field(default_factory=list)

    @property
    def words(self) -> str:
        """All text in it, in the order of reading."""
        return "".join(part if isinstance(part, str) else part.words for part in self.inner)

    def all(self, *tags: str) -> list["Element"]:
        """Return all elements in it with one of these tags, or all there are, in the order of reading."""
        inner = [part for part in self.inner if isinstance(part, Element)]
        found = [element for part in inner for element in (part, *part.all())]
        return [element for element in found if not tags or element.tag in tags]

    def one(self, tag: str, **attributes: str) -> "Element":
        """Return its only element with this tag and these attributes."""
        wanted = {name.strip("_").replace("_", "-"): value for name, value in attributes.items()}
        (found,) = [e for e in self.all(tag) if wanted.items() <= e.attributes.items()]
        return found


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        assert len(element.attributes) == len(attrs), f"{tag} says an attribute twice"
        self.open[-1].inner.append(element)
        if tag not in _EMPTY:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"{tag} ends where another element does"

    def handle_data(self, data: str) -> None:
        self.open[-1].inner.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")


def elements(document: str) -> Element:
    """Return a document's elements; each ends before the one around it does."""
    reader = _Reader()
    reader.feed(document)
    reader.close()
    assert reader.open == [reader.root]
    return reader.root


def view(*blocks: dict[str, Any], **words: Any) -> View:
    """Return a page with these blocks as it is to be shown; of what is around them words tell what isn't as usual."""
    said = {"lang": "en", "title": "Looms", "site_name": "The Mill", **words}
    rendering = Rendering(blocks, without_first=repeats_title(blocks, said["title"]))
    return View(**said, blocks=Blocks("1", lambda: rendering.html))


def rendered(*blocks: dict[str, Any], **words: Any) -> Element:
    """Return the elements of a page with these blocks, of which nothing can do harm."""
    return harmless(render_document(view(*blocks, **words), {}))


def theme(**said: Any) -> dict[str, Any]:
    """Return a theme as a platform stores it."""
    return {**ThemePatch().fields(), **said}


def harmless(document: RawResponse) -> Element:
    """Return the elements of a document, having seen that none of them, no attribute and no address can do harm."""
    root = elements(document.text)
    body = root.one("body")
    assert {e.tag for e in body.all()} <= ELEMENTS
    assert {e.tag for e in root.all()} - _AROUND <= ELEMENTS
    for element in body.all():
        usual = ATTRIBUTES["*"] | ATTRIBUTES.get(element.tag, frozenset())
        assert element.attributes.keys() <= usual | _SET_BY_THE_SANITISER.get(element.tag, set()), element
    for element in root.all():
        assert not [name for name in element.attributes if name.startswith("on") or name in ("style", "http-equiv")]
        for name in ("href", "src"):
            address = re.sub(r"[\x00-\x20]", "", element.attributes.get(name, "")).lower()
            scheme = _SCHEME.match(address)
            assert not scheme or scheme[0] in ("http", "https", "mailto") or address == "data:,", element
    style = root.one("style").words
    policy = document.headers["Content-Security-Policy"]
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    return root
