"""API keys of organizations: made, rotated, revoked, expired; and nobody gives what they don't hold."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.model.actions import deed, names, which
from tests.model.entities import Caller, Json, Thing
from tests.model.interface import implied
from tests.model.story import By, Story

_DAY = 24 * 3600
scopes = st.sampled_from(
    [
        ["read"],
        ["write"],
        ["admin"],
        ["read", "sites:write"],
        ["members:write"],
        ["spaces:read", "taxonomy:write"],
        ["webhooks:write", "audit-log:read"],
        ["api-keys:write"],
    ]
)


@deed(place=which, name=names, scopes=scopes, days=st.none() | st.sampled_from([1, 40]))
def create_api_key(story: Story, by: By, place: int, name: str, scopes: list[str], days: int | None) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    parent, until = story.caller(by.who)[0].key, story.seconds + days * _DAY if days else None
    unless = "403 insufficient_scope" if _beyond(story, by, scopes) else _outlives(parent, until, inherits=True)
    expires = after(now(), days=days) if days else None
    body = {"name": name, "scopes": scopes, "expiresAt": expires}
    if answer := story.ask(by, "create_api_key", organization, body=body, unless=unless):
        expected = {**body, "status": "active", "createdBy": story.caller(by.who)[0].id, "lastUsedAt": None}
        if parent and not days:
            expected["expiresAt"], until = parent.shown["expiresAt"], parent.hidden["until"]
        made = story.makes("api_key", answer, organization, expected, "key")
        made.hidden["until"], made.hidden["lineage"] = until, _lineage(story.caller(by.who)[0])
        story.tells(by, "create_api_key", made)


def _lineage(who: Caller) -> list[str]:
    return [*who.key.hidden["lineage"], who.id] if who.key else [who.id]


def _outlives(maker: Thing | None, until: float | None, *, inherits: bool) -> str | None:
    """Return with what it is refused that a key ends later than the one that makes or rotates it."""
    if maker is None or maker.hidden["until"] is None or (until is None and inherits):
        return None
    return "403 forbidden" if until is None or until > maker.hidden["until"] else None


def end_keys(organization: Thing, keys: list[Thing], cause: str, reason: str, held: set[str]) -> list[Json] | None:
    """Revoke the keys of an organization that rest on somebody and exceed what they hold, and all that rest on those.

    Returns them as the entry and the answer name them. The keys come in the order in which they were made.
    """
    keys = [key for key in keys if key.within is organization and key.shown["status"] == "active" and key.id != cause]
    reasons = {
        key.id: (reason, cause) for key in keys if cause in key.hidden["lineage"] and not {*key.shown["scopes"]} <= held
    }
    while more := {
        key.id: ("parent_revoked", next(each for each in key.hidden["lineage"] if each in reasons))
        for key in keys
        if key.id not in reasons and {*reasons} & {*key.hidden["lineage"]}
    }:
        reasons |= more
    ended = [key for key in keys if key.id in reasons]
    for key in ended:
        key.hidden["revoked"], key.touched, (why, whose) = True, True, reasons[key.id]
        key.shown |= {"status": "revoked", "revokedBecause": {"reason": why, "id": whose}}
    return [{"id": key.id, "name": key.shown["name"]} for key in ended] or None


def _beyond(story: Story, by: By, scopes: list[str]) -> bool:
    key = story.caller(by.who)[0].key
    if key is None or "admin" in key.shown["scopes"]:
        return False
    return not {*scopes} <= implied(key.shown["scopes"])


@deed(often=1, key=which)
def revoke_api_key(story: Story, by: By, key: int) -> None:
    known = story.model.pick("api_key", key)
    if known and story.ask(by, "revoke_api_key", known.within, known) and not known.hidden.get("revoked"):
        known.hidden["revoked"] = True
        known.shown["status"], known.touched = "revoked", True
        if known.within:
            ended = end_keys(known.within, story.model.of("api_key"), known.id, "parent_revoked", set())
            known.shown["revokedKeys"] = ended
        story.tells(by, "revoke_api_key", known)
        known.shown["revokedKeys"] = None


@deed(key=which, hours=st.sampled_from([0, 24]))
def rotate_api_key(story: Story, by: By, key: int, hours: int) -> None:
    known = story.model.pick("api_key", key)
    if known is None:
        return
    unless = None
    if known.shown["status"] != "active":
        unless = "409 invalid_transition"
    elif _beyond(story, by, known.shown["scopes"]):
        unless = "403 insufficient_scope"
    elif by.who != known.id and _outlives(story.caller(by.who)[0].key, known.hidden["until"], inherits=False):
        unless = "403 forbidden"
    elif hours and known.hidden.get("rotated", 0) >= _MOST_SECRETS - 1:
        return
    answer = story.ask(by, "rotate_api_key", known.within, known, {"graceHours": hours}, unless=unless)
    if answer:
        known.hidden["rotated"] = known.hidden.get("rotated", 0) + 1
        former, who = known.hidden["key"], story.caller(by.who)[0]
        if who.id != known.id:
            known.hidden["lineage"] = [*dict.fromkeys([*known.hidden["lineage"], *_lineage(who)])]
        used = {"lastUsedAt": answer.json["lastUsedAt"]}
        story.changes(known, answer, {"hint": answer.json["hint"], **used}, key=True)
        assert known.hidden["key"] != former
        path = known.within.path if known.within else ""
        assert (story.api.get(path, as_=former).status == 401) == (hours == 0)
        story.tells(by, "rotate_api_key", known)


_MOST_SECRETS = 5


@deed(place=which)
def list_api_keys(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_api_keys", organization, query={"limit": 100})):
        keys = story.model.of("api_key", organization)
        assert [(item["id"], item["status"], item["scopes"], item["key"]) for item in answer.json["items"]] == [
            (key.id, key.shown["status"], key.shown["scopes"], None) for key in keys
        ]
