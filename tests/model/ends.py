"""How a story ends: once nothing is left to be done, all of it is held against the model."""

from typing import Final

from tests.catalogue import evidence
from tests.harness.api import Json
from tests.model.nouns.mishaps import grow_old, recover
from tests.model.story import LIVELY, By, Story
from tests.model.things import Thing

SYSTEM: Final = "system"
_KEPT: Final = ("member", "invitation", "api_key", "webhook", "channel", "platform", "space", "space_member")
LISTS: Final = {
    "member": "members", "invitation": "invitations", "api_key": "api-keys", "webhook": "webhooks",
    "channel": "integration-channels", "space": "spaces", "space_member": "members", "platform_member": "members",
    "site": "sites",
}  # fmt: skip
_LOOSE: Final = ("lastUsedAt", "failingSince", "version", "updatedAt")


def end(story: Story) -> None:
    """Let everything come to rest, and look at all of it."""
    story.endpoints.state = "well"
    for organization in (t for t in story.model.things if t.kind == "organization"):
        if organization.shown["status"] == "pending_deletion" and not organization.gone:
            from tests.model.nouns.organizations import restored

            owner = next(name for name, p in story.people.items() if p.id == organization.shown["ownerId"])
            restored(story, By(owner), organization)
    recover(story)
    story.pass_time(days=1)
    recover(story)
    grow_old(story)
    evidence.assert_proven()
    for organization in story.model.of("organization"):
        _everything_is_there(story, organization)
        entries = _the_log_tells_all(story, organization)
        _everybody_was_told(story, organization, entries)
    _nobody_else_was_told(story)


def _everything_is_there(story: Story, organization: Thing) -> None:
    owner = story.owner(organization)
    for place in [t for t in story.model.things if t.there and organization in t.chain]:
        answer = story.read(place)
        assert answer.status == 200, f"{place.path}: {answer.text}"
        loose = (*_LOOSE, "home", "warnings") if place.kind in ("platform", "site", "page") else _LOOSE
        _same(answer.json, place.shown, *loose)
        if not place.touched and place.kind not in LIVELY:
            assert answer.json["version"] == place.shown["version"], place.shown
    for kind, of in LISTS.items():
        for place in [t for t in story.model.things if t.there and organization in t.chain and _holds(t, kind)]:
            listed = story.api.items(f"{place.path}/{of}", as_=owner, query={"limit": 7})
            expected = story.model.of(kind, place)
            if kind == "space":
                expected = sorted(expected, key=lambda space: (space.shown["position"], space.id))
            assert [item["id"] for item in listed] == [thing.id for thing in expected], f"{kind} of {place.shown}"


def _holds(place: Thing, kind: str) -> bool:
    holder = {"space": "platform", "space_member": "space", "platform_member": "platform"}.get(kind, "organization")
    return place.kind == holder


def _same(said: Json, expected: Json, *loose: str) -> None:
    left, right = ({n: v for n, v in one.items() if n not in loose} for one in (said, expected))
    assert left == right, f"{left} instead of {right}"


def _the_log_tells_all(story: Story, organization: Thing) -> list[Json]:
    """Hold a log against what the model was told: one entry for each change, in order, and nothing else."""
    entries = story.api.items(f"{organization.path}/audit-log", as_=story.owner(organization), query={"limit": 100})
    entries.reverse()
    asked = [entry for entry in entries if entry["actor"]["type"] != "system"]
    told = story.model.told.get(organization.id, [])
    expected = [(t.type, t.operation, t.actor) for t in told]
    assert [(e["type"], e["context"]["operationId"], e["actor"]["id"]) for e in asked] == expected
    for entry, one in zip(asked, told, strict=True):
        assert one.target in (entry["target"]["id"], entry["data"]["id"]), f"{entry} is not about {one.target}"
    own = sorted((e["type"], e["target"]["id"]) for e in entries if e["actor"]["type"] == "system")
    assert own == sorted(story.model.later.get(organization.id, [])), "what the service tells of itself"
    assert [entry["sequence"] for entry in entries] == [*range(1, len(entries) + 1)]
    assert len({entry["id"] for entry in entries}) == len(entries)
    answer = story.api.get(f"{organization.path}/audit-log/verify-integrity", as_=story.owner(organization))
    report = answer.json
    assert (report["valid"], report["pendingEntries"], report["treeSize"]) == (True, 0, len(entries)), report
    return entries


def _everybody_was_told(story: Story, organization: Thing, entries: list[Json]) -> None:
    """Hold what arrived against the log: each event reached whoever wanted it then, or a delivery says why not."""
    wanted = _wanted(entries)
    for hook in story.model.of("webhook", organization):
        listed = story.api.items(f"{hook.path}/deliveries", as_=story.owner(organization), query={"limit": 100})
        assert {one["eventId"] for one in listed} == wanted[hook.id].keys()
        arrived = {one["webhook-id"] for one in story.endpoints.arrived.get(hook.shown["url"], [])}
        for one in listed:
            assert one["status"] in ("succeeded", "skipped"), one
            assert one["status"] == "skipped" or one["eventId"] in arrived
            assert wanted[hook.id][one["eventId"]] or one["status"] == "skipped"
    for room in story.model.of("channel", organization):
        places = {entry["sequence"]: entry["id"] for entry in entries}
        messages = story.endpoints.arrived.get(room.hidden["url"], [])
        arrived = {places[one["event"]["sequence"]] for one in messages}
        assert arrived <= wanted[room.id].keys()
        if room.shown["enabled"] and all(wanted[room.id].values()):
            assert arrived == wanted[room.id].keys()


def _wanted(entries: list[Json]) -> dict[str, dict[str, bool]]:
    """Return which events each subscriber was to have, and whether it took any then."""
    known: dict[str, Json] = {}
    wanted: dict[str, dict[str, bool]] = {}
    for entry in entries:
        target = entry["target"]
        if target["type"] in ("organization.webhook", "organization.integration_channel"):
            known[target["id"]] = entry["data"]
            if entry["type"].endswith(".deleted"):
                del known[target["id"]]
        for subscriber, said in known.items():
            deliveries = wanted.setdefault(subscriber, {})
            if _matches(said["events"], entry["type"]):
                deliveries[entry["id"]] = said["enabled"]
    return wanted


def _matches(patterns: list[str], event: str) -> bool:
    return any(p in ("*", event) or (p.endswith(".*") and event.startswith(p[:-1])) for p in patterns)


def _nobody_else_was_told(story: Story) -> None:
    """No event of an organization arrived where another's go."""
    owners: dict[str, str] = {}
    for thing in story.model.things:
        if thing.kind in ("webhook", "channel"):
            owners[thing.hidden.get("url") or thing.shown["url"]] = thing.log
    for url, messages in story.endpoints.arrived.items():
        for message in messages:
            said = message.get("event", message)
            assert said["organizationId"] == owners[url], f"{message} arrived at {url}"
