"""Application events: writing one or several, and listing them. Every member sees all of them, and nothing else."""

from typing import Any, Final

from hypothesis import strategies as st

from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import ExpectedEntry, Json, ModelRecord

DECLARED_TYPE: Final = "invoice.approved"
"""The type that is declared at the beginning of stories. Its data require an amount."""

_amounts: Final = st.sampled_from([1, 2, 3, 120, 0])
_types: Final = st.sampled_from([*[DECLARED_TYPE] * 9, "invoice.lost", "organization.updated"])


@action(weight=6, place=record_index, event_type=_types, amount=_amounts)
def create_event(run: ModelRun, by: Sender, organization: ModelRecord, event_type: str, amount: int) -> None:
    event = _event(run, organization, 0, event_type, amount)
    if response := run.request(by, "create_event", organization, event, refusal=_refusal([event])):
        written = response.json
        assert (written["sequence"], written["data"], written["targets"]) == (None, event["data"], event["targets"])
        assert written["actor"] == written["reportedBy"]
        _expect_entries(run, by, organization, "create_event", [event], [written["id"]])


@action(weight=6, place=record_index, amounts=st.lists(_amounts, min_size=1, max_size=4))
def create_events(run: ModelRun, by: Sender, organization: ModelRecord, amounts: list[int]) -> None:
    events = [_event(run, organization, n, DECLARED_TYPE, amount) for n, amount in enumerate(amounts)]
    body: Json = {"events": events}
    if response := run.request(by, "create_events", organization, body, refusal=_refusal(events)):
        ids = [item["id"] for item in response.json["items"]]
        _expect_entries(run, by, organization, "create_events", events, ids)


@action(place=record_index)
def list_events(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_events", organization, query={"limit": 100}):
        written = organization.internal.get("events", [])
        assert [item["id"] for item in response.json["items"]] == sorted(written, reverse=True)[:100]


def _event(run: ModelRun, organization: ModelRecord, number: int, event_type: str, amount: int) -> dict[str, Any]:
    target = {"type": "invoice", "id": f"INV-{len(organization.internal.get('events', []))}-{number}", "name": None}
    return {"type": event_type, "targets": [target], "data": {"amount": amount, "at": run.elapsed_seconds}}


def _refusal(events: list[dict[str, Any]]) -> str | None:
    is_valid = all(event["type"] == DECLARED_TYPE and event["data"]["amount"] for event in events)
    return None if is_valid else "422 validation_failed"


def _expect_entries(
    run: ModelRun, by: Sender, organization: ModelRecord, operation: str, events: list[dict[str, Any]], ids: list[str]
) -> None:
    entries = run.model.expected_entries.setdefault(organization.log_id, [])
    for event in events:
        entries.append(ExpectedEntry(event["type"], event["targets"][0]["id"], run.caller_of(by).id, operation))
    organization.internal["events"] = [*organization.internal.get("events", []), *ids]
