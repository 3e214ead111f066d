"""Unsubscribing from the mails of invitations, with one click and without a credential (RFC 8058)."""

from pathlib import Path
from typing import Annotated, Final

from chalicelib.features.tenancy.email_suppressions.entities import Suppression
from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE, hash_in
from chalicelib.features.tenancy.email_suppressions.models import OneClick, SubscriptionOut, UnsubscribeQuery
from chalicelib.kernel.core.problems import not_found
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.http.request import Request
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("organizations")

_BY_NETWORK: Final = RateLimit("unsubscribing", limit=300, seconds=60, per="network")
"""Large: a mail provider sends the clicks of all its people from a few networks."""

_HERE: Final = Path(__file__).resolve().parent
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
_POLICY: Final = "default-src 'none'; form-action {target}; frame-ancestors 'none'; base-uri 'none'"
_TARGETS: Final = {"ask.html": "'self'", "done.html": "'none'"}
"""Where the form of a page may be sent to, if it has one."""


def suppression_named(request: Request) -> list[ItemKey]:
    """Return where it stands that the address wants no mail which the query's token was made for."""
    found = hash_in(request.query.get("token", [""])[-1])
    return [Suppression.make_item_key(address_hash=found)] if found else []


@routes.get(UNSUBSCRIBE, access=Caller.PUBLIC, scope=None, emits=None, prefetch=suppression_named)
def describe_subscription(
    ctx: Context, query: UnsubscribeQuery
) -> SubscriptionOut | Annotated[RawResponse, "text/html"]:
    """Tell whether the address that a mail went to is unsubscribed from invitations; as a page with a button, or JSON.

    It changes nothing: mail scanners open links unasked. A token that the service did not make is `not_found`.
    """
    return _answer(ctx, unsubscribed=_present(ctx, query) is not None)


@routes.post(
    UNSUBSCRIBE,
    success=200,
    access=Caller.PUBLIC,
    scope=None,
    emits="mail.suppression.created",
    prefetch=suppression_named,
    rate_limits=(_BY_NETWORK,),
    accepts_form=True,
)
def unsubscribe(
    ctx: Context,
    query: UnsubscribeQuery,
    body: OneClick,  # noqa: ARG001 - what it says is that it was meant
) -> SubscriptionOut | Annotated[RawResponse, "text/html"]:
    """Let the address that a mail went to get no more mail of invitations, from any organization.

    Invitations can still be accepted by their links. Mail programs send `List-Unsubscribe=One-Click` as a form
    (RFC 8058). A token that the service did not make is `not_found`.
    """
    if _present(ctx, query) is None:
        ctx.changes.create(Suppression(**ctx.new_record_fields(), address_hash=_hash(query)))
    return _answer(ctx, unsubscribed=True)


def _hash(query: UnsubscribeQuery) -> str:
    found = hash_in(query.token)
    if found is None:
        raise not_found()
    return found


def _present(ctx: Context, query: UnsubscribeQuery) -> Suppression | None:
    item = ctx.access.prefetched.get(Suppression.make_item_key(address_hash=_hash(query)))
    return Suppression.from_item(item) if item else None


def _answer(ctx: Context, *, unsubscribed: bool) -> SubscriptionOut | RawResponse:
    ctx.headers |= {"Vary": "Accept"}
    if not ctx.request.prefers("text/html", to="application/json"):
        return SubscriptionOut(unsubscribed=unsubscribed)
    page = "done.html" if unsubscribed else "ask.html"
    headers = {**_HEADERS, "Content-Security-Policy": _POLICY.format(target=_TARGETS[page]), **ctx.headers}
    return RawResponse((_HERE / page).read_text(encoding="utf-8"), "text/html; charset=utf-8", headers)
