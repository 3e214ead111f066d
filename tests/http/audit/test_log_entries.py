import json
from hashlib import sha256

import pytest
import rfc8785

from tests.harness import audit_logs, memory_aws, rfc6962
from tests.harness.api import CLIENT_IP, USER_AGENT, ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
    post_api_key,
)
from tests.harness.workers import Workers


class TestEntries:
    def test_an_entry_has_exactly_the_fields_of_the_contract(self, api: ApiClient, ada: Person) -> None:
        response = api.post("/organizations", caller=ada, json={"name": "Engines"})
        organization = CreatedOrganization(response.json, ada)
        (entry,) = list_entries(api, organization)
        assert entry == {
            "id": entry["id"],
            "sequence": None,
            "type": "organization.created",
            "occurredAt": organization.record["createdAt"],
            "organizationId": organization.id,
            "actor": {"type": "user", "id": ada.id, "name": "Ada Lovelace"},
            "target": {"type": "organization", "id": organization.id, "name": "Engines"},
            "context": {
                "operationId": "create_organization",
                "requestId": response.request_id,
                "ipAddress": CLIENT_IP,
                "userAgent": USER_AGENT,
            },
            "changes": [],
            "data": organization.record,
            "integrity": None,
        }

    def test_an_entry_is_listed_at_once_and_gets_its_sequence_later(
        self, api: ApiClient, ada: Person, workers: Workers
    ) -> None:
        organization = create_organization(api, ada)
        (before,) = list_entries(api, organization)
        workers.deliver()
        (after,) = list_entries(api, organization)
        integrity = {"leafHash": rfc6962.leaf_hash(before).hex(), "treeSize": 1}
        assert after == {**before, "sequence": 1, "integrity": integrity}

    def test_changes_list_each_changed_field_with_both_values(self, api: ApiClient, ada: Person) -> None:
        organization = create_organization(api, ada, companyName="Old", companyCountry="GB")
        sent = {"name": "New", "companyName": None, "companyId": "7", "companyCountry": "GB"}
        record = api.patch(organization.path, caller=ada, json=sent).json
        entry = list_entries(api, organization)[0]
        assert {c["field"]: (c["from"], c["to"]) for c in entry["changes"]} == {
            "name": ("Analytical Engines", "New"),
            "companyName": ("Old", None),
            "companyId": (None, "7"),
        }
        assert entry["data"] == record

    def test_an_api_key_is_named_as_the_actor(self, api: ApiClient, organization: CreatedOrganization) -> None:
        key = create_api_key(api, organization, "admin")
        api.patch(organization.path, caller=key, json={"name": "New"})
        assert list_entries(api, organization)[0]["actor"] == {
            "type": "api_key",
            "id": key.id,
            "name": "Nightly export",
        }

    def test_secrets_appear_nowhere(self, api: ApiClient, organization: CreatedOrganization, ada: Person) -> None:
        created = post_api_key(api, organization)
        rotated = api.post(f"{created.location}/rotate", caller=ada, json={"graceHours": 0})
        entries = json.dumps(list_entries(api, organization))
        assert created.json["key"] not in entries
        assert rotated.json["key"] not in entries
        newest = list_entries(api, organization)[0]
        assert newest["type"] == "organization.api_key.rotated"
        assert newest["data"] == {**rotated.json, "key": None}
        assert [c["field"] for c in newest["changes"]] == ["hint"]

    def test_a_value_over_4_kib_appears_as_its_hash_and_size(self, api: ApiClient, ada: Person) -> None:
        organization = create_organization(api, ada)
        address = "é" * 4000
        api.patch(organization.path, caller=ada, json={"companyAddress": address})
        api.patch(organization.path, caller=ada, json={"companyAddress": None})
        cleared, filled, _ = list_entries(api, organization)
        data = rfc8785.dumps(address)
        digest = {"sha256": sha256(data).hexdigest(), "size": len(data)}
        assert filled["data"]["companyAddress"] == digest
        assert filled["changes"] == [{"field": "companyAddress", "from": None, "to": digest}]
        assert cleared["changes"] == [{"field": "companyAddress", "from": digest, "to": None}]

    def test_a_long_entry_is_complete(self, api: ApiClient, ada: Person, workers: Workers) -> None:
        organization = create_organization(api, ada, companyAddress="a" * 3900)
        record = api.patch(organization.path, caller=ada, json={"companyAddress": "b" * 3900}).json
        workers.deliver()
        entry = list_entries(api, organization)[0]
        assert entry["data"] == record
        assert entry["changes"] == [{"field": "companyAddress", "from": "a" * 3900, "to": "b" * 3900}]
        assert entry["integrity"]["leafHash"] == rfc6962.leaf_hash(entry).hex()

    def test_the_leaf_is_the_canonical_json_of_unusual_characters(
        self, api: ApiClient, ada: Person, workers: Workers
    ) -> None:
        organization = create_organization(
            api, ada, name='Zoë "quotes" \\ / <&> 🚂 \ufeff é', companyAddress="a\r\n\tb"
        )
        workers.deliver()
        (entry,) = list_entries(api, organization)
        assert entry["integrity"]["leafHash"] == rfc6962.leaf_hash(entry).hex()
        assert entry["data"]["name"] == organization.record["name"]

    def test_a_long_user_agent_is_truncated_and_an_empty_user_agent_is_null(self, api: ApiClient, ada: Person) -> None:
        organization = create_organization(api, ada)
        api.patch(organization.path, caller=ada, json={"name": "B"}, headers={"User-Agent": "x" * 5000})
        api.patch(organization.path, caller=ada, json={"name": "C"}, headers={"User-Agent": ""})
        without_agent, with_long_agent, _ = list_entries(api, organization)
        assert without_agent["context"]["userAgent"] is None
        assert 1 <= len(with_long_agent["context"]["userAgent"]) <= 1024

    def test_rejected_requests_create_no_entries(
        self, api: ApiClient, organization: CreatedOrganization, mary: Person
    ) -> None:
        before = list_entries(api, organization)
        api.patch(organization.path, caller=mary, json={"name": "x"})
        api.patch(organization.path, caller=organization.owner, json={"name": ""})
        api.patch(organization.path, caller=organization.owner, json={"name": "x"}, headers={"If-Match": '"stale"'})
        api.post(f"{organization.path}/leave", caller=organization.owner)
        assert list_entries(api, organization) == before


class TestListAuditLog:
    def test_the_newest_comes_first(self, api: ApiClient, organization: CreatedOrganization, workers: Workers) -> None:
        for name in "abc":
            api.patch(organization.path, caller=organization.owner, json={"name": name})
        for _ in range(2):
            entries = list_entries(api, organization)
            assert [entry["data"].get("name") for entry in entries[:3]] == ["c", "b", "a"]
            assert entries[-1]["type"] == "organization.created"
            workers.deliver()

    def test_only_admins_and_keys_with_the_scope_read_the_log(
        self,
        api: ApiClient,
        organization: CreatedOrganization,
        grace: Person,
        edith: Person,
        mary: Person,
        stranger: Person,
    ) -> None:
        path = f"{organization.path}/audit-log"
        assert api.get(path, caller=grace).status == 200
        for person in (edith, mary):
            assert api.get(path, caller=person).status_and_code == "403 insufficient_role"
        assert api.get(path, caller=stranger).status_and_code == "404 not_found"
        assert api.get(path, caller=create_api_key(api, organization, "audit-log:read")).status == 200
        assert (
            api.get(path, caller=create_api_key(api, organization, "write")).status_and_code == "403 insufficient_scope"
        )

    def test_a_log_holds_only_the_entries_of_its_organization(self, api: ApiClient, ada: Person) -> None:
        first, second = create_organization(api, ada), create_organization(api, ada)
        assert {entry["organizationId"] for entry in list_entries(api, first)} == {first.id}
        assert {entry["organizationId"] for entry in list_entries(api, second)} == {second.id}

    def test_paginating_a_growing_log_yields_each_entry_once(
        self, api: ApiClient, organization: CreatedOrganization, ada: Person
    ) -> None:
        for n in range(7):
            api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
        path = f"{organization.path}/audit-log"
        all_entries = list_entries(api, organization)
        listed, cursor = [], None
        while True:
            page = api.get(path, caller=ada, query={"limit": 3, **({"cursor": cursor} if cursor else {})}).json
            listed += page["items"]
            api.patch(organization.path, caller=ada, json={"name": f"While reading {len(listed)}"})
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert listed == all_entries

    @pytest.mark.parametrize("attribute", ["type", "actor", "target", "leaf", "created_at", "log_id", "body"])
    def test_an_unreadable_entry_is_omitted_and_found_by_verification(
        self, api: ApiClient, ada: Person, workers: Workers, attribute: str
    ) -> None:
        organization = create_organization(api, ada)
        api.patch(organization.path, caller=ada, json={"name": "Second"})
        workers.deliver()
        entry = audit_logs.entry_item(organization, 1)
        memory_aws.put_item({name: value for name, value in entry.items() if name != attribute})
        assert [e["sequence"] for e in api.get_items(f"{organization.path}/audit-log", caller=ada)] == [2]
        assert audit_logs.verification_failure(api, organization)[1] == 1


class TestFilters:
    @pytest.fixture
    def busy_organization(self, api: ApiClient, ada: Person, grace: Person, mary: Person) -> CreatedOrganization:
        return cached_scenario("busy", lambda: self.create_busy_organization(api, ada, grace, mary))

    def create_busy_organization(self, api: ApiClient, ada: Person, grace: Person, mary: Person) -> CreatedOrganization:
        organization = create_organization(api, ada)
        add_organization_member(organization, grace, "admin")
        add_organization_member(organization, mary, "member")
        key = create_api_key(api, organization, "admin")
        for n in range(4):
            api.patch(organization.path, caller=grace, json={"name": f"By Grace {n}"})
            api.patch(organization.path, caller=key, json={"name": f"By key {n}"})
            api.patch(
                f"{organization.path}/members/{mary.id}", caller=grace, json={"role": ("editor", "member")[n % 2]}
            )
        return organization

    @pytest.mark.parametrize(
        "names",
        [
            ("type",),
            ("area",),
            ("actorId",),
            ("targetId",),
            ("type", "actorId"),
            ("area", "actorId"),
            ("type", "targetId"),
            ("actorId", "targetId"),
            ("type", "actorId", "targetId"),
            ("area", "actorId", "targetId"),
            ("from",),
            ("to",),
            ("from", "to"),
            ("type", "from"),
            ("area", "to"),
            ("actorId", "from", "to"),
            ("type", "actorId", "targetId", "from", "to"),
        ],
    )
    def test_filters_apply_alone_and_combined(
        self, api: ApiClient, busy_organization: CreatedOrganization, grace: Person, names: tuple[str, ...]
    ) -> None:
        all_entries = list_entries(api, busy_organization)
        timestamps = sorted(entry["occurredAt"] for entry in all_entries)
        values = {
            "type": "organization.updated",
            "area": "organization.*",
            "actorId": grace.id,
            "targetId": busy_organization.id,
            "from": timestamps[3],
            "to": timestamps[-3],
        }
        conditions = {
            "type": lambda e: e["type"] == "organization.updated",
            "area": lambda e: e["type"].startswith("organization."),
            "actorId": lambda e: e["actor"]["id"] == grace.id,
            "targetId": lambda e: e["target"]["id"] == busy_organization.id,
            "from": lambda e: e["occurredAt"] >= timestamps[3],
            "to": lambda e: e["occurredAt"] <= timestamps[-3],
        }
        matching = [entry for entry in all_entries if all(conditions[name](entry) for name in names)]
        query = {"type" if name == "area" else name: values[name] for name in names}
        assert matching
        for limit in (1, 2, 100):
            assert list_entries(api, busy_organization, limit=limit, **query) == matching

    @pytest.mark.parametrize(
        ("pattern", "count"),
        [
            ("organization.member.*", 4),
            ("organization.*", 16),
            ("organization.api_key.*", 1),
            ("organization.member", 0),
            ("organization.invitation.accepted", 2),
            ("organ.*", 0),
            ("page.*", 0),
        ],
    )
    def test_a_star_matches_all_types_with_the_prefix(
        self, api: ApiClient, busy_organization: CreatedOrganization, pattern: str, count: int
    ) -> None:
        assert len(list_entries(api, busy_organization, type=pattern)) == count

    @pytest.mark.parametrize(
        "pattern", ["*.member", "Organization.Updated", "organization*", "", "a b", "organization.*.x"]
    )
    def test_an_invalid_type_pattern_is_rejected(
        self, api: ApiClient, organization: CreatedOrganization, pattern: str
    ) -> None:
        response = api.get(f"{organization.path}/audit-log", caller=organization.owner, query={"type": pattern})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"query/type"}

    def test_a_range_that_starts_after_its_end_is_rejected_with_the_other_errors(
        self, api: ApiClient, organization: CreatedOrganization
    ) -> None:
        path, latest = f"{organization.path}/audit-log", "2026-11-20T09:30:00Z"
        for earliest in ("2026-11-20T09:30:00.001Z", "2026-11-20T10:29:59-00:30"):
            query = {"from": earliest, "to": latest, "limit": 0, "type": "*"}
            response = api.get(path, caller=organization.owner, query=query)
            assert response.status_and_code == "422 validation_failed"
            assert response.errors == {
                "query/from": "out_of_range",
                "query/limit": "out_of_range",
                "query/type": "malformed",
            }
            (range_error,) = (error for error in response.json["errors"] if error["pointer"] == "query/from")
            assert range_error["detail"] == "must not be after `to`"
        for earliest in (latest, "2026-11-20T10:30:00+01:00"):
            assert api.get(path, caller=organization.owner, query={"from": earliest, "to": latest}).status == 200

    @pytest.mark.parametrize(
        "timestamp",
        [
            "yesterday",
            "2026-11-20T09:30:00",
            "2026-13-01T00:00:00Z",
            "1763631000",
            "",
            "0001-01-01T00:00:00+01:00",
            "9999-12-31T23:59:59-01:00",
        ],
    )
    def test_an_invalid_time_is_rejected(
        self, api: ApiClient, organization: CreatedOrganization, timestamp: str
    ) -> None:
        query = {"from": timestamp, "to": timestamp}
        response = api.get(f"{organization.path}/audit-log", caller=organization.owner, query=query)
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"query/from", "query/to"}

    def test_the_error_for_an_unescaped_plus_says_how_to_encode_it(
        self, api: ApiClient, organization: CreatedOrganization
    ) -> None:
        path, owner, advice = (
            f"{organization.path}/audit-log",
            organization.owner,
            "in a query `+` has to be sent as `%2B`",
        )
        for offset in ("+01:00", "+0100", "+01"):
            response = api.get(f"{path}?from=2026-11-20T09:30:00.5{offset}", caller=owner)
            assert response.errors == {"query/from": "malformed"}
            assert response.json["errors"][0]["detail"].endswith(f"such as 2026-11-20T09:30:00Z; {advice}")
            assert api.get(f"{path}?from=2026-11-20T09:30:00.5{offset}".replace("+", "%2B"), caller=owner).status == 200
        assert advice not in api.get(path, caller=owner, query={"from": "2026-11-20 09:30"}).text

    def test_times_are_inclusive_and_accept_any_offset(self, api: ApiClient, ada: Person, clock: Clock) -> None:
        timestamp = clock.freeze("2026-11-20T09:30:00.500Z")
        organization = create_organization(api, ada)
        matching_queries: list[dict[str, object]] = [
            {"from": timestamp},
            {"to": timestamp},
            {"from": timestamp, "to": timestamp},
            {"from": "2026-11-20T10:30:00.5+01:00"},
            {"to": "2026-11-20T09:30:00.501Z"},
            {"from": "2026-11-20T09:30:00Z"},
            {"from": "1970-01-01T00:00:00Z"},
            {"to": "9999-12-31T23:59:59Z"},
        ]
        for query in matching_queries:
            assert len(list_entries(api, organization, **query)) == 1, query
        empty_queries: list[dict[str, object]] = [
            {"from": "2026-11-20T09:30:00.501Z"},
            {"to": "2026-11-20T09:30:00.499Z"},
            {"to": "2026-11-20T09:30:00Z"},
            {"from": "9999-12-31T23:59:59Z"},
        ]
        for query in empty_queries:
            assert list_entries(api, organization, **query) == [], query

    def test_times_before_1970_are_accepted(self, api: ApiClient, organization: CreatedOrganization) -> None:
        assert len(list_entries(api, organization, **{"from": "1960-01-01T00:00:00Z"})) == 4
        assert list_entries(api, organization, to="1960-01-01T00:00:00Z") == []
        assert len(list_entries(api, organization, **{"from": "0001-01-01T00:00:00Z"})) == 4
        assert list_entries(api, organization, **{"from": "0001-01-01T00:00:00Z", "to": "0999-12-31T23:59:59Z"}) == []

    def test_ids_are_compared_case_insensitively(
        self, api: ApiClient, busy_organization: CreatedOrganization, grace: Person
    ) -> None:
        assert list_entries(api, busy_organization, actorId=grace.id.upper()) == list_entries(
            api, busy_organization, actorId=grace.id
        )

    def test_a_filter_without_matches_returns_an_empty_list(
        self, api: ApiClient, busy_organization: CreatedOrganization
    ) -> None:
        for query in ({"actorId": "nobody"}, {"targetId": "nothing"}, {"type": "page.created"}):
            response = api.get(f"{busy_organization.path}/audit-log", caller=busy_organization.owner, query=query)
            assert response.json == {"items": [], "nextCursor": None}

    def test_a_facet_cannot_reach_another_log(
        self, api: ApiClient, busy_organization: CreatedOrganization, stranger: Person
    ) -> None:
        own_log = create_organization(api, stranger)
        for value in (
            f"{busy_organization.id}",
            f"x#A#{busy_organization.id}",
            f"#T#{busy_organization.id}",
            "{log_id}",
            "%",
        ):
            assert list_entries(api, own_log, targetId=value) == []
            assert list_entries(api, own_log, actorId=value) == []

    def test_a_filtered_page_takes_one_query(
        self, api: ApiClient, busy_organization: CreatedOrganization, grace: Person
    ) -> None:
        queries: list[dict[str, str]] = [
            {},
            {"type": "organization.updated"},
            {"type": "organization.*"},
            {"actorId": grace.id},
            {"targetId": busy_organization.id, "actorId": grace.id},
        ]
        for query in queries:
            response = api.get(f"{busy_organization.path}/audit-log", caller=busy_organization.owner, query=query)
            assert response.calls.call_names == ["dynamodb:BatchGetItem", "dynamodb:Query"]
