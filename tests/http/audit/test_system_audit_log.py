from collections import Counter
from collections.abc import Callable
from zlib import crc32

import pytest

from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.harness import rfc6962, sample_operations, snapshots
from tests.harness.anchors import anchored_sizes, read_anchor, run_anchoring
from tests.harness.api import ApiClient, Json
from tests.harness.cached_scenarios import cached_scenario
from tests.harness.callers import Person
from tests.harness.organizations import create_api_key

LOG = "/system/audit-log"


def list_entries(api: ApiClient, operator: Person, **query: object) -> list[Json]:
    return api.get_items(LOG, caller=operator, query=query)


def log_id_of(target: str) -> str:
    """Return the id of the log of a target outside of any organization, as the documentation defines it."""
    return f"system-{crc32(target.encode()) % 16}"


@pytest.fixture
def posted_notice_ids(operator: Person, _aws: None) -> list[str]:
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

    def test_an_operator_is_a_user_in_their_own_organization(self, api, operator):
        creation = api.post("/organizations", caller=operator, json={"name": "After work"})
        (entry,) = api.get_items(f"{creation.location}/audit-log", caller=operator)
        assert entry["actor"] == {"type": "user", "id": operator.id, "name": operator.name}
        assert list_entries(api, operator) == []

    def test_all_entries_about_a_target_are_in_the_log_that_its_id_selects(
        self, api, operator, workers, posted_notice_ids
    ):
        for n in range(3):
            sample_operations.update_notice(operator, posted_notice_ids[7], f"Revision {n}")
        workers.deliver()
        entries_by_log: dict[str, list[Json]] = {log: [] for log in SYSTEM_LOGS}
        for entry in reversed(list_entries(api, operator)):
            entries_by_log[log_id_of(entry["target"]["id"])].append(entry)
        assert sum(bool(entries) for entries in entries_by_log.values()) > 8
        key, items = api.get("/status").json["auditPublicKey"], snapshots.items_by_key()
        for log, entries in entries_by_log.items():
            in_order = sorted(entries, key=lambda entry: entry["sequence"])
            assert [entry["sequence"] for entry in in_order] == list(range(1, len(entries) + 1))
            leaves = [rfc6962.leaf_hash(entry) for entry in in_order]
            assert [leaf.hex() for leaf in leaves] == [entry["integrity"]["leafHash"] for entry in in_order]
            if entries:
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


class TestAccess:
    def test_only_operators_read_it(self, api, organization, ada, operator):
        notice = sample_operations.create_notice(operator)
        assert [entry["target"]["id"] for entry in list_entries(api, operator)] == [notice]
        assert api.get(LOG, caller=ada).status_and_code == "403 forbidden"
        assert api.get(LOG, caller=create_api_key(api, organization, "admin")).status_and_code == "403 forbidden"
        assert api.get(LOG).status_and_code == "401 unauthenticated"

    def test_is_not_cacheable(self, api, operator):
        assert api.get(LOG, caller=operator).headers["Cache-Control"] == "no-store"

    @pytest.mark.usefixtures("organization")
    def test_excludes_events_of_organizations(self, api, operator):
        assert list_entries(api, operator) == []


class TestPages:
    @pytest.mark.parametrize("limit", [4, 25, 100])
    def test_list_each_entry_once_newest_first_while_the_log_grows(self, api, operator, posted_notice_ids, limit):
        notice_ids, cursor = list[str](), dict[str, str]()
        while True:
            page = api.get(LOG, caller=operator, query={"limit": limit, **cursor}).json
            assert len(page["items"]) <= limit
            notice_ids += [entry["target"]["id"] for entry in page["items"]]
            sample_operations.create_notice(operator, "While someone reads")
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert notice_ids == posted_notice_ids[::-1]

    def test_are_full_whichever_log_holds_the_entries(self, api, operator, posted_notice_ids):
        pages = api.get_pages(LOG, caller=operator, query={"limit": 10})
        assert [len(page["items"]) for page in pages] == [10] * (len(posted_notice_ids) // 10)

    def test_do_not_divide_entries_of_one_timestamp(self, api, operator, clock):
        clock.freeze()
        notice_ids = [sample_operations.create_notice(operator) for _ in range(20)]
        entries = list_entries(api, operator, limit=3)
        assert Counter(entry["target"]["id"] for entry in entries) == Counter(notice_ids)
        assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)

    def test_contain_long_entries_of_any_log(self, api, operator):
        for n in range(20):
            sample_operations.update_notice(
                operator, sample_operations.create_notice(operator, f"{n}" * 2000), f"{n}" * 2000 + "!"
            )
        texts = [entry["data"]["text"] for entry in list_entries(api, operator, limit=9)]
        assert texts == [f"{n}" * 2000 + end for n in reversed(range(20)) for end in ("!", "")]


class TestFilters:
    @pytest.mark.parametrize("limit", [3, 100])
    @pytest.mark.parametrize(
        "names",
        [
            ("type",),
            ("area",),
            ("actorId",),
            ("targetId",),
            ("from",),
            ("to",),
            ("from", "to"),
            ("type", "targetId"),
            ("area", "from"),
            ("type", "actorId", "targetId", "from", "to"),
        ],
    )
    def test_apply_alone_and_together(self, api, operator, issuer, posted_notice_ids, names, limit):
        other_operator = issuer.create_person("other", "Other Operator", groups=["operators"])
        for n in range(6):
            sample_operations.update_notice(
                (operator, other_operator)[n % 2], posted_notice_ids[n // 3], f"Revision {n}"
            )
        all_entries = list_entries(api, operator)
        timestamps = sorted(entry["occurredAt"] for entry in all_entries)
        values = {
            "type": "notice.revised",
            "area": "notice.*",
            "actorId": other_operator.id,
            "targetId": posted_notice_ids[1],
            "from": timestamps[1],
            "to": timestamps[-2],
        }
        conditions: dict[str, Callable[[Json], bool]] = {
            "type": lambda entry: entry["type"] == "notice.revised",
            "area": lambda _: True,
            "actorId": lambda entry: entry["actor"]["id"] == other_operator.id,
            "targetId": lambda entry: entry["target"]["id"] == posted_notice_ids[1],
            "from": lambda entry: entry["occurredAt"] >= timestamps[1],
            "to": lambda entry: entry["occurredAt"] <= timestamps[-2],
        }
        expected_entries = [entry for entry in all_entries if all(conditions[name](entry) for name in names)]
        assert expected_entries
        query = {"type" if name == "area" else name: values[name] for name in names}
        assert list_entries(api, operator, limit=limit, **query) == expected_entries

    def test_by_target_reads_only_its_log(self, api, operator, posted_notice_ids):
        (entry,) = api.get(LOG, caller=operator, query={"targetId": posted_notice_ids[3]}).json["items"]
        assert entry["target"]["id"] == posted_notice_ids[3]
        assert api.get(LOG, caller=operator, query={"targetId": posted_notice_ids[3]}).calls.call_names == [
            "dynamodb:Query"
        ]

    def test_a_cursor_is_valid_only_for_its_filters(self, api, operator, posted_notice_ids):
        first = api.get(LOG, caller=operator, query={"limit": 1, "type": "notice.posted"}).json
        cursor = {"limit": 1, "cursor": first["nextCursor"]}
        next_entries = api.get(LOG, caller=operator, query={**cursor, "type": "notice.posted"}).json["items"]
        assert [entry["target"]["id"] for entry in next_entries] == [posted_notice_ids[-2]]
        assert api.get(LOG, caller=operator, query=cursor).status_and_code == "400 invalid_cursor"
