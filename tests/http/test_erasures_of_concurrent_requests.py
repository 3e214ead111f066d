from itertools import count

import pytest

from tests.harness import snapshots
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.erasures import begin_erasure, finish, left_of
from tests.harness.faults import overtaken
from tests.harness.invitations import SOPHIE
from tests.harness.logs import verify
from tests.harness.organizations import Founded
from tests.harness.workers import Workers


class TestConcurrentRequests:
    """Requests that the person starts as a member and that end after the erasure."""

    @pytest.mark.parametrize("method", ["PATCH", "POST keys", "POST invite", "PATCH member", "POST leave"])
    def test_a_request_interrupted_by_the_erasure_leaves_nothing(
        self, api: Api, organization: Founded, grace: Person, mary: Person, workers: Workers, clock: Clock, method: str
    ) -> None:
        verb, resource = method.partition(" ")[::2]
        path, body = {
            "": (organization.path, {"name": "Late"}),
            "keys": (organization.keys, {"name": "Late"}),
            "invite": (f"{organization.path}/invite", {"email": SOPHIE}),
            "member": (f"{organization.path}/members/{mary.id}", {"role": "editor"}),
            "leave": (f"{organization.path}/leave", None),
        }[resource]
        workers.settle()
        before, statuses = snapshots.taken(), []
        for at in count(1):
            snapshots.put_back(before)
            begin_erasure(api, organization, userId=grace.id)
            with overtaken(workers.settle, at=at) as overtaking:
                statuses.append(api.request(verb, path, as_=grace, json=body).status)
            finish(workers, clock)
            assert left_of(grace.id, grace.email) == [], f"before {overtaking.hit}, call {at}"
            assert verify(api, organization)["valid"]
            if not overtaking.hit:
                break
        assert statuses[0] == 404
        assert statuses[-1] < 300
        assert at > 2
