"""Webhooks and integration channels, which receive the events of an organization."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, record_index
from tests.model.interface_operations import is_event_in_areas, readable_areas
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

events = st.sampled_from([["*"], ["*"], ["organization.*"], ["space.*", "organization.updated"], ["page.published"]])
_webhook_fields = optional_fields(events=events, description=optional_texts, enabled=st.booleans())
_channel_fields = optional_fields(name=names, events=events, enabled=st.booleans())


def check_events(run: ModelRun, by: Sender, events: list[str]) -> tuple[str | None, list[str] | None]:
    """Return the refusal of a subscription to events, if any, and the areas that the caller can subscribe to."""
    key = run.caller_of(by).key
    areas = readable_areas(key.fields["scopes"] if key else None)
    are_allowed = all("*" in event or is_event_in_areas(event, areas) for event in events)
    return None if are_allowed else "403 insufficient_scope", areas


def check_change(run: ModelRun, by: Sender, record: ModelRecord | None, fields: Json) -> tuple[str | None, Json]:
    """Return the refusal of a change of a subscriber, if any, and its areas if the change has an effect."""
    if record is None or all(record.fields[name] == value for name, value in fields.items()):
        return None, {}
    refusal, areas = check_events(run, by, {**record.fields, **fields}["events"])
    return refusal, {"areas": areas}


@action(place=record_index, fields=_webhook_fields)
def create_webhook(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    body = {"url": f"https://hooks.example.com/{len(run.model.records)}", **fields}
    refusal, areas = check_events(run, by, body.get("events", ["*"]))
    status = "active" if body.get("enabled", True) else "paused"
    expected = {"events": ["*"], "description": None, "enabled": True, "status": status, "disabledReason": None}
    expected |= {"areas": areas, **body}
    run.create(by, "create_webhook", "webhook", organization, body, expected, "secret", refusal=refusal)


@action(webhook=record_index, fields=_webhook_fields)
def update_webhook(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal, areas = check_change(run, by, record, fields)
    status = "active" if {**record.fields, **fields}["enabled"] else "paused"
    options: Json = {"refusal": refusal, "derived_fields": ("failingSince",)}
    run.update(by, "update_webhook", record, fields, {**fields, **areas, "status": status}, **options)


@action(weight=1, webhook=record_index)
def delete_webhook(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "delete_webhook", record)


@action(webhook=record_index)
def rotate_webhook_secret(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "rotate_webhook_secret", record, {"graceHours": 0}):
        former_secret = record.internal["secret"]
        options: Json = {"derived_fields": ("failingSince",), "secret": True}
        run.apply_change(by, "rotate_webhook_secret", record, response, {}, **options)
        assert record.internal["secret"] != former_secret


@action(webhook=record_index)
def test_webhook(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "test_webhook", record):
        assert response.json["delivered"] == (run.endpoints.state == "well")
        record.has_unseen_version = True
        run.expect_entry(by, "test_webhook", record)


@action(place=record_index)
def list_webhooks(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    webhooks = run.model.list_existing("webhook", organization)
    run.check_list(by, "list_webhooks", organization, webhooks, "url", "events", "secret")


@action(place=record_index, fields=_channel_fields)
def create_integration_channel(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    url = f"https://rooms.example.com/{len(run.model.records)}/of-which-nobody-knows"
    body = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}, **fields}
    refusal, areas = check_events(run, by, body.get("events", ["*"]))
    if response := run.request(by, "create_integration_channel", organization, body, refusal=refusal):
        masked_url = response.json["config"]["webhookUrl"]
        assert url not in masked_url
        expected = {"events": ["*"], "enabled": True, "status": "active", "lastError": None, "areas": areas}
        expected |= {**body, "config": {"webhookUrl": masked_url}}
        record = ("create_integration_channel", "channel", response, organization, expected)
        run.add_created_record(by, *record).internal["url"] = url


@action(channel=record_index, fields=_channel_fields)
def update_integration_channel(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal, areas = check_change(run, by, record, fields)
    run.update(by, "update_integration_channel", record, fields, {**fields, **areas}, refusal=refusal)


@action(weight=1, channel=record_index)
def delete_integration_channel(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    run.delete(by, "delete_integration_channel", record)
