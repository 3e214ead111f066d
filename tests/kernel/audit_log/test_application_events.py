"""Application events: their canonical bytes, and several entries in one transaction."""

import json
from itertools import chain
from typing import Any

import pytest

from chalicelib.kernel.audit_log import ledger
from chalicelib.kernel.audit_log.application_events import ApplicationEvent, Reception, ReportedEvent, receive_events
from chalicelib.kernel.audit_log.entries import EntryItem, body_key, entry_key
from chalicelib.kernel.audit_log.mac_chains import ChainEnd, Chains, Link, chain_key
from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.crypto.merkle import leaf_hash
from chalicelib.kernel.storage import table
from chalicelib.kernel.transactions.unit_of_work import UnitOfWork
from tests.harness import memory_aws
from tests.harness.aws_calls import record_calls
from tests.harness.faults import Fault, inject_fault
from tests.harness.stored_records import load_item

pytestmark = pytest.mark.usefixtures("aws")

LOG = "01939d3c-0000-7000-8000-00000000000a"
REPORTER = {"type": "service_key", "id": "01939d3c-0000-7000-8000-00000000000b", "name": "Billing"}
INVOICE = {"type": "invoice", "id": "INV-7", "name": "Invoice 7"}


def receive(*reports: ReportedEvent, **changed: Any) -> list[ApplicationEvent]:
    reception = {
        "received_at": now(),
        "reported_by": REPORTER,
        "operation_id": "report",
        "request_id": "r-1",
        **changed,
    }
    return receive_events(reports, Reception(LOG, **reception))


def report(number: int = 0, **fields: Any) -> ReportedEvent:
    return ReportedEvent("invoice.approved", 1, data={"number": number}, **fields)


def commit(events: list[ApplicationEvent], chains: Chains | None = None) -> None:
    UnitOfWork(now(), chains or Chains.read(LOG)).commit(events=events)


def sequences_in_order_of_reports(events: list[ApplicationEvent]) -> list[int]:
    ledger.append_pending_and_return_longest_wait_ms(LOG)
    return [load_item(entry_key(LOG, event.id))["sequence"] for event in events]


def content_of(event: ApplicationEvent) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(event.canonical_leaf_bytes())
    return content


def link_of(event: ApplicationEvent) -> Link:
    link = Link.from_bytes_or_none(load_item(entry_key(LOG, event.id))["link"])
    assert link
    return link


def test_an_entry_contains_what_was_reported_and_who_reported_it():
    (event,) = receive(
        report(occurred_at="2026-11-20T09:30:00.000Z", targets=[INVOICE], ip_address="192.0.2.7", user_agent="app"),
        received_at="2026-11-20T09:31:00.000Z",
    )
    assert content_of(event) == {
        "id": event.id,
        "type": "invoice.approved",
        "version": 1,
        "occurredAt": "2026-11-20T09:30:00.000Z",
        "receivedAt": "2026-11-20T09:31:00.000Z",
        "organizationId": LOG,
        "actor": REPORTER,
        "reportedBy": REPORTER,
        "target": INVOICE,
        "targets": [INVOICE],
        "context": {"operationId": "report", "requestId": "r-1", "ipAddress": "192.0.2.7", "userAgent": "app"},
        "changes": [],
        "data": {"number": 0},
    }


def test_an_actor_that_the_caller_names_is_marked_as_an_assertion():
    (event,) = receive(report(actor={"type": "clerk", "id": "c-1", "name": None}))
    assert content_of(event)["actor"] == {"type": "clerk", "id": "c-1", "name": None, "asserted": True}
    assert content_of(event)["reportedBy"] == REPORTER


def test_data_is_recorded_as_a_whole_and_is_null_if_missing():
    text = "x" * 10_000
    long_event, empty_event = receive(ReportedEvent("a.b", 1, data={"text": text}), ReportedEvent("a.b", 1))
    assert (content_of(long_event)["data"], content_of(empty_event)["data"]) == ({"text": text}, None)


def test_an_event_occurs_at_its_receipt_unless_the_caller_says_otherwise():
    (event,) = receive(report(), received_at="2026-11-20T09:31:00.000Z")
    assert content_of(event)["occurredAt"] == "2026-11-20T09:31:00.000Z"


def test_the_stored_entry_has_the_time_of_receipt_and_ids_in_lower_case_and_its_body_elsewhere():
    (event,) = receive(
        report(
            occurred_at="2026-11-20T09:30:00.000Z", targets=[INVOICE], actor={"type": "x", "id": "C-1", "name": None}
        )
    )
    commit([event])
    item, body = load_item(entry_key(LOG, event.id)), load_item(body_key(LOG, event.id))["body"]
    assert (item["created_at"], item["target"], item["actor"]) == (event.received_at, "inv-7", "c-1")
    assert (item["index2pk"], item["index2sk"]) == (f"A#{LOG}#O#application", event.id)
    assert "body" not in item
    assert item["leaf"] == leaf_hash(body) == leaf_hash(event.canonical_leaf_bytes())


def test_an_event_without_targets_has_none():
    entry = EntryItem.from_canonical_bytes(LOG, receive(report())[0].canonical_leaf_bytes())
    assert entry.target is None
    assert "facet1pk" not in entry.item()


def test_the_ids_of_events_that_were_received_together_have_the_order_of_the_reports():
    events = receive(*map(report, range(25)))
    assert [event.id for event in events] == sorted({event.id for event in events})
    assert [content_of(event)["data"]["number"] for event in events] == [*range(25)]


class TestSeveralEntriesInOneTransaction:
    def test_they_extend_one_chain_with_a_single_write(self):
        chains, events = Chains(LOG, [3, 5]), receive(report(1), report(2), report(3))
        with record_calls() as calls:
            commit(events, chains)
        (call,) = calls.call_list
        links = [link_of(each) for each in events]
        macs = [load_item(entry_key(LOG, each.id))["mac"] for each in events]
        assert links == [Link(3, 1, b""), Link(3, 2, macs[0]), Link(3, 3, macs[1])]
        assert ChainEnd.from_item_or_empty(table.get(chain_key(LOG, 3))) == ChainEnd(3, macs[2])
        assert len(call.parameters["TransactItems"]) == len(events) * 3 + 1

    def test_they_continue_a_chain(self):
        commit(receive(report()), Chains(LOG, [3, 5]))
        events = receive(report(1), report(2))
        commit(events, Chains(LOG, [3, 5], table.get_all([chain_key(LOG, 3)])))
        assert link_of(events[1]).number == len(events) + 1

    def test_their_sequences_have_their_order(self):
        batches = [receive(*map(report, range(25))) for _ in range(3)]
        for batch in reversed(batches):
            commit(batch)
        sequences = [sequences_in_order_of_reports(batch) for batch in batches]
        assert sorted(chain.from_iterable(sequences)) == [*range(1, 76)]
        assert [*map(sorted, sequences)] == sequences

    def test_their_sequences_have_their_order_if_the_clock_of_a_later_batch_is_behind(self):
        reports = [report(number, targets=[INVOICE]) for number in range(4)]
        first, later = receive(*reports), receive(*reports, received_at=after(now(), seconds=-0.01))
        commit(first, Chains(LOG, [3, 5]))
        commit(later, Chains(LOG, [3, 5], table.get_all([chain_key(LOG, 3)])))
        assert [sequences_in_order_of_reports(batch) for batch in (first, later)] == [[1, 2, 3, 4], [5, 6, 7, 8]]

    def test_all_or_none_are_written(self):
        events, before = receive(report(), report()), memory_aws.all_items()
        with inject_fault(Fault.TIMED_OUT, times=None), pytest.raises(Problem, match="unavailable"):
            commit(events, Chains(LOG))
        assert memory_aws.all_items() == before

    def test_after_a_lost_response_they_are_there_once(self):
        events = receive(*map(report, range(5)))
        with inject_fault(Fault.RETRIED):
            commit(events, Chains(LOG))
        assert sequences_in_order_of_reports(events) == [1, 2, 3, 4, 5]

    def test_if_another_transaction_extends_the_chain_they_extend_the_other_one(self):
        chains = Chains(LOG, [3, 5])
        commit(receive(report()), Chains(LOG, [3, 5]))
        events = receive(report(1), report(2))
        commit(events, chains)
        assert link_of(events[0]).shard == 5
        assert sequences_in_order_of_reports(events) == [2, 3]


def test_changes_have_either_an_event_or_reports():
    changes = UnitOfWork(now())
    changes.report(receive(report()))
    with pytest.raises(ValueError, match="have an event already"):
        changes.report(receive(report()))
    assert not changes.is_empty
