"""What the operations on pages accept and answer."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.sites.pages.models.blocks import BlockOut, Blocks
from chalicelib.features.sites.pages.models.slugs import PageSlug
from chalicelib.kernel.http.fields import DateTime, Name, Text, Timestamp, Uuid, WebUrl
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, Query, RecordOutput

MOST_DEPTH: Final = 10
MOST_PAGES: Final = 50_000
"""Of one site. The sitemap is made of all that are published."""

MOST_BYTES: Final = 256 * 1024
"""Of the blocks of a page, as JSON."""

PREVIEW_SECONDS: Final = 24 * 3600
MOST_PREVIEW_SECONDS: Final = 30 * 24 * 3600

_BLOCKS: Final = [[{"id": "b1", "type": "text", "text": "A loom **weaves**."}]]

_PUBLIC: Final = {
    "status": "published",
    "published_at": "2026-11-20T09:30:00.000Z",
    "published_revision_id": "01939d3c-0000-7000-8000-000000000001",
}

Status = Literal["draft", "scheduled", "published", "archived"]
Path = Annotated[str, StringConstraints(max_length=2000)]


class SeoIn(Input):
    """What search engines and those who share a link are told."""

    title: Name | None = Field(None, description="Instead of the page's own.", examples=["Looms, explained"])
    description: Text | None = Field(None, examples=["How a Jacquard loom weaves."])
    canonical: WebUrl | None = Field(None, description="Where the same is published first.", examples=[None])
    noindex: bool = Field(default=False, description="Whether search engines are asked to leave it out.")
    image: WebUrl | None = Field(None, description="Shown where the page is shared.", examples=[None])


def _nothing() -> SeoIn:
    return SeoIn(title=None, description=None, canonical=None, noindex=False, image=None)


class PageCreate(Input):
    """A new page; its first draft."""

    title: Name = Field(examples=["Looms"])
    slug: PageSlug | None = Field(None, description="Left out, it is derived from the title.", examples=[None])
    parent_id: Uuid | None = Field(None, description="The page above it.", examples=[None])
    blocks: Blocks = Field([], description="What it consists of; 256 KiB as JSON at most.")
    seo: SeoIn = Field(default_factory=_nothing)
    publish_at: DateTime | None = Field(None, description="When it is published by itself.", examples=[None])
    unpublish_at: DateTime | None = Field(None, description="When it is taken back by itself.", examples=[None])
    is_home: bool = Field(default=False, description="Whether it is at `/`; the first page of a site is.")


class PagePatch(Patch):
    """What of a page can be changed.

    Title, slug, parent, blocks and seo make a new revision, which is the draft; the rest holds at once.
    """

    title: Name = Field(examples=["Looms"])
    slug: PageSlug = Field(description="Where it is published stays until that is.", examples=["looms"])
    parent_id: Uuid | None = Field(None, examples=[None])
    blocks: Blocks = Field([])
    seo: SeoIn = Field(default_factory=_nothing)
    publish_at: DateTime | None = Field(None, examples=[None])
    unpublish_at: DateTime | None = Field(
        None, description="A time that is past takes it back at once.", examples=[None]
    )
    is_home: bool = Field(default=False, examples=[False])
    revoke_previews: bool = Field(
        default=False, description="Whether all links to previews of it end.", examples=[False]
    )


class PagePublication(Input):
    """What is to be published."""

    revision_id: Uuid | None = Field(None, description="Left out, the draft.", examples=[None])


class SeoOut(Output):
    """What search engines and those who share a link are told."""

    title: str | None = Field(None, examples=["Looms, explained"])
    description: str | None = Field(None, examples=["How a Jacquard loom weaves."])
    canonical: str | None = Field(None, examples=[None])
    noindex: bool = Field(default=False, examples=[False])
    image: str | None = Field(None, examples=[None])


class PageSummary(RecordOutput):
    """A page as lists show it."""

    site_id: Uuid
    title: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None
    seo: SeoOut
    publish_at: Timestamp | None = Field(examples=[None])
    unpublish_at: Timestamp | None = Field(examples=[None])
    is_home: bool = Field(examples=[False])
    path: str = Field(description="Where the revision that is shown is, or would be.", examples=["/machines/looms"])
    status: Status = Field(examples=["draft"])
    has_unpublished_changes: bool = Field(description="Whether the draft is another than what is published.")
    draft_revision_id: Uuid | None = Field(description="Null to the public.")
    published_revision_id: Uuid | None = Field(examples=[None])
    published_at: Timestamp | None = Field(description="When that was published.", examples=[None])


class PageOut(PageSummary):
    """A page."""

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **dict.fromkeys(("page.published", "page.updated", "page.restored", "page.deleted"), _PUBLIC),
        "page.unpublished": {"status": "archived"},
    }

    blocks: list[BlockOut] = Field(description="What it consists of.", examples=_BLOCKS)


class RevisionSummary(RecordOutput):
    """A revision as lists show it."""

    page_id: Uuid
    title: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None
    seo: SeoOut
    created_by: Uuid | None = Field(description="The user or API key; null if they were erased.")
    restored_from: Uuid | None = Field(description="The revision whose content it has again.", examples=[None])


class RevisionOut(RevisionSummary):
    """A revision of a page: what it was at one time. It never changes."""

    blocks: list[BlockOut] = Field(examples=_BLOCKS)


class PreviewOut(Output):
    """A page as it would be, and a link for others to see it by."""

    page: PageOut
    blocks: list[BlockOut] = Field(examples=_BLOCKS)
    preview_url: str = Field(
        description="Shows it to whoever has the link.",
        examples=["https://api.example.com/sites/…/pages/…/preview-public?token=…"],
    )
    token: str = Field(description="Is part of the link.", examples=["cHJldmlldw"])
    expires_at: Timestamp


class PagesQuery(ListQuery):
    """Which pages."""

    status: Status | None = None
    parent_id: Uuid | None = Field(None, description="Those right below a page.", examples=[None])
    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["loo"],
        description="Those whose title begins so, whatever its case and accents; they are listed by title.",
    )


class DeleteQuery(Query):
    """What becomes of what is below a page."""

    strategy: Literal["cascade"] | None = Field(None, description="`cascade`: it is deleted too.", examples=["cascade"])


class PreviewQuery(Query):
    """What is to be seen, and how long its link holds."""

    expires_in: int = Field(
        PREVIEW_SECONDS,
        ge=1,
        le=MOST_PREVIEW_SECONDS,
        examples=[3600],
        description="Seconds that the link holds; more than a day for editors.",
    )
    revision_id: Uuid | None = Field(None, description="Left out, the draft.", examples=[None])


class TokenQuery(Query):
    """What lets its bearer see a page."""

    token: str = Field("", description="From `previewUrl`.", examples=["cHJldmlldw"])


class PathQuery(Query):
    """Where on a site."""

    path: Path = Field("/", description="Its case, and slashes at its end, make no difference.", examples=["/looms"])
    draft: bool = Field(
        default=False, description="Whether the drafts, at their own paths, are meant; nothing to the public."
    )


class DraftQuery(Query):
    """Whether the draft is meant."""

    draft: bool = Field(default=False, description="Whether the draft is meant; nothing to the public.")
