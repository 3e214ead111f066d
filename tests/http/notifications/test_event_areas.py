"""The public list of event types; and the events that an API key may read, which limit its webhooks and channels."""

import json
from typing import Final

import pytest
from jsonschema import Draft202012Validator

from chalicelib.entrypoints import openapi
from chalicelib.entrypoints.catalogue import all_operations, event_names
from chalicelib.features.notifications.models.event_areas import scope_area_of
from chalicelib.features.notifications.models.event_types import EVENT_TYPES
from chalicelib.kernel.core.event_patterns import RESERVED_FIRST_PARTS, TEST_FIRST_PARTS, is_application_type
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
    *(
        "organization.person_erased",
        "organization.reconciliation.requested",
        "lead.created",
        "lead.status_changed",
        "mail.suppression.created",
    ),
    *("research.backfill.requested", "research.reconcile.requested"),
    "organization.webhook.link_created",
    "platform.custom_domain.link_created",
}
PATHS: Final = {"webhooks": "webhooks", "channels": "integration-channels"}


@pytest.fixture
def subscribe(api, organization, receiver):
    """A function that requests a webhook or a channel, and returns the response."""

    def subscribe(area: str, caller: Caller, events: list[str]) -> ApiResponse:
        channel_fields = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": receiver.url}}
        fields = {"url": receiver.url} if area == "webhooks" else channel_fields
        return api.post(f"{organization.path}/{PATHS[area]}", caller=caller, json={"events": events, **fields})

    return subscribe


class TestEventTypes:
    @pytest.fixture
    def listed_event_types(self, api):
        """The event types of the public list, by name."""
        return {item["type"]: item for item in api.get_items("/event-types")}

    def test_every_event_type_is_listed_with_its_description(self, listed_event_types):
        assert list(listed_event_types) == event_names()
        descriptions = {name: event_type.description for name, event_type in EVENT_TYPES.items()}
        assert {name: item["description"] for name, item in listed_event_types.items()} == descriptions
        for name, path in openapi.build_document()["webhooks"].items():
            content = path["post"]["requestBody"]["content"]["application/json"]
            assert path["post"]["description"] == descriptions[name]
            example = content.get("example") or path["post"]["x-atrium-example"]
            assert example["data"] == listed_event_types[name]["example"]

    def test_every_schema_is_self_contained_and_matches_its_example(self, listed_event_types):
        for item in listed_event_types.values():
            Draft202012Validator.check_schema(item["schema"])
            text = json.dumps(item["schema"])
            assert "#/components" not in text
            assert all(f'"#/$defs/{name}"' in text for name in item["schema"]["$defs"])
            closed_schema = {**item["schema"], "unevaluatedProperties": False}
            validator = Draft202012Validator(closed_schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
            assert [error.message for error in validator.iter_errors(item["example"])] == [], item["type"]
            assert list(validator.iter_errors({})), f"the schema of {item['type']} accepts anything"

    def test_a_cursor_is_valid_from_another_network_and_for_a_user(self, api, ada):
        first = api.get("/event-types", query={"limit": 100}).json
        rest = {"limit": 100, "cursor": first["nextCursor"]}
        second = api.get("/event-types", query=rest, ip="198.51.100.9").json
        assert [item["type"] for item in [*first["items"], *second["items"]]] == event_names()
        assert second["nextCursor"] is None
        assert api.get("/event-types", query=rest, caller=ada).json == second


class TestAreas:
    def test_the_area_of_an_event_is_that_of_the_operations_that_emit_it(self):
        operations = all_operations()
        emitted = {(event, each.scope.partition(":")[0]) for each in operations if each.scope for event in each.emits}
        assert {event: scope_area_of(event) for event, _ in emitted} == dict(emitted)
        assert {scope_area_of(event) for event in EVENT_TYPES} == {*_AREAS, "leads", "mail", "system"} - {"events"}
        unscoped = {event for each in operations if not each.scope for event in each.emits} - {e for e, _ in emitted}
        assert {each for each in unscoped if ".invitation." not in each and each[:7] != "system."} <= UNSCOPED_EVENTS

    def test_all_events_that_are_not_built_in_belong_to_the_area_of_application_events(self):
        assert {event.partition(".")[0] for event in EVENT_TYPES} == RESERVED_FIRST_PARTS - TEST_FIRST_PARTS
        for event in ("invoice.approved", "events.a", "organizations.created", "organization_member.added"):
            assert (is_application_type(event), scope_area_of(event)) == (True, "events")
        assert not any(map(is_application_type, ("*", "page.*", "system.future.created")))

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
        events = ["page.*", "organization.member.updated", "page.published", UPDATED]
        response = subscribe(area, key, [*events, "lead.created", "mail.suppression.created"])
        assert response.status_and_code == "403 insufficient_scope"
        assert response.errors == {f"/events/{n}": "insufficient_scope" for n in (1, 3, 4, 5)}
        allowed = subscribe(area, key, ["*", "page.*", "page.published"])
        assert (allowed.status, allowed.json["areas"]) == (201, [area, "sites"])

    def test_the_areas_are_those_of_the_last_caller_who_changed_the_subscriber_and_for_admins_all(
        self, api, organization, subscribe, area
    ):
        for caller in (organization.owner, create_api_key(api, organization, "admin")):
            assert subscribe(area, caller, [UPDATED, "*"]).json["areas"] is None
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
        self, api, organization, new_webhook, rename, workers, receiver, run_tasks_after
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
        run_tasks_after(minutes=1)
        assert {each.split(".")[1] for each in received_event_types(receiver)} == {"webhook"}
        assert webhook.update(description="Ours")["areas"] is None
        assert webhook.retry(renamed).status == 202
        workers.run_until_idle()
        assert received_event_types(receiver).count(UPDATED) == 1

    def test_a_pending_delivery_outside_the_new_areas_is_not_sent(
        self, api, organization, new_webhook, rename, workers, receiver, run_tasks_after
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
        run_tasks_after(minutes=30)
        assert UPDATED not in received_event_types(receiver)[len(before) :]
