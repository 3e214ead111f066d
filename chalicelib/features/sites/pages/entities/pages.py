"""What is stored of a page: its record, the revisions it had, and its seats in the two trees of its site.

A page has a draft, and may have a revision that is published. Slug and parent belong to a revision: so a site has two
trees, of drafts and of what is published, and a page has a *seat* in each: its slug, and below which page. The second
changes only when something is published. A page that was never published, or is no more, keeps its seat in it while
others are published below it.

A seat is a row of its own tree's partition, small, beside the record: paths, the sitemap and menus are read from these.
Revisions stand in a partition of the page's own, what they consist of beside them, so that neither lists nor paths read
it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, Final, Literal, Self

from pydantic_core import from_json, to_json

from chalicelib.features.platforms.entities import PAGE_KIND, PageTarget
from chalicelib.features.sites.entities.sites import DRAFT, LIVE, TreeName, tree_of
from chalicelib.features.sites.pages.entities.renderings import Rendering
from chalicelib.features.sites.pages.models.paths import path_along
from chalicelib.features.sites.pages.models.schemas import MOST_PAGES, PageOut, RevisionOut
from chalicelib.features.sites.rendering.logic.content import repeats
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.http.fields import fold_text
from chalicelib.kernel.storage.entity import (
    RECORD_FIELDS,
    Collection,
    Entity,
    Facet,
    Item,
    ItemKey,
    Quota,
    ScheduledTask,
)
from chalicelib.kernel.storage.pii import PersonalData
from chalicelib.kernel.storage.search_keys import exact_key
from chalicelib.kernel.storage.trees import TreeReader
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.transactions.unique_items import guard_key
from chalicelib.kernel.work.jobs import Job

TURN: Final = "pages.turn"
RENDER: Final = "pages.render"
SAID: Final = ("title", "slug", "parent_id", "seo")
"""What a revision says of its page, beside its blocks."""

_NO_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class Page(PageTarget):
    """A page. `title`, `slug`, `parent_id`, `seo` belong to its draft, `live_…` to its seat among the published.

    `lineage` and `placed`: see `kernel/storage/trees.py`. `child_count` and `live_count` are the pages right below
    it in either
    tree. `live_since` is when it came to its seat among the published, `live_shown` the times at which it was published
    itself there, `live_version` its version of when it was published last, `last_seat` where it was published until it
    was taken back: `path`, `parent_id`, `slug`. `indexable` and `canonical` are what its published `seo` says. `epoch`
    is raised to end all links to previews. `blocks`, `line` (the seats from the root of the drafts to it) and `home`
    (the page that is the home of the drafts) are known once it is found.
    """

    kind, parameter = PAGE_KIND, "page_id"
    pk, sk = "W#{site_id}", "N#{id}"
    in_site = Collection("W#{site_id}", "N#{id}")
    by_status = Facet("W#{site_id}#P#S#{status}", "facet1")
    below = Facet("W#{site_id}#P#C#{parent_id}", "facet2")
    below_live = Facet("W#{site_id}#P#L#{live_parent_id}", "facet3")
    by_slug = Unique(
        "page-slug#{site_id}#{parent_id}",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        advice="Pages below the same one have different slugs: choose another.",
    )
    by_live_slug = Unique(
        "live-slug#{site_id}#{live_parent_id}",
        "{live_slug}",
        error_code="slug_taken",
        field="slug",
        applies_to=lambda page: page.live_placed is not None,
        advice="It is published there still: publish it elsewhere first, or change this one's slug. Of two that are to"
        " swap theirs, give one a third meanwhile.",
    )
    quota = Quota("pages of one site", "W#{site_id}", MOST_PAGES, lambda _page: True)
    output_model = PageOut
    child_partition = "R#{id}"
    version_fields = ("version", "child_count", "live_count", "placed", "live_placed")
    computed_fields = frozenset({"blocks", "line", "home"})

    title: str
    slug: str
    parent_id: str | None = None
    seo: dict[str, Any] = field(default_factory=lambda: dict(_NO_SEO))
    lineage: list[str] = field(default_factory=list)
    placed: int = 1
    live_slug: str | None = None
    live_parent_id: str | None = None
    live_lineage: list[str] = field(default_factory=list)
    live_placed: int | None = None
    live_since: str | None = None
    live_shown: list[list[str]] = field(default_factory=list)
    indexable: bool = True
    canonical: str | None = None
    draft_revision_id: str
    published_revision_id: str | None = None
    published_at: str | None = None
    live_version: int = 1
    last_seat: dict[str, Any] | None = None
    was_published: bool = False
    publish_at: str | None = None
    unpublish_at: str | None = None
    status: Literal["draft", "scheduled", "published", "archived"] = "draft"
    child_count: int = 0
    live_count: int = 0
    epoch: int = 0
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    line: tuple[Item, ...] = field(default=(), compare=False)
    home: str | None = field(default=None, compare=False)

    def is_public_at(self, timestamp: str) -> bool:
        """Return whether everybody who can see the site can see the page."""
        is_expired = self.unpublish_at is not None and self.unpublish_at <= timestamp
        return self.published_revision_id is not None and not is_expired

    @property
    def ids(self) -> dict[str, Any]:
        """The ids of what it is in, by their parameters, as all that belongs to it carries them."""
        return {"organization_id": self.organization_id, "site_id": self.site_id}

    @property
    def is_home(self) -> bool:
        """Whether it is the home of the drafts."""
        return self.id == self.home

    @property
    def path(self) -> str:
        """Where its draft would be."""
        return path_along(self.line, self.home)

    @property
    def has_unpublished_changes(self) -> bool:
        """Whether its draft is another than what is published."""
        return self.draft_revision_id != self.published_revision_id

    @property
    def log_label(self) -> str:
        """Its title."""
        return self.title

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """When it is published or taken back by itself, whichever is first."""
        times = [self.publish_at, self.unpublish_at if self.published_revision_id or self.publish_at else None]
        return ScheduledTask(TURN, min(filter(None, times))) if any(times) else None

    @property
    def seat(self) -> Item:
        """Its row in the tree of the drafts."""
        pk, sk = tree_of(self.site_id, DRAFT).key(self.id)
        return {
            "pk": pk,
            "sk": sk,
            "id": self.id,
            "parent_id": self.parent_id,
            "slug": self.slug,
            "lineage": self.lineage,
            "placed": self.placed,
            "listed": True,
        }

    @property
    def live_seat(self) -> Item:
        """Its row in the tree of what is published: with the revision, if it is published itself."""
        pk, sk = tree_of(self.site_id, LIVE).key(self.id)
        return {
            "pk": pk,
            "sk": sk,
            "id": self.id,
            "parent_id": self.live_parent_id,
            "slug": self.live_slug,
            "lineage": self.live_lineage,
            "placed": self.live_placed,
            "since": self.live_since,
            "shown": self.live_shown,
            "listed": True,
            "revision_id": self.published_revision_id,
            "published_at": self.published_at,
            "indexable": self.indexable,
            "canonical": self.canonical,
        }

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """Its seats, and what leads to it by its id and by its title."""
        seats = (self.seat,) if self.live_placed is None else (self.seat, self.live_seat)
        title = {"pk": f"W#{self.site_id}#Q", "sk": exact_key("", fold_text(self.title)) + self.id, "page_id": self.id}
        return *seats, ancestor_cache.ancestor_pointer(self.id, **self.ids), title

    def hydrate(self, read: dict[ItemKey, Item]) -> Self | None:
        """Return it with its blocks and its ancestors; None if one of these is gone. It takes one read, mostly."""
        return self.shown_in(read, [Content.make_item_key(page_id=self.id, id=self.draft_revision_id)])

    def shown_in(self, read: dict[ItemKey, Item], also: Sequence[ItemKey] = ()) -> Self | None:
        """Return it with its ancestors and, if they are read too, with its blocks; None if an ancestor is gone."""
        reading = TreeReader.of(tree_of(self.site_id, DRAFT), read)
        reading.add_items([self.seat])
        wanted = [*also, *(reading.tree.key(above) for above in self.lineage)]
        if {*wanted, reading.tree.state_key} - read.keys():
            reading.read(wanted)
        reading.load_ancestors([self.id])
        line = reading.chain(self.id)
        if line is None:
            return None
        content = read.get(Content.make_item_key(page_id=self.id, id=self.draft_revision_id))
        return self.replace(
            line=tuple(line),
            home=reading.state.get("home"),
            blocks=Content.from_item(content).blocks if content else (),
        )

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets its title and what search engines are told not name the person."""
        return person.redact_all({"title": self.title, "seo": self.seo})


class Revision(Entity):
    """A page as it was at one time; what it consists of is its `Content`, and `blocks` that, once it is found."""

    kind, parameter = "page.revision", "revision_id"
    pk, sk = "R#{page_id}", "N#{id}"
    of_page = Collection("R#{page_id}", "N#{id}", newest_first=True)
    output_model = RevisionOut
    computed_fields = frozenset({"blocks"})

    organization_id: str
    site_id: str
    page_id: str
    title: str
    slug: str
    parent_id: str | None = None
    seo: dict[str, Any] = field(default_factory=lambda: dict(_NO_SEO))
    created_by: str | None = None
    restored_from: str | None = None
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @property
    def domain_fields(self) -> dict[str, Any]:
        """What it says of its page, once it is found."""
        return {name: getattr(self, name) for name in (*SAID, "blocks")}

    def hydrate(self, read: dict[ItemKey, Item]) -> Self:
        """Return it with its blocks, which were read with it."""
        content = read.get(Content.make_item_key(page_id=self.page_id, id=self.id))
        return self.replace(blocks=Content.from_item(content).blocks if content else ())

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets it neither name the person nor say that they made it."""
        named = person.redact_all({"title": self.title, "seo": self.seo})
        return {**named, "created_by": None} if self.created_by in person.user_ids else named


class Content(Entity):
    """What a revision consists of: its blocks as JSON. It has the revision's id.

    `titled`: whether the first block repeats the title of the revision; None of what was stored before that was known.
    What people see of it is rendered as it is written, and again where it changes: by what an erasure leaves.
    """

    kind = "page.content"
    pk, sk = "R#{page_id}", "B#{id}"

    organization_id: str
    page_id: str
    text: bytes
    titled: bool | None = None

    @classmethod
    def of(cls, page: Page, begun: Mapping[str, Any]) -> Self:
        """Return the content of a page's draft."""
        titled = repeats(page.blocks, page.title)
        text = to_json(page.blocks)
        return cls(**begun, organization_id=page.organization_id, page_id=page.id, text=text, titled=titled)

    @property
    def blocks(self) -> tuple[Mapping[str, Any], ...]:
        """The blocks."""
        return tuple(from_json(self.text))

    def beneath(self, title: str) -> Self:
        """Return it as it is beneath the title of its revision, which older ones do not know."""
        return self if self.titled is not None else self.replace(titled=repeats(self.blocks, title))

    @cached_property
    def rendering(self) -> Rendering:
        """What people see of it."""
        return Rendering(self.blocks, without_first=bool(self.titled))

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """What people see of it, as it is stored."""
        if self.titled is None:
            return ()
        names = {name: getattr(self, name) for name in (*RECORD_FIELDS, "organization_id", "page_id")}
        return tuple(self.rendering.items(**names))

    def redact(self, person: PersonalData) -> Mapping[str, Any] | None:
        """Return what lets none of its blocks name the person."""
        blocks = [*self.blocks]
        return {"text": to_json(person.redact_value(blocks))} if person.appears_in_value(blocks) else {}


class Removal(Job):
    """The removal of what a deleted page leaves: its revisions, the pages below it. `passes`: how often it was done."""

    kind, task = "page.removal", "pages.remove"
    pk, sk = "W#{site_id}#D", "G#{page_id}"

    organization_id: str
    site_id: str
    page_id: str
    passes: int = 0


def guard_of(site_id: str, name: TreeName, parent_id: str | None, slug: str) -> ItemKey:
    """Return where it stands which page has a slug below another in a tree."""
    unique = Page.by_live_slug if name == LIVE else Page.by_slug
    names = {"site_id": site_id, "parent_id": parent_id, "live_parent_id": parent_id, "slug": slug, "live_slug": slug}
    return guard_key(unique, names)


def status_of(page: Page, publish_at: str | None) -> str:
    """Return the status of a page that is to be published by itself at a moment, or at none."""
    if page.published_revision_id:
        return "published"
    if publish_at:
        return "scheduled"
    return "archived" if page.was_published else "draft"
