"""One-click unsubscription from mails about invitations and memberships, without a credential (RFC 8058)."""

from pathlib import Path
from typing import Annotated, Final

from chalicelib.features.tenancy.email_suppressions.entities import EmailSuppression
from chalicelib.features.tenancy.email_suppressions.logic import UNSUBSCRIBE_PATH, address_hash_from_token
from chalicelib.features.tenancy.email_suppressions.models import OneClick, SubscriptionOut, UnsubscribeQuery
from chalicelib.kernel.core.problems import invalid_token
from chalicelib.kernel.execution.context import Context
from chalicelib.kernel.operations.access_rules import Caller
from chalicelib.kernel.operations.inputs import KnownValues, Prefetched
from chalicelib.kernel.operations.results import RawResponse
from chalicelib.kernel.operations.route_groups import RouteGroup
from chalicelib.kernel.rate_limits.buckets import RateLimit
from chalicelib.kernel.storage.entity import ItemKey

routes = RouteGroup("organizations")

_UNSUBSCRIBE_LIMIT: Final = RateLimit("unsubscribing", limit=300, seconds=60, per="network")
"""High, because a mail provider sends the clicks of all its users from a few networks."""

_TEMPLATE_DIR: Final = Path(__file__).resolve().parent
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
_CONTENT_SECURITY_POLICY: Final = "default-src 'none'; form-action {target}; frame-ancestors 'none'; base-uri 'none'"
_FORM_TARGETS: Final = {"ask.html": "'self'", "done.html": "'none'"}
"""Value of the `form-action` directive for each page."""


class Subscription(Prefetched):
    """The subscription of the address in the query's token."""

    @classmethod
    def derive_keys(cls, values: KnownValues) -> list[ItemKey]:
        """Return the item key of the suppression of the address."""
        address_hash = address_hash_from_token(values.query.token)
        return [EmailSuppression.make_item_key(address_hash=address_hash)] if address_hash else []

    @property
    def address_hash(self) -> str:
        """Return the hash of the address. Raises Problem `not_found` if the service did not sign the token."""
        address_hash = address_hash_from_token(self.values.query.token)
        if address_hash is None:
            raise invalid_token("Open the link in the mail again, and copy it completely.")
        return address_hash

    @property
    def is_suppressed(self) -> bool:
        """Return whether mails to the address are suppressed. Raises Problem `not_found` as `address_hash` does."""
        return bool(self.address_hash) and self.first_item_or_none is not None


@routes.get(UNSUBSCRIBE_PATH, access=Caller.PUBLIC, scope=None, emits=None)
def describe_subscription(
    ctx: Context,
    query: UnsubscribeQuery,  # noqa: ARG001 - it contains the token of the subscription
    subscription: Subscription,
) -> SubscriptionOut | Annotated[RawResponse, "text/html"]:
    """Show whether the recipient of a mail is unsubscribed, as a page with a button or as JSON.

    It changes nothing, because mail scanners open links. A token that the service did not sign is `not_found`.
    """
    return _build_subscription_page_or_json(ctx, unsubscribed=subscription.is_suppressed)


@routes.post(
    UNSUBSCRIBE_PATH,
    success=200,
    access=Caller.PUBLIC,
    scope=None,
    emits="mail.suppression.created",
    rate_limits=(_UNSUBSCRIBE_LIMIT,),
    accepts_form=True,
)
def unsubscribe(
    ctx: Context,
    query: UnsubscribeQuery,  # noqa: ARG001 - it contains the token of the subscription
    subscription: Subscription,
    body: OneClick,  # noqa: ARG001 - its presence confirms the intention
) -> SubscriptionOut | Annotated[RawResponse, "text/html"]:
    """Stop sending mails about invitations and memberships to the recipient of a mail, from any organization.

    The recipient can still accept invitations by their links. Mail programs send `List-Unsubscribe=One-Click` as a form
    (RFC 8058). A token that the service did not sign is `not_found`.
    """
    if not subscription.is_suppressed:
        suppression = EmailSuppression(**ctx.new_id_and_time_fields(), address_hash=subscription.address_hash)
        ctx.changes.event(ctx.changes.create(suppression))
    return _build_subscription_page_or_json(ctx, unsubscribed=True)


def _build_subscription_page_or_json(ctx: Context, *, unsubscribed: bool) -> SubscriptionOut | RawResponse:
    ctx.headers |= {"Vary": "Accept"}
    if not ctx.request.prefers("text/html", other_type="application/json"):
        return SubscriptionOut(unsubscribed=unsubscribed)
    page = "done.html" if unsubscribed else "ask.html"
    headers = {
        **_HEADERS,
        "Content-Security-Policy": _CONTENT_SECURITY_POLICY.format(target=_FORM_TARGETS[page]),
        **ctx.headers,
    }
    return RawResponse((_TEMPLATE_DIR / page).read_text(encoding="utf-8"), "text/html; charset=utf-8", headers)
