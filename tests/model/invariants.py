"""How a story ends: once nothing is left to be done, all of it is held against the model."""

from typing import Final

from tests.catalogue import evidence
from tests.harness.api import Json
from tests.model.entities import SYSTEM, Thing
from tests.model.interface import lies_within
from tests.model.nouns.mishaps import grow_old, recover
from tests.model.nouns.pages import visit
from tests.model.nouns.sites import publication_of
from tests.model.nouns.taxonomy import paths_of
from tests.model.story import LIVELY, By, Story

LISTS: Final = {
    "member": "members",
    "invitation": "invitations",
    "api_key": "api-keys",
    "webhook": "webhooks",
    "channel": "integration-channels",
    "space": "spaces",
    "space_member": "members",
    "platform_member": "members",
    "site": "sites",
}
_BY_OTHERS: Final = {
    "platform": ("home", "warnings"),
    "site": ("homePageId", "host"),
    "node": ("path", "depth", "parentId", "position"),
    "page": (
        "path",
        "isHome",
        "status",
        "publishAt",
        "hasUnpublishedChanges",
        "publishedRevisionId",
        "publishedAt",
    ),
    "menu": ("items",),
}
"""What changes of a record when others do."""

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
        _trees_are_as_they_grew(story, organization)
        entries = _the_log_tells_all(story, organization)
        _everybody_was_told(story, organization, entries)
    _nobody_else_was_told(story)
    told = sorted((t.type, t.operation, str(t.actor)) for t in story.model.told.get(SYSTEM, []))
    entries = story.api.items("/system/audit-log", as_=story.people["operator"], query={"limit": 100})
    assert sorted((e["type"], e["context"]["operationId"], str(e["actor"]["id"])) for e in entries) == told


def _everything_is_there(story: Story, organization: Thing) -> None:
    owner = story.owner(organization)
    for place in [t for t in story.model.things if t.there and organization in t.chain]:
        answer = story.read(place)
        assert answer.status == 200, f"{place.path}: {answer.text}"
        _same(answer.json, place.shown, *_LOOSE, *_BY_OTHERS.get(place.kind, ()))
        if not place.touched and place.kind not in LIVELY:
            assert answer.json["version"] == place.shown["version"], place.shown
    for kind, of in LISTS.items():
        for place in [t for t in story.model.things if t.there and organization in t.chain and _holds(t, kind)]:
            listed = story.api.items(f"{place.path}/{of}", as_=owner, query={"limit": 7})
            expected = story.model.of(kind, place)
            if kind == "space":
                expected = sorted(expected, key=lambda space: (space.shown["position"], space.id))
            assert [item["id"] for item in listed] == [thing.id for thing in expected], f"{kind} of {place.shown}"


def _trees_are_as_they_grew(story: Story, organization: Thing) -> None:
    owner = story.owner(organization)
    for platform in story.model.of("platform", organization):
        nodes = story.api.items(f"{platform.path}/taxonomy-nodes", as_=owner, query={"limit": 9})
        assert {node["id"]: node["path"] for node in nodes} == paths_of(story, platform)
    for site in story.model.of("site", organization):
        publication = publication_of(site)
        listed = story.api.items(f"{site.path}/pages", as_=owner, query={"limit": 9})
        assert {page["id"]: page["path"] for page in listed} == publication.drafts
        published = {page: sheet.published for page, sheet in publication.pages.items()}
        assert {page["id"]: page["publishedRevisionId"] for page in listed} == published
        manual = {r["id"] for r in story.api.items(f"{site.path}/redirects", as_=owner) if r["origin"] == "manual"}
        assert manual == {redirect.id for redirect in story.model.of("redirect", site)}
        for page, path in publication.public.items() if site.shown["status"] == "published" else ():
            answer = visit(story, site, path)
            led = path in {r.shown["fromPath"] for r in story.model.of("redirect", site) if r.shown["enabled"]}
            assert led or (answer.status, answer.json["id"], answer.json["path"]) == (200, page, path)


def _holds(place: Thing, kind: str) -> bool:
    holder = {"space": "platform", "space_member": "space", "platform_member": "platform"}.get(kind, "organization")
    return place.kind == holder


def _same(said: Json, expected: Json, *loose: str) -> None:
    left, right = ({n: v for n, v in one.items() if n not in loose} for one in (said, expected))
    assert left == right, f"{left} instead of {right}"


def _the_log_tells_all(story: Story, organization: Thing) -> list[Json]:
    """Hold a log against what the model was told: one entry for each change, in order, and nothing else."""
    entries = story.api.items(f"{organization.path}/audit-log", as_=story.owner(organization), query={"limit": 100})
    entries.sort(key=lambda entry: entry["sequence"])  # Of one moment there may be several.
    asked = [entry for entry in entries if entry["actor"]["type"] != "system"]
    told = story.model.told.get(organization.id, [])
    expected = [(t.type, t.operation, t.actor) for t in told]
    assert [(e["type"], e["context"]["operationId"], e["actor"]["id"]) for e in asked] == expected
    for entry, one in zip(asked, told, strict=True):
        assert one.target in (entry["target"]["id"], entry["data"]["id"]), f"{entry} is not about {one.target}"
    own = sorted((e["type"], e["target"]["id"]) for e in entries if e["actor"]["type"] == "system")
    later = sorted(story.model.later.get(organization.id, []))
    assert own == later, f"the service tells of itself {own} instead of {later}"
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
            if _matches(said["events"], entry["type"]) and lies_within(entry["type"], said["areas"]):
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
