"""Seats of pages in a tree: whether a page can have one, and what else is written when it gets it or leaves it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from chalicelib.features.sites.entities.sites import DRAFT, LIVE, SiteTree, TreeName, tree_of
from chalicelib.features.sites.pages.entities.pages import Content, Page, guard_of
from chalicelib.features.sites.pages.entities.slug_index import Steps, former_key, trail_key
from chalicelib.features.sites.pages.models.schemas import MOST_DEPTH
from chalicelib.kernel.core.ids import new_id
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item, ItemKey
from chalicelib.kernel.storage.trees import Tree, add_move, read_tree
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork

Line = Sequence[Mapping[str, Any]]


class PageToChange(Page):
    """A page that is to be changed, moved, published or deleted: with it everything is read that decides about that."""

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:
        """Return it with its blocks and its ancestors; None if one of these is gone."""
        content = Content.make_item_key(page_id=self.id, id=self.draft_revision_id)
        return self.shown_in(read, [content, *self._around(read)])

    def _around(self, read: Mapping[ItemKey, Item]) -> Iterator[ItemKey]:
        """Yield where it stands what is above its seats and those of pages that were read, and what leads to them."""
        drafts, live = tree_of(self.site_id, DRAFT), tree_of(self.site_id, LIVE)
        others = [item for item in read.values() if item.get("kind") == Page.kind and item["id"] != self.id]
        yield from (drafts.key(each) for other in others for each in other["lineage"])
        yield from (live.key(each) for each in {*self.lineage, *self.live_lineage})
        yield from (
            self.make_item_key(site_id=self.site_id, id=each) for each in {self.parent_id, self.live_parent_id} if each
        )
        yield from (trail_key(tree, self.slug) for tree in (drafts, live))
        if self.live_slug:
            yield from (key(live, self.live_slug) for key in (trail_key, former_key))


def refuse_cycle(page_id: str, above: Line, advice: str) -> None:
    """Raise Problem `cycle` if a page is to be below itself."""
    if any(each["id"] == page_id for each in above):
        raise Problem.for_field("/parentId", "cycle", f"The page would be below itself. {advice}")


def refuse_depth(site_id: str, tree: SiteTree, page_id: str, levels: int, *, has_children: bool) -> None:
    """Raise Invalid if a page, or the lowest below it, would be deeper than pages may be; `levels` are above it.

    Only if it has children the tree is read for how many levels these are: a Query for each megabyte of its seats.
    """
    below = _height(site_id, tree, page_id) if has_children else 0
    if levels + 1 + below > MOST_DEPTH:
        deeper = f", and there are {below} below this one" if below else ""
        detail = f"is too deep: a site has at most {MOST_DEPTH} levels{deeper}"
        raise ValidationProblem([FieldError("/parentId", "too_deep", detail)])


def _height(site_id: str, tree: SiteTree, page_id: str) -> int:
    below: dict[str, list[str]] = {}
    for item in read_tree(tree_of(site_id, tree.tree), tree.version).items.values():
        if item.get("parent_id"):
            below.setdefault(item["parent_id"], []).append(item["id"])
    level, height = below.get(page_id, []), 0
    while level and height < MOST_DEPTH:
        level, height = [child for each in level for child in below.get(each, [])], height + 1
    return height


def refuse_twin(trees: "Trees", name: TreeName, page: Page, parent_id: str | None, slug: str) -> None:
    """Let the change fail if another page has the path that a page is to have, with its new seat.

    What is below the home has the same paths as what is below nothing; the home itself is at `/`.
    """
    home = trees.state(name).home
    if home is None or page.id == home or parent_id not in (None, home):
        return
    key = guard_of(trees.site_id, name, home if parent_id is None else None, slug)
    harmless = [page, trees.page(home)] if parent_id == home else [page]
    if key in [_guard_held(name, each) for each in harmless if each]:
        return  # It is that of the page itself, which is to be at the same path, or of the home, which is at `/`.
    where = "Right below the home" if parent_id is None else "Beside the home"
    detail = f"{where} another page has the slug {slug!r}, and so the same path. Choose another."
    absent = Write(
        "ConditionCheck",
        key,
        condition="attribute_not_exists(#pk) OR #ref = :home",
        names=["pk", "ref"],
        values={"home": home},
    )
    trees.changes.add_write(absent, Problem.for_field("/slug", "slug_taken", detail))


def _guard_held(name: TreeName, page: Page) -> ItemKey:
    seat = (page.parent_id, page.slug) if name == DRAFT else (page.live_parent_id, str(page.live_slug))
    return guard_of(page.site_id, name, *seat)


class Trees:
    """Both trees of a site in one transaction: as they were read, and what becomes of them, their pages and trails.

    `read` holds the states of both, and whatever else was read; what is read more is added to it.
    """

    def __init__(self, changes: UnitOfWork, site_id: str, read: Mapping[ItemKey, Item]) -> None:
        self.changes, self.site_id, self.read = changes, site_id, dict(read)
        self._were = {name: SiteTree.from_item(self.read[self.tree(name).state_key]) for name in (DRAFT, LIVE)}
        self._are = {**self._were}
        self._steps = {name: Steps(self.tree(name), self.read) for name in (DRAFT, LIVE)}
        self._pages: dict[str, tuple[Page, dict[str, Any]]] = {}
        self._shows_other = False

    def tree(self, name: TreeName) -> Tree:
        """Return one of the trees."""
        return tree_of(self.site_id, name)

    def state(self, name: TreeName) -> SiteTree:
        """Return a tree as it will be."""
        return self._are[name]

    def place_anew(self, name: TreeName, page_id: str) -> int:
        """Let a page be placed anew in a tree, and return the version that this has by that, whatever else is."""
        version = self._were[name].version + 1
        self.let(name, moved=add_move(self._are[name].moved, version, [page_id]))
        return version

    def show_other(self) -> None:
        """Let whatever was made of all that is published be made anew: one of its pages is another now, or none."""
        self._shows_other = True

    def unseat(self, page: Page, moment: str) -> None:
        """Let a page leave its seat among the published at a moment; where that was still leads to it."""
        self.show_other()
        self._steps[LIVE].leave(page.live_seat)
        self._steps[LIVE].remember(page.live_seat, moment)
        self.count(page.live_parent_id, live_count=-1)

    def steps(self, name: TreeName) -> Steps:
        """Return what becomes of the trails of a tree."""
        return self._steps[name]

    def let(self, name: TreeName, **fields: Any) -> None:
        """Let some fields of a tree be others."""
        self._are[name] = self.changes.bump_version(self._are[name], **fields)

    def page(self, page_id: str | None) -> Page | None:
        """Return another page as it will be, read if it was not yet; None if there is none."""
        key = Page.make_item_key(site_id=self.site_id, id=str(page_id))
        if page_id and key not in self.read:
            self.read |= table.get_all([key])
        if not page_id or key not in self.read:
            return None
        page, fields = self._pages.get(page_id, (Page.from_item(self.read[key]), {}))
        return page.replace(**fields)

    def let_page(self, page_id: str | None, **fields: Any) -> None:
        """Let some fields of another page be others, if it is there."""
        if page := self.page(page_id):
            was, known = self._pages.get(page.id, (page, {}))
            self._pages[page.id] = was, {**known, **fields}

    def count(self, page_id: str | None, **delta: int) -> None:
        """Let another page have more pages right below it, or fewer: `child_count`, `live_count`."""
        if page := self.page(page_id):
            self.let_page(page_id, **{name: getattr(page, name) + number for name, number in delta.items()})

    def write(self) -> None:
        """Say it all to the unit of work. A tree that did not change has to be as it was read."""
        if self._shows_other:
            self._mark(self._are[LIVE])
        for page, fields in self._pages.values():
            self.changes.update_untracked(page, **fields)
        for name, steps in self._steps.items():
            if self._are[name] is self._were[name] and steps:
                self.changes.require_unchanged(self._were[name])
            for write in steps.writes():
                self.changes.add_write(write)

    def _mark(self, live: SiteTree) -> None:
        # Without another version, unless it gets one anyway: who publishes at the same time needs not begin again.
        change = self.changes.update_untracked if live is self._were[LIVE] else self.changes.bump_version
        self._are[LIVE] = change(live, mark=new_id(self.changes.now))


def ids_of(line: Line) -> list[str]:
    """Return the ids of some pages."""
    return [str(each["id"]) for each in line]
