import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from chalicelib.features.audit.exports.entities import MAX_RUNNING_EXPORTS
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.settings import settings
from chalicelib.kernel.storage import files
from tests.harness import exports
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.exports import asked_to_export, begin_export, completed, fetched
from tests.harness.logs import log_of
from tests.harness.organizations import Founded, found, make_key
from tests.harness.workers import Workers

NO_FILTERS = {"type": None, "actorId": None, "targetId": None, "from": None, "to": None}


def events(api: Api, organization: Founded, export_id: str) -> list[Json]:
    """The entries about an export, the oldest first."""
    return log_of(api, organization, targetId=export_id)[::-1]


def happened(api: Api, organization: Founded, export_id: str) -> list[str]:
    return [entry["type"].removeprefix("organization.audit_export.") for entry in events(api, organization, export_id)]


class TestStartAuditExport:
    def test_filters_in_the_query_are_refused_and_nothing_is_exported(self, api: Api, organization: Founded) -> None:
        query = {"type": "organization.member.*", "actorId": organization.owner.id, "to": "2026-11-20T00:00:00Z"}
        path = f"{organization.path}/audit-log/export-async"
        refused = api.post(path, as_=organization.owner, json={}, query={**query, "sheet": "7"})
        assert refused.code == "422 validation_failed"
        assert refused.faults == dict.fromkeys(("query/type", "query/actorId", "query/to"), "misplaced")
        assert "/filters/type" in refused.text
        assert not happened(api, organization, "")

    def test_a_request_that_says_nothing_exports_the_whole_log_as_ndjson(self, api: Api, organization: Founded) -> None:
        answer = api.post(f"{organization.path}/audit-log/export-async", as_=organization.owner)
        assert answer.status == 202
        record = answer.json
        assert record == {
            "id": record["id"],
            "createdAt": record["createdAt"],
            "updatedAt": record["createdAt"],
            "version": 1,
            "status": "queued",
            "format": "ndjson",
            "filters": NO_FILTERS,
            "entryCount": None,
            "sizeBytes": None,
            "sha256": None,
            "checkpoint": None,
            "evidence": None,
            "downloadUrl": None,
            "error": None,
            "expiresAt": None,
        }
        assert answer.location == f"{organization.path}/audit-log/export-async/{record['id']}"
        assert answer.headers["Cache-Control"] == "no-store"
        assert api.get(answer.location, as_=organization.owner).json == record

    def test_it_keeps_what_was_asked_for(self, api: Api, organization: Founded, grace: Person) -> None:
        filters = {"type": "organization.member.*", "actorId": grace.id.upper(), "from": "2026-11-20T10:30:00+01:00"}
        record = asked_to_export(api, organization, format="csv", filters=filters).json
        assert record["format"] == "csv"
        assert record["filters"] == {
            **NO_FILTERS,
            "type": "organization.member.*",
            "actorId": grace.id,
            "from": "2026-11-20T09:30:00.000Z",
        }

    @pytest.mark.parametrize(
        "body", [{}, {"filters": None}, {"filters": {}}, {"format": None}, {"format": "ndjson", "filters": NO_FILTERS}]
    )
    def test_there_are_many_ways_to_filter_nothing(self, api: Api, organization: Founded, body: Json) -> None:
        answer = api.post(f"{organization.path}/audit-log/export-async", as_=organization.owner, json=body)
        assert (answer.status, answer.json["filters"]) == (202, NO_FILTERS)

    @pytest.mark.parametrize(
        ("body", "pointer"),
        [
            ({"format": "xml"}, "/format"),
            ({"compress": True}, "/compress"),
            ({"filters": []}, "/filters"),
            ({"filters": {"limit": 3}}, "/filters/limit"),
            ({"filters": {"type": "*.member"}}, "/filters/type"),
            ({"filters": {"type": 3}}, "/filters/type"),
            ({"filters": {"from": "yesterday"}}, "/filters/from"),
            ({"filters": {"to": 1763631000}}, "/filters/to"),
            ({"filters": {"since": "2026-11-20T09:30:00Z"}}, "/filters/since"),
            ({"filters": {"from": "2026-11-20T09:30:00Z", "to": "2026-11-20T09:29:59Z"}}, "/filters/from"),
            ({"filters": {"actorId": "x" * 129}}, "/filters/actorId"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, api: Api, organization: Founded, body: dict[str, Any], pointer: str
    ) -> None:
        refused = asked_to_export(api, organization, **body)
        assert refused.code == "422 validation_failed"
        assert set(refused.faults) == {pointer}

    def test_admins_and_keys_with_the_scope_may(
        self, api: Api, organization: Founded, grace: Person, edith: Person, mary: Person, stranger: Person
    ) -> None:
        assert asked_to_export(api, organization, as_=grace).status == 202
        for person in (edith, mary):
            assert asked_to_export(api, organization, as_=person).code == "403 insufficient_role"
        assert asked_to_export(api, organization, as_=stranger).code == "404 not_found"
        for scope in ("audit-log:read", "audit-log:write", "admin"):
            assert asked_to_export(api, organization, as_=make_key(api, organization, scope)).status == 202
        for scope in ("read", "write", "members:write"):
            key = make_key(api, organization, scope)
            assert asked_to_export(api, organization, as_=key).code == "403 insufficient_scope"

    def test_that_it_was_asked_for_is_in_the_log(self, api: Api, organization: Founded, grace: Person) -> None:
        record = asked_to_export(api, organization, as_=grace, format="csv").json
        (entry,) = events(api, organization, record["id"])
        assert entry["type"] == "organization.audit_export.requested"
        assert entry["actor"]["id"] == grace.id
        assert entry["data"] == record

    def test_a_request_repeated_with_its_key_starts_one(self, api: Api, organization: Founded) -> None:
        path, headers = f"{organization.path}/audit-log/export-async", {"Idempotency-Key": "nightly-2026-11-20"}
        first, again = (api.post(path, as_=organization.owner, headers=headers) for _ in range(2))
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.json == first.json
        assert [e["type"] for e in log_of(api, organization)].count("organization.audit_export.requested") == 1


class TestHowManyRun:
    def test_at_most_ten_at_a_time_in_each_organization(
        self, api: Api, organization: Founded, ada: Person, workers: Workers
    ) -> None:
        assert MAX_RUNNING_EXPORTS == 10
        for _ in range(10):
            begin_export(api, organization)
        refused = asked_to_export(api, organization)
        assert refused.code == "409 limit_exceeded"
        assert refused.json["detail"] == "At most 10 running audit exports are allowed. Wait until one has ended."
        assert asked_to_export(api, found(api, ada)).status == 202
        workers.deliver()
        assert asked_to_export(api, organization).status == 202

    def test_it_holds_when_many_are_started_at_once(self, api: Api, organization: Founded) -> None:
        for _ in range(8):
            begin_export(api, organization)
        with ThreadPoolExecutor(5) as threads:
            answers = list(threads.map(lambda _: asked_to_export(api, organization), range(5)))
        assert sorted(answer.status for answer in answers) == [202, 202, 409, 409, 409]


class TestGetAuditExport:
    def test_once_it_is_completed_it_says_where_the_file_is_and_what(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        moment = clock.freeze()
        record = completed(api, workers, ten)
        assert (record["status"], record["version"], record["error"]) == ("completed", 3, None)
        assert record["entryCount"] == 11  # its own beginning is the last
        assert record["expiresAt"] == after(moment, days=7)
        url = urlsplit(record["downloadUrl"])
        asked = parse_qs(url.query)
        assert url.path.endswith(f"/{ten.id}/{record['id']}/audit-log.ndjson.gz")
        assert asked["X-Amz-Expires"] == ["900"]
        name = f"{ten.record['slug']}-audit-log-{moment[:10]}.ndjson.gz"
        assert asked["response-content-disposition"] == [f'attachment; filename="{name}"']
        assert len(fetched(record)) == record["sizeBytes"]

    def test_the_address_is_for_nobody_else_to_keep(self, api: Api, ten: Founded, workers: Workers) -> None:
        started = begin_export(api, ten)
        workers.deliver()
        answer = api.get(started.path, as_=ten.owner)
        assert answer.headers["Cache-Control"] == "no-store"
        assert "X-Amz" not in json.dumps(log_of(api, ten))

    def test_what_has_not_changed_is_not_sent_again(self, api: Api, ten: Founded, workers: Workers) -> None:
        started = begin_export(api, ten)
        tag = {"If-None-Match": api.get(started.path, as_=ten.owner).etag}
        assert api.get(started.path, as_=ten.owner, headers=tag).status == 304
        workers.deliver()
        assert api.get(started.path, as_=ten.owner, headers=tag).json["status"] == "completed"

    def test_who_asks_whether_it_has_changed_changes_nothing(self, api: Api, ten: Founded, workers: Workers) -> None:
        started = begin_export(api, ten)
        workers.deliver()
        assert api.get(started.path, as_=ten.owner, headers={"If-Match": '"stale"'}).status == 200

    def test_its_end_is_in_the_log_as_the_services_own_doing(self, api: Api, ten: Founded, workers: Workers) -> None:
        record = completed(api, workers, ten)
        requested, ended, _ = events(api, ten, record["id"])
        assert ended["type"] == "organization.audit_export.completed"
        assert ended["actor"] == {"type": "system", "id": None, "name": None}
        assert ended["context"]["operationId"] == "audit_exports.run"
        assert ended["data"] == {**record, "downloadUrl": None}
        assert requested["data"]["status"] == "queued"
        told = {change["field"]: (change["from"], change["to"]) for change in ended["changes"]}
        assert told == {
            "status": ("queued", "completed"),
            "entryCount": (None, 11),
            "sizeBytes": (None, record["sizeBytes"]),
            "sha256": (None, record["sha256"]),
            "checkpoint": (None, record["checkpoint"]),
            "evidence": (None, []),
            "expiresAt": (None, record["expiresAt"]),
        }

    def test_others_may_not_see_it(
        self, api: Api, ten: Founded, workers: Workers, ada: Person, stranger: Person
    ) -> None:
        record = completed(api, workers, ten)
        path = f"audit-log/export-async/{record['id']}"
        other, theirs = found(api, ada), found(api, stranger)
        assert api.get(f"{ten.path}/{path}", as_=stranger).code == "404 not_found"
        assert api.get(f"{other.path}/{path}", as_=ada).code == "404 not_found"
        assert api.get(f"{theirs.path}/{path}", as_=stranger).code == "404 not_found"
        reader, plain = make_key(api, ten, "audit-log:read"), make_key(api, ten, "read")
        assert api.get(f"{ten.path}/{path}", as_=reader).json["downloadUrl"]
        assert api.get(f"{ten.path}/{path}", as_=plain).code == "403 insufficient_scope"


class TestThatItWasHandedOut:
    def test_is_in_the_log_once_in_15_minutes(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        started = begin_export(api, ten)
        for _ in range(2):
            started.now(api)
        workers.deliver()
        seen: list[int] = []
        for minutes in (0, 1, 13, 1.1, 1, 14.1):
            clock.shift(minutes=minutes)
            assert started.now(api)["downloadUrl"]
            seen.append(happened(api, ten, started.id).count("downloaded"))
        assert seen == [1, 1, 1, 2, 2, 3]

    def test_says_who_has_it(self, api: Api, organization: Founded, workers: Workers, grace: Person) -> None:
        started = begin_export(api, organization)
        workers.deliver()
        key = make_key(api, organization, "audit-log:read", name="Collector")
        before = started.now(api)
        for _ in range(2):
            for caller in (organization.owner, grace, key):
                assert api.get(started.path, as_=caller).json["version"] == before["version"]
        handed = [e for e in events(api, organization, started.id) if e["type"].endswith(".downloaded")]
        assert [entry["actor"]["id"] for entry in handed] == [organization.owner.id, grace.id, key.id]
        assert all(entry["changes"] == [] for entry in handed)
        assert handed[0]["data"] == {**before, "downloadUrl": None}

    def test_is_in_the_log_once_also_if_many_ask_at_once(self, api: Api, ten: Founded, workers: Workers) -> None:
        started = begin_export(api, ten)
        workers.deliver()
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda _: api.get(started.path, as_=ten.owner), range(4)))
        assert [answer.status for answer in answers] == [200] * 4
        assert happened(api, ten, started.id).count("downloaded") == 1


class TestItsExpiry:
    def test_after_a_week_it_is_gone_before_anybody_has_tidied_up(
        self, api: Api, ten: Founded, workers: Workers, clock: Clock
    ) -> None:
        started = begin_export(api, ten)
        workers.deliver()
        clock.shift(days=6, hours=23)
        assert started.now(api)["status"] == "completed"
        clock.shift(hours=1, seconds=1)
        for _ in range(2):
            gone = api.get(started.path, as_=ten.owner)
            assert gone.code == "410 export_expired"
            workers.settle()
        assert happened(api, ten, started.id).count("downloaded") == 1

    def test_the_file_goes_with_it_and_no_other(self, api: Api, ten: Founded, workers: Workers, clock: Clock) -> None:
        first = completed(api, workers, ten)
        clock.shift(days=3)
        second = completed(api, workers, ten, format="csv")
        clock.shift(days=4, seconds=1)
        workers.settle()
        with pytest.raises(files.FileNotFound):
            fetched(first)
        assert fetched(second)
        clock.shift(days=3)
        workers.settle()
        assert files.find_first_key(settings().exports_bucket, ten.id) is None

    def test_the_purge_of_its_organization_takes_it_along(
        self, api: Api, ten: Founded, ada: Person, workers: Workers, clock: Clock
    ) -> None:
        other = found(api, ada)
        clock.shift(days=29)
        theirs = completed(api, workers, other)
        clock.shift(days=-29)
        api.delete(ten.path, as_=ada)
        clock.shift(days=29)
        files.start_upload(settings().exports_bucket, f"{ten.id}/left/by-a-worker-that-died", "application/gzip")
        files.write_file(settings().exports_bucket, f"{ten.id}/left/too", b"")
        clock.shift(days=1, minutes=3)
        workers.settle()
        assert files.find_first_key(settings().exports_bucket, ten.id) is None
        assert exports.being_made() == []
        assert fetched(theirs)
