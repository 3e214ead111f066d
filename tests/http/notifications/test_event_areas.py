"""Events of webhooks and channels that an API key created or changed: only those that the key may read."""

from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.models.event_types import EVENT_TYPES, scope_area_of
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role, fully_readable_areas_or_none_if_all
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.harness.api import ApiClient, ApiResponse
from tests.harness.callers import Caller
from tests.harness.organizations import CreatedOrganization, create_api_key
from tests.harness.receiver import Receiver, Reply
from tests.harness.sites import create_site
from tests.harness.webhooks import (
    CreatedWebhook,
    create_webhook,
    get_webhook,
    list_deliveries,
    received_event_types,
    rename_organization,
    update_webhook,
)

_AREAS: Final = {area.name for area in scope_areas()}
_MEMBER_READABLE: Final = {area.name for area in scope_areas() if area.members_read_all}

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

OWNER_EVENTS: Final = {
    "organization.created",
    "organization.deleted",
    "organization.ownership_transferred",
    "organization.person_erased",
    "organization.purged",
    "lead.created",
    "lead.status_changed",
    "mail.suppression.created",
}
PATHS: Final = {"webhooks": "webhooks", "channels": "integration-channels"}


def post_subscriber(
    api: ApiClient, organization: CreatedOrganization, area: str, caller: Caller, url: str, **fields: Any
) -> ApiResponse:
    """Return the response to the request that creates a webhook or a channel."""
    body = (
        {"url": url} if area == "webhooks" else {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}}
    )
    return api.post(f"{organization.path}/{PATHS[area]}", caller=caller, json={**body, **fields})


def create_webhook_by_key(
    api: ApiClient, organization: CreatedOrganization, receiver: Receiver, *scopes: str, **fields: Any
) -> CreatedWebhook:
    """Create a webhook with a key of some scopes."""
    key = create_api_key(api, organization, "webhooks:write", *scopes)
    response = post_subscriber(api, organization, "webhooks", key, receiver.url, **fields)
    assert response.status == 201, response.text
    return CreatedWebhook(response.json, organization)


class TestAreas:
    def test_the_area_of_an_event_is_that_of_the_operations_that_emit_it(self):
        emitted = {
            (event, each.scope.partition(":")[0]) for each in all_operations() if each.scope for event in each.emits
        }
        assert {event: scope_area_of(event) for event, _ in emitted} == dict(emitted)
        assert {scope_area_of(event) for event in EVENT_TYPES} == {*_AREAS, "leads", "mail"}
        unscoped = {event for each in all_operations() if not each.scope for event in each.emits}
        assert {event for event in unscoped - {event for event, _ in emitted} if ".invitation." not in event} <= {
            *OWNER_EVENTS,
            "research.backfill.requested",
            "research.reconcile.requested",
        }

    def test_members_read_the_areas_whose_records_they_may_all_read(self):
        read_operations = [each for each in all_operations() if each.scope and each.scope.endswith(":read")]
        closed_areas = {
            (each.scope or "").partition(":")[0]
            for each in read_operations
            if isinstance(each.access, RequireRole) and each.access.role not in (None, Role.MEMBER)
        }
        assert closed_areas | {"spaces"} == _AREAS - _MEMBER_READABLE

    def test_readable_areas_follow_from_scopes(self):
        assert (
            fully_readable_areas_or_none_if_all(None)
            is fully_readable_areas_or_none_if_all(["admin"])
            is fully_readable_areas_or_none_if_all(["read", "admin"])
            is None
        )
        assert fully_readable_areas_or_none_if_all(["webhooks:write"]) == ["webhooks"]
        assert (
            {*(fully_readable_areas_or_none_if_all(["read"]) or ())}
            == {*(fully_readable_areas_or_none_if_all(["write"]) or ())}
            == _MEMBER_READABLE
        )
        assert fully_readable_areas_or_none_if_all(["audit-log:read", "spaces:write"]) == ["audit-log", "spaces"]


@pytest.mark.parametrize("area", [*PATHS])
class TestCreateSubscriber:
    def test_event_types_outside_the_readable_areas_are_rejected(self, api, organization, receiver, area):
        key = create_api_key(api, organization, f"{area}:write", "sites:read")
        events = ["page.*", "organization.member.updated", "page.published", "organization.updated"]
        response = post_subscriber(api, organization, area, key, receiver.url, events=events)
        assert response.status_and_code == "403 insufficient_scope"
        assert response.errors == {"/events/1": "insufficient_scope", "/events/3": "insufficient_scope"}
        allowed = post_subscriber(api, organization, area, key, receiver.url, events=["*", "page.*", "page.published"])
        assert (allowed.status, allowed.json["areas"]) == (201, [area, "sites"])

    def test_event_types_that_no_scope_reads_are_rejected(self, api, organization, receiver, area):
        key = create_api_key(api, organization, f"{area}:write")
        response = post_subscriber(
            api, organization, area, key, receiver.url, events=["lead.created", "mail.suppression.created"]
        )
        assert response.errors == {"/events/0": "insufficient_scope", "/events/1": "insufficient_scope"}

    def test_admins_subscribe_to_all_areas(self, api, organization, receiver, area):
        for caller in (organization.owner, create_api_key(api, organization, "admin")):
            response = post_subscriber(
                api, organization, area, caller, receiver.url, events=["organization.updated", "*"]
            )
            assert (response.status, response.json["areas"]) == (201, None)

    def test_the_areas_are_those_of_the_last_caller_who_changed_the_subscriber(self, api, organization, receiver, area):
        created = post_subscriber(
            api, organization, area, organization.owner, receiver.url, events=["organization.updated"]
        )
        path, key = created.location, create_api_key(api, organization, f"{area}:write")
        assert api.patch(path, caller=key, json={}).json["areas"] is None
        assert api.patch(path, caller=key, json={"enabled": False}).errors == {"/events/0": "insufficient_scope"}
        changed = api.patch(path, caller=key, json={"enabled": False, "events": ["*"]})
        assert (changed.status, changed.json["areas"]) == (200, [area])
        assert api.patch(path, caller=organization.owner, json={"enabled": True}).json["areas"] is None


class TestDeliveredEvents:
    def test_deliveries_are_limited_to_the_areas_of_the_creator(self, api, organization, workers, receiver):
        limited = create_webhook_by_key(api, organization, receiver, "sites:read")
        unlimited = create_webhook(api, organization, "https://a.example")
        rename_organization(api, organization, "Mills")
        create_api_key(api, organization, "read")
        create_site(api, organization)
        workers.run_until_idle()
        assert received_event_types(receiver) == ["organization.webhook.created"] * 2 + [
            "site.created",
            "site.published",
        ]
        assert {each["eventType"] for each in list_deliveries(api, limited)} == {*received_event_types(receiver)}
        assert "organization.updated" in {each["eventType"] for each in list_deliveries(api, unlimited)}

    def test_events_before_a_key_changed_the_url_are_not_delivered(self, api, organization, workers, receiver, clock):
        webhook = create_webhook(api, organization, receiver, enabled=False)
        rename_organization(api, organization, "Mills")
        workers.run_until_idle()
        key = create_api_key(api, organization, "webhooks:write")
        changed = api.patch(webhook.path, caller=key, json={"url": f"{receiver.url}?mine", "enabled": True})
        assert (changed.status, changed.json["areas"]) == (200, ["webhooks"])
        workers.run_until_idle()
        (renamed,) = [each for each in list_deliveries(api, webhook) if each["eventType"] == "organization.updated"]
        retry = api.post(f"{webhook.path}/deliveries/{renamed['id']}/retry", caller=key)
        assert retry.status_and_code == "409 invalid_transition"
        replay = api.post(
            f"{webhook.path}/replay", caller=key, json={"from": "2020-01-01T00:00:00Z", "status": "skipped"}
        )
        assert replay.status == 202
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert {each.split(".")[1] for each in received_event_types(receiver)} == {"webhook"}
        assert api.patch(webhook.path, caller=organization.owner, json={"description": "Ours"}).json["areas"] is None
        assert api.post(f"{webhook.path}/deliveries/{renamed['id']}/retry", caller=organization.owner).status == 202
        workers.run_until_idle()
        assert received_event_types(receiver).count("organization.updated") == 1

    def test_a_pending_delivery_outside_the_new_areas_is_not_sent(self, api, organization, workers, receiver, clock):
        receiver.default_reply = Reply(status=500)
        webhook = create_webhook(api, organization, receiver)
        rename_organization(api, organization, "Mills")
        workers.run_until_idle()
        before = len(receiver.requests)
        key = create_api_key(api, organization, "webhooks:write")
        assert api.patch(webhook.path, caller=key, json={"url": f"{receiver.url}?mine"}).status == 200
        receiver.default_reply = Reply()
        clock.shift(minutes=30)
        workers.run_until_idle()
        assert "organization.updated" not in received_event_types(receiver)[before:]


def test_a_webhook_of_an_owner_gets_all_events_and_keeps_them_after_a_change(api, organization, workers, receiver):
    webhook = create_webhook(api, organization, receiver)
    rename_organization(api, organization, "Mills")
    workers.run_until_idle()
    assert "organization.updated" in received_event_types(receiver)
    assert update_webhook(api, webhook, events=["*"]).json["areas"] is None
    assert get_webhook(api, webhook)["areas"] is None
