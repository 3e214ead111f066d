from collections import Counter
from zlib import crc32

import pytest

from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.harness import rfc6962, sample_operations, snapshots
from tests.harness.anchors import anchored_sizes, read_anchor, run_anchoring
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.http.audit.conftest import build_filter_queries, is_match

LOG = "/system/audit-log"


def list_entries(api: ApiClient, operator: Person, **query: object) -> list[Json]:
    return api.get_items(LOG, caller=operator, query=query)


def log_id_of(target: str) -> str:
    """Return the id of the log of a target outside of any organization, as the documentation defines it."""
    return f"system-{crc32(target.encode()) % 16}"


@pytest.fixture
def posted_notice_ids(operator, aws):
    """Return the ids of forty notices, in the order of their posting."""
    return cached_scenario(
        "posted", lambda: [sample_operations.create_notice(operator, f"Notice {n}") for n in range(40)]
    )


class TestEntries:
    def test_an_operators_action_has_an_operator_actor_and_no_organization(self, api, operator):
        notice = sample_operations.create_notice(operator, "Closed on Sunday")
        (entry,) = list_entries(api, operator)
        assert (entry["type"], entry["organizationId"]) == ("notice.posted", None)
        assert entry["actor"] == {"type": "operator", "id": operator.id, "name": operator.name}
        assert entry["target"] == {"type": "notice", "id": notice, "name": notice}
        assert entry["data"]["text"] == "Closed on Sunday"
        assert (entry["sequence"], entry["integrity"]) == (None, None)

    def test_an_operator_is_a_user_in_their_own_organization_whose_events_are_not_in_the_system_log(
        self, api, operator
    ):
        creation = api.post("/organizations", caller=operator, json={"name": "After work"})
        (entry,) = api.get_items(f"{creation.location}/audit-log", caller=operator)
        assert entry["actor"] == {"type": "user", "id": operator.id, "name": operator.name}
        response = api.get(LOG, caller=operator)
        assert (response.json["items"], response.headers["Cache-Control"]) == ([], "no-store")

    def test_all_entries_about_a_target_are_in_the_log_that_its_id_selects(
        self, api, operator, workers, posted_notice_ids
    ):
        for n in range(3):
            sample_operations.update_notice(operator, posted_notice_ids[7], f"Revision {n}")
        workers.deliver()
        all_entries = list_entries(api, operator)
        key, items = api.get("/status").json["auditPublicKey"], snapshots.items_by_key()
        used_logs = {log_id_of(notice_id) for notice_id in posted_notice_ids}
        assert len(used_logs) > 8
        for log in used_logs & {*SYSTEM_LOGS}:
            entries = [entry for entry in all_entries if log_id_of(entry["target"]["id"]) == log]
            in_order = sorted(entries, key=lambda entry: entry["sequence"])
            assert [entry["sequence"] for entry in in_order] == list(range(1, len(entries) + 1))
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


class TestPages:
    @pytest.mark.parametrize("limit", [4, 25, 100])
    def test_list_each_entry_once_newest_first_while_the_log_grows(self, api, operator, posted_notice_ids, limit):
        notice_ids, query = list[str](), {"limit": limit}
        while query.get("cursor", "first"):
            page = api.get(LOG, caller=operator, query=query).json
            assert len(page["items"]) <= limit
            notice_ids += [entry["target"]["id"] for entry in page["items"]]
            sample_operations.create_notice(operator, "While someone reads")
            query = {"limit": limit, "cursor": page["nextCursor"]}
        assert notice_ids == posted_notice_ids[::-1]

    def test_are_full_whichever_log_holds_the_entries(self, api, operator, posted_notice_ids):
        pages = api.get_pages(LOG, caller=operator, query={"limit": 10})
        assert [len(page["items"]) for page in pages] == [10] * (len(posted_notice_ids) // 10)

    def test_do_not_divide_entries_of_one_timestamp(self, api, operator, clock):
        clock.freeze()
        notice_ids = [sample_operations.create_notice(operator) for _ in range(12)]
        entries = list_entries(api, operator, limit=3)
        assert Counter(entry["target"]["id"] for entry in entries) == Counter(notice_ids)
        assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)

    def test_contain_long_entries_of_any_log(self, api, operator):
        texts = [f"{n}" * 2000 for n in range(10)]
        for text in texts:
            sample_operations.update_notice(operator, sample_operations.create_notice(operator, text), text + "!")
        listed = [entry["data"]["text"] for entry in list_entries(api, operator, limit=6)]
        assert listed == [text + end for text in reversed(texts) for end in ("!", "")]


class TestFilters:
    def test_apply_alone_and_together(self, api, operator, issuer, posted_notice_ids):
        other_operator = issuer.create_person("other", "Other Operator", groups=["operators"])
        for n in range(6):
            actor = (operator, other_operator)[n % 2]
            sample_operations.update_notice(actor, posted_notice_ids[n // 3], f"Revision {n}")
        entries = list_entries(api, operator)
        for query in build_filter_queries(entries, "notice.revised", other_operator.id, posted_notice_ids[1]):
            matching = [entry for entry in entries if is_match(entry, query)]
            assert matching
            for limit in (15, 100):
                assert list_entries(api, operator, limit=limit, **query) == matching, (query, limit)

    def test_by_target_reads_only_its_log(self, api, operator, posted_notice_ids):
        response = api.get(LOG, caller=operator, query={"targetId": posted_notice_ids[3]})
        (entry,) = response.json["items"]
        assert entry["target"]["id"] == posted_notice_ids[3]
        assert response.calls.call_names == ["dynamodb:Query"]

    def test_a_cursor_is_valid_only_for_its_filters(self, api, operator, posted_notice_ids):
        first = api.get(LOG, caller=operator, query={"limit": 1, "type": "notice.posted"}).json
        cursor = {"limit": 1, "cursor": first["nextCursor"]}
        next_entries = api.get(LOG, caller=operator, query={**cursor, "type": "notice.posted"}).json["items"]
        assert [entry["target"]["id"] for entry in next_entries] == [posted_notice_ids[-2]]
        assert api.get(LOG, caller=operator, query=cursor).status_and_code == "400 invalid_cursor"
