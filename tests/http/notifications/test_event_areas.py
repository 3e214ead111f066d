"""Events of webhooks and channels that an API key created or changed: only those that the key may read."""

from typing import Final

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.features.notifications.models.event_types import EVENT_TYPES, scope_area_of
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role, fully_readable_areas_or_none_if_all
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.harness.api import ApiResponse
from tests.harness.callers import Caller
from tests.harness.organizations import create_api_key
from tests.harness.receiver import Reply
from tests.harness.sites import create_site
from tests.harness.webhooks import LONG_AGO, UPDATED, CreatedWebhook, list_deliveries, received_event_types

_AREAS: Final = {area.name for area in scope_areas()}
_MEMBER_READABLE: Final = {area.name for area in scope_areas() if area.members_read_all}

pytestmark = pytest.mark.usefixtures("private_targets_allowed")

UNSCOPED_EVENTS: Final = {
    *("organization.created", "organization.deleted", "organization.ownership_transferred", "organization.purged"),
    *("organization.person_erased", "lead.created", "lead.status_changed", "mail.suppression.created"),
    *("research.backfill.requested", "research.reconcile.requested"),
}
PATHS: Final = {"webhooks": "webhooks", "channels": "integration-channels"}


@pytest.fixture
def subscribe(api, organization, receiver):
    """A function that requests a webhook or a channel, and returns the response."""

    def subscribe(area: str, caller: Caller, events: list[str]) -> ApiResponse:
        url = receiver.url
        channel_fields = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}}
        body = {"events": events, **({"url": url} if area == "webhooks" else channel_fields)}
        return api.post(f"{organization.path}/{PATHS[area]}", caller=caller, json=body)

    return subscribe


class TestAreas:
    def test_the_area_of_an_event_is_that_of_the_operations_that_emit_it(self):
        operations = all_operations()
        emitted = {(event, each.scope.partition(":")[0]) for each in operations if each.scope for event in each.emits}
        assert {event: scope_area_of(event) for event, _ in emitted} == dict(emitted)
        assert {scope_area_of(event) for event in EVENT_TYPES} == {*_AREAS, "leads", "mail"}
        unscoped = {event for each in operations if not each.scope for event in each.emits} - {e for e, _ in emitted}
        assert {event for event in unscoped if ".invitation." not in event} <= UNSCOPED_EVENTS

    def test_members_read_the_areas_whose_records_they_may_all_read(self):
        closed_areas = {
            each.scope.partition(":")[0]
            for each in all_operations()
            if each.scope and each.scope.endswith(":read")
            if isinstance(each.access, RequireRole) and each.access.role not in (None, Role.MEMBER)
        }
        assert closed_areas | {"spaces"} == _AREAS - _MEMBER_READABLE

    @pytest.mark.parametrize(
        ("scopes", "areas"),
        [
            (None, None),
            (["admin"], None),
            (["read", "admin"], None),
            (["webhooks:write"], ["webhooks"]),
            (["read"], sorted(_MEMBER_READABLE)),
            (["write"], sorted(_MEMBER_READABLE)),
            (["audit-log:read", "spaces:write"], ["audit-log", "spaces"]),
        ],
    )
    def test_readable_areas_follow_from_scopes(self, scopes, areas):
        readable_areas = fully_readable_areas_or_none_if_all(scopes)
        assert (sorted(readable_areas) if readable_areas is not None else None) == areas


@pytest.mark.parametrize("area", [*PATHS])
class TestCreateSubscriber:
    def test_event_types_outside_the_readable_areas_are_rejected(self, api, organization, subscribe, area):
        key = create_api_key(api, organization, f"{area}:write", "sites:read")
        response = subscribe(area, key, ["page.*", "organization.member.updated", "page.published", UPDATED])
        assert response.status_and_code == "403 insufficient_scope"
        assert response.errors == {"/events/1": "insufficient_scope", "/events/3": "insufficient_scope"}
        response = subscribe(area, key, ["lead.created", "mail.suppression.created"])
        assert response.errors == {"/events/0": "insufficient_scope", "/events/1": "insufficient_scope"}
        allowed = subscribe(area, key, ["*", "page.*", "page.published"])
        assert (allowed.status, allowed.json["areas"]) == (201, [area, "sites"])

    def test_admins_subscribe_to_all_areas(self, api, organization, subscribe, area):
        for caller in (organization.owner, create_api_key(api, organization, "admin")):
            response = subscribe(area, caller, [UPDATED, "*"])
            assert (response.status, response.json["areas"]) == (201, None)

    def test_the_areas_are_those_of_the_last_caller_who_changed_the_subscriber(
        self, api, organization, subscribe, area
    ):
        path = subscribe(area, organization.owner, [UPDATED]).location
        key = create_api_key(api, organization, f"{area}:write")
        assert api.patch(path, caller=key, json={}).json["areas"] is None
        assert api.patch(path, caller=key, json={"enabled": False}).errors == {"/events/0": "insufficient_scope"}
        changed = api.patch(path, caller=key, json={"enabled": False, "events": ["*"]})
        assert (changed.status, changed.json["areas"]) == (200, [area])
        assert api.patch(path, caller=organization.owner, json={"enabled": True}).json["areas"] is None


class TestDeliveredEvents:
    def test_deliveries_are_limited_to_the_areas_of_the_creator(
        self, api, organization, subscribe, new_webhook, rename, workers, receiver
    ):
        created = subscribe("webhooks", create_api_key(api, organization, "webhooks:write", "sites:read"), ["*"])
        unlimited = new_webhook("https://a.example", events=["*"])
        rename("Mills")
        create_api_key(api, organization, "read")
        create_site(api, organization)
        workers.run_until_idle()
        expected = ["organization.webhook.created"] * 2 + ["site.created", "site.published"]
        assert received_event_types(receiver) == expected
        limited = CreatedWebhook(created.json, organization)
        assert {delivery["eventType"] for delivery in list_deliveries(api, limited)} == {*expected}
        assert UPDATED in {delivery["eventType"] for delivery in unlimited.list_deliveries()}
        for webhook in (unlimited.update(events=["*"], enabled=False), unlimited.read()):
            assert webhook["areas"] is None

    def test_events_before_a_key_changed_the_url_are_not_delivered(
        self, api, organization, new_webhook, rename, workers, receiver, clock
    ):
        webhook = new_webhook(receiver, events=["*"], enabled=False)
        rename("Mills")
        workers.run_until_idle()
        key = create_api_key(api, organization, "webhooks:write")
        changed = webhook.patch("", {"url": f"{receiver.url}?mine", "enabled": True}, caller=key)
        assert (changed.status, changed.json["areas"]) == (200, ["webhooks"])
        workers.run_until_idle()
        renamed = webhook.get_delivery()
        assert webhook.retry(renamed, caller=key).status_and_code == "409 invalid_transition"
        assert webhook.post("/replay", {"from": LONG_AGO, "status": "skipped"}, caller=key).status == 202
        clock.shift(minutes=1)
        workers.run_until_idle()
        assert {each.split(".")[1] for each in received_event_types(receiver)} == {"webhook"}
        assert webhook.update(description="Ours")["areas"] is None
        assert webhook.retry(renamed).status == 202
        workers.run_until_idle()
        assert received_event_types(receiver).count(UPDATED) == 1

    def test_a_pending_delivery_outside_the_new_areas_is_not_sent(
        self, api, organization, new_webhook, rename, workers, receiver, clock
    ):
        receiver.default_reply = Reply(status=500)
        webhook = new_webhook(receiver, events=["*"])
        rename("Mills")
        workers.run_until_idle()
        before = received_event_types(receiver)
        assert UPDATED in before
        key = create_api_key(api, organization, "webhooks:write")
        assert webhook.patch("", {"url": f"{receiver.url}?mine"}, caller=key).status == 200
        receiver.default_reply = Reply()
        clock.shift(minutes=30)
        workers.run_until_idle()
        assert UPDATED not in received_event_types(receiver)[len(before) :]
