"""Application events that are not valid: the errors point to all that is wrong, and nothing is written."""

import json
from typing import Final

import pytest

from chalicelib.kernel.core.clock import after, now
from tests.harness.application_events import INVOICE
from tests.harness.event_types import CLERK, EVENT

pytestmark = pytest.mark.usefixtures("declared_types")

DAY: Final = 24 * 3600


class TestInvalidEvents:
    @pytest.mark.parametrize(
        ("fields", "errors"),
        [
            ({"type": "invoice.lost"}, {"/type": "not_one_of"}),
            ({"type": "organization.updated"}, {"/type": "not_one_of"}),
            ({"type": "Invoice"}, {"/type": "malformed"}),
            ({"type": "invoice.v2"}, {"/type": "malformed"}),
            ({"type": "a." + "b" * 99}, {"/type": "too_long"}),
            ({"version": 7}, {"/version": "not_one_of"}),
            ({"version": 0}, {"/version": "out_of_range"}),
            ({"version": 51}, {"/version": "out_of_range"}),
            ({"type": "x" * 101}, {"/type": "too_long"}),
            ({"data": {"amount": "12"}}, {"/data/amount": None}),
            (
                {"data": {"amount": 2**53, "lines": [{"": 1}, {"l": 2**53}]}},
                {"/data/amount": "out_of_range", "/data/lines/0": "malformed", "/data/lines/1/l": "out_of_range"},
            ),
            (
                {"type": "invoice.lost", "occurredAt": "2020-01-01T00:00:00Z"},
                {"/occurredAt": "out_of_range", "/type": "not_one_of"},
            ),
            ({"data": None}, {"/data/amount": None}),
            ({"targets": []}, {"/targets": "too_few"}),
            ({"targets": [INVOICE] * 11}, {"/targets": "too_many"}),
            ({"targets": [{**INVOICE, "id": "x" * 129}]}, {"/targets/0/id": "too_long"}),
            ({"targets": [{**INVOICE, "id": ""}]}, {"/targets/0/id": "too_short"}),
            ({"targets": [{**INVOICE, "type": "In voice"}]}, {"/targets/0/type": "malformed"}),
            ({"actor": {"type": "clerk"}}, {"/actor/id": "required"}),
            ({"actor": {**CLERK, "asserted": True}}, {"/actor/asserted": "unknown_field"}),
            ({"context": {"ipAddress": "localhost"}}, {"/context/ipAddress": "malformed"}),
            ({"context": {"ipAddress": "fe80::1%eth0"}}, {"/context/ipAddress": "malformed"}),
            ({"context": {"userAgent": "x" * 513}}, {"/context/userAgent": "too_long"}),
            ({"reportedBy": CLERK}, {"/reportedBy": "unknown_field"}),
        ],
    )
    def test_errors_point_to_the_field_and_nothing_is_written(self, post, list_events, fields, errors):
        found = post(fields).validation_errors
        assert [*found] == [*errors]
        assert all(code in (None, found[pointer]) for pointer, code in errors.items())
        assert list_events() == []

    @pytest.mark.parametrize("version", ["1e400", "-1e400", "1.5", "9" * 400, "true", '"x"'])
    @pytest.mark.parametrize("is_batch", [False, True])
    def test_a_version_that_is_no_integer_is_invalid(self, api, organization, ada, version, is_batch):
        event = json.dumps({**EVENT, "version": 0}).replace('"version": 0', f'"version": {version}')
        path, body = ("/events/batch", f'{{"events": [{event}]}}') if is_batch else ("/events", event)
        refused = api.post(f"{organization.path}{path}", caller=ada, body=body.encode())
        assert [*refused.validation_errors] == ["/events/0/version" if is_batch else "/version"]

    @pytest.mark.parametrize("version", ["Infinity", "-Infinity", "NaN"])
    def test_a_version_that_json_does_not_allow_is_malformed(self, api, organization, ada, version):
        body = json.dumps({**EVENT, "version": 0}).replace('"version": 0', f'"version": {version}').encode()
        refused = api.post(f"{organization.path}/events", caller=ada, body=body)
        assert refused.status_and_code == "400 malformed_json"

    def test_a_body_of_too_many_events_reads_no_more_items_than_a_valid_one(self, post_batch):
        refused = post_batch([{**EVENT, "type": f"invoice.{'x' * n}"} for n in range(1, 99)])
        assert refused.validation_errors == {"/events": "too_many"}
        assert len(refused.calls.call_names) == 1

    @pytest.mark.parametrize("actor_type", ["system", "operator", "anonymous", "api_key", "service_key", "link"])
    def test_types_of_principals_that_only_the_service_recognizes_cannot_be_asserted(self, post, actor_type):
        assert post({"actor": {**CLERK, "type": actor_type}}).validation_errors == {"/actor/type": "malformed"}

    @pytest.mark.parametrize(("seconds", "status"), [(300, 201), (301, 422), (-7 * DAY, 201), (-7 * DAY - 1, 422)])
    def test_an_event_occurred_at_most_7_days_ago_and_5_minutes_ahead(self, post, clock, seconds, status):
        clock.freeze()
        answer = post({"occurredAt": after(now(), seconds=seconds)}).expect(status)
        assert status == 201 or answer.errors == {"/occurredAt": "out_of_range"}

    def test_an_event_has_at_most_64_kib(self, post, post_batch):
        fixed = len(json.dumps({**EVENT, "data": {"amount": 1, "note": ""}}, separators=(",", ":")))
        largest = {"data": {"amount": 1, "note": "ä" * ((65536 - fixed) // 2) + "x" * ((65536 - fixed) % 2)}}
        too_large = {"data": {"amount": 1, "note": f"{largest['data']['note']}x"}}
        assert post(largest).status == 201
        assert post(too_large).problem_and_errors == ("422 validation_failed", {"": "too_large"})
        assert post_batch([EVENT, {**EVENT, **too_large}]).validation_errors == {"/events/1": "too_large"}

    def test_25_events_of_64_kib_fit_into_one_batch_and_a_larger_body_is_refused(
        self, api, organization, ada, post_batch
    ):
        large = {**EVENT, "data": {"amount": 1, "note": "x" * 65_400}}
        post_batch([large] * 25).expect(201)
        path = f"{organization.path}/events/batch"
        escaped = json.dumps({"events": [{**EVENT, "data": {"amount": 1, "note": "é" * 32_700}}] * 25}).encode()
        assert len(json.dumps(escaped.decode())) < 6_000_000
        api.post(path, caller=ada, body=escaped).expect(201)
        body = json.dumps({"events": [large] * 25}).encode() + b" " * (5 << 20)
        assert api.post(path, caller=ada, body=body).status_and_code == "413 payload_too_large"
        assert post_batch([EVENT] * 26).validation_errors == {"/events": "too_many"}
        assert post_batch([]).validation_errors == {"/events": "too_few"}
