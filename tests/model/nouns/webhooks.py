"""Webhooks and integration channels: who is told of what happens in an organization."""

from hypothesis import strategies as st

from tests.model.actions import deed, names, some, texts, which
from tests.model.entities import Json, Thing
from tests.model.interface import lies_within, told_of
from tests.model.story import By, Story

events = st.sampled_from([["*"], ["*"], ["organization.*"], ["space.*", "organization.updated"], ["page.published"]])
_hook = some(events=events, description=texts, enabled=st.booleans())
_room = some(name=names, events=events, enabled=st.booleans())


def _outside(story: Story, by: By, events: list[str]) -> tuple[str | None, list[str] | None]:
    """Return with what it is refused that somebody lets a subscriber be told of events, and of which areas it is."""
    key = story.caller(by.who)[0].key
    areas = told_of(key.shown["scopes"] if key else None)
    lies = all("*" in event or lies_within(event, areas) for event in events)
    return None if lies else "403 insufficient_scope", areas


def _changed(story: Story, by: By, known: Thing | None, fields: Json) -> tuple[str | None, Json]:
    """Return with what a change of a subscriber is refused, and the areas that it has by then, if it does change."""
    if known is None or all(known.shown[name] == value for name, value in fields.items()):
        return None, {}
    unless, areas = _outside(story, by, {**known.shown, **fields}["events"])
    return unless, {"areas": areas}


@deed(place=which, fields=_hook)
def create_webhook(story: Story, by: By, place: int, fields: Json) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    body = {"url": f"https://hooks.example.com/{len(story.model.things)}", **fields}
    unless, areas = _outside(story, by, body.get("events", ["*"]))
    if answer := story.ask(by, "create_webhook", organization, body=body, unless=unless):
        paused = "active" if body.get("enabled", True) else "paused"
        expected = {
            "events": ["*"],
            "description": None,
            "enabled": True,
            "status": paused,
            "disabledReason": None,
            "areas": areas,
        }
        made = story.makes("webhook", answer, organization, {**expected, **body}, "secret")
        story.tells(by, "create_webhook", made)


@deed(webhook=which, fields=_hook)
def update_webhook(story: Story, by: By, webhook: int, fields: Json) -> None:
    known = story.model.pick("webhook", webhook)
    unless, areas = _changed(story, by, known, fields)
    if known and (answer := story.ask(by, "update_webhook", known.within, known, fields, unless=unless)):
        status = "active" if {**known.shown, **fields}["enabled"] else "paused"
        known.shown["failingSince"] = answer.json["failingSince"]
        if story.changes(known, answer, {**fields, **areas, "status": status}):
            story.tells(by, "update_webhook", known)


@deed(often=1, webhook=which)
def delete_webhook(story: Story, by: By, webhook: int) -> None:
    known = story.model.pick("webhook", webhook)
    if known and story.ask(by, "delete_webhook", known.within, known):
        story.tells(by, "delete_webhook", known)
        known.gone = True


@deed(webhook=which)
def rotate_webhook_secret(story: Story, by: By, webhook: int) -> None:
    known = story.model.pick("webhook", webhook)
    if known and (answer := story.ask(by, "rotate_webhook_secret", known.within, known, {"graceHours": 0})):
        known.shown["failingSince"] = answer.json["failingSince"]
        former = known.hidden["secret"]
        story.changes(known, answer, {}, secret=True)
        assert known.hidden["secret"] != former
        story.tells(by, "rotate_webhook_secret", known)


@deed(webhook=which)
def test_webhook(story: Story, by: By, webhook: int) -> None:
    known = story.model.pick("webhook", webhook)
    if known and (answer := story.ask(by, "test_webhook", known.within, known)):
        assert answer.json["delivered"] == (story.endpoints.state == "well")
        known.touched = True
        story.tells(by, "test_webhook", known)


@deed(place=which)
def list_webhooks(story: Story, by: By, place: int) -> None:
    organization = story.model.pick("organization", place)
    if organization and (answer := story.ask(by, "list_webhooks", organization, query={"limit": 100})):
        listed = [(item["id"], item["url"], item["events"], item["secret"]) for item in answer.json["items"]]
        assert listed == [
            (h.id, h.shown["url"], h.shown["events"], None) for h in story.model.of("webhook", organization)
        ]


@deed(place=which, fields=_room)
def create_integration_channel(story: Story, by: By, place: int, fields: Json) -> None:
    organization = story.model.pick("organization", place)
    if organization is None:
        return
    url = f"https://rooms.example.com/{len(story.model.things)}/of-which-nobody-knows"
    body = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}, **fields}
    unless, areas = _outside(story, by, body.get("events", ["*"]))
    if answer := story.ask(by, "create_integration_channel", organization, body=body, unless=unless):
        masked = answer.json["config"]["webhookUrl"]
        assert url not in masked
        expected = {"events": ["*"], "enabled": True, "status": "active", "lastError": None, "areas": areas}
        expected |= {**body, "config": {"webhookUrl": masked}}
        made = story.makes("channel", answer, organization, expected)
        made.hidden["url"] = url
        story.tells(by, "create_integration_channel", made)


@deed(channel=which, fields=_room)
def update_integration_channel(story: Story, by: By, channel: int, fields: Json) -> None:
    known = story.model.pick("channel", channel)
    if known is None:
        return
    unless, areas = _changed(story, by, known, fields)
    answer = story.ask(by, "update_integration_channel", known.within, known, fields, unless=unless)
    if answer and story.changes(known, answer, {**fields, **areas}):
        story.tells(by, "update_integration_channel", known)


@deed(often=1, channel=which)
def delete_integration_channel(story: Story, by: By, channel: int) -> None:
    known = story.model.pick("channel", channel)
    if known and story.ask(by, "delete_integration_channel", known.within, known):
        story.tells(by, "delete_integration_channel", known)
        known.gone = True
