"""Webhooks and integration channels, which receive the events of an organization."""

from hypothesis import strategies as st

from tests.model.actions import action, names, optional_fields, optional_texts, record_index
from tests.model.interface_operations import is_event_in_areas, readable_areas
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

events = st.sampled_from([["*"], ["*"], ["organization.*"], ["space.*", "organization.updated"], ["page.published"]])
_webhook_fields = optional_fields(events=events, description=optional_texts, enabled=st.booleans())
_channel_fields = optional_fields(name=names, events=events, enabled=st.booleans())


def _check_events(run: ModelRun, by: Sender, events: list[str]) -> tuple[str | None, list[str] | None]:
    """Return the refusal of a subscription to events, if any, and the areas that the caller can subscribe to."""
    key = run.resolve_caller(by.caller_name)[0].key
    areas = readable_areas(key.fields["scopes"] if key else None)
    are_allowed = all("*" in event or is_event_in_areas(event, areas) for event in events)
    return None if are_allowed else "403 insufficient_scope", areas


def _check_change(run: ModelRun, by: Sender, record: ModelRecord | None, fields: Json) -> tuple[str | None, Json]:
    """Return the refusal of a change of a subscriber, if any, and its areas if the change has an effect."""
    if record is None or all(record.fields[name] == value for name, value in fields.items()):
        return None, {}
    refusal, areas = _check_events(run, by, {**record.fields, **fields}["events"])
    return refusal, {"areas": areas}


@action(place=record_index, fields=_webhook_fields)
def create_webhook(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    body = {"url": f"https://hooks.example.com/{len(run.model.records)}", **fields}
    refusal, areas = _check_events(run, by, body.get("events", ["*"]))
    if response := run.request(by, "create_webhook", organization, body=body, refusal=refusal):
        status = "active" if body.get("enabled", True) else "paused"
        expected = {
            "events": ["*"],
            "description": None,
            "enabled": True,
            "status": status,
            "disabledReason": None,
            "areas": areas,
        }
        created = run.add_created_record("webhook", response, organization, {**expected, **body}, "secret")
        run.expect_entry(by, "create_webhook", created)


@action(webhook=record_index, fields=_webhook_fields)
def update_webhook(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal, areas = _check_change(run, by, record, fields)
    if response := run.request(by, "update_webhook", record.container, record, fields, refusal=refusal):
        status = "active" if {**record.fields, **fields}["enabled"] else "paused"
        record.fields["failingSince"] = response.json["failingSince"]
        if run.apply_change(record, response, {**fields, **areas, "status": status}):
            run.expect_entry(by, "update_webhook", record)


@action(weight=1, webhook=record_index)
def delete_webhook(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_webhook", record.container, record):
        run.expect_entry(by, "delete_webhook", record)
        record.is_deleted = True


@action(webhook=record_index)
def rotate_webhook_secret(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "rotate_webhook_secret", record.container, record, {"graceHours": 0}):
        record.fields["failingSince"] = response.json["failingSince"]
        former_secret = record.internal["secret"]
        run.apply_change(record, response, {}, secret=True)
        assert record.internal["secret"] != former_secret
        run.expect_entry(by, "rotate_webhook_secret", record)


@action(webhook=record_index)
def test_webhook(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "test_webhook", record.container, record):
        assert response.json["delivered"] == (run.endpoints.state == "well")
        record.has_unseen_version = True
        run.expect_entry(by, "test_webhook", record)


@action(place=record_index)
def list_webhooks(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_webhooks", organization, query={"limit": 100}):
        listed = [(item["id"], item["url"], item["events"], item["secret"]) for item in response.json["items"]]
        assert listed == [
            (webhook.id, webhook.fields["url"], webhook.fields["events"], None)
            for webhook in run.model.list_existing("webhook", organization)
        ]


@action(place=record_index, fields=_channel_fields)
def create_integration_channel(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json) -> None:
    url = f"https://rooms.example.com/{len(run.model.records)}/of-which-nobody-knows"
    body = {"provider": "webhook", "name": "Room", "config": {"webhookUrl": url}, **fields}
    refusal, areas = _check_events(run, by, body.get("events", ["*"]))
    if response := run.request(by, "create_integration_channel", organization, body=body, refusal=refusal):
        masked_url = response.json["config"]["webhookUrl"]
        assert url not in masked_url
        expected = {"events": ["*"], "enabled": True, "status": "active", "lastError": None, "areas": areas}
        expected |= {**body, "config": {"webhookUrl": masked_url}}
        created = run.add_created_record("channel", response, organization, expected)
        created.internal["url"] = url
        run.expect_entry(by, "create_integration_channel", created)


@action(channel=record_index, fields=_channel_fields)
def update_integration_channel(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    refusal, areas = _check_change(run, by, record, fields)
    response = run.request(by, "update_integration_channel", record.container, record, fields, refusal=refusal)
    if response and run.apply_change(record, response, {**fields, **areas}):
        run.expect_entry(by, "update_integration_channel", record)


@action(weight=1, channel=record_index)
def delete_integration_channel(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "delete_integration_channel", record.container, record):
        run.expect_entry(by, "delete_integration_channel", record)
        record.is_deleted = True
