"""Many at the same moment, over HTTP, through the running service."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from tests.emulator.conftest import Calling, Joining
from tests.emulator.outside import Entry, entries_of, items_of, settled, whole_log
from tests.emulator.people import Caller, at_once

pytestmark = [pytest.mark.emulator, pytest.mark.xdist_group("emulator")]

MOST_KEYS: Final = 100
Send = Callable[[], httpx.Response]


@dataclass(frozen=True)
class Crowd:
    """200 who write to one organization at the same moment, what each was answered, and the log afterwards."""

    owner: Caller
    path: str
    updates: Sequence[httpx.Response]
    roles: Sequence[httpx.Response]
    keys: Sequence[httpx.Response]
    repeated: Sequence[httpx.Response]
    log: Sequence[Entry]

    @property
    def answers(self) -> Sequence[httpx.Response]:
        """All of them."""
        return [*self.updates, *self.roles, *self.keys, *self.repeated]


def _updates(owner: Caller, path: str) -> list[Send]:
    fields = ("companyName", "companyId", "companyAddress", "companyLegalName")
    return [partial(owner.patch, path, json={fields[n % 4]: f"Writer {n}"}) for n in range(40)]


def _role_changes(owner: Caller, path: str, members: Sequence[Caller]) -> list[Send]:
    return [
        partial(owner.patch, f"{path}/members/{member.id}", json={"role": role})
        for member in members
        for role in ("editor", "admin")
    ]


def _key_creations(owner: Caller, path: str) -> list[Send]:
    return [partial(owner.post, f"{path}/api-keys", json={"name": f"Key {n}"}) for n in range(110)]


def _repetitions(owner: Caller, path: str) -> list[Send]:
    once = {"Idempotency-Key": str(uuid4())}
    return [partial(owner.post, f"{path}/api-keys", json={"name": "Once"}, headers=once) for _ in range(10)]


@pytest.fixture(scope="module")
def crowd(calling_all_along: Calling, joining: Joining) -> Crowd:
    owner = calling_all_along("owner")
    organization = owner.makes_organization()
    path = f"/organizations/{organization}"
    members = [calling_all_along(f"member {n}") for n in range(20)]
    for member in members:
        joining(organization, member, "member")
    groups = [
        _updates(owner, path),
        _role_changes(owner, path, members),
        _key_creations(owner, path),
        _repetitions(owner, path),
    ]
    answers = iter(at_once(*(send for group in groups for send in group)))
    updates, roles, keys, repeated = ([next(answers) for _ in group] for group in groups)
    return Crowd(owner, path, updates, roles, keys, repeated, whole_log(owner, organization))


def _effective(answers: Sequence[httpx.Response]) -> list[httpx.Response]:
    return [answer for answer in answers if answer.is_success and "Idempotency-Replayed" not in answer.headers]


def test_what_was_acknowledged_is_in_the_log_once(crowd: Crowd) -> None:
    assert len(crowd.answers) == 200
    told = Counter(entry["context"]["requestId"] for entry in crowd.log)
    for answer in _effective(crowd.answers):
        assert told[answer.headers["X-Request-Id"]] == 1, answer.text


def test_what_was_refused_is_not_in_the_log(crowd: Crowd) -> None:
    told = {entry["context"]["requestId"] for entry in crowd.log}
    refused = [answer for answer in crowd.answers if not answer.is_success]
    assert {answer.json()["code"] for answer in refused} <= {"limit_exceeded", "conflict", "idempotency_in_progress"}
    assert not told & {answer.headers["X-Request-Id"] for answer in refused}


def test_no_update_is_lost(crowd: Crowd) -> None:
    entries = [entry for entry in crowd.log if entry["type"] == "organization.updated"]
    entries.sort(key=lambda entry: entry["data"]["version"])
    assert [entry["data"]["version"] for entry in entries] == list(range(2, len(_effective(crowd.updates)) + 2))
    fields: dict[str, Any] = {}
    for entry in entries:
        for change in entry["changes"]:
            assert change["from"] == fields.get(change["field"])
            fields[change["field"]] = change["to"]
    record = crowd.owner.get(crowd.path).json()
    assert record == entries[-1]["data"]
    assert fields.items() <= record.items()


def test_each_role_is_the_last_that_was_given(crowd: Crowd) -> None:
    entries = [entry for entry in crowd.log if entry["type"] == "organization.member.updated"]
    assert len(entries) == len(_effective(crowd.roles))
    entries.sort(key=lambda entry: entry["data"]["version"])
    last = {entry["target"]["id"]: entry["data"]["role"] for entry in entries}
    members = items_of(crowd.owner, f"{crowd.path}/members")
    assert last == {member["id"]: member["role"] for member in members if member["userId"] != crowd.owner.id}


def test_there_are_as_many_keys_as_were_given_out_and_as_are_allowed(crowd: Crowd) -> None:
    given_out = {answer.json()["id"] for answer in [*crowd.keys, *crowd.repeated] if answer.is_success}
    listed = items_of(crowd.owner, f"{crowd.path}/api-keys")
    assert given_out == {key["id"] for key in listed if key["status"] == "active"}
    assert len(given_out) == MOST_KEYS < len(crowd.keys)


def test_a_key_asked_for_ten_times_at_once_is_made_once(crowd: Crowd) -> None:
    answered = [answer for answer in crowd.repeated if answer.is_success]
    in_progress = [answer.json()["code"] for answer in crowd.repeated if not answer.is_success]
    assert set(in_progress) <= {"idempotency_in_progress", "limit_exceeded"}
    assert len({answer.content for answer in answered}) <= 1
    assert len(_effective(crowd.repeated)) == min(1, len(answered))


def _code(answer: httpx.Response) -> str:
    return str(answer.status_code if answer.is_success else answer.json()["code"])


def test_one_of_two_transfers_at_once_wins(calling: Calling, joining: Joining) -> None:
    ada, mary, grace = calling("ada"), calling("mary"), calling("grace")
    organization = ada.makes_organization()
    path, owners = f"/organizations/{organization}", {ada.id: ada, mary.id: mary, grace.id: grace}
    for successor in (mary, grace):
        joining(organization, successor, "member")
    for _ in range(5):
        owner = owners[ada.get(path).json()["ownerId"]]
        others = [successor.id for successor in owners.values() if successor is not owner]
        transfer = partial(owner.post, f"{path}/transfer-ownership")
        answers = at_once(*(partial(transfer, json={"newOwnerId": successor}) for successor in others))
        assert sorted(map(_code, answers)) == ["200", "insufficient_role"]
        (winner,) = (successor for successor, answer in zip(others, answers, strict=True) if answer.is_success)
        roles = {m["userId"]: m["role"] for m in ada.get(f"{path}/members").json()["items"]}
        assert [user for user, role in roles.items() if role == "owner"] == [winner]
        assert roles[owner.id] == "admin"
        assert ada.get(path).json()["ownerId"] == winner
    types = Counter(entry["type"] for entry in whole_log(ada, organization))
    assert types["organization.ownership_transferred"] == 5


def test_who_leaves_while_becoming_the_owner_has_left_or_owns(calling: Calling, joining: Joining) -> None:
    ada = calling("ada")
    for attempt in range(5):
        mary, organization = calling(f"mary {attempt}"), ada.makes_organization()
        path = f"/organizations/{organization}"
        joining(organization, mary, "admin")
        transferred, left = at_once(
            partial(ada.post, f"{path}/transfer-ownership", json={"newOwnerId": mary.id}),
            partial(mary.post, f"{path}/leave"),
        )
        outcome = (_code(transferred), _code(left))
        assert outcome in {("200", "owner_must_transfer"), ("validation_failed", "204")}
        roles = {member["userId"]: member["role"] for member in ada.get(f"{path}/members").json()["items"]}
        owned = {ada.id: "admin", mary.id: "owner"} if transferred.is_success else {ada.id: "owner"}
        assert roles == owned
        assert ada.get(path).json()["ownerId"] in {user for user, role in roles.items() if role == "owner"}


def test_one_of_many_gets_the_slug_that_all_want(calling: Calling) -> None:
    ada, slug = calling("ada"), f"wanted-{uuid4().hex[:8]}"
    named = {"name": "Wanted", "slug": slug}
    answers = at_once(*[partial(ada.post, "/organizations", json=named) for _ in range(12)])
    assert Counter(map(_code, answers)) == {"201": 1, "slug_taken": 11}
    assert [record["slug"] for record in ada.get("/organizations").json()["items"]] == [slug]

    other = f"wanted-{uuid4().hex[:8]}"
    paths = [f"/organizations/{ada.makes_organization()}" for _ in range(6)]
    answers = at_once(*(partial(ada.patch, path, json={"slug": other}) for path in paths))
    assert Counter(map(_code, answers)) == {"200": 1, "slug_taken": 5}
    (winner,) = (answer.json()["id"] for answer in answers if answer.is_success)
    assert ada.get(f"/organizations/by-slug/{other}").json()["id"] == winner
    for path in paths:
        changed = [entry["type"] for entry in whole_log(ada, path.rpartition("/")[2])]
        assert changed == ["organization.created", *(["organization.updated"] if path.endswith(winner) else [])]


def test_organizations_of_one_name_made_at_once_have_slugs_of_their_own(calling: Calling) -> None:
    ada, name = calling("ada"), f"Twins {uuid4().hex[:8]}"
    answers = at_once(*[partial(ada.post, "/organizations", json={"name": name}) for _ in range(8)])
    assert Counter(map(_code, answers)) == {"201": 8}
    assert len({answer.json()["slug"] for answer in answers}) == 8


def test_an_organization_asked_for_ten_times_at_once_is_made_once(calling: Calling) -> None:
    ada, once = calling("ada"), {"Idempotency-Key": str(uuid4())}
    answers = at_once(*[partial(ada.post, "/organizations", json={"name": "Once"}, headers=once) for _ in range(10)])
    assert {_code(answer) for answer in answers} <= {"201", "idempotency_in_progress"}
    made = [answer for answer in answers if answer.is_success]
    assert len({(answer.content, answer.headers["ETag"], answer.headers["Location"]) for answer in made}) == 1
    assert len(_effective(made)) == 1
    (record,) = ada.get("/organizations").json()["items"]
    assert record == made[0].json()


def test_of_many_who_saw_one_version_one_may_change_it(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    path = f"/organizations/{organization}"
    seen = {"If-Match": ada.get(path).headers["ETag"]}
    answers = at_once(*(partial(ada.patch, path, json={"name": f"Writer {n}"}, headers=seen) for n in range(10)))
    assert Counter(map(_code, answers)) == {"200": 1, "precondition_failed": 9}
    (winner,) = (answer.json() for answer in answers if answer.is_success)
    assert ada.get(path).json() == winner
    assert len(entries_of(ada, organization, type="organization.updated")) == 1


def test_a_key_revoked_by_many_at_once_makes_room_for_one(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    path = f"/organizations/{organization}/api-keys"
    create = partial(ada.post, path, json={"name": "Key"})
    keys = at_once(*[create for _ in range(MOST_KEYS)])
    assert {_code(answer) for answer in keys} == {"201"}
    revoked = at_once(*[partial(ada.delete, f"{path}/{keys[0].json()['id']}") for _ in range(5)])
    assert {_code(answer) for answer in revoked} == {"204"}
    assert Counter(map(_code, at_once(*[create for _ in range(5)]))) == {"201": 1, "limit_exceeded": 4}
    types = Counter(entry["type"] for entry in whole_log(ada, organization))
    assert types["organization.api_key.revoked"] == 1


def test_a_log_is_whole_at_every_moment_while_it_grows(calling: Calling) -> None:
    ada = calling("ada")
    for _ in range(20):
        organization = ada.makes_organization()
        ada.patch(f"/organizations/{organization}", json={"companyName": "Engines Ltd."})
        assert settled(ada, organization)["treeSize"] == 2


def test_a_key_rotated_by_two_at_once_opens_with_each_secret_given_out(calling: Calling) -> None:
    ada = calling("ada")
    organization = ada.makes_organization()
    path = f"/organizations/{organization}"
    key = ada.post(f"{path}/api-keys", json={"name": "Shared"}).json()
    rotate = partial(ada.post, f"{path}/api-keys/{key['id']}/rotate", json={})
    rotated = at_once(*[rotate for _ in range(4)])
    assert {_code(answer) for answer in rotated} == {"200"}
    secrets = {key["key"], *(answer.json()["key"] for answer in rotated)}
    assert len(secrets) == 5
    for secret in secrets:
        assert ada.get(path, headers={"Authorization": f"Bearer {secret}"}).status_code == 200
    assert len(whole_log(ada, organization)) == 6
