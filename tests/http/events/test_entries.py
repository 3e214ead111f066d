"""Application events: writing one or several, and listing them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final
from unittest.mock import Mock

import pytest

from chalicelib.features.events.entries.logic import reporting
from chalicelib.features.events.types.logic import definitions
from chalicelib.kernel.core.clock import after, now
from tests.harness.application_events import INVOICE
from tests.harness.audit_logs import list_entries, verify_integrity
from tests.harness.event_types import CLERK, EVENT
from tests.harness.faults import Fault, inject_fault
from tests.harness.organizations import create_api_key, create_organization
from tests.harness.service_keys import create_service_key

pytestmark = pytest.mark.usefixtures("declared_types")

DAY: Final = 24 * 3600


class TestWriting:
    def test_the_response_is_the_entry_as_the_log_shows_it(self, api, organization, ada, post):
        written = post({"actor": CLERK, "targets": [INVOICE, {"type": "order", "id": "7"}]}).expect(201)
        assert "Location" not in written.headers  # A caller that writes events need not be able to read the log.
        stored = api.get(f"{organization.path}/audit-log/{written.json['id']}", caller=ada).json
        assert written.json == stored == list_entries(api, organization)[0]
        assert (written.json["sequence"], written.json["integrity"]) == (None, None)
        assert written.headers["Cache-Control"] == "no-store"

    def test_an_entry_has_the_given_fields_and_the_caller_as_its_reporter(self, post, ada, clock):
        clock.freeze()
        occurred_at, context = after(now(), seconds=-60), {"ipAddress": "2001:DB8::1", "userAgent": "Firefox"}
        entry = post(
            {"version": 1, "occurredAt": occurred_at, "actor": CLERK, "targets": [INVOICE], "context": context}
        )
        reporter = {"type": "user", "id": ada.id, "name": "Ada Lovelace"}
        expected = {
            **EVENT,
            "version": 1,
            "occurredAt": occurred_at,
            "receivedAt": now(),
            "actor": {**CLERK, "asserted": True},
            "reportedBy": reporter,
            "target": INVOICE,
            "targets": [INVOICE],
            "changes": [],
        }
        assert entry.json | expected == entry.json
        assert entry.json["context"] == {
            "operationId": "create_event",
            "requestId": entry.request_id,
            "ipAddress": "2001:db8::1",
            "userAgent": "Firefox",
        }

    def test_an_ipv4_address_in_the_form_of_ipv6_is_stored_as_ipv4(self, post):
        entry = post({"context": {"ipAddress": "::ffff:192.0.2.1"}}).expect(201).json
        assert entry["context"]["ipAddress"] == "192.0.2.1"

    def test_without_optional_fields_the_caller_is_the_actor_and_the_event_occurs_now(self, post, clock):
        clock.freeze()
        entry = post().expect(201).json
        assert entry["actor"] == entry["reportedBy"]
        assert (entry["occurredAt"], entry["receivedAt"], entry["target"], entry["targets"]) == (now(), now(), None, [])
        assert (entry["context"]["ipAddress"], entry["context"]["userAgent"]) == (None, None)

    def test_null_means_omitted(self, post):
        names = ("version", "occurredAt", "actor", "targets", "context")
        assert post(dict.fromkeys(names)).status == 201

    def test_data_is_kept_as_a_whole(self, post):
        data = {"amount": 1, "note": "x" * 60_000}
        assert post({"data": data}).expect(201).json["data"] == data

    @pytest.mark.parametrize("text", ["a\x00\x1f\x7f", "\u2028\u202e\ufeff\r\n", "\U0001f600", "\u00e9 e\u0301"])
    def test_unusual_text_in_data_is_stored_unchanged(self, post, text):
        data = {"amount": 1, "note": text}
        assert post({"data": data}).expect(201).json["data"] == data

    def test_sequences_have_the_order_of_the_batch_and_the_log_is_valid(self, api, workers, organization, post_batch):
        created = post_batch([{**EVENT, "data": {"amount": n + 1}} for n in range(25)]).expect(201)
        workers.run_until_idle()
        ids = [item["id"] for item in created.json["items"]]
        entries = {entry["id"]: entry for entry in list_entries(api, organization, type="invoice.approved")}
        assert [entries[each]["data"]["amount"] for each in ids] == [*range(1, 26)]
        sequences = [entries[each]["sequence"] for each in ids]
        assert sequences == [*range(sequences[0], sequences[0] + 25)]
        assert verify_integrity(api, organization)["valid"]

    def test_one_invalid_event_of_a_batch_prevents_all(self, post_batch, list_events):
        unsafe = {**EVENT, "data": {"amount": 1, "n": [2**53]}}
        assert post_batch([EVENT, unsafe]).validation_errors == {"/events/1/data/n/0": "out_of_range"}
        answer = post_batch([EVENT, {**EVENT, "data": {"amount": 0}}, {**EVENT, "type": "invoice.lost"}])
        assert [*answer.validation_errors] == ["/events/1/data/amount", "/events/2/type"]
        assert list_events() == []

    def test_an_event_takes_one_read_one_transaction_and_one_message(self, post, post_batch):
        post()
        calls = ["dynamodb:BatchGetItem", "dynamodb:TransactWriteItems", "sqs:SendMessage"]
        assert post().calls.call_names == calls
        assert post_batch([EVENT] * 25).calls.call_names == calls

    def test_a_batch_parses_the_schema_of_each_version_once(self, post_batch, monkeypatch):
        find_definition = Mock(side_effect=definitions.find_definition)
        monkeypatch.setattr(reporting, "find_definition", find_definition)
        post_batch([EVENT] * 24 + [{**EVENT, "version": 1}]).expect(201)
        assert [each.args[1:] for each in find_definition.call_args_list] == [(EVENT["type"], None), (EVENT["type"], 1)]

    @pytest.mark.parametrize("path", ["/events", "/events/batch"])
    def test_a_repeated_request_writes_nothing_and_gets_the_same_response(
        self, api, organization, ada, path, list_events
    ):
        body = EVENT if path == "/events" else {"events": [EVENT, EVENT]}
        options = {"caller": ada, "json": body, "headers": {"Idempotency-Key": "k-1"}}
        first, second = (api.post(f"{organization.path}{path}", **options).expect(201) for _ in range(2))
        assert (first.json, second.headers["Idempotency-Replayed"]) == (second.json, "true")
        assert len(list_events()) == (1 if path == "/events" else 2)

    @pytest.mark.parametrize("fault", [Fault.CONFLICT, Fault.RETRIED])
    def test_a_batch_is_written_once_although_the_transaction_conflicts_or_its_response_is_lost(
        self, post_batch, list_events, fault
    ):
        with inject_fault(fault, call_name="dynamodb:TransactWriteItems"):
            post_batch([EVENT, EVENT]).expect(201)
        assert len(list_events()) == 2


class TestAccess:
    def test_api_keys_need_the_scope_of_their_own(self, api, organization, post, post_batch):
        keys = {scope: create_api_key(api, organization, scope) for scope in ("write", "admin", "events:write", "read")}
        statuses = {scope: post(caller=key).status for scope, key in keys.items()}
        assert statuses == {"write": 403, "admin": 201, "events:write": 201, "read": 403}
        assert post_batch([EVENT], caller=keys["write"]).status_and_code == "403 insufficient_scope"

    def test_members_list_events_and_admins_write_them(
        self, api, organization, ada, grace, edith, mary, stranger, post
    ):
        post().expect(201)
        path = f"{organization.path}/events"
        assert [api.get(path, caller=each).status for each in (ada, grace, edith, mary, stranger)] == [200] * 4 + [404]
        assert post(caller=stranger).status == 404

    def test_service_keys_write_and_list_in_every_organization(self, api, organization, operator, stranger, post):
        key = create_service_key(api, operator, "events:write")
        other = create_organization(api, stranger)
        entry = post(caller=key).expect(201).json
        assert entry["reportedBy"] == entry["actor"] == {"type": "service_key", "id": key.id, "name": "Billing"}
        api.post(f"{other.path}/events", caller=key, json=EVENT).expect(201)
        assert len(api.get_items(f"{other.path}/events", caller=key)) == 1

    def test_a_service_key_is_limited_to_its_types(self, api, organization, operator, post, post_batch):
        key = create_service_key(api, operator, "events:write", types=["invoice.*"])
        post(caller=key).expect(201)
        refused = post_batch([EVENT, {**EVENT, "type": "patient_file.opened"}], caller=key)
        assert refused.problem_and_errors == ("403 insufficient_scope", {"/events/1/type": "insufficient_scope"})
        refused = post({"type": "patient_file.opened", "version": 0}, caller=key)
        assert refused.problem_and_errors == ("403 insufficient_scope", {"/type": "insufficient_scope"})
        invalid = post({"type": " invoice.paid ", "version": 0}, caller=key)
        assert invalid.validation_errors == {"/version": "out_of_range"}
        assert post({"type": 5}, caller=key).validation_errors == {"/type": "wrong_type"}
        assert post_batch([5], caller=key).validation_errors == {"/events/0": "not_an_object"}
        path = f"{organization.path}/events"
        for query in ({}, {"type": "patient_file.opened"}, {"type": "patient_file.*"}):
            refused = api.get(path, caller=key, query=query)
            assert refused.problem_and_errors == ("403 insufficient_scope", {"query/type": "insufficient_scope"})
        assert len(api.get(path, caller=key, query={"type": "invoice.*"}).json["items"]) == 1


class TestList:
    def test_it_contains_application_events_only_newest_first(self, api, organization, post, list_events, workers):
        ids = [post().json["id"] for _ in range(3)]
        workers.run_until_idle()
        assert [entry["id"] for entry in list_events()] == ids[::-1]
        assert [entry["id"] for entry in list_events(limit=1)] == ids[::-1]
        assert len(list_entries(api, organization)) > 3

    def test_it_has_the_filters_of_the_log(self, post, list_events, clock):
        first = post({"type": "invoice.paid", "actor": CLERK, "targets": [INVOICE]}).json
        clock.shift(seconds=60)
        second = post({"type": "patient_file.opened"}).json
        for query, expected in (
            ({"type": "invoice.paid"}, [first]),
            ({"type": "patient_file.*"}, [second]),
            ({"type": "organization.*"}, []),
            ({"type": "organization.created"}, []),
            ({"actorId": "C-17"}, [first]),
            ({"targetId": "inv-42"}, [first]),
            ({"from": second["receivedAt"]}, [second]),
            ({"to": first["receivedAt"]}, [first]),
            ({"actorId": "c-17", "type": "invoice.*"}, [first]),
        ):
            assert list_events(**query) == expected, query

    def test_types_that_only_built_in_events_have_need_no_reads(self, api, organization, ada, post):
        post().expect(201)
        path, query = f"{organization.path}/events", {"type": "organization.*", "limit": 1}
        counts = [len(api.get(path, caller=ada, query=each).calls.call_names) for each in (query, {"limit": 1})]
        assert counts[0] < counts[1]
        page = api.get(path, caller=ada, query=query).json
        assert (page["items"], page["nextCursor"]) == ([], None)

    def test_entries_of_another_origin_of_the_same_actor_do_not_appear(self, post, list_events, ada):
        written = post().json
        assert list_events(actorId=ada.id) == [written]


def test_concurrent_requests_of_one_organization_all_succeed(conflicts, post_batch, list_events):
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: post_batch([EVENT] * 5), range(8))]
    assert {answer.status for answer in answers} == {201}
    assert len(list_events()) == 40
    assert len(conflicts.rejected_keys) <= 16
