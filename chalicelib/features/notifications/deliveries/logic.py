"""Queries on the deliveries of a webhook: pages by time and filter, counts, and statistics of the attempts."""

from collections.abc import Iterable
from typing import Final

from chalicelib.features.notifications.models.schemas import DeliveriesQuery, DeliveryStatus
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.features.notifications.webhooks.models import attempt_counts
from chalicelib.features.notifications.webhooks.models.schemas import WebhookStatisticsOut
from chalicelib.kernel.core import ids
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Facet, Item

_FILTERED_PAGE_SIZE: Final = 100
_WEEK_HOURS: Final = 7 * 24
_LAST_COUNTS_KEY: Final = f"{attempt_counts.COUNTS_PREFIX}~"


def load_deliveries_and_next_position(
    webhook_id: str, filters: DeliveriesQuery, after_position: Item | None
) -> tuple[list[WebhookDelivery], Item | None]:
    """Return the newest deliveries that match, and the position to continue from.

    Runs one Query on the most selective index. With two filters it reads at least 100 items.
    """
    facet = _most_selective_facet(filters)
    has_both_filters = filters.status is not None and filters.event_type is not None
    key_values = {"webhook_id": webhook_id, "status": filters.status, "event_type": filters.event_type}
    result = table.query_matching(
        [facet.partition(**key_values) if facet else WebhookDelivery.pk.format_map(key_values)],
        lambda item: _is_visible_match(filters, WebhookDelivery.from_item(item)),
        limit=filters.limit,
        max_scanned=max(filters.limit, _FILTERED_PAGE_SIZE) if has_both_filters else filters.limit,
        after=after_position,
        **_delivery_id_query_arguments(filters.since, filters.until),
    )
    return [WebhookDelivery.from_item(item) for item in result.items], result.last_evaluated_key


def count_deliveries(webhook_id: str, statuses: Iterable[DeliveryStatus], since: str | None, until: str | None) -> int:
    """Return the number of deliveries with one of the statuses whose events occurred in a time range.

    The result is a lower bound for very many deliveries, and may miss one that is changing.
    """
    facet, id_range = WebhookDelivery.by_status, ids.id_range_query_arguments(since, until)
    return sum(
        table.count_items_in_one_read(facet.partition(webhook_id=webhook_id, status=status), **id_range).number
        for status in statuses
    )


def load_statistics(webhook_id: str, now: str) -> WebhookStatisticsOut:
    """Return the counts of a webhook's attempts until now. Reads an item for each hour of the last week."""
    pk = WebhookDelivery.pk.format(webhook_id=webhook_id)
    pages = table.iter_item_pages(pk, since=attempt_counts.earliest_sort_key(now, _WEEK_HOURS), until=_LAST_COUNTS_KEY)
    items = [item for page in pages for item in page]
    hour, day, week = (attempt_counts.sum_counts(items, now, hours) for hours in (1, 24, _WEEK_HOURS))
    return WebhookStatisticsOut.model_validate({"last_hour": hour, "last_day": day, "last_week": week})


def _delivery_id_query_arguments(since: str | None, until: str | None) -> ids.IdRange:
    """Return the key range of delivery ids, without the deferral items, which sort before them."""
    id_range = ids.id_range_query_arguments(since, until)
    return {**id_range, "since": id_range["since"] or "0"}


def _most_selective_facet(filters: DeliveriesQuery) -> Facet | None:
    # Most deliveries succeeded, so the event type is more selective than that status.
    if filters.event_type and filters.status in (None, "succeeded"):
        return WebhookDelivery.by_event_type
    return WebhookDelivery.by_status if filters.status else None


def _is_visible_match(filters: DeliveriesQuery, delivery: WebhookDelivery) -> bool:
    matches = filters.status in (None, delivery.status) and filters.event_type in (None, delivery.event_type)
    return matches and not delivery.is_expired
