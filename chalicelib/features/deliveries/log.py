"""Reading the deliveries to a webhook: pages by time and filter, and how many there are."""

from collections.abc import Iterable
from typing import Final

from chalicelib.features.deliveries.models import DeliveriesQuery, Status
from chalicelib.features.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core import ids
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Facet, Item

_SIFTED: Final = 100


def page(webhook_id: str, wanted: DeliveriesQuery, after: Item | None) -> tuple[list[WebhookDelivery], Item | None]:
    """Return the newest deliveries that pass, and where to go on.

    One Query of the index that narrows best: for as many as are wanted, or for a hundred where not all pass.
    """
    facet = _facet(wanted)
    both = wanted.status is not None and wanted.event_type is not None
    named = {"webhook_id": webhook_id, "status": wanted.status, "event_type": wanted.event_type}
    found = table.query_filtered(
        [facet.partition(**named) if facet else WebhookDelivery.pk.format_map(named)],
        lambda item: _passes(wanted, WebhookDelivery.from_item(item)),
        limit=wanted.limit,
        most=max(wanted.limit, _SIFTED) if both else wanted.limit,
        after=after,
        **_span(wanted.since, wanted.until),
    )
    return [WebhookDelivery.from_item(item) for item in found.items], found.last_evaluated_key


def count(webhook_id: str, statuses: Iterable[Status], since: str | None, until: str | None) -> int:
    """Return how many deliveries have one of the statuses, whose events happened within a time.

    Of very many it is at least so many, and one that changes at this moment may be missing.
    """
    facet, span = WebhookDelivery.by_status, ids.id_range(since, until)
    return sum(table.count_items(facet.partition(webhook_id=webhook_id, status=status), **span) for status in statuses)


def _span(since: str | None, until: str | None) -> ids.IdRange:
    """Return the ends of a Query for deliveries, by their ids: the list of those that wait stands before."""
    ends = ids.id_range(since, until)
    return {**ends, "since": ends["since"] or "0"}


def _facet(wanted: DeliveriesQuery) -> Facet | None:
    if wanted.event_type and wanted.status in (None, "succeeded"):  # that is what most are
        return WebhookDelivery.by_event_type
    return WebhookDelivery.by_status if wanted.status else None


def _passes(wanted: DeliveriesQuery, delivery: WebhookDelivery) -> bool:
    right = wanted.status in (None, delivery.status) and wanted.event_type in (None, delivery.event_type)
    return right and not delivery.expired
