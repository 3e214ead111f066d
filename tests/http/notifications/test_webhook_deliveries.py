"""Test deliveries to a webhook: listing and reading them, and their attempts."""

from collections.abc import Mapping

import pytest

from chalicelib.features.notifications.entities import RETENTION_DAYS
from chalicelib.features.notifications.models.schemas import DeliveryStatus
from chalicelib.features.notifications.webhooks.entities import WebhookDelivery
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.ids import new_id
from tests.harness import memory_aws
from tests.harness.api import ApiClient
from tests.harness.clock import Clock
from tests.harness.organizations import CreatedOrganization, create_organization
from tests.harness.receiver import Reply
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    list_deliveries,
    rename_organization,
)

URL = "https://hooks.example.com/atrium"
UPDATED = "organization.updated"
START = "2026-11-20T09:30:00.000Z"


def store_delivery(
    webhook: CreatedWebhook, occurred_at: str, *, status: DeliveryStatus = "succeeded", event_type: str = UPDATED
) -> str:
    """Store a delivery of an event with the given timestamp; return its id."""
    delivery = WebhookDelivery.create_pending_or_skipped(
        webhook.id,
        event_id=new_id(occurred_at),
        event_type=event_type,
        organization_id=webhook.organization.id,
        sequence=1,
        occurred_at=occurred_at,
        now=occurred_at,
        attempt_at=occurred_at if status == "pending" else None,
    )
    memory_aws.put_item(delivery.replace(status=status).item())
    return delivery.id


def list_ids(api: ApiClient, webhook: CreatedWebhook, **query: object) -> list[str]:
    """Return the ids of all listed deliveries, in list order."""
    return [
        event_delivery["id"]
        for event_delivery in api.get_items(
            f"{webhook.path}/deliveries", caller=webhook.organization.owner, query=query
        )
    ]


class TestList:
    @pytest.fixture
    def paused_webhook(self, api: ApiClient, organization: CreatedOrganization) -> CreatedWebhook:
        return create_webhook(api, organization, URL, enabled=False)

    @pytest.fixture
    def stored_ids(self, paused_webhook: CreatedWebhook, clock: Clock) -> Mapping[tuple[str, str], list[str]]:
        """Store deliveries of each status and of two types, a minute apart; return ids by both, the newest first."""
        clock.freeze(after(START, hours=2))
        statuses: list[DeliveryStatus] = ["pending", "succeeded", "failed", "skipped"]
        ids: dict[tuple[str, str], list[str]] = {}
        for minute in range(40):
            event_type, status = (UPDATED, "organization.created")[minute % 2], statuses[minute % 3 or minute % 4]
            delivery_id = store_delivery(
                paused_webhook, after(START, seconds=60 * minute), status=status, event_type=event_type
            )
            ids.setdefault((status, event_type), []).insert(0, delivery_id)
        return ids

    def test_deliveries_are_listed_newest_first_with_any_limit(self, api, paused_webhook, stored_ids):
        all_ids = sorted((delivery_id for ids in stored_ids.values() for delivery_id in ids), reverse=True)
        for limit in (1, 7, 40):
            assert list_ids(api, paused_webhook, limit=limit) == all_ids

    @pytest.mark.parametrize("limit", [1, 3, 100])
    @pytest.mark.parametrize("event_type", [None, UPDATED, "organization.created", "organization.deleted"])
    @pytest.mark.parametrize("status", [None, "pending", "succeeded", "failed", "skipped"])
    def test_filters_apply_together(self, api, paused_webhook, stored_ids, status, event_type, limit):
        query = {"limit": limit, "status": status, "eventType": event_type}
        matching_lists = [
            ids
            for (stored_status, stored_type), ids in stored_ids.items()
            if status in (None, stored_status) and event_type in (None, stored_type)
        ]
        found_ids = list_ids(api, paused_webhook, **{parameter: value for parameter, value in query.items() if value})
        assert found_ids == sorted((delivery_id for ids in matching_lists for delivery_id in ids), reverse=True)

    def test_both_ends_of_a_time_range_are_included(self, api, paused_webhook, stored_ids):
        all_ids = sorted(delivery_id for ids in stored_ids.values() for delivery_id in ids)
        first_at, last_at = after(START, seconds=60 * 5), after(START, seconds=60 * 9)
        assert list_ids(api, paused_webhook, **{"from": first_at, "to": last_at}) == all_ids[5:10][::-1]
        assert list_ids(api, paused_webhook, **{"from": after(first_at, seconds=0.001)}) == all_ids[6:][::-1]
        assert list_ids(api, paused_webhook, to=after(last_at, seconds=-0.001)) == all_ids[:9][::-1]
        assert (
            list_ids(api, paused_webhook, **{"from": first_at, "eventType": UPDATED, "limit": 2}) == all_ids[6::2][::-1]
        )

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("status", "delivered"),
            ("status", ""),
            ("eventType", "organization"),
            ("eventType", "organization.*"),
            ("eventType", "x." * 60),
            ("from", "yesterday"),
            ("to", "2026-11-20"),
        ],
    )
    def test_an_invalid_filter_is_rejected(self, api, paused_webhook, name, value):
        answer = api.get(
            f"{paused_webhook.path}/deliveries", caller=paused_webhook.organization.owner, query={name: value}
        )
        assert answer.status_and_code == "422 validation_failed"
        assert list(answer.errors) == [f"query/{name}"]

    def test_a_time_range_that_ends_before_it_starts_is_rejected(self, api, paused_webhook):
        query = {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"}
        answer = api.get(f"{paused_webhook.path}/deliveries", caller=paused_webhook.organization.owner, query=query)
        assert answer.errors == {"query/from": "out_of_range"}

    def test_each_webhook_has_its_own_deliveries(self, api, organization, paused_webhook):
        other = create_webhook(api, organization, URL)
        first, second = store_delivery(paused_webhook, START), store_delivery(other, START)
        assert (list_ids(api, paused_webhook), list_ids(api, other)) == ([first], [second])

    def test_deliveries_expire_after_ninety_days(self, api, paused_webhook, ada, clock):
        clock.freeze(START)
        first, second = store_delivery(paused_webhook, START), store_delivery(paused_webhook, after(START, days=1))
        clock.shift(days=RETENTION_DAYS, seconds=-1)
        assert list_ids(api, paused_webhook) == [second, first]
        clock.shift(seconds=1)
        assert list_ids(api, paused_webhook) == [second]
        for status in ("succeeded", None):
            assert list_ids(api, paused_webhook, eventType=UPDATED, **({"status": status} if status else {})) == [
                second
            ]
        assert api.get(f"{paused_webhook.path}/deliveries/{first}", caller=ada).status_and_code == "404 not_found"
        assert api.get(f"{paused_webhook.path}/deliveries/{second}", caller=ada).status == 200


class TestGet:
    @pytest.fixture
    def webhook(self, api: ApiClient, organization: CreatedOrganization) -> CreatedWebhook:
        return create_webhook(api, organization, URL)

    def test_a_delivery_is_returned_as_it_is_listed(self, api, webhook, ada):
        delivery_id = store_delivery(webhook, now(), status="skipped")
        answer = api.get(f"{webhook.path}/deliveries/{delivery_id}", caller=ada)
        assert list_deliveries(api, webhook) == [answer.json]
        assert (answer.json["eventId"], answer.json["webhookId"]) == (delivery_id, webhook.id)
        revalidation = api.get(
            f"{webhook.path}/deliveries/{delivery_id}", caller=ada, headers={"If-None-Match": answer.etag}
        )
        assert revalidation.status == 304

    def test_a_delivery_of_another_webhook_is_not_found(self, api, organization, webhook, ada):
        for other_webhook in (
            create_webhook(api, organization, URL),
            create_webhook(api, create_organization(api, ada), URL),
        ):
            foreign_id = store_delivery(other_webhook, now())
            assert api.get(f"{webhook.path}/deliveries/{foreign_id}", caller=ada).status_and_code == "404 not_found"
            assert (
                api.post(f"{webhook.path}/deliveries/{foreign_id}/retry", caller=ada).status_and_code == "404 not_found"
            )


@pytest.mark.usefixtures("private_targets_allowed")
def test_each_request_sent_is_an_attempt(api, organization, webhook, workers, receiver):
    rename_organization(api, organization, "On a connection that is kept")
    workers.deliver()
    answers = iter([Reply(raw_response=b"", closes_connection=True), Reply()])
    receiver.default_reply = lambda _: next(answers)
    rename_organization(api, organization, "On that, and then on a new one")
    workers.deliver()
    attempts = [event_delivery["attempts"] for event_delivery in list_deliveries(api, webhook)]
    assert [len(delivery_attempts) for delivery_attempts in attempts] == [1, 2]
    assert sum(map(len, attempts)) == len(receiver.requests)
    first, second = attempts[-1]
    assert (first["number"], first["statusCode"], second["number"], second["statusCode"]) == (1, None, 2, 200)
    assert first["error"].startswith("The server closed the connection")
    assert first["at"] <= second["at"]
