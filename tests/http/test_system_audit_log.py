from collections import Counter
from collections.abc import Callable
from zlib import crc32

import pytest

from chalicelib.kernel.storage.entity import SYSTEM_LOGS
from tests.harness import notices, rfc6962, snapshots
from tests.harness.anchors import anchor, anchored, read
from tests.harness.api import Api, Json
from tests.harness.callers import Issuer, Person
from tests.harness.clock import Clock
from tests.harness.organizations import Founded, make_key
from tests.harness.scenes import scene
from tests.harness.workers import Workers

LOG = "/system/audit-log"


def listed(api: Api, operator: Person, **query: object) -> list[Json]:
    return api.items(LOG, as_=operator, query=query)


def log_of(target: str) -> str:
    """The log that holds what happened to something outside of any organization, as the interface says it."""
    return f"system-{crc32(target.encode()) % 16}"


@pytest.fixture
def posted(operator: Person, _aws: None) -> list[str]:
    """The ids of forty notices, in the order they were posted."""
    return scene("posted", lambda: [notices.post(operator, f"Notice {n}") for n in range(40)])


class TestEntries:
    def test_what_an_operator_does_is_told_as_theirs_and_as_nobodys_organizations(
        self, api: Api, operator: Person
    ) -> None:
        notice = notices.post(operator, "Closed on Sunday")
        (entry,) = listed(api, operator)
        assert (entry["type"], entry["organizationId"]) == ("notice.posted", None)
        assert entry["actor"] == {"type": "operator", "id": operator.id, "name": operator.name}
        assert entry["target"] == {"type": "notice", "id": notice, "name": notice}
        assert entry["data"]["text"] == "Closed on Sunday"
        assert (entry["sequence"], entry["integrity"]) == (None, None)

    def test_in_their_own_organization_an_operator_is_a_user(self, api: Api, operator: Person) -> None:
        made = api.post("/organizations", as_=operator, json={"name": "After work"})
        (entry,) = api.items(f"{made.location}/audit-log", as_=operator)
        assert entry["actor"] == {"type": "user", "id": operator.id, "name": operator.name}
        assert listed(api, operator) == []

    def test_all_about_one_thing_is_in_one_log_that_its_id_tells(
        self, api: Api, operator: Person, workers: Workers, posted: list[str]
    ) -> None:
        for n in range(3):
            notices.revise(operator, posted[7], f"Revision {n}")
        workers.deliver()
        held: dict[str, list[Json]] = {log: [] for log in SYSTEM_LOGS}
        for entry in reversed(listed(api, operator)):
            held[log_of(entry["target"]["id"])].append(entry)
        assert sum(bool(entries) for entries in held.values()) > 8
        key, items = api.get("/status").json["auditPublicKey"], snapshots.stored()
        for log, entries in held.items():
            in_order = sorted(entries, key=lambda entry: entry["sequence"])
            assert [entry["sequence"] for entry in in_order] == list(range(1, len(entries) + 1))
            leaves = [rfc6962.leaf_hash(entry) for entry in in_order]
            assert [leaf.hex() for leaf in leaves] == [entry["integrity"]["leafHash"] for entry in in_order]
            if entries:
                rfc6962.check_note(items[f"Q#{log}", "!"]["note"], log, leaves, key)

    def test_its_heads_are_anchored_each_for_itself(
        self, operator: Person, workers: Workers, posted: list[str]
    ) -> None:
        notices.revise(operator, posted[0], "Open again")
        workers.deliver()
        anchor(workers)
        sizes = Counter(log_of(notice) for notice in [*posted, posted[0]])
        assert {log: anchored(log) for log in SYSTEM_LOGS} == {
            log: [sizes[log]] * bool(sizes[log]) for log in SYSTEM_LOGS
        }
        log, size = sizes.most_common(1)[0]
        assert read(log, size).startswith(f"atrium/{log}\n{size}\n")


class TestWhoReadsIt:
    def test_operators_do_and_nobody_else(self, api: Api, organization: Founded, ada: Person, operator: Person) -> None:
        notice = notices.post(operator)
        assert [entry["target"]["id"] for entry in listed(api, operator)] == [notice]
        assert api.get(LOG, as_=ada).code == "403 forbidden"
        assert api.get(LOG, as_=make_key(api, organization, "admin")).code == "403 forbidden"
        assert api.get(LOG).code == "401 unauthenticated"

    def test_no_cache_keeps_it(self, api: Api, operator: Person) -> None:
        assert api.get(LOG, as_=operator).headers["Cache-Control"] == "no-store"

    @pytest.mark.usefixtures("organization")
    def test_what_happens_in_organizations_is_not_there(self, api: Api, operator: Person) -> None:
        assert listed(api, operator) == []


class TestPages:
    @pytest.mark.parametrize("limit", [4, 25, 100])
    def test_all_come_once_the_newest_first_also_while_it_grows(
        self, api: Api, operator: Person, posted: list[str], limit: int
    ) -> None:
        seen, cursor = list[str](), dict[str, str]()
        while True:
            page = api.get(LOG, as_=operator, query={"limit": limit, **cursor}).json
            assert len(page["items"]) <= limit
            seen += [entry["target"]["id"] for entry in page["items"]]
            notices.post(operator, "While someone reads")
            if page["nextCursor"] is None:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert seen == posted[::-1]

    def test_a_page_is_full_wherever_its_entries_are(self, api: Api, operator: Person, posted: list[str]) -> None:
        pages = api.pages(LOG, as_=operator, query={"limit": 10})
        assert [len(page["items"]) for page in pages] == [10] * (len(posted) // 10)

    def test_what_happened_at_one_moment_is_split_at_none(self, api: Api, operator: Person, clock: Clock) -> None:
        clock.freeze()
        at_once = [notices.post(operator) for _ in range(20)]
        entries = listed(api, operator, limit=3)
        assert Counter(entry["target"]["id"] for entry in entries) == Counter(at_once)
        assert [entry["id"] for entry in entries] == sorted((entry["id"] for entry in entries), reverse=True)

    def test_long_entries_are_whole_whichever_log_holds_them(self, api: Api, operator: Person) -> None:
        for n in range(20):
            notices.revise(operator, notices.post(operator, f"{n}" * 2000), f"{n}" * 2000 + "!")
        texts = [entry["data"]["text"] for entry in listed(api, operator, limit=9)]
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
    def test_each_and_all_together(
        self, api: Api, operator: Person, issuer: Issuer, posted: list[str], names: tuple[str, ...], limit: int
    ) -> None:
        other = issuer.person("other", "Other Operator", groups=["operators"])
        for n in range(6):
            notices.revise((operator, other)[n % 2], posted[n // 3], f"Revision {n}")
        whole = listed(api, operator)
        moments = sorted(entry["occurredAt"] for entry in whole)
        values = {
            "type": "notice.revised",
            "area": "notice.*",
            "actorId": other.id,
            "targetId": posted[1],
            "from": moments[1],
            "to": moments[-2],
        }
        conditions: dict[str, Callable[[Json], bool]] = {
            "type": lambda e: e["type"] == "notice.revised",
            "area": lambda _: True,
            "actorId": lambda e: e["actor"]["id"] == other.id,
            "targetId": lambda e: e["target"]["id"] == posted[1],
            "from": lambda e: e["occurredAt"] >= moments[1],
            "to": lambda e: e["occurredAt"] <= moments[-2],
        }
        wanted = [entry for entry in whole if all(conditions[name](entry) for name in names)]
        assert wanted
        query = {"type" if name == "area" else name: values[name] for name in names}
        assert listed(api, operator, limit=limit, **query) == wanted

    def test_of_one_target_only_its_own_log_is_read(self, api: Api, operator: Person, posted: list[str]) -> None:
        (entry,) = api.get(LOG, as_=operator, query={"targetId": posted[3]}).json["items"]
        assert entry["target"]["id"] == posted[3]
        assert api.get(LOG, as_=operator, query={"targetId": posted[3]}).calls.names == ["dynamodb:Query"]

    def test_a_cursor_is_good_for_its_filters_only(self, api: Api, operator: Person, posted: list[str]) -> None:
        first = api.get(LOG, as_=operator, query={"limit": 1, "type": "notice.posted"}).json
        cursor = {"limit": 1, "cursor": first["nextCursor"]}
        following = api.get(LOG, as_=operator, query={**cursor, "type": "notice.posted"}).json["items"]
        assert [entry["target"]["id"] for entry in following] == [posted[-2]]
        assert api.get(LOG, as_=operator, query=cursor).code == "400 invalid_cursor"
