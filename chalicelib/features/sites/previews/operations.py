"""Previews of pages, for members and by link."""

from collections.abc import Mapping
from typing import Annotated, Final

from chalicelib.features.sites.entities.sites import Site, require_site_organization_role, tree_state_keys
from chalicelib.features.sites.pages.entities.pages import Page, Revision
from chalicelib.features.sites.pages.models.schemas import (
    DEFAULT_PREVIEW_SECONDS,
    PageOut,
    PreviewOut,
    PreviewQuery,
    TokenQuery,
)
from chalicelib.features.sites.previews.logic.preview_tokens import (
    PreviewClaim,
    can_issue_long_links,
    parse_preview_token_or_none,
)
from chalicelib.features.sites.previews.logic.revision_view import (
    load_page_as_of_revision,
    load_previewed_page_or_none,
    parse_revision_with_blocks_or_none,
    revision_and_content_keys,
)
from chalicelib.features.sites.visits.logic.page_view import VARY_BY_ACCEPT, render_page, wants_html
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.clock import after, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem, not_found
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import Item, ItemKey

routes = RouteGroup("sites")

_NO_STORE: Final = "private, no-store"


class QueriedRevision(Prefetched):
    """The revision in the query, with its blocks."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the revision and its blocks."""
        revision_id = values.query.revision_id
        return revision_and_content_keys(values.parameters["page_id"], revision_id) if revision_id else []

    def existing_revision(self, page: Page, revision_id: str) -> Revision:
        """Return the revision of a page. Raises ValidationProblem if it does not exist."""
        revision = parse_revision_with_blocks_or_none(self.items, page.id, revision_id)
        if revision is None:
            raise ValidationProblem(
                [FieldError("query/revisionId", "unknown", "No revision of this page has this id.")]
            )
        return revision


class PossiblePage(Prefetched):
    """The page in the path, which may not exist, and both trees of pages."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the keys of the page and of the states of both trees."""
        site_id = values.parameters["site_id"]
        return [Page.make_item_key(site_id=site_id, id=values.parameters["page_id"]), *tree_state_keys(site_id)]


@routes.get(
    "/sites/{site_id}/pages/{page_id}/preview",
    access=require_site_organization_role(Role.MEMBER),
    scope="sites:read",
    emits=None,
)
def preview_page(
    ctx: Context, site: Site, page: Page, query: PreviewQuery, revision: QueriedRevision
) -> PreviewOut | Annotated[RawResponse, "text/html"]:
    """Preview a page as JSON or HTML, and get a link that shows this preview to others.

    The link is valid until it expires, its issuer leaves the organization, or `revokePreviews` of the page is set. A
    link that is valid for more than a day works only while its issuer is an editor.
    """
    _require_right_to_validity(ctx, query.expires_in)
    previewed_page = (
        page
        if query.revision_id in (None, page.draft_revision_id)
        else load_page_as_of_revision(page, revision.existing_revision(page, query.revision_id), revision.items)
    )
    revision_id = query.revision_id or page.draft_revision_id
    expires_ms = timestamp_ms(after(ctx.now, seconds=query.expires_in))
    claim = PreviewClaim(
        site.id,
        page.id,
        revision_id,
        str(ctx.principal_or_anonymous.id),
        _organization_membership_id(ctx),
        expires_ms,
        page.preview_epoch,
    )
    return _html_or_json_preview_response(ctx, site, previewed_page, claim, revision.items)


@routes.get(
    "/sites/{site_id}/pages/{page_id}/preview-public",
    access=RequireRole(Site, None, public_label="preview-token"),
    scope=None,
    emits=None,
)
def preview_page_publicly(
    ctx: Context, site: Site, page_id: Uuid, query: TokenQuery, possible_page: PossiblePage
) -> PreviewOut | Annotated[RawResponse, "text/html"]:
    """Show a page by a preview link. Any invalid link is `not_found`.

    The reader needs no credential, only the link. Search engines are told not to index the preview, and nobody may
    cache it.
    """
    claim = parse_preview_token_or_none(query.token, {"site_id": site.id, "page_id": page_id})
    page = load_previewed_page_or_none(claim, site, possible_page.items) if claim else None
    if claim is None or page is None:
        raise not_found()
    return _html_or_json_preview_response(ctx, site, page, claim, possible_page.items)


def _html_or_json_preview_response(
    ctx: Context, site: Site, page: Page, claim: PreviewClaim, items: Mapping[ItemKey, Item]
) -> PreviewOut | RawResponse:
    ctx.headers |= {"Cache-Control": _NO_STORE, "X-Robots-Tag": "noindex", "Vary": VARY_BY_ACCEPT}
    if wants_html(ctx.request):
        return render_page(ctx, site, page, claim.revision_id, items, is_preview=True)
    page_output, token = PageOut.of(page), claim.to_signed_token()
    return PreviewOut(
        page=page_output,
        blocks=page_output.blocks,
        token=token,
        expires_at=timestamp(claim.expires_ms),
        preview_url=f"{settings().public_url}/sites/{site.id}/pages/{page.id}/preview-public?token={token}",
    )


def _require_right_to_validity(ctx: Context, seconds: int) -> None:
    if seconds <= DEFAULT_PREVIEW_SECONDS:
        return
    if not can_issue_long_links(
        ctx.api_key_scopes if ctx.api_key_scopes is not None else ctx.access.memberships.roles.get(Organization)
    ):
        limit = f"{DEFAULT_PREVIEW_SECONDS} seconds"
        detail = f"Members can create links valid for up to {limit}. Longer ones require an editor."
        raise Problem.create_with_field_error("query/expiresIn", "insufficient_role", detail)


def _organization_membership_id(ctx: Context) -> str | None:
    membership = ctx.access.memberships.memberships.get(Organization)
    return str(membership["id"]) if membership else None
