"""API keys of organizations: made, rotated, revoked, expired; and nobody gives what they don't hold."""

from hypothesis import strategies as st

from chalicelib.kernel.clock import after, now
from tests.model.deeds import deed, names, which
from tests.model.interface import implied
from tests.model.story import By, Story

_DAY = 24 * 3600
scopes = st.sampled_from([
    ["read"], ["write"], ["admin"], ["read", "sites:write"], ["members:write"], ["spaces:read", "taxonomy:write"],
    ["webhooks:write", "audit-log:read"], ["api-keys:write"],
])  # fmt: skip


@deed(place=which, name=names, scopes=scopes, days=st.none() | st.sampled_from([1, 40]))
def create_api_key(story: Story, by: By, place: int, name: str, scopes: list[str], days: int | None) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    unless = "403 insufficient_scope" if _beyond(story, by, scopes) else None
    expires = after(now(), days=days) if days else None
    body = {"name": name, "scopes": scopes, "expiresAt": expires}
    if answer := story.ask(by, "create_api_key", organization, body=body, unless=unless):
        expected = {**body, "status": "active", "createdBy": story.caller(by.who)[0].id, "lastUsedAt": None}
        made = story.makes("api_key", answer, organization, expected, "key")
        made.hidden["until"] = story.seconds + days * _DAY if days else None
        story.tells(by, "create_api_key", made)


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
        story.tells(by, "revoke_api_key", known)


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
    elif hours and known.hidden.get("rotated", 0) >= _MOST_SECRETS - 1:
        return
    answer = story.ask(by, "rotate_api_key", known.within, known, {"graceHours": hours}, unless=unless)
    if answer:
        known.hidden["rotated"] = known.hidden.get("rotated", 0) + 1
        former = known.hidden["key"]
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
