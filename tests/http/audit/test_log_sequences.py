"""The sequence and the time of log entries."""

from datetime import UTC, datetime, timedelta

from chalicelib.kernel.core import clock as clocks
from tests.harness import memory_aws
from tests.harness.audit_logs import list_entries
from tests.harness.organizations import create_organization


class TestSequences:
    def test_sequences_are_dense_from_1_in_the_order_of_arrival(self, api, ada, workers):
        organization = create_organization(api, ada)
        for n in range(5):
            api.patch(organization.path, caller=ada, json={"name": f"Name {n}"})
        workers.deliver()
        assert [entry["sequence"] for entry in reversed(list_entries(api, organization))] == [1, 2, 3, 4, 5, 6]

    def test_the_entries_of_a_record_stay_in_order_despite_clock_skew(self, api, ada, workers, clock):
        organization = create_organization(api, ada)
        for n, shift in enumerate((30, -60, 45, -20, 5)):
            clock.shift(seconds=shift)
            assert api.patch(organization.path, caller=ada, json={"name": f"Name {n}"}).status == 200
        workers.deliver()
        entries = list_entries(api, organization)
        in_tree = sorted(entries, key=lambda entry: entry["sequence"])
        assert [entry["data"]["version"] for entry in in_tree] == [1, 2, 3, 4, 5, 6]
        assert [entry["data"]["version"] for entry in entries] == [6, 5, 4, 3, 2, 1]

    def test_the_removal_of_a_member_follows_its_other_entries(self, api, organization, mary, clock):
        path = f"{organization.path}/members/{mary.id}"
        clock.shift(seconds=30)
        api.patch(path, caller=organization.owner, json={"role": "editor"})
        clock.shift(seconds=-30)
        api.delete(path, caller=organization.owner)
        types = [entry["type"] for entry in list_entries(api, organization)]
        assert types[:2] == ["organization.member.removed", "organization.member.updated"]

    def test_occurred_at_is_the_current_time(self, api, ada):
        timestamp = clocks.timestamp_ms(list_entries(api, create_organization(api, ada))[0]["occurredAt"]) / 1000
        assert abs(datetime.now(UTC) - datetime.fromtimestamp(timestamp, UTC)) < timedelta(seconds=5)

    def test_no_item_of_a_log_expires(self, api, organization, workers):
        workers.deliver()
        assert not [item for item in memory_aws.all_items() if item["pk"][0] in "AQB" and "ttl" in item]
        assert list_entries(api, organization)
