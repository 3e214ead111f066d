"""Request and response models of the page and preview operations, and limits of pages."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import Field, StringConstraints

from chalicelib.features.sites.pages.models.blocks import BlockOut, Blocks
from chalicelib.features.sites.pages.models.slugs import PageSlug
from chalicelib.kernel.http.fields import DateTime, Name, Text, Timestamp, Uuid, WebUrl
from chalicelib.kernel.http.models import Input, ListQuery, Output, Patch, Query, RecordOutput
from chalicelib.kernel.http.principal_ids import PRINCIPAL_ID

MAX_PAGE_DEPTH: Final = 10
"""Levels of the pages of a site."""

MAX_PAGES_PER_SITE: Final = 50_000
"""Limits the size of the sitemap, which contains all published pages."""

MAX_BLOCKS_BYTES: Final = 256 * 1024
"""Maximum size of the blocks of a page as JSON."""

DEFAULT_PREVIEW_SECONDS: Final = 24 * 3600
"""Time for which a preview link is valid if the request names none."""

MAX_PREVIEW_SECONDS: Final = 30 * 24 * 3600
"""Longest time for which a preview link can be valid."""

_BLOCKS_EXAMPLE: Final = [
    [
        {"id": "opening", "type": "heading", "level": 2, "text": "How a loom weaves"},
        {"id": "cards", "type": "text", "text": "Punched cards choose the threads that it **lifts**."},
    ]
]

_PUBLISHED_EXAMPLE: Final = {
    "status": "published",
    "published_at": "2026-11-20T09:30:00.000Z",
    "published_revision_id": "01939d3c-0000-7000-8000-000000000001",
}

PageStatus = Literal["draft", "scheduled", "published", "archived"]
UrlPath = Annotated[str, StringConstraints(max_length=2000)]


class SeoIn(Input):
    """Metadata for search engines and link previews to store.

    `noindex` keeps the page out of the sitemap and asks search engines to ignore it.
    """

    title: Name | None = Field(None, description="Replaces the title of the page.", examples=["Looms, explained"])
    description: Text | None = Field(None, examples=["How a Jacquard loom weaves."])
    canonical: WebUrl | None = Field(
        None, description="URL of the original, if the content was published elsewhere first.", examples=[None]
    )
    noindex: bool = Field(default=False, description="Whether search engines are asked not to index the page.")
    image: WebUrl | None = Field(None, description="Image for link previews.", examples=[None])


def _empty_seo() -> SeoIn:
    return SeoIn(title=None, description=None, canonical=None, noindex=False, image=None)


class PageCreate(Input):
    """A page to create, with its first draft.

    Nothing of it is public until it is published.
    """

    title: Name = Field(examples=["Looms"])
    slug: PageSlug | None = Field(None, description="Derived from the title if omitted.", examples=[None])
    parent_id: Uuid | None = Field(None, description="The parent page.", examples=[None])
    blocks: Blocks = Field([], description="Content. At most 256 KiB as JSON.", examples=_BLOCKS_EXAMPLE)
    seo: SeoIn = Field(default_factory=_empty_seo)
    publish_at: DateTime | None = Field(None, description="When the page is published automatically.", examples=[None])
    unpublish_at: DateTime | None = Field(
        None, description="When the page is unpublished automatically.", examples=[None]
    )
    is_home: bool = Field(default=False, description="Whether the page is at `/`. The first page of a site always is.")


class PagePatch(Patch):
    """Changes to a page.

    Changes of title, slug, parent, blocks and SEO fields create a revision, which becomes the draft. Other changes take
    effect at once.
    """

    title: Name = Field(examples=["Looms"])
    slug: PageSlug = Field(
        description="The published path does not change until the draft is published.", examples=["looms"]
    )
    parent_id: Uuid | None = Field(None, examples=[None])
    blocks: Blocks = Field([], examples=_BLOCKS_EXAMPLE)
    seo: SeoIn = Field(default_factory=_empty_seo)
    publish_at: DateTime | None = Field(None, examples=[None])
    unpublish_at: DateTime | None = Field(
        None, description="A time in the past unpublishes the page at once.", examples=[None]
    )
    is_home: bool = Field(default=False, examples=[False])
    revoke_previews: bool = Field(
        default=False, description="Whether to end all preview links of the page.", examples=[False]
    )


class PagePublication(Input):
    """The revision to publish.

    Without one it is the draft, which is what an editor usually means.
    """

    revision_id: Uuid | None = Field(None, description="The revision; the draft if omitted.", examples=[None])


class SeoOut(Output):
    """Metadata for search engines and link previews.

    A page that is `noindex` is not in the sitemap.
    """

    title: str | None = Field(None, examples=["Looms, explained"])
    description: str | None = Field(None, examples=["How a Jacquard loom weaves."])
    canonical: str | None = Field(None, examples=[None])
    noindex: bool = Field(default=False, examples=[False])
    image: str | None = Field(None, examples=[None])


class PageSummary(RecordOutput):
    """A page in a list, without its blocks.

    Use it to show the structure of a site to editors.
    """

    site_id: Uuid
    title: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None
    seo: SeoOut
    publish_at: Timestamp | None = Field(examples=[None])
    unpublish_at: Timestamp | None = Field(examples=[None])
    is_home: bool = Field(examples=[False])
    path: str = Field(description="Path of the revision that is shown.", examples=["/machines/looms"])
    status: PageStatus = Field(examples=["draft"])
    has_unpublished_changes: bool = Field(description="Whether the draft differs from the published revision.")
    draft_revision_id: Uuid | None = Field(description="Null in responses to the public.")
    published_revision_id: Uuid | None = Field(examples=[None])
    published_at: Timestamp | None = Field(description="When the published revision was published.", examples=[None])


class PageOut(PageSummary):
    """A page of a site with its content.

    Editors see the draft; visitors see the revision that was published last.
    """

    event_examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **dict.fromkeys(("page.published", "page.updated", "page.restored", "page.deleted"), _PUBLISHED_EXAMPLE),
        "page.unpublished": {"status": "archived"},
    }

    blocks: list[BlockOut] = Field(description="Content.", examples=_BLOCKS_EXAMPLE)


class RevisionSummary(RecordOutput):
    """A revision in a list, without its blocks.

    It shows who made it, when, and from which revision it was restored.
    """

    page_id: Uuid
    title: str = Field(examples=["Looms"])
    slug: str = Field(examples=["looms"])
    parent_id: Uuid | None
    seo: SeoOut
    created_by: Annotated[Uuid, PRINCIPAL_ID] | None = Field(
        description="The id of the user or API key. Null after an erasure."
    )
    restored_from: Uuid | None = Field(
        description="The revision that was restored to create this one.", examples=[None]
    )


class RevisionOut(RevisionSummary):
    """A version of the content of a page, with its blocks.

    It never changes, so it can be compared, previewed, published and restored.
    """

    blocks: list[BlockOut] = Field(examples=_BLOCKS_EXAMPLE)


class PreviewOut(Output):
    """A preview of a page, and a link that shows it to others without a credential.

    Everybody who has the link can open it until it expires.
    """

    page: PageOut
    blocks: list[BlockOut] = Field(examples=_BLOCKS_EXAMPLE)
    preview_url: str = Field(
        description="Anyone with this link sees the preview.",
        examples=["https://api.example.com/sites/…/pages/…/preview-public?token=…"],
    )
    token: str = Field(description="The token in the link.", examples=["cHJldmlldw"])
    expires_at: Timestamp = Field(examples=["2026-11-21T09:30:00.000Z"])


class PagesQuery(ListQuery):
    """Filters of the list of pages."""

    status: PageStatus | None = None
    parent_id: Uuid | None = Field(None, description="Only children of this page.", examples=[None])
    q: str | None = Field(
        None,
        min_length=1,
        max_length=200,
        examples=["loo"],
        description="Prefix of the title, ignoring case and accents. The pages are ordered by title then.",
    )


class DeleteQuery(Query):
    """How to treat the descendants of a deleted page."""

    strategy: Literal["cascade"] | None = Field(
        None, description="`cascade` deletes the descendants, too.", examples=["cascade"]
    )


class PreviewQuery(Query):
    """The revision to preview, and the validity of the link."""

    expires_in: int = Field(
        DEFAULT_PREVIEW_SECONDS,
        ge=1,
        le=MAX_PREVIEW_SECONDS,
        examples=[3600],
        description="Validity of the link in seconds. More than a day requires an editor.",
    )
    revision_id: Uuid | None = Field(None, description="The revision; the draft if omitted.", examples=[None])


class TokenQuery(Query):
    """The token of a preview link."""

    token: str = Field("", description="The token from `previewUrl`.", examples=["cHJldmlldw"])


class PathQuery(Query):
    """The path of a page."""

    path: UrlPath = Field("/", description="Case and trailing slashes are ignored.", examples=["/looms"])
    draft: bool = Field(default=False, description="Whether the path is one of the drafts. Members only.")


class DraftQuery(Query):
    """Whether to return the draft."""

    draft: bool = Field(default=False, description="Whether to return the draft. Members only.")
