"""Previews of pages: for members, and by a link for whoever has it."""

from typing import Annotated, Final

from chalicelib.features.sites.entities.sites import Site, at_site, trees_of
from chalicelib.features.sites.pages.entities.pages import Page, Revision
from chalicelib.features.sites.pages.models.schemas import (
    PREVIEW_SECONDS,
    PageOut,
    PreviewOut,
    PreviewQuery,
    TokenQuery,
)
from chalicelib.features.sites.previews.logic.preview_tokens import Claim, allows_long, claimed
from chalicelib.features.sites.previews.logic.revision_view import as_it_was, claimed_page, keys_of, revision_in
from chalicelib.features.sites.visits.logic.page_view import BY_ACCEPT, as_people_see_it, is_for_people
from chalicelib.features.tenancy.entities.organizations import Organization
from chalicelib.kernel.core.case_folding import ascii_lower
from chalicelib.kernel.core.clock import after, timestamp, timestamp_ms
from chalicelib.kernel.core.problems import FieldError, Problem, ValidationProblem, not_found
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.fields import Uuid
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.permissions.roles import Role
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("sites")

_UNSEEN: Final = "private, no-store"


def beside_page(request: Request) -> list[ItemKey]:
    """Return where the page and the revision stand that the path and the query name, and both trees of the site."""
    names, asked = request.parameters, request.query.get("revisionId", [])
    revision = keys_of(names["page_id"], ascii_lower(asked[-1].strip())) if asked else []
    return [Page.make_item_key(site_id=names["site_id"], id=names["page_id"]), *trees_of(names["site_id"]), *revision]


@routes.get(
    "/sites/{site_id}/pages/{page_id}/preview",
    access=at_site(Role.MEMBER),
    scope="sites:read",
    emits=None,
    prefetch=beside_page,
)
def preview_page(
    ctx: Context, site: Site, page: Page, query: PreviewQuery
) -> PreviewOut | Annotated[RawResponse, "text/html"]:
    """See a page as it would be, in JSON or as HTML, and get a link by which others see just that.

    The link ends with its time, with its maker's membership, and when the page's `revokePreviews` is set. One that
    holds for more than a day leads nowhere while its maker is no editor any more.
    """
    _refuse_long(ctx, query.expires_in)
    shown = (
        page
        if query.revision_id in (None, page.draft_revision_id)
        else as_it_was(page, _revision(ctx, page, query.revision_id), ctx.access.prefetched)
    )
    revision_id = query.revision_id or page.draft_revision_id
    expires_ms = timestamp_ms(after(ctx.now, seconds=query.expires_in))
    claim = Claim(site.id, page.id, revision_id, str(ctx.principal.id), _membership(ctx), expires_ms, page.epoch)
    return _answer(ctx, site, shown, claim)


@routes.get(
    "/sites/{site_id}/pages/{page_id}/preview-public",
    access=RequireRole(Site, None, public_label="preview-token"),
    scope=None,
    emits=None,
    prefetch=beside_page,
)
def preview_page_publicly(
    ctx: Context, site: Site, page_id: Uuid, query: TokenQuery
) -> PreviewOut | Annotated[RawResponse, "text/html"]:
    """See a page by a link to its preview. One that does not hold, for whatever reason, leads nowhere."""
    claim = claimed(query.token, {"site_id": site.id, "page_id": page_id})
    page = claimed_page(claim, site, dict(ctx.access.prefetched)) if claim else None
    if claim is None or page is None:
        raise not_found()
    return _answer(ctx, site, page, claim)


def _answer(ctx: Context, site: Site, page: Page, claim: Claim) -> PreviewOut | RawResponse:
    ctx.headers |= {"Cache-Control": _UNSEEN, "X-Robots-Tag": "noindex", "Vary": BY_ACCEPT}
    if is_for_people(ctx.request):
        return as_people_see_it(ctx, site, page, claim.revision_id, preview=True)
    shown, token = PageOut.of(page), claim.token()
    return PreviewOut(
        page=shown,
        blocks=shown.blocks,
        token=token,
        expires_at=timestamp(claim.expires_ms),
        preview_url=f"{settings().public_url}/sites/{site.id}/pages/{page.id}/preview-public?token={token}",
    )


def _refuse_long(ctx: Context, seconds: int) -> None:
    if seconds <= PREVIEW_SECONDS:
        return
    if not allows_long(ctx.scopes if ctx.scopes is not None else ctx.access.memberships.roles.get(Organization)):
        detail = f"Members make links of up to {PREVIEW_SECONDS} seconds; those that hold longer need an editor."
        raise Problem.for_field("query/expiresIn", "insufficient_role", detail)


def _membership(ctx: Context) -> str | None:
    membership = ctx.access.memberships.memberships.get(Organization)
    return str(membership["id"]) if membership else None


def _revision(ctx: Context, page: Page, revision_id: str | None) -> Revision:
    revision = revision_in(dict(ctx.access.prefetched), page.id, str(revision_id))
    if revision is None:
        raise ValidationProblem([FieldError("query/revisionId", "unknown", "No revision of this page has this id.")])
    return revision
