"""Service keys of the deployment, and the application events that they write in organizations of others."""

from hypothesis import strategies as st

from chalicelib.kernel.core.clock import after, now
from tests.model.action_groups.event_types import DECLARED_TYPE, event_types
from tests.model.action_groups.events import asserted_actors, report_events
from tests.model.actions import action, operators, record_index
from tests.model.model_run import DAY_SECONDS, ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

_scopes = st.sampled_from([["events:write"], ["events:write"], ["events:read"]])
_types = st.sampled_from([None, None, ["invoice.*"], [DECLARED_TYPE], ["ticket.*"]])


@action(by=operators, scopes=_scopes, types=_types, days=st.sampled_from([1, 40]))
def create_service_key(run: ModelRun, by: Sender, scopes: list[str], types: list[str] | None, days: int) -> None:
    body: Json = {"name": "Billing", "scopes": scopes, "types": types, "expiresAt": after(now(), days=days)}
    expected = {**body, "status": "active", "createdBy": run.caller_of(by).id, "lastUsedAt": None}
    if created := run.create(by, "create_service_key", "service_key", None, body, expected, "key"):
        created.internal["expires_at_seconds"] = run.elapsed_seconds + days * DAY_SECONDS


@action(weight=1, by=operators, service_key=record_index)
def revoke_service_key(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.request(by, "revoke_service_key", record) and record.fields["status"] != "revoked":
        record.fields["status"] = "revoked"
        run.expect_entry(by, "revoke_service_key", record)


@action(weight=2, by=operators, service_key=record_index)
def rotate_service_key(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    status = record.fields["status"]
    refusal = None if status == "active" else "409 invalid_transition"
    if response := run.request(by, "rotate_service_key", record, {"graceHours": 0}, refusal=refusal):
        assert record.internal["key"] != response.json["key"]
        record.internal["key"] = response.json["key"]
        run.expect_entry(by, "rotate_service_key", record)


@action(
    weight=6,
    by=st.just({"who": "operator"}),
    service_key=record_index,
    place=record_index,
    event_type=event_types,
    amounts=st.lists(st.sampled_from([1, 2, 3, 120]), min_size=1, max_size=3),
    actor=asserted_actors,
    once=st.none() | st.integers(0, 2),
)
def report_with_service_key(
    run: ModelRun,
    _by: Sender,
    key: ModelRecord,
    organization: ModelRecord,
    event_type: str,
    amounts: list[int],
    actor: Json | None,
    once: int | None,
) -> None:
    by, events = Sender(key.id, idempotency_number=once), [(event_type, None, amount) for amount in amounts]
    types = key.fields["types"]
    is_allowed = types is None or any(t == event_type or t == event_type.partition(".")[0] + ".*" for t in types)
    refusal = None if is_allowed else "403 insufficient_scope"
    report_events(run, by, organization, events, actor, refusal=refusal, is_batch=len(events) > 1)


@action(weight=1, by=st.just({"who": "operator"}), service_key=record_index, place=record_index)
def list_events_with_service_key(run: ModelRun, _by: Sender, key: ModelRecord, organization: ModelRecord) -> None:
    refusal = "403 insufficient_scope" if key.fields["types"] else None
    if response := run.request(Sender(key.id), "list_events", organization, query={"limit": 100}, refusal=refusal):
        written = organization.internal.get("events", [])
        assert [item["id"] for item in response.json["items"]] == sorted(written, reverse=True)[:100]
