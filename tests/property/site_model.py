"""A model of a site: positions of drafts and of published pages, and the pages that were ever public at a path.

The caller reports each change to the model. The model returns what must then be true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Position = tuple[str | None, str]
"""The ID of the parent page, and the slug."""


@dataclass
class Sheet:
    """A page: title and position of each revision, and what is published of it."""

    drafts: dict[str, tuple[str, Position]]
    draft: str
    live: Position | None = None
    shown: str | None = None
    published: str | None = None


@dataclass
class Publication:
    """A site: its pages, those ever published at each path, and the home pages of drafts and of published pages."""

    pages: dict[str, Sheet] = field(default_factory=dict)
    ever: dict[str, set[str]] = field(default_factory=dict)
    home: str | None = None
    live_home: str | None = None

    def seat(self, page: str) -> Position:
        """Return the position of a page's draft."""
        page_state = self.pages[page]
        return page_state.drafts[page_state.draft][1]

    def create(self, page: str, revision: str, title: str, position: Position) -> None:
        """Add a page."""
        self.pages[page] = Sheet({revision: (title, position)}, revision)
        self.home = self.home or page

    def revise(self, page: str, revision: str, title: str, position: Position) -> None:
        """Give a page another draft."""
        self.pages[page].drafts[revision] = title, position
        self.pages[page].draft = revision

    def publish(self, page: str, revision: str) -> None:
        """Publish a revision of a page."""
        page_state = self.pages[page]
        title, position = page_state.drafts[revision]
        self._publish_position(position[0])
        page_state.live, page_state.shown, page_state.published = position, title, revision
        if self.home == page:
            self.live_home = page
        self.note()

    def take_back(self, page: str) -> None:
        """Unpublish a page."""
        page_state = self.pages[page]
        page_state.shown = page_state.published = None
        self._release_position(page)

    def make_home(self, page: str) -> None:
        """Make a page the home page."""
        self.home = page
        if self.pages[page].shown is not None:
            self.live_home = page
        self.note()

    def delete(self, page: str) -> None:
        """Delete a page and the pages whose drafts are below it. Published pages below it are unpublished."""
        deleted = {page_id for page_id in self.pages if page in [*self._draft_ancestors(page_id)]}
        self.pages = {page_id: page_state for page_id, page_state in self.pages.items() if page_id not in deleted}
        for page_id in [page_id for page_id in self.pages if self._is_orphaned(page_id)]:
            self.pages[page_id].live = self.pages[page_id].shown = self.pages[page_id].published = None
        self.home = None if self.home in deleted else self.home
        self.live_home = None if self.live_home in deleted else self.live_home

    def note(self) -> None:
        """Record which pages are public at which path."""
        for page, path in self.public.items():
            self.ever.setdefault(path, set()).add(page)

    @property
    def public(self) -> dict[str, str]:
        """Return the path of each public page."""
        return {page: self.path(page) for page, page_state in self.pages.items() if page_state.shown is not None}

    @property
    def drafts(self) -> dict[str, str]:
        """Return the path of each draft."""
        return {page: _build_path([*self._draft_ancestors(page)], self.home, self.seat) for page in self.pages}

    def path(self, page: str) -> str:
        """Return the path of a published page."""
        return _build_path(
            [*self._published_ancestors(page)], self.live_home, lambda ancestor: self.pages[ancestor].live or (None, "")
        )

    def _publish_position(self, page: str | None) -> None:
        if page and self.pages[page].live is None:
            self.pages[page].live = self.seat(page)
            self._publish_position(self.seat(page)[0])

    def _release_position(self, page: str) -> None:
        page_state = self.pages[page]
        if (
            page_state.shown is None
            and page_state.live
            and not any(s.live and s.live[0] == page for s in self.pages.values())
        ):
            parent, page_state.live = page_state.live[0], None
            if parent:
                self._release_position(parent)

    def _is_orphaned(self, page: str) -> bool:
        return self.pages[page].live is not None and any(
            ancestor not in self.pages for ancestor in self._published_ancestors(page)
        )

    def _draft_ancestors(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            page = self.seat(page)[0] if page in self.pages else None

    def _published_ancestors(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            live = self.pages[page].live if page in self.pages else None
            page = live[0] if live else None


def _build_path(ancestors: list[str], home: str | None, position_of: Callable[[str], Position]) -> str:
    slugs: list[str] = []
    for page in ancestors:
        if page == home:
            break
        slugs.append(position_of(page)[1])
    return "/" + "/".join(reversed(slugs))
