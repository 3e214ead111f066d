"""A model of a site: positions of drafts and of published pages, and the pages that were ever public at a path.

The caller reports each change to the model. The model returns what must then be true.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Position = tuple[str | None, str]
"""The ID of the parent page, and the slug."""


@dataclass
class PageModel:
    """A page: title and position of each revision, and what is published of it."""

    revisions: dict[str, tuple[str, Position]]
    draft_revision: str
    published_position: Position | None = None
    public_title: str | None = None
    published_revision: str | None = None


@dataclass
class SiteModel:
    """A site: its pages, those ever published at each path, and the home pages of drafts and of published pages."""

    pages: dict[str, PageModel] = field(default_factory=dict)
    pages_by_public_path: dict[str, set[str]] = field(default_factory=dict)
    home_page: str | None = None
    published_home_page: str | None = None

    def draft_position(self, page: str) -> Position:
        page_state = self.pages[page]
        return page_state.revisions[page_state.draft_revision][1]

    def create(self, page: str, revision: str, title: str, position: Position) -> None:
        self.pages[page] = PageModel({revision: (title, position)}, revision)
        self.home_page = self.home_page or page

    def add_revision(self, page: str, revision: str, title: str, position: Position) -> None:
        self.pages[page].revisions[revision] = title, position
        self.pages[page].draft_revision = revision

    def publish(self, page: str, revision: str) -> None:
        page_state = self.pages[page]
        title, position = page_state.revisions[revision]
        self._publish_position(position[0])
        page_state.published_position, page_state.public_title = position, title
        page_state.published_revision = revision
        if self.home_page == page:
            self.published_home_page = page
        self.record_public_paths()

    def unpublish(self, page: str) -> None:
        page_state = self.pages[page]
        page_state.public_title = page_state.published_revision = None
        self._release_position(page)

    def make_home(self, page: str) -> None:
        self.home_page = page
        if self.pages[page].public_title is not None:
            self.published_home_page = page
        self.record_public_paths()

    def delete(self, page: str) -> None:
        """Delete a page and the pages whose drafts are below it. Published pages below it are unpublished."""
        deleted = {page_id for page_id in self.pages if page in [*self._draft_ancestors(page_id)]}
        self.pages = {page_id: page_state for page_id, page_state in self.pages.items() if page_id not in deleted}
        for page_state in [self.pages[page_id] for page_id in self.pages if self._is_orphaned(page_id)]:
            page_state.published_position = page_state.public_title = page_state.published_revision = None
        self.home_page = None if self.home_page in deleted else self.home_page
        self.published_home_page = None if self.published_home_page in deleted else self.published_home_page

    def record_public_paths(self) -> None:
        for page, path in self.public_paths.items():
            self.pages_by_public_path.setdefault(path, set()).add(page)

    @property
    def public_paths(self) -> dict[str, str]:
        return {page: self.published_path(page) for page, state in self.pages.items() if state.public_title is not None}

    @property
    def draft_paths(self) -> dict[str, str]:
        ancestors_by_page = {page: [*self._draft_ancestors(page)] for page in self.pages}
        return {p: _build_path(a, self.home_page, self.draft_position) for p, a in ancestors_by_page.items()}

    def published_path(self, page: str) -> str:
        ancestors = [*self._published_ancestors(page)]
        return _build_path(
            ancestors, self.published_home_page, lambda each: self.pages[each].published_position or (None, "")
        )

    def _publish_position(self, page: str | None) -> None:
        if page and self.pages[page].published_position is None:
            self.pages[page].published_position = self.draft_position(page)
            self._publish_position(self.draft_position(page)[0])

    def _release_position(self, page: str) -> None:
        page_state = self.pages[page]
        is_parent = any(s.published_position and s.published_position[0] == page for s in self.pages.values())
        if page_state.public_title is None and page_state.published_position and not is_parent:
            parent, page_state.published_position = page_state.published_position[0], None
            if parent:
                self._release_position(parent)

    def _is_orphaned(self, page: str) -> bool:
        return self.pages[page].published_position is not None and any(
            ancestor not in self.pages for ancestor in self._published_ancestors(page)
        )

    def _draft_ancestors(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            page = self.draft_position(page)[0] if page in self.pages else None

    def _published_ancestors(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            live = self.pages[page].published_position if page in self.pages else None
            page = live[0] if live else None


def _build_path(ancestors: list[str], home: str | None, position_of: Callable[[str], Position]) -> str:
    slugs: list[str] = []
    for page in ancestors:
        if page == home:
            break
        slugs.append(position_of(page)[1])
    return "/" + "/".join(reversed(slugs))
