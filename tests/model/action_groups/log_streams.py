"""Log streams, which send the entries of an organization's log in order and at least once."""

from itertools import pairwise
from typing import Final

from hypothesis import strategies as st

from tests.model.action_groups.webhooks import check_change, check_events, events
from tests.model.actions import action, optional_fields, optional_texts, record_index
from tests.model.interface_operations import is_event_in_areas
from tests.model.model_run import STREAMS_URL, ModelRun, Sender
from tests.model.service_model import Json, ModelRecord

PROGRESS_FIELDS: Final = ("status", "position", "lagEntries", "lagSeconds", "failingSince", "lastError")
"""The fields of a log stream that change while it sends."""

_starts = st.sampled_from(["now", 1, 1, 3])
_fields = {"events": events, "description": optional_texts, "enabled": st.sampled_from([True, True, False])}


@action(
    place=record_index, fields=optional_fields(startAt=_starts, **_fields), layout=st.sampled_from(["json", "ndjson"])
)
def create_log_stream(run: ModelRun, by: Sender, organization: ModelRecord, fields: Json, layout: str) -> None:
    destination = {"type": "https", "url": f"{STREAMS_URL}{len(run.model.records)}", "format": layout}
    body = {"destination": destination, **fields}
    refusal, areas = check_events(run, by, body.get("events", ["*"]))
    settings = {name: value for name, value in fields.items() if name != "startAt"}
    expected = {"events": ["*"], "description": None, "enabled": True, "areas": areas, "destination": destination}
    created = run.create(
        by, "create_log_stream", "log_stream", organization, body, expected | settings, "secret", refusal=refusal
    )
    if created:
        created.internal["segments"] = []
        _begin_segment(run, created, created.fields["startSequence"])


@action(
    weight=6,
    log_stream=record_index,
    fields=optional_fields(events=events, description=optional_texts, enabled=st.booleans(), startAt=_starts),
)
def update_log_stream(run: ModelRun, by: Sender, record: ModelRecord, fields: Json) -> None:
    """Change, pause, continue or restart a stream."""
    settings = {name: value for name, value in fields.items() if name != "startAt"}
    if "startAt" in fields:  # A restart changes the version, also if it begins where it began before.
        refusal, areas = check_events(run, by, {**record.fields, **settings}["events"])
        changed: Json = {"areas": areas}
    else:
        refusal, changed = check_change(run, by, record, settings)
    response = run.request(by, "update_log_stream", record, fields, refusal=refusal)
    if response is None:
        return
    changed |= settings
    if "startAt" in fields:
        record.fields["startSequence"] = None
        changed["startSequence"] = response.json["startSequence"]
        assert fields["startAt"] in ("now", changed["startSequence"])
    options: Json = {"derived_fields": PROGRESS_FIELDS}
    if run.apply_change(by, "update_log_stream", record, response, changed, **options):
        _begin_segment(run, record, changed.get("startSequence"))
    if not record.fields["enabled"]:
        assert record.fields["status"] == "paused"


@action(weight=1, log_stream=record_index)
def delete_log_stream(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if run.delete(by, "delete_log_stream", record):
        _begin_segment(run, record, None)


@action(weight=1, log_stream=record_index)
def rotate_log_stream_secret(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "rotate_log_stream_secret", record, {"graceHours": 0}):
        former_secret = record.internal["secret"]
        options: Json = {"derived_fields": PROGRESS_FIELDS, "secret": True}
        run.apply_change(by, "rotate_log_stream_secret", record, response, {}, **options)
        assert record.internal["secret"] != former_secret


@action(weight=2, log_stream=record_index)
def test_log_stream(run: ModelRun, by: Sender, record: ModelRecord) -> None:
    if response := run.request(by, "test_log_stream", record):
        assert response.json["delivered"] == (run.endpoints.state == "well")
        run.expect_entry(by, "test_log_stream", record)


@action(place=record_index)
def list_log_streams(run: ModelRun, by: Sender, organization: ModelRecord) -> None:
    streams = run.model.list_existing("log_stream", organization)
    run.check_list(by, "list_log_streams", organization, streams, "destination", "events", "startSequence", "secret")


def _begin_segment(run: ModelRun, stream: ModelRecord, start_sequence: int | None) -> None:
    """Remember that a stream has other settings from its next batch on. `start_sequence`: that of a restart."""
    received = len(_received_batches(run, stream))
    sends = bool(stream.fields["enabled"]) and not stream.is_deleted
    segment = {"received": received, "start": start_sequence, "sends": sends}
    segment |= {name: stream.fields[name] for name in ("events", "areas")}
    stream.internal["segments"] = [*stream.internal["segments"], segment]


def _received_batches(run: ModelRun, stream: ModelRecord) -> list[list[Json]]:
    """Return the batches that the destination has accepted, without test entries."""
    batches = run.endpoints.accepted_batches.get(stream.fields["destination"]["url"], [])
    return [batch for batch in batches if batch[0]["sequence"]]


def check_log_streams(run: ModelRun, organization: ModelRecord, entries: list[Json]) -> None:
    """Assert that the destinations of streams have received the log in order, each entry at least once.

    A stream that is paused or deleted has sent nothing since then.
    """
    for stream in run.model.list_all("log_stream", organization):
        batches, segments = _received_batches(run, stream), stream.internal["segments"]
        ends = [segment["received"] for segment in segments[1:]] + [len(batches)]
        for segment, end in zip(segments, ends, strict=True):
            _check_segment(segment, batches[segment["received"] : end], entries)
        if stream.exists and stream.fields["enabled"]:
            _check_completeness(stream, batches, entries)
            shown = run.read_as_owner(stream).json
            assert [shown[name] for name in PROGRESS_FIELDS[:4]] == ["active", len(entries), 0, 0], shown


def check_repeated_batches(run: ModelRun) -> None:
    """Assert that a repeated message has the same entries, except that some may be erased meanwhile."""
    for first, *repeated in run.endpoints.attempted_batches.values():
        for batch in repeated:
            pairs = zip(first, batch, strict=True)
            assert all(before == now or (before["id"] == now["id"] and now.get("erased")) for before, now in pairs)


def _check_segment(segment: Json, batches: list[list[Json]], entries: list[Json]) -> None:
    """Assert that what a stream sent with the same settings is in order. A batch may be repeated."""
    assert segment["sends"] or not batches
    sequences = [[entry["sequence"] for entry in batch] for batch in batches]
    for before, batch in pairwise([[segment["start"] or 1], *sequences]):
        assert batch == sorted({*batch})
        assert batch[0] > before[-1] or batch[0] == before[0], f"{batch} after {before}"
    for entry in (entry for batch in batches for entry in batch):
        logged = entries[entry["sequence"] - 1]
        assert entry == logged or "erased" in logged
        assert _is_sent(segment, entry)


def _check_completeness(stream: ModelRecord, batches: list[list[Json]], entries: list[Json]) -> None:
    """Assert that each entry since the last restart was sent that the stream sends with all settings since then."""
    segments = stream.internal["segments"]
    restart = max(number for number, segment in enumerate(segments) if segment["start"])
    since_restart = [entry for batch in batches[segments[restart]["received"] :] for entry in batch]
    sent = {entry["sequence"] for entry in since_restart}
    expected = {
        entry["sequence"]
        for entry in entries[segments[restart]["start"] - 1 :]
        if all(_is_sent(segment, entry) for segment in segments[restart:])
    }
    assert expected <= sent, f"{sorted(expected - sent)} were not sent"


def _is_sent(segment: Json, entry: Json) -> bool:
    patterns, event = segment["events"], entry["type"]
    matches = any(p in ("*", event) or (p.endswith(".*") and event.startswith(p[:-1])) for p in patterns)
    return matches and is_event_in_areas(event, segment["areas"])
