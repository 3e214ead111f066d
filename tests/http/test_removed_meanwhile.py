"""Whoever loses their role while they ask grants nothing that would outlive it."""

from collections.abc import Callable

import pytest

from tests.harness.api import Answer, Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.invitations import asked_to_invite, before_the_next_write, invite
from tests.harness.organizations import Founded, created_key, make_key

Ask = Callable[[], Answer]


@pytest.fixture(params=["make a key", "rotate a key", "invite", "invite again", "promote"])
def ask(
    request: pytest.FixtureRequest, api: Api, organization: Founded, grace: Person, mary: Person, clock: Clock
) -> Ask:
    """What an admin asks for who gives somebody something: a secret, a link, a role."""
    key = f"{organization.keys}/{make_key(api, organization).id}/rotate"
    again = f"{invite(api, organization, 'emmy@example.org').path}/resend"
    member = f"{organization.path}/members/{mary.id}"
    clock.shift(minutes=2)
    asks: dict[str, Ask] = {
        "make a key": lambda: created_key(api, organization, "admin", as_=grace),
        "rotate a key": lambda: api.post(key, as_=grace),
        "invite": lambda: asked_to_invite(api, organization, "sophie@example.org", as_=grace),
        "invite again": lambda: api.post(again, as_=grace),
        "promote": lambda: api.patch(member, as_=grace, json={"role": "editor"}),
    }
    return asks[request.param]


def test_who_is_removed_meanwhile_gets_nothing(
    api: Api, organization: Founded, grace: Person, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{organization.path}/members/{grace.id}"
    before_the_next_write(monkeypatch, lambda: api.delete(path, as_=organization.owner))
    assert ask().code == "404 not_found"
    newest = api.items(f"{organization.path}/audit-log", as_=organization.owner)[0]
    assert newest["type"] == "organization.member.removed"


def test_who_is_demoted_meanwhile_neither(
    api: Api, organization: Founded, grace: Person, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{organization.path}/members/{grace.id}"
    before_the_next_write(monkeypatch, lambda: api.patch(path, as_=organization.owner, json={"role": "editor"}))
    assert ask().code == "403 insufficient_role"


def test_who_stays_gets_it(ask: Ask) -> None:
    assert ask().status in (200, 201)
