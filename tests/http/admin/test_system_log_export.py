"""The export of the log outside of organizations."""

import base64
import json
from collections import Counter

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.features.audit.exports.logic.verify import (
    describe_proof,
    parse_omitted_runs,
    verify_checkpoint_note,
)
from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS, system_log_id
from tests.harness import sample_operations
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.exports import parse_csv

EXPORT = "/system/audit-log/export"


@pytest.fixture
def notice_ids(operator, workers):
    def post() -> list[str]:
        ids = [sample_operations.create_notice(operator, f"Notice {n}") for n in range(30)]
        workers.deliver()
        return ids

    return cached_scenario("exported notices", post)


def export_log(api: ApiClient, operator: object, **query: object) -> ApiResponse:
    return api.get(EXPORT, caller=operator, query=query)


def parse_lines(response: ApiResponse) -> list[Json]:
    return [json.loads(line) for line in response.expect(200).text.splitlines()]


def test_the_export_has_the_entries_of_all_logs_oldest_first(api, operator, notice_ids):
    response = export_log(api, operator)
    assert [entry["target"]["id"] for entry in parse_lines(response)] == notice_ids
    assert len({system_log_id(each) for each in notice_ids}) > 8
    assert response.headers["Content-Type"] == "application/x-ndjson"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Content-Disposition"].startswith('attachment; filename="system-audit-log-')


def test_an_entry_without_a_sequence_comes_last(api, operator, notice_ids):
    pending = sample_operations.create_notice(operator)
    entries = parse_lines(export_log(api, operator))
    assert [entry["target"]["id"] for entry in entries] == [*notice_ids, pending]
    assert entries[-1]["sequence"] is None


def test_the_export_equals_the_list_with_each_filter(api, operator, notice_ids):
    entries = api.get_items("/system/audit-log", caller=operator)
    middle = entries[15]
    for query in (
        {"targetId": middle["target"]["id"]},
        {"actorId": operator.id},
        {"type": middle["type"]},
        {"type": "notice.*", "to": middle["occurredAt"]},
        {"from": middle["occurredAt"]},
    ):
        listed = api.get_items("/system/audit-log", caller=operator, query=query)
        assert listed
        assert parse_lines(export_log(api, operator, **query)) == listed[::-1], query


def test_a_csv_export_has_a_row_for_each_entry(api, operator, notice_ids):
    response = export_log(api, operator, format="csv")
    assert [row["targetId"] for row in parse_csv(response.text)] == notice_ids
    assert response.headers["Content-Type"].startswith("text/csv")


def test_the_export_of_one_log_with_evidence_is_proven_alone(api, operator, notice_ids):
    key = base64.b64decode(api.get("/status").json["auditPublicKey"])
    log, count = Counter(map(system_log_id, notice_ids)).most_common(1)[0]
    response = export_log(api, operator, logId=log, evidence="true").expect(200)
    first, *lines = response.text.encode().splitlines(keepends=True)
    head = verify_checkpoint_note(json.loads(first)["checkpoint"].encode(), key)
    assert (head.origin, head.size, len(lines)) == (f"atrium/{log}", count, count)
    assert describe_proof(lines, head, parse_omitted_runs(first))
    assert response.headers["Content-Disposition"].startswith(f'attachment; filename="{log}-audit-log-')


def test_evidence_needs_one_log(api, operator, notice_ids):
    problem = export_log(api, operator, evidence="true").expect(422).json
    assert [error["pointer"] for error in problem["errors"]] == ["query/evidence"]
    assert "logId" in problem["errors"][0]["detail"]
    export_log(api, operator, evidence="true", targetId=notice_ids[0]).expect(200)
    assert export_log(api, operator, logId="system-16").expect(422).json["errors"][0]["pointer"] == "query/logId"


def test_a_log_that_is_too_large_can_be_exported_in_parts(api, operator, notice_ids, monkeypatch):
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 29)
    rejected = export_log(api, operator).expect(409).json
    assert (rejected["code"], "from and to" in rejected["detail"]) == ("export_too_large", True)
    middle = api.get_items("/system/audit-log", caller=operator)[15]["occurredAt"]
    parts = [parse_lines(export_log(api, operator, **bounds)) for bounds in ({"to": middle}, {"from": middle})]
    assert {entry["target"]["id"] for part in parts for entry in part} == {*notice_ids}


def test_each_log_can_be_exported(api, operator, notice_ids):
    exported = [parse_lines(export_log(api, operator, logId=log)) for log in SYSTEM_LOGS]
    assert sorted(entry["target"]["id"] for entries in exported for entry in entries) == sorted(notice_ids)


def test_other_callers_are_refused(api, ada):
    api.get(EXPORT, caller=ada).expect(403)
    api.get(EXPORT).expect(401)
