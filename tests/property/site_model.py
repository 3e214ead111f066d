"""A site as a model: where each page's draft is, where it is published, what was public at which path; nothing else.

It does not say what is answered: it is told what was done, and says what has to be true then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Seat = tuple[str | None, str]
"""Below which page, by which slug."""


@dataclass
class Sheet:
    """A page. `drafts`: its revisions, of which `draft` is one: title and seat. `shown`: the title that is public."""

    drafts: dict[str, tuple[str, Seat]]
    draft: str
    live: Seat | None = None
    shown: str | None = None
    published: str | None = None


@dataclass
class Publication:
    """A site. `ever`: which pages were published at a path, ever. `home`, `live_home`: those at `/` in either tree."""

    pages: dict[str, Sheet] = field(default_factory=dict)
    ever: dict[str, set[str]] = field(default_factory=dict)
    home: str | None = None
    live_home: str | None = None

    def seat(self, page: str) -> Seat:
        """Where a draft is."""
        sheet = self.pages[page]
        return sheet.drafts[sheet.draft][1]

    def create(self, page: str, revision: str, title: str, seat: Seat) -> None:
        """Let there be a page."""
        self.pages[page] = Sheet({revision: (title, seat)}, revision)
        self.home = self.home or page

    def revise(self, page: str, revision: str, title: str, seat: Seat) -> None:
        """Let a page have another draft."""
        self.pages[page].drafts[revision] = title, seat
        self.pages[page].draft = revision

    def publish(self, page: str, revision: str) -> None:
        """Let a revision of a page be public."""
        sheet = self.pages[page]
        title, seat = sheet.drafts[revision]
        self._take_seat(seat[0])
        sheet.live, sheet.shown, sheet.published = seat, title, revision
        if self.home == page:
            self.live_home = page
        self.note()

    def take_back(self, page: str) -> None:
        """Let a page be public no more."""
        sheet = self.pages[page]
        sheet.shown = sheet.published = None
        self._give_up(page)

    def make_home(self, page: str) -> None:
        """Let a page be at `/`."""
        self.home = page
        if self.pages[page].shown is not None:
            self.live_home = page
        self.note()

    def delete(self, page: str) -> None:
        """Let a page be gone, with all whose drafts are below it; what is published below it is public no more."""
        gone = {each for each in self.pages if page in [*self._upwards(each)]}
        self.pages = {each: sheet for each, sheet in self.pages.items() if each not in gone}
        for each in [each for each in self.pages if self._is_orphaned(each)]:
            self.pages[each].live = self.pages[each].shown = self.pages[each].published = None
        self.home = None if self.home in gone else self.home
        self.live_home = None if self.live_home in gone else self.live_home

    def note(self) -> None:
        """Note which pages are public at which path."""
        for page, path in self.public.items():
            self.ever.setdefault(path, set()).add(page)

    @property
    def public(self) -> dict[str, str]:
        """The path of each page that is public."""
        return {page: self.path(page) for page, sheet in self.pages.items() if sheet.shown is not None}

    @property
    def drafts(self) -> dict[str, str]:
        """The path of each draft."""
        return {page: _path([*self._upwards(page)], self.home, self.seat) for page in self.pages}

    def path(self, page: str) -> str:
        """Where a page is published."""
        return _path([*self._live_upwards(page)], self.live_home, lambda each: self.pages[each].live or (None, ""))

    def _take_seat(self, page: str | None) -> None:
        if page and self.pages[page].live is None:
            self.pages[page].live = self.seat(page)
            self._take_seat(self.seat(page)[0])

    def _give_up(self, page: str) -> None:
        sheet = self.pages[page]
        if sheet.shown is None and sheet.live and not any(s.live and s.live[0] == page for s in self.pages.values()):
            above, sheet.live = sheet.live[0], None
            if above:
                self._give_up(above)

    def _is_orphaned(self, page: str) -> bool:
        return self.pages[page].live is not None and any(each not in self.pages for each in self._live_upwards(page))

    def _upwards(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            page = self.seat(page)[0] if page in self.pages else None

    def _live_upwards(self, page: str | None) -> Iterator[str]:
        while page:
            yield page
            live = self.pages[page].live if page in self.pages else None
            page = live[0] if live else None


def _path(upwards: list[str], home: str | None, seat: Callable[[str], Seat]) -> str:
    slugs: list[str] = []
    for page in upwards:
        if page == home:
            break
        slugs.append(seat(page)[1])
    return "/" + "/".join(reversed(slugs))
