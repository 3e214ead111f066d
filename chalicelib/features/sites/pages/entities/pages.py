"""The stored pages and their revisions, and the positions of pages in the two trees of their site.

A page has a draft, and can have a published revision. Slug and parent belong to a revision, so a site has two trees,
one of drafts and one of published pages. The position of a page in a tree is its slug and its parent. A published
position changes only when a page is published. A page that is not published keeps its published position while pages
below it are published.

A position is a small item in the partition of its tree, written together with the page. Paths, the sitemap and menus
read only positions. Revisions and their contents are in a partition of the page, so neither lists nor paths read them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, Self

from pydantic_core import from_json, to_json

from chalicelib.features.platforms.entities import PAGE_KIND, PageTarget
from chalicelib.features.sites.entities.sites import (
    DRAFT_TREE,
    PUBLISHED_TREE,
    SLUG_NAMESPACES,
    page_tree,
    tree_state_keys,
)
from chalicelib.features.sites.pages.entities.renderings import Rendering
from chalicelib.features.sites.pages.models.paths import path_of_breadcrumbs
from chalicelib.features.sites.pages.models.schemas import MAX_PAGES_PER_SITE, PageOut, RevisionOut
from chalicelib.features.sites.rendering.logic.content import repeats_title
from chalicelib.kernel.authorization import ancestor_cache
from chalicelib.kernel.http.fields import fold_case_accents_and_spaces
from chalicelib.kernel.storage.entity import (
    RECORD_FIELDS,
    Collection,
    Entity,
    Facet,
    Item,
    ItemKey,
    ItemReads,
    ScheduledTask,
)
from chalicelib.kernel.storage.log_rules import LogRules, removal_below_parent
from chalicelib.kernel.storage.pii import PersonIdentifiers
from chalicelib.kernel.storage.quotas import Quota
from chalicelib.kernel.storage.search_keys import key_prefix_of_exact_name
from chalicelib.kernel.storage.unique_values import Unique
from chalicelib.kernel.trees.reading import TreeReader
from chalicelib.kernel.work.jobs import Job

SCHEDULE_TASK: Final = "pages.turn"
RENDER_TASK: Final = "pages.render"
REVISION_FIELDS: Final = ("title", "slug", "parent_id", "seo")
"""Fields of a page that belong to a revision, except the blocks."""

_EMPTY_SEO = {"title": None, "description": None, "canonical": None, "noindex": False, "image": None}


class Page(PageTarget):
    """A page.

    - `title`, `slug`, `parent_id`, `seo` belong to the draft, `published_…` to the position in the tree of published
      pages.
    - `ancestor_ids` and `tree_version` are described in `kernel/trees/tree.py`. `child_count` and
      `published_child_count` are the numbers of children in each tree.
    - `published_position_since` is the time at which the page got its published position. `published_intervals` are
      the times during which the page itself was published there. `published_version` is the version of the page at its
      last publication. `last_published_position` holds the `path`, `parent_id` and `slug` before it was unpublished.
    - `indexable` and `canonical` are from the `seo` of the published revision. Raising `preview_epoch` ends all preview
      links.
    - `blocks`, `breadcrumbs` (the positions from the root of the drafts to the page) and `draft_home_id` (the home page
      of the drafts) are loaded by `hydration_reads`.
    """

    kind, parameter = PAGE_KIND, "page_id"
    pk, sk = "W#{site_id}", "N#{id}"
    in_site = Collection("W#{site_id}", "N#{id}")
    by_status = Facet("W#{site_id}#P#S#{status}", "facet1")
    by_parent = Facet("W#{site_id}#P#C#{parent_id}", "facet2")
    by_published_parent = Facet("W#{site_id}#P#L#{published_parent_id}", "facet3")
    by_slug = Unique(
        SLUG_NAMESPACES[DRAFT_TREE] + "#{parent_id}",
        "{slug}",
        error_code="slug_taken",
        field="slug",
        advice="Pages with the same parent need different slugs. Choose another.",
    )
    by_published_slug = Unique(
        SLUG_NAMESPACES[PUBLISHED_TREE] + "#{published_parent_id}",
        "{published_slug}",
        error_code="slug_taken",
        field="slug",
        applies_to=lambda page: page.published_tree_version is not None,
        advice="Another page is still published there. Publish it elsewhere first, or change this one's slug. To swap"
        " two slugs, give one page a third slug meanwhile.",
    )
    quota = Quota("pages of one site", "W#{site_id}", MAX_PAGES_PER_SITE, lambda _page: True)
    output_model = PageOut
    log_rules = LogRules(
        ended_by=("page.deleted",),
        removed_by={"page.deleted": removal_below_parent},
        unlogged_changes="A schedule that changes nothing is removed when it is due.",
        depends_on=lambda entry: (
            [Page.make_item_key(site_id=entry["data"]["siteId"], id=entry["data"]["parentId"])]
            if entry["data"]["parentId"]
            else []
        ),
    )
    unauthenticated_fields: ClassVar = dict.fromkeys(
        ("child_count", "published_child_count"), "Requests that change other pages count them."
    )
    child_partition = "R#{id}"
    attribute_names: ClassVar = {
        "ancestor_ids": "lineage",
        "tree_version": "placed",
        "published_slug": "live_slug",
        "published_parent_id": "live_parent_id",
        "published_ancestor_ids": "live_lineage",
        "published_tree_version": "live_placed",
        "published_position_since": "live_since",
        "published_intervals": "live_shown",
        "published_version": "live_version",
        "last_published_position": "last_seat",
        "published_child_count": "live_count",
        "preview_epoch": "epoch",
    }
    version_fields = ("version", "child_count", "published_child_count", "tree_version", "published_tree_version")
    computed_fields = frozenset({"blocks", "breadcrumbs", "draft_home_id"})

    title: str
    slug: str
    parent_id: str | None = None
    seo: dict[str, Any] = field(default_factory=lambda: dict(_EMPTY_SEO))
    ancestor_ids: list[str] = field(default_factory=list)
    tree_version: int = 1
    published_slug: str | None = None
    published_parent_id: str | None = None
    published_ancestor_ids: list[str] = field(default_factory=list)
    published_tree_version: int | None = None
    published_position_since: str | None = None
    published_intervals: list[list[str]] = field(default_factory=list)
    indexable: bool = True
    canonical: str | None = None
    draft_revision_id: str
    published_revision_id: str | None = None
    published_at: str | None = None
    published_version: int = 1
    last_published_position: dict[str, Any] | None = None
    was_published: bool = False
    publish_at: str | None = None
    unpublish_at: str | None = None
    status: Literal["draft", "scheduled", "published", "archived"] = "draft"
    child_count: int = 0
    published_child_count: int = 0
    preview_epoch: int = 0
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)
    breadcrumbs: tuple[Item, ...] = field(default=(), compare=False)
    draft_home_id: str | None = field(default=None, compare=False)

    def is_currently_public(self, now: str) -> bool:
        """Return whether everybody who can see the site can see the page at a timestamp."""
        is_expired = self.unpublish_at is not None and self.unpublish_at <= now
        return self.published_revision_id is not None and not is_expired

    @property
    def organization_and_site_ids(self) -> dict[str, Any]:
        """The ids of the organization and site, which all records of the page have."""
        return {"organization_id": self.organization_id, "site_id": self.site_id}

    @property
    def is_home(self) -> bool:
        """Whether the page is the home page of the drafts."""
        return self.id == self.draft_home_id

    @property
    def path(self) -> str:
        """The path of the draft."""
        return path_of_breadcrumbs(self.breadcrumbs, self.draft_home_id)

    @property
    def has_unpublished_changes(self) -> bool:
        """Whether the draft differs from the published revision."""
        return self.draft_revision_id != self.published_revision_id

    @property
    def audit_log_label(self) -> str:
        """The title."""
        return self.title

    @property
    def scheduled_task(self) -> ScheduledTask | None:
        """The task that publishes or unpublishes the page, whichever is due first."""
        times = [self.publish_at, self.unpublish_at if self.published_revision_id or self.publish_at else None]
        return ScheduledTask(SCHEDULE_TASK, min(filter(None, times))) if any(times) else None

    @property
    def draft_position_item(self) -> Item:
        """The item of the page in the tree of drafts."""
        node = self.id, self.parent_id, self.slug, self.ancestor_ids, self.tree_version
        return page_tree(self.site_id, DRAFT_TREE).node_item(*node)

    @property
    def published_position_item(self) -> Item:
        """The item of the page in the tree of published pages. It has a revision if the page itself is published."""
        position = self.published_parent_id, self.published_slug, self.published_ancestor_ids
        return {
            **page_tree(self.site_id, PUBLISHED_TREE).node_item(self.id, *position, self.published_tree_version),
            "since": self.published_position_since,
            "shown": self.published_intervals,
            "revision_id": self.published_revision_id,
            "published_at": self.published_at,
            "indexable": self.indexable,
            "canonical": self.canonical,
        }

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The positions of the page, and the items that find it by its id and title."""
        positions = (
            (self.draft_position_item,)
            if self.published_tree_version is None
            else (self.draft_position_item, self.published_position_item)
        )
        title = {
            "pk": f"W#{self.site_id}#Q",
            "sk": key_prefix_of_exact_name("", fold_case_accents_and_spaces(self.title)) + self.id,
            "page_id": self.id,
        }
        return *positions, ancestor_cache.build_ancestor_pointer(self.id, **self.organization_and_site_ids), title

    @classmethod
    def companion_keys(cls, parameters: Mapping[str, str]) -> list[ItemKey]:
        """Return the keys of the states of both trees."""
        return tree_state_keys(parameters["site_id"])

    @property
    def content_key(self) -> ItemKey:
        """The key of the blocks of the draft."""
        return Content.make_item_key(page_id=self.id, id=self.draft_revision_id)

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self | None]:
        """Request the blocks and the ancestors of the page. It usually takes one read."""
        return self.breadcrumb_reads(items, [self.content_key])

    def breadcrumb_reads(
        self, items: Mapping[ItemKey, Item], extra_keys: Sequence[ItemKey] = ()
    ) -> ItemReads[Self | None]:
        """Request the ancestors of the page, and items at `extra_keys` together with them.

        Return the page with its breadcrumbs and, if they were read, its blocks; None if an ancestor is deleted.
        """
        tree = page_tree(self.site_id, DRAFT_TREE)
        own_position = {tree.node_key(self.id): self.draft_position_item}
        reader = TreeReader.from_items(tree, {**own_position, **items})
        keys = [*extra_keys, *(reader.tree.node_key(ancestor_id) for ancestor_id in self.ancestor_ids)]
        if {*keys, reader.tree.state_key} - reader.items.keys():
            yield from reader.reads_with_state(keys)
        yield from reader.consistent_ancestor_reads([self.id])
        # If the page has been deleted since it was read, it is shown at its last position.
        reader.items = {**own_position, **reader.items}
        page, content = self.with_breadcrumbs_or_none(reader), reader.items.get(self.content_key)
        return page and page.replace(blocks=Content.from_item(content).blocks if content else ())

    def with_breadcrumbs_or_none(self, reader: TreeReader) -> Self | None:
        """Return the page with its breadcrumbs, which `reader` has loaded; None if an ancestor is deleted."""
        chain = reader.nodes_from_root_or_none(self.id)
        return self.replace(breadcrumbs=tuple(chain), draft_home_id=reader.state.get("home")) if chain else None

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the title and SEO fields with the person's data redacted."""
        return person.redacted_field_changes({"title": self.title, "seo": self.seo})


class Revision(Entity):
    """A revision of a page. Its blocks are stored as `Content`, and loaded by `hydration_reads`."""

    kind, parameter = "page.revision", "revision_id"
    pk, sk = "R#{page_id}", "N#{id}"
    of_page = Collection("R#{page_id}", "N#{id}", newest_first=True)
    output_model, log_rules = RevisionOut, LogRules(has_entries=False)
    computed_fields = frozenset({"blocks"})

    organization_id: str
    site_id: str
    page_id: str
    title: str
    slug: str
    parent_id: str | None = None
    seo: dict[str, Any] = field(default_factory=lambda: dict(_EMPTY_SEO))
    created_by: str | None = None
    restored_from: str | None = None
    blocks: tuple[Mapping[str, Any], ...] = field(default=(), compare=False)

    @property
    def page_fields(self) -> dict[str, Any]:
        """The fields that belong to a revision, including its blocks once they are loaded."""
        return {name: getattr(self, name) for name in (*REVISION_FIELDS, "blocks")}

    @classmethod
    def companion_keys(cls, parameters: Mapping[str, str]) -> list[ItemKey]:
        """Return the key of the blocks."""
        return [Content.make_item_key(page_id=parameters["page_id"], id=parameters["revision_id"])]

    def hydration_reads(self, items: Mapping[ItemKey, Item]) -> ItemReads[Self]:
        """Return the revision with its blocks, which were read with it."""
        yield from ()
        return self.with_blocks(items)

    def with_blocks(self, items: Mapping[ItemKey, Item]) -> Self:
        """Return the revision with its blocks, if they are among the items."""
        content = items.get(Content.make_item_key(page_id=self.page_id, id=self.id))
        return self.replace(blocks=Content.from_item(content).blocks if content else ())

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the title and SEO fields with the person's data redacted, without a creator who is the person."""
        redacted = person.redacted_field_changes({"title": self.title, "seo": self.seo})
        return {**redacted, "created_by": None} if self.created_by in person.user_ids else redacted


class Content(Entity):
    """The blocks of a revision as JSON, with the revision's id.

    `repeats_title` tells whether the first block repeats the title of the revision. It is None in older items.
    The blocks are rendered as HTML when a revision is written, and again when an erasure changes them.
    """

    kind, log_rules = "page.content", LogRules(has_entries=False)
    unauthenticated_fields: ClassVar = {"repeats_title": "It follows from the text and the title."}
    pk, sk = "R#{page_id}", "B#{id}"

    attribute_names: ClassVar = {"repeats_title": "titled"}

    organization_id: str
    page_id: str
    text: bytes
    repeats_title: bool | None = None

    @classmethod
    def create(cls, page: Page, record_fields: Mapping[str, Any]) -> Self:
        """Return the content of the draft of a page."""
        has_repeated_title = repeats_title(page.blocks, page.title)
        text = to_json(page.blocks)
        return cls(
            **record_fields,
            organization_id=page.organization_id,
            page_id=page.id,
            text=text,
            repeats_title=has_repeated_title,
        )

    @property
    def blocks(self) -> tuple[Mapping[str, Any], ...]:
        """The blocks."""
        return tuple(from_json(self.text))

    def with_repeats_title(self, title: str) -> Self:
        """Return the content with `repeats_title`, which older items lack. `title` is the title of the revision."""
        return self if self.repeats_title is not None else self.replace(repeats_title=repeats_title(self.blocks, title))

    @cached_property
    def fresh_rendering(self) -> Rendering:
        """The blocks as HTML."""
        return Rendering(self.blocks, without_first=bool(self.repeats_title))

    @property
    def derived_items(self) -> tuple[Item, ...]:
        """The items that store the rendering."""
        if self.repeats_title is None:
            return ()
        record_fields = {name: getattr(self, name) for name in (*RECORD_FIELDS, "organization_id", "page_id")}
        return tuple(self.fresh_rendering.build_items(**record_fields))

    def redaction_changes_or_none_to_delete(self, person: PersonIdentifiers) -> Mapping[str, Any] | None:
        """Return the blocks as JSON with the person's data redacted."""
        blocks = [*self.blocks]
        return {"text": to_json(person.redact_value(blocks))} if person.appears_in_value(blocks) else {}


class PageRemoval(Job):
    """The removal of a deleted page's revisions and of the pages below it. `passes` counts the completed passes."""

    kind, task = "page.removal", "pages.remove"
    pk, sk = "W#{site_id}#D", "G#{page_id}"

    organization_id: str
    site_id: str
    page_id: str
    passes: int = 0


def page_status(page: Page, publish_at: str | None) -> str:
    """Return the status of a page with this publication schedule."""
    if page.published_revision_id:
        return "published"
    if publish_at:
        return "scheduled"
    return "archived" if page.was_published else "draft"
