"""Entries of the logs of organizations, and of the log of events outside of any organization."""

from collections import Counter
from hashlib import sha256
from zlib import crc32

import pytest
import rfc8785

from chalicelib.kernel.storage.log_ids import SYSTEM_LOGS
from tests.harness import memory_aws, rfc6962, sample_operations, snapshots
from tests.harness.anchors import anchored_sizes, read_anchor, run_anchoring
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import list_entries
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.organizations import create_organization, remove_member, set_role
from tests.harness.stored_logs import StoredLog
from tests.http.audit.conftest import build_filter_queries, is_match


class TestEntries:
    def test_an_entry_is_listed_at_once_and_gets_its_sequence_later(self, api, ada, workers):
        organization = create_organization(api, ada)
        (before,) = list_entries(api, organization)
        assert (before["sequence"], before["integrity"]) == (None, None)
        assert (before["occurredAt"], before["data"]) == (organization.record["createdAt"], organization.record)
        workers.deliver()
        integrity = {"leafHash": rfc6962.leaf_hash(before).hex(), "treeSize": 1}
        assert list_entries(api, organization) == [{**before, "sequence": 1, "integrity": integrity}]
        assert not [item for item in memory_aws.all_items() if item["pk"][0] in "AQB" and "ttl" in item]

    def test_a_value_over_4_kib_appears_as_its_hash_and_size(self, api, ada):
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

    def test_a_long_entry_is_complete_and_its_leaf_the_canonical_json_of_unusual_characters(self, api, ada, workers):
        before, after = "a" * 3900, "a\r\n\tb" * 500
        organization = create_organization(api, ada, name='Zoë "quotes" \\ / <&> 🚂 \ufeff é', companyAddress=before)
        record = api.patch(organization.path, caller=ada, json={"companyAddress": after}).json
        workers.deliver()
        updated, created = list_entries(api, organization)
        assert (created["data"], updated["data"]) == (organization.record, record)
        assert updated["changes"] == [{"field": "companyAddress", "from": before, "to": after}]
        for entry in (created, updated):
            assert entry["integrity"]["leafHash"] == rfc6962.leaf_hash(entry).hex()

    def test_a_long_user_agent_is_truncated_and_an_empty_user_agent_is_null(self, new_log):
        new_log.rename("B", headers={"User-Agent": "x" * 5000})
        new_log.rename("C", headers={"User-Agent": ""})
        without_agent, with_long_agent, *_ = new_log.entries()
        assert without_agent["context"]["userAgent"] is None
        assert 1 <= len(with_long_agent["context"]["userAgent"]) <= 1024


class TestListAuditLog:
    def test_the_newest_entries_of_only_this_organization_come_first(self, api, ada, new_log, workers):
        create_organization(api, ada)
        for name in "abc":
            new_log.rename(name)
        for _ in range(2):
            entries = new_log.entries()
            assert [entry["data"].get("name") for entry in entries[:3]] == ["c", "b", "a"]
            assert entries[-1]["type"] == "organization.created"
            assert {entry["organizationId"] for entry in entries} == {new_log.id}
            workers.deliver()

    def test_paginating_a_growing_log_yields_each_entry_once(self, log):
        all_entries = log.entries()
        listed, query = [], {"limit": 3}
        while query.get("cursor", "first"):
            page = log.get(**query).json
            listed += page["items"]
            log.rename(f"While reading {len(listed)}")
            query = {"limit": 3, "cursor": page["nextCursor"]}
        assert listed == all_entries

    def test_an_unreadable_entry_is_omitted_and_found_by_verification(self, log):
        entry = log.entry(1)
        for attribute in ("type", "actor", "target", "leaf", "created_at", "log_id", "body"):
            assert attribute in entry
            log.remove_attributes(1, attribute)
            assert [entry["sequence"] for entry in log.entries()] == list(range(10, 1, -1)), attribute
            assert log.failure()[1] == 1
            memory_aws.put_item(entry)


class TestSequences:
    def test_sequences_are_dense_in_the_order_of_a_record_s_changes_despite_clock_skew(self, api, ada, workers, clock):
        organization = create_organization(api, ada)
        for n, shift in enumerate((30, -60, 45, -20, 5)):
            clock.shift(seconds=shift)
            assert api.patch(organization.path, caller=ada, json={"name": f"Name {n}"}).status == 200
        workers.deliver()
        entries = list_entries(api, organization)
        assert [(entry["sequence"], entry["data"]["version"]) for entry in entries] == [(n, n) for n in range(6, 0, -1)]

    def test_the_removal_of_a_member_follows_its_other_entries(self, api, organization, mary, clock):
        clock.shift(seconds=30)
        set_role(api, organization, mary, "editor")
        clock.shift(seconds=-30)
        remove_member(api, organization, mary)
        types = [entry["type"] for entry in list_entries(api, organization)]
        assert types[:2] == ["organization.member.removed", "organization.member.updated"]


def test_filters_apply_alone_and_combined(mixed_log, grace):
    entries = mixed_log.entries()
    for query in build_filter_queries(entries, "organization.updated", grace.id, mixed_log.id):
        matching = [entry for entry in entries if is_match(entry, query)]
        assert matching
        for limit in (2, 100):
            assert mixed_log.entries(limit=limit, **query) == matching, (query, limit)


def test_a_star_matches_all_types_with_the_prefix(mixed_log):
    counts = {
        "organization.member.*": 4,
        "organization.*": 18,
        "organization.api_key.*": 1,
        "organization.member": 0,
        "organization.invitation.accepted": 3,
        "organ.*": 0,
        "page.*": 0,
    }
    assert {pattern: len(mixed_log.entries(type=pattern)) for pattern in counts} == counts


def test_an_invalid_type_pattern_or_time_is_rejected(new_log):
    for pattern in ("*.member", "Organization.Updated", "organization*", "", "a b", "organization.*.x"):
        assert [*new_log.get(type=pattern).validation_errors] == ["query/type"], pattern
    local_times = ("2026-11-20T09:30:00", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00")
    for time in ("yesterday", "2026-13-01T00:00:00Z", "1763631000", "", *local_times):
        errors = new_log.get(**{"from": time, "to": time}).validation_errors
        assert set(errors) == {"query/from", "query/to"}, time


def test_a_range_that_starts_after_its_end_is_rejected_with_the_other_errors(new_log):
    latest = "2026-11-20T09:30:00Z"
    errors = {"query/from": "out_of_range", "query/limit": "out_of_range", "query/type": "malformed"}
    for earliest in ("2026-11-20T09:30:00.001Z", "2026-11-20T10:29:59-00:30"):
        response = new_log.get(**{"from": earliest, "to": latest, "limit": 0, "type": "*"})
        assert response.validation_errors == errors
        (range_error,) = (error for error in response.json["errors"] if error["pointer"] == "query/from")
        assert range_error["detail"] == "must not be after `to`"
    for earliest in (latest, "2026-11-20T10:30:00+01:00"):
        assert new_log.get(**{"from": earliest, "to": latest}).status == 200


def test_the_error_for_an_unescaped_plus_says_how_to_encode_it(api, new_log):
    owner, advice = new_log.organization.owner, "in a query `+` has to be sent as `%2B`"
    for offset in ("+01:00", "+0100", "+01"):
        path = f"{new_log.path}?from=2026-11-20T09:30:00.5{offset}"
        response = api.get(path, caller=owner)
        assert response.errors == {"query/from": "malformed"}
        assert response.json["errors"][0]["detail"].endswith(f"such as 2026-11-20T09:30:00Z; {advice}")
        assert api.get(path.replace("+", "%2B"), caller=owner).status == 200
    assert advice not in new_log.get(**{"from": "2026-11-20 09:30"}).text


def test_times_are_inclusive_and_accept_any_offset(api, ada, clock):
    time = clock.freeze("2026-11-20T09:30:00.500Z")
    organization = create_organization(api, ada)
    before = ("2026-11-20T09:30:00Z", "1970-01-01T00:00:00Z", "1960-01-01T00:00:00Z", "0001-01-01T00:00:00Z")
    matching_queries: list[Json] = [
        *({"from": earliest} for earliest in (time, "2026-11-20T10:30:00.5+01:00", *before)),
        *({"to": latest} for latest in (time, "2026-11-20T09:30:00.501Z", "9999-12-31T23:59:59Z")),
        {"from": time, "to": time},
    ]
    empty_queries: list[Json] = [
        *({"from": earliest} for earliest in ("2026-11-20T09:30:00.501Z", "9999-12-31T23:59:59Z")),
        *({"to": latest} for latest in ("2026-11-20T09:30:00.499Z", "2026-11-20T09:30:00Z", "1960-01-01T00:00:00Z")),
        {"from": "0001-01-01T00:00:00Z", "to": "0999-12-31T23:59:59Z"},
    ]
    assert [query for query in matching_queries if len(list_entries(api, organization, **query)) != 1] == []
    assert [query for query in empty_queries if list_entries(api, organization, **query)] == []


def test_ids_are_compared_case_insensitively_and_others_match_nothing(mixed_log, grace):
    assert mixed_log.entries(actorId=grace.id.upper()) == mixed_log.entries(actorId=grace.id)
    for query in ({"actorId": "nobody"}, {"targetId": "nothing"}, {"type": "page.created"}):
        assert mixed_log.get(**query).json == {"items": [], "nextCursor": None}


def test_a_facet_cannot_reach_another_log(api, mixed_log, stranger, workers):
    own_log, log_id = StoredLog(api, workers, create_organization(api, stranger)), mixed_log.id
    for value in (log_id, f"x#A#{log_id}", f"#T#{log_id}", "{log_id}", "%"):
        for query in ({"targetId": value}, {"actorId": value}):
            assert (own_log.entries(**query), own_log.get("/export", **query).text) == ([], "")


@pytest.mark.parametrize("filters", [{}, {"type": "organization.updated"}, {"type": "organization.*"}])
def test_a_filtered_page_takes_one_query_or_two_parallel_ones_for_a_target(new_log, filters):
    new_log.rename("Engines")
    owner = new_log.organization.owner
    for subjects, query_count in (
        ({}, 1),
        ({"actorId": owner.id}, 1),
        ({"targetId": new_log.id, "actorId": owner.id}, 2),
    ):
        response = new_log.get(**filters, **subjects)
        assert response.json["items"][0]["type"] == "organization.updated"
        assert response.calls.call_names == ["dynamodb:BatchGetItem", *["dynamodb:Query"] * query_count], subjects
        assert [call.is_concurrent for call in response.calls.call_list[1:]] == [query_count > 1] * query_count


SYSTEM_LOG = "/system/audit-log"


def list_system_entries(api: ApiClient, operator: Person, **query: object) -> list[Json]:
    return api.get_items(SYSTEM_LOG, caller=operator, query=query)


def log_id_of(target: str) -> str:
    """Return the id of the log of a target outside of any organization, as the documentation defines it."""
    return f"system-{crc32(target.encode()) % 16}"


@pytest.fixture
def posted_notice_ids(operator, aws):
    return cached_scenario(
        "posted", lambda: [sample_operations.create_notice(operator, f"Notice {n}") for n in range(40)]
    )


class TestSystemEntries:
    def test_an_operator_is_a_user_in_their_own_organization_whose_events_are_not_in_the_system_log(
        self, api, operator
    ):
        creation = api.post("/organizations", caller=operator, json={"name": "After work"})
        (entry,) = api.get_items(f"{creation.location}/audit-log", caller=operator)
        assert entry["actor"] == {"type": "user", "id": operator.id, "name": operator.name}
        response = api.get(SYSTEM_LOG, caller=operator)
        assert (response.json["items"], response.headers["Cache-Control"]) == ([], "no-store")

    def test_all_entries_about_a_target_are_in_the_log_that_its_id_selects(
        self, api, operator, workers, posted_notice_ids
    ):
        for n in range(3):
            sample_operations.update_notice(operator, posted_notice_ids[7], f"Revision {n}")
        workers.deliver()
        all_entries = list_system_entries(api, operator)
        key, items = api.get("/status").json["auditPublicKey"], snapshots.items_by_key()
        used_logs = {log_id_of(notice_id) for notice_id in posted_notice_ids}
        assert len(used_logs) > 8
        for log in used_logs & {*SYSTEM_LOGS}:
            entries = [entry for entry in all_entries if log_id_of(entry["target"]["id"]) == log]
            in_order = sorted(entries, key=lambda entry: entry["sequence"])
            assert [entry["sequence"] for entry in in_order] == [*range(1, len(entries) + 1)]
            leaves = [rfc6962.leaf_hash(entry) for entry in in_order]
            assert [leaf.hex() for leaf in leaves] == [entry["integrity"]["leafHash"] for entry in in_order]
            rfc6962.check_checkpoint(items[f"Q#{log}", "!"]["note"], log, leaves, key)

    def test_each_log_has_its_own_anchor(self, operator, workers, posted_notice_ids):
        sample_operations.update_notice(operator, posted_notice_ids[0], "Open again")
        workers.deliver()
        run_anchoring(workers)
        sizes = Counter(log_id_of(notice) for notice in [*posted_notice_ids, posted_notice_ids[0]])
        assert {log: anchored_sizes(log) for log in SYSTEM_LOGS} == {
            log: [sizes[log]] * bool(sizes[log]) for log in SYSTEM_LOGS
        }
        log, size = sizes.most_common(1)[0]
        assert read_anchor(log, size).startswith(f"atrium/{log}\n{size}\n")


class TestSystemPages:
    @pytest.mark.parametrize("limit", [4, 25, 100])
    def test_are_full_and_list_each_entry_once_while_the_log_grows(self, api, operator, posted_notice_ids, limit):
        pages, query = list[list[str]](), {"limit": limit}
        while query.get("cursor", "first"):
            page = api.get(SYSTEM_LOG, caller=operator, query=query).json
            pages.append([entry["target"]["id"] for entry in page["items"]])
            sample_operations.create_notice(operator, "While someone reads")
            query = {"limit": limit, "cursor": page["nextCursor"]}
        newest_first = posted_notice_ids[::-1]
        assert pages == [newest_first[start : start + limit] for start in range(0, len(newest_first), limit)]

    def test_do_not_divide_entries_of_one_timestamp(self, api, operator, clock):
        clock.freeze()
        notice_ids = [sample_operations.create_notice(operator) for _ in range(12)]
        entries = list_system_entries(api, operator, limit=3)
        assert Counter(entry["target"]["id"] for entry in entries) == Counter(notice_ids)
        assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)

    def test_contain_long_entries_of_any_log(self, api, operator):
        texts = [f"{n}" * 2000 for n in range(10)]
        for text in texts:
            sample_operations.update_notice(operator, sample_operations.create_notice(operator, text), text + "!")
        listed = [entry["data"]["text"] for entry in list_system_entries(api, operator, limit=6)]
        assert listed == [text + end for text in reversed(texts) for end in ("!", "")]


class TestSystemFilters:
    def test_apply_alone_and_together(self, api, operator, issuer, posted_notice_ids):
        other_operator = issuer.create_person("other", "Other Operator", groups=["operators"])
        for n in range(6):
            actor = (operator, other_operator)[n % 2]
            sample_operations.update_notice(actor, posted_notice_ids[n // 3], f"Revision {n}")
        entries = list_system_entries(api, operator)
        for query in build_filter_queries(entries, "notice.revised", other_operator.id, posted_notice_ids[1]):
            matching = [entry for entry in entries if is_match(entry, query)]
            assert matching
            for limit in (15, 100):
                assert list_system_entries(api, operator, limit=limit, **query) == matching, (query, limit)

    def test_by_target_reads_only_its_log(self, api, operator, posted_notice_ids):
        response = api.get(SYSTEM_LOG, caller=operator, query={"targetId": posted_notice_ids[3]})
        (entry,) = response.json["items"]
        assert entry["target"]["id"] == posted_notice_ids[3]
        assert response.calls.call_names == ["dynamodb:Query"]
