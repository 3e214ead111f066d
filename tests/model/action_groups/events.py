"""Application events: writing one or several, and listing them. Every member sees all of them, and nothing else."""

from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from tests.model.action_groups.event_types import DECLARED_TYPE, event_types, is_valid_event
from tests.model.actions import action, record_index
from tests.model.model_run import ModelRun, Sender
from tests.model.service_model import ExpectedEntry, Json, ModelRecord

ACTORS: Final = tuple({"type": "clerk", "id": f"c-{n}", "name": name} for n, name in enumerate(("Ada", None)))
"""People whom only the application knows."""

asserted_actors = st.none() | st.sampled_from(ACTORS)
_amounts: Final = st.sampled_from([1, 2, 3, 120, 120, 0])
_versions: Final = st.sampled_from([None, None, None, 1, 2])

EventArguments = tuple[str, int | None, int]
"""The type, version and amount of an event."""


@action(weight=6, place=record_index, event_type=event_types, amount=_amounts, version=_versions, actor=asserted_actors)
def create_event(
    run: ModelRun,
    by: Sender,
    organization: ModelRecord,
    event_type: str,
    amount: int,
    version: int | None = None,
    actor: Json | None = None,
) -> None:
    report_events(run, by, organization, [(event_type, version, amount)], actor, is_batch=False)


@action(
    weight=6,
    place=record_index,
    amounts=st.lists(_amounts, min_size=1, max_size=4),
    event_type=event_types,
    actor=asserted_actors,
)
def create_events(
    run: ModelRun,
    by: Sender,
    organization: ModelRecord,
    amounts: list[int],
    event_type: str = DECLARED_TYPE,
    actor: Json | None = None,
) -> None:
    """Write several events, whose first one is of a type of its own."""
    types = [event_type, *[DECLARED_TYPE] * len(amounts)]
    events = [(type_, None, amount) for type_, amount in zip(types, amounts, strict=False)]
    report_events(run, by, organization, events, actor, is_batch=True)


@action(place=record_index)
def list_events(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    if response := run.request(by, "list_events", organization, query={"limit": 100}):
        written = organization.internal.get("events", [])
        assert [item["id"] for item in response.json["items"]] == sorted(written, reverse=True)[:100]


def report_events(
    run: ModelRun,
    by: Sender,
    organization: ModelRecord,
    arguments: Sequence[EventArguments],
    actor: Json | None,
    *,
    is_batch: bool,
    refusal: str | None = None,
) -> None:
    """Write events, all or none. `refusal`: that of events with these types, if the caller may not write them."""
    count, operation = len(organization.internal.get("events", [])), "create_events" if is_batch else "create_event"
    events = [_event(run, f"INV-{count}-{n}", actor, *each) for n, each in enumerate(arguments)]
    are_valid = all(is_valid_event(run, *each) for each in arguments)
    body: Json = {"events": events} if is_batch else events[0]
    refusal = refusal or (None if are_valid else "422 validation_failed")
    response = run.request(by, operation, organization, body, refusal=refusal)
    if response is None:
        return
    if not is_batch:
        _check_written(run, by, response.json, events[0])
    ids = [item["id"] for item in response.json["items"]] if is_batch else [response.json["id"]]
    organization.internal["events"] = [*organization.internal.get("events", []), *ids]
    for event in events:
        _expect_entry(run, by, organization, operation, event)


def _event(
    run: ModelRun, subject: str, actor: Json | None, event_type: str, version: int | None, amount: int
) -> dict[str, Any]:
    """Return the body of an event. Those with an odd amount have no target."""
    optional: Json = {"version": version, "actor": actor}
    optional["targets"] = None if amount % 2 else [{"type": "invoice", "id": subject, "name": None}]
    named = {name: value for name, value in optional.items() if value is not None}
    return {"type": event_type, "data": {"amount": amount, "at": run.elapsed_seconds, "id": subject}, **named}


def _check_written(run: ModelRun, by: Sender, written: Json, event: Json) -> None:
    assert (written["sequence"], written["data"]) == (None, event["data"])
    assert written["targets"] == event.get("targets", [])
    assert written["target"] == (written["targets"] or [None])[0]
    versions = len(run.model.event_types[event["type"]]["min_amounts"])
    assert written["version"] == event.get("version", versions)
    assert written["reportedBy"]["id"] == run.caller_of(by).id
    asserted = {**event["actor"], "asserted": True} if "actor" in event else written["reportedBy"]
    assert written["actor"] == asserted


def _expect_entry(run: ModelRun, by: Sender, organization: ModelRecord, operation: str, event: Json) -> None:
    reporter_id, actor = run.caller_of(by).id, event.get("actor")
    is_being_erased = actor in run.model.erased_actors.get(organization.log_id, [])
    entry = ExpectedEntry(
        event["type"],
        event["data"]["id"],
        actor["id"] if actor else reporter_id,
        operation,
        reporter_id=reporter_id,
        asserted_actor=actor,
        may_be_erased=actor is not None and is_being_erased,
    )
    run.model.expected_entries.setdefault(organization.log_id, []).append(entry)
