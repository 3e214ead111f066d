import pytest

from tests.harness.api import ApiClient
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.organizations import (
    CreatedOrganization,
    add_organization_member,
    create_api_key,
    create_organization,
)


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
    def test_filters_apply_alone_and_combined(self, api, busy_organization, grace, names):
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
    def test_a_star_matches_all_types_with_the_prefix(self, api, busy_organization, pattern, count):
        assert len(list_entries(api, busy_organization, type=pattern)) == count

    @pytest.mark.parametrize(
        "pattern", ["*.member", "Organization.Updated", "organization*", "", "a b", "organization.*.x"]
    )
    def test_an_invalid_type_pattern_is_rejected(self, api, organization, pattern):
        response = api.get(f"{organization.path}/audit-log", caller=organization.owner, query={"type": pattern})
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"query/type"}

    def test_a_range_that_starts_after_its_end_is_rejected_with_the_other_errors(self, api, organization):
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
    def test_an_invalid_time_is_rejected(self, api, organization, timestamp):
        query = {"from": timestamp, "to": timestamp}
        response = api.get(f"{organization.path}/audit-log", caller=organization.owner, query=query)
        assert response.status_and_code == "422 validation_failed"
        assert set(response.errors) == {"query/from", "query/to"}

    def test_the_error_for_an_unescaped_plus_says_how_to_encode_it(self, api, organization):
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

    def test_times_are_inclusive_and_accept_any_offset(self, api, ada, clock):
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

    def test_times_before_1970_are_accepted(self, api, organization):
        assert len(list_entries(api, organization, **{"from": "1960-01-01T00:00:00Z"})) == 4
        assert list_entries(api, organization, to="1960-01-01T00:00:00Z") == []
        assert len(list_entries(api, organization, **{"from": "0001-01-01T00:00:00Z"})) == 4
        assert list_entries(api, organization, **{"from": "0001-01-01T00:00:00Z", "to": "0999-12-31T23:59:59Z"}) == []

    def test_ids_are_compared_case_insensitively(self, api, busy_organization, grace):
        assert list_entries(api, busy_organization, actorId=grace.id.upper()) == list_entries(
            api, busy_organization, actorId=grace.id
        )

    def test_a_filter_without_matches_returns_an_empty_list(self, api, busy_organization):
        for query in ({"actorId": "nobody"}, {"targetId": "nothing"}, {"type": "page.created"}):
            response = api.get(f"{busy_organization.path}/audit-log", caller=busy_organization.owner, query=query)
            assert response.json == {"items": [], "nextCursor": None}

    def test_a_facet_cannot_reach_another_log(self, api, busy_organization, stranger):
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

    def test_a_filtered_page_takes_one_query(self, api, busy_organization, grace):
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
