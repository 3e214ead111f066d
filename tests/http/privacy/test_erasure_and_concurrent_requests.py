from itertools import count

import pytest

from tests.harness import snapshots
from tests.harness.audit_logs import verify_integrity
from tests.harness.erasures import create_erasure, finish_erasures, keys_of_items_containing
from tests.harness.faults import run_before_call
from tests.harness.invitations import SOPHIE_EMAIL


class TestConcurrentRequests:
    """Requests that the person starts as a member and that end after the erasure."""

    @pytest.mark.parametrize("method", ["PATCH", "POST keys", "POST invite", "PATCH member", "POST leave"])
    def test_a_request_interrupted_by_the_erasure_leaves_nothing(
        self, api, organization, grace, mary, workers, clock, method
    ):
        verb, resource = method.partition(" ")[::2]
        path, body = {
            "": (organization.path, {"name": "Late"}),
            "keys": (organization.api_keys_path, {"name": "Late"}),
            "invite": (f"{organization.path}/invite", {"email": SOPHIE_EMAIL}),
            "member": (f"{organization.path}/members/{mary.id}", {"role": "editor"}),
            "leave": (f"{organization.path}/leave", None),
        }[resource]
        workers.run_until_idle()
        before, statuses = snapshots.take_snapshot(), []
        for at in count(1):
            snapshots.restore_snapshot(before)
            create_erasure(api, organization, userId=grace.id)
            with run_before_call(workers.run_until_idle, call_number=at) as overtaking:
                statuses.append(api.request(verb, path, caller=grace, json=body).status)
            finish_erasures(workers, clock)
            assert keys_of_items_containing(grace.id, grace.email) == [], (
                f"before {overtaking.interrupted_call}, call {at}"
            )
            assert verify_integrity(api, organization)["valid"]
            if not overtaking.interrupted_call:
                break
        assert statuses[0] == 404
        assert statuses[-1] < 300
        assert at > 2
