"""What a webhook or channel is told of that an API key made or changed: nothing that the key may not read."""

from typing import Any, Final

import pytest

from chalicelib.entrypoints.catalogue import operations
from chalicelib.features.notifications.models.event_types import EVENT_TYPES, area_of
from chalicelib.kernel.operations.access_rules import RequireRole
from chalicelib.kernel.permissions.roles import Role, readable_areas
from chalicelib.kernel.permissions.scope_areas import scope_areas
from tests.harness.api import Answer, Api
from tests.harness.callers import Caller
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, make_key
from tests.harness.receiver import Receiver, Reply
from tests.harness.sites import make_site
from tests.harness.webhooks import Hook, change, deliveries, hook, rename, shown, types
from tests.harness.workers import Workers

_AREAS: Final = {area.name for area in scope_areas()}
_MEMBER_READABLE: Final = {area.name for area in scope_areas() if area.members_read_all}

pytestmark = pytest.mark.usefixtures("private_targets")

OF_OWNERS: Final = {
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


def asked(api: Api, organization: Founded, area: str, as_: Caller, url: str, **fields: Any) -> Answer:
    """Return the answer to the request for a webhook or a channel."""
    body = (
        {"url": url} if area == "webhooks" else {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}}
    )
    return api.post(f"{organization.path}/{PATHS[area]}", as_=as_, json={**body, **fields})


def made_by(api: Api, organization: Founded, receiver: Receiver, *scopes: str, **fields: Any) -> Hook:
    """Return a webhook that a key with some scopes made."""
    key = make_key(api, organization, "webhooks:write", *scopes)
    answer = asked(api, organization, "webhooks", key, receiver.url, **fields)
    assert answer.status == 201, answer.text
    return Hook(answer.json, organization)


class TestAreas:
    def test_of_each_event_are_those_of_the_operations_that_emit_it(self) -> None:
        emitted = {(event, each.scope.partition(":")[0]) for each in operations() if each.scope for event in each.emits}
        assert {event: area_of(event) for event, _ in emitted} == dict(emitted)
        assert {area_of(event) for event in EVENT_TYPES} == {*_AREAS, "leads", "mail"}
        unscoped = {event for each in operations() if not each.scope for event in each.emits}
        assert {event for event in unscoped - {event for event, _ in emitted} if ".invitation." not in event} <= {
            *OF_OWNERS,
            "research.backfill.requested",
            "research.reconcile.requested",
        }

    def test_are_open_to_members_where_these_may_read_all(self) -> None:
        reads = [each for each in operations() if each.scope and each.scope.endswith(":read")]
        closed = {
            (each.scope or "").partition(":")[0]
            for each in reads
            if isinstance(each.access, RequireRole) and each.access.role not in (None, Role.MEMBER)
        }
        assert closed | {"spaces"} == _AREAS - _MEMBER_READABLE

    def test_that_scopes_read(self) -> None:
        assert readable_areas(None) is readable_areas(["admin"]) is readable_areas(["read", "admin"]) is None
        assert readable_areas(["webhooks:write"]) == ["webhooks"]
        assert {*(readable_areas(["read"]) or ())} == {*(readable_areas(["write"]) or ())} == _MEMBER_READABLE
        assert readable_areas(["audit-log:read", "spaces:write"]) == ["audit-log", "spaces"]


@pytest.mark.parametrize("area", [*PATHS])
class TestWhoeverMakesOne:
    def test_may_name_no_type_outside_of_what_they_read(
        self, api: Api, organization: Founded, receiver: Receiver, area: str
    ) -> None:
        key = make_key(api, organization, f"{area}:write", "sites:read")
        events = ["page.*", "organization.member.updated", "page.published", "organization.updated"]
        answer = asked(api, organization, area, key, receiver.url, events=events)
        assert answer.code == "403 insufficient_scope"
        assert answer.faults == {"/events/1": "insufficient_scope", "/events/3": "insufficient_scope"}
        within = asked(api, organization, area, key, receiver.url, events=["*", "page.*", "page.published"])
        assert (within.status, within.json["areas"]) == (201, [area, "sites"])

    def test_may_name_no_type_that_no_scope_reads(
        self, api: Api, organization: Founded, receiver: Receiver, area: str
    ) -> None:
        key = make_key(api, organization, f"{area}:write")
        answer = asked(api, organization, area, key, receiver.url, events=["lead.created", "mail.suppression.created"])
        assert answer.faults == {"/events/0": "insufficient_scope", "/events/1": "insufficient_scope"}

    def test_is_told_of_all_as_an_admin(self, api: Api, organization: Founded, receiver: Receiver, area: str) -> None:
        for caller in (organization.owner, make_key(api, organization, "admin")):
            answer = asked(api, organization, area, caller, receiver.url, events=["organization.updated", "*"])
            assert (answer.status, answer.json["areas"]) == (201, None)

    def test_who_changes_it_is_who_it_is_told_for(
        self, api: Api, organization: Founded, receiver: Receiver, area: str
    ) -> None:
        made = asked(api, organization, area, organization.owner, receiver.url, events=["organization.updated"])
        path, key = made.location, make_key(api, organization, f"{area}:write")
        assert api.patch(path, as_=key, json={}).json["areas"] is None
        assert api.patch(path, as_=key, json={"enabled": False}).faults == {"/events/0": "insufficient_scope"}
        changed = api.patch(path, as_=key, json={"enabled": False, "events": ["*"]})
        assert (changed.status, changed.json["areas"]) == (200, [area])
        assert api.patch(path, as_=organization.owner, json={"enabled": True}).json["areas"] is None


class TestWhatIsSent:
    def test_lies_within_what_its_maker_may_read(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver
    ) -> None:
        made, whole = made_by(api, organization, receiver, "sites:read"), hook(api, organization, "https://a.example")
        rename(api, organization, "Mills")
        make_key(api, organization, "read")
        make_site(api, organization)
        workers.settle()
        assert types(receiver) == ["organization.webhook.created"] * 2 + ["site.created", "site.published"]
        assert {one["eventType"] for one in deliveries(api, made)} == {*types(receiver)}
        assert "organization.updated" in {one["eventType"] for one in deliveries(api, whole)}

    def test_is_nothing_from_before_a_key_led_it_elsewhere(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        made = hook(api, organization, receiver, enabled=False)
        rename(api, organization, "Mills")
        workers.settle()
        key = make_key(api, organization, "webhooks:write")
        led = api.patch(made.path, as_=key, json={"url": f"{receiver.url}?mine", "enabled": True})
        assert (led.status, led.json["areas"]) == (200, ["webhooks"])
        workers.settle()
        (renamed,) = [one for one in deliveries(api, made) if one["eventType"] == "organization.updated"]
        again = api.post(f"{made.path}/deliveries/{renamed['id']}/retry", as_=key)
        assert again.code == "409 invalid_transition"
        replay = api.post(f"{made.path}/replay", as_=key, json={"from": "2020-01-01T00:00:00Z", "status": "skipped"})
        assert replay.status == 202
        clock.shift(minutes=1)
        workers.settle()
        assert {each.split(".")[1] for each in types(receiver)} == {"webhook"}
        assert api.patch(made.path, as_=organization.owner, json={"description": "Ours"}).json["areas"] is None
        assert api.post(f"{made.path}/deliveries/{renamed['id']}/retry", as_=organization.owner).status == 202
        workers.settle()
        assert types(receiver).count("organization.updated") == 1

    def test_that_waits_is_skipped_once_it_may_not_be_told(
        self, api: Api, organization: Founded, workers: Workers, receiver: Receiver, clock: Clock
    ) -> None:
        receiver.answer = Reply(status=500)
        made = hook(api, organization, receiver)
        rename(api, organization, "Mills")
        workers.settle()
        before = len(receiver.requests)
        key = make_key(api, organization, "webhooks:write")
        assert api.patch(made.path, as_=key, json={"url": f"{receiver.url}?mine"}).status == 200
        receiver.answer = Reply()
        clock.shift(minutes=30)
        workers.settle()
        assert "organization.updated" not in types(receiver)[before:]


def test_webhooks_from_before_keep_what_they_are_told_until_they_are_changed(
    api: Api, organization: Founded, workers: Workers, receiver: Receiver
) -> None:
    made = hook(api, organization, receiver)
    rename(api, organization, "Mills")
    workers.settle()
    assert "organization.updated" in types(receiver)
    assert change(api, made, events=["*"]).json["areas"] is None
    assert shown(api, made)["areas"] is None
