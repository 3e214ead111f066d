"""Erased entries, and whoever can write to the table; and erasures of anybody out of any history."""

import base64
from dataclasses import dataclass
from typing import Final

import pytest

from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.logic.entry_verification import Fault
from chalicelib.features.audit.log.logic.log_verification import verify_next_window
from chalicelib.kernel.audit_log import redaction
from chalicelib.kernel.storage import table
from tests.catalogue import evidence
from tests.catalogue.conftest import Begin
from tests.catalogue.tenant_fixture import World
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock, ago
from tests.harness.cloud import Item
from tests.harness.erasures import begin_erasure, erased, left_of
from tests.harness.logs import alter, entry, leaf_of
from tests.harness.organizations import Founded, found, joins
from tests.harness.workers import Workers

SHORT, LONG, AFTERWARDS = 2, 3, 5
"""Sequences of a log: of two entries that were erased, and of a short one that was not."""

OTHER_KEY: Final = base64.b64encode(bytes(range(32, 64))).decode()
GONE: Final = ("body", "actor", "target", "seal", "facet1pk", "facet2pk")


@dataclass(frozen=True)
class Erased:
    """A log of whose entries two were erased; those as they were before, and the longer one's text."""

    organization: Founded
    before: dict[int, Item]
    text: Item

    def finding(self) -> Fault | None:
        """Return what verification finds."""
        return verify_next_window(self.organization.id, None, None).fault

    def now(self, sequence: int) -> Item:
        """Return an entry as it is stored now."""
        return entry(self.organization, sequence)


def somebody_erased(world: World) -> Erased:
    """Let a member, who changed something, be erased from an organization."""
    owner, member = world.people.owner, world.people.member
    with ago(minutes=9):
        organization = found(world.api, owner)
        joins(organization, member, "admin")
        world.api.patch(organization.path, as_=member, json={"companyAddress": "x" * 3900})
        for change in ({"companyAddress": None}, {"name": "Engines"}):
            world.api.patch(organization.path, as_=owner, json=change)
        world.workers.settle()
        before = {sequence: entry(organization, sequence) for sequence in (SHORT, LONG, AFTERWARDS)}
        (text,) = (item for item in cloud.stored() if item["sk"] == before[LONG]["sk"] and item["pk"].startswith("B#"))
        begin_erasure(world.api, organization, userId=member.id)
        world.workers.settle()
    with ago(minutes=6):
        world.workers.settle()
    return Erased(organization, before, text)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of the tests doesn't lag: a gap in it is a gap."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())


@pytest.fixture
def log(begin: Begin) -> Erased:
    made: Erased = begin(somebody_erased)
    assert made.finding() is None
    assert [made.now(sequence).get("erased") is not None for sequence in (SHORT, LONG, AFTERWARDS)] == [1, 1, 0]
    return made


class TestAnErasedEntry:
    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    @pytest.mark.parametrize("name", [*GONE, "outcome", "ttl", "index2pk", "duepk"])
    def test_to_which_something_is_added_is_found(self, log: Erased, sequence: int, name: str) -> None:
        for value in (log.before[sequence].get(name, "x"), "x", b"x", None):
            alter(log.now(sequence), **{name: value})
            assert log.finding() == Fault("modified", sequence)

    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("type", "organization.created"),
            ("created_at", "2020-01-01T00:00:00.000Z"),
            ("sequence", 1),
            ("updated_at", "2020-01-01T00:00:00.000Z"),
            ("id", "01939d3c-0000-7000-8000-00000000000a"),
            ("tree_size", 99),
            ("log_id", "01939d3c-0000-7000-8000-00000000000a"),
            ("leaf", bytes(32)),
            ("version", 2),
            ("kind", "x"),
            ("facet3pk", "x"),
            ("erased", bytes(64)),
            ("erased", b""),
            ("erased", True),
        ],
    )
    def test_that_is_altered_is_found(self, log: Erased, sequence: int, name: str, value: object) -> None:
        alter(log.now(sequence), **{name: value})
        assert log.finding() == Fault("modified", sequence)

    def test_whose_type_and_index_agree_on_something_else_is_found(self, log: Erased) -> None:
        kind = "organization.updated"
        alter(log.now(SHORT), type=kind, facet3pk=f"A#{log.organization.id}#E#{kind}")
        assert log.finding() == Fault("modified", SHORT)

    @pytest.mark.parametrize("sequence", [SHORT, LONG])
    def test_that_gets_its_text_back_is_found_although_the_text_is_right(self, log: Erased, sequence: int) -> None:
        rest = {name: value for name, value in log.now(sequence).items() if name != "erased"}
        was = log.before[sequence]
        cloud.put(rest)
        assert log.finding() == Fault("missing", sequence)
        cloud.put(log.text)
        cloud.put({**rest, **{name: was[name] for name in GONE if name in was and name != "seal"}})
        assert log.finding() == Fault("modified", sequence)

    def test_that_gets_another_text_is_found(self, log: Erased) -> None:
        was, body = log.before[AFTERWARDS], log.before[AFTERWARDS]["body"]
        rest = {name: value for name, value in log.now(SHORT).items() if name != "erased"}
        cloud.put({**rest, "body": body, "leaf": leaf_of(body), "seal": was["seal"]})
        assert log.finding() in (Fault("modified", SHORT), Fault("reordered", SHORT))

    def test_that_changes_places_with_another_is_found(self, log: Erased) -> None:
        one, other = log.now(SHORT), log.now(LONG)
        for names in (("sequence", "index1sk"), ("leaf",), ("erased",), ("leaf", "erased"), ("id",)):
            alter(one, **{name: other[name] for name in names})
            alter(other, **{name: one[name] for name in names})
            assert log.finding() == Fault("modified", SHORT), names

    def test_of_another_log_is_no_substitute(self, log: Erased, world: World) -> None:
        other = somebody_erased(world)
        theirs = other.now(SHORT)
        cloud.remove(log.now(SHORT))
        cloud.put({**theirs, "index1pk": f"A#{log.organization.id}#S"})
        assert log.finding() == Fault("modified", SHORT)


class TestAnEntryThatIsNotErased:
    """Somebody would like it to be."""

    def test_is_found_when_it_is_called_erased(self, log: Erased, world: World) -> None:
        item = log.now(AFTERWARDS)
        stays = {name: value for name, value in item.items() if name not in GONE}
        claims = [
            b"",
            b"x",
            bytes(64),
            item["seal"],
            item["leaf"],
            log.now(SHORT)["erased"],
            log.now(LONG)["erased"],
            somebody_erased(world).now(SHORT)["erased"],
            True,
            "erased",
            None,
        ]
        for claim in claims:
            for left in (item, stays, {**stays, "seal": item["seal"]}):
                cloud.put({**left, "erased": claim})
                assert log.finding() == Fault("modified", AFTERWARDS), claim

    def test_is_found_when_it_is_signed_by_another_key(self, log: Erased, configure: Configure) -> None:
        configure(audit_signing_key=OTHER_KEY)
        table.write_transaction(redaction.redact_entry(log.organization.id, log.now(AFTERWARDS), is_authentic=True))
        configure(audit_signing_key=base64.b64encode(bytes(range(32))).decode())
        assert log.finding() == Fault("modified", AFTERWARDS)

    def test_is_found_when_the_erasure_of_somebody_was_let_have_it(
        self, log: Erased, api: Api, workers: Workers, clock: Clock
    ) -> None:
        item = log.now(AFTERWARDS)
        alter(item, body=item["body"].replace(b"update_organization", b"sophie@example.org "))
        assert log.finding() == Fault("modified", AFTERWARDS)
        assert erased(api, workers, clock, log.organization, email="sophie@example.org")["erasedEntries"] == 1
        assert left_of("sophie@example.org") == []
        assert log.finding() == Fault("modified", AFTERWARDS)

    @pytest.mark.parametrize("body", [b"sophie@example.org", b'"sophie@example.org', b'{"a":"sophie@example.org"}'])
    def test_is_found_whatever_was_made_of_it(
        self, log: Erased, api: Api, workers: Workers, clock: Clock, body: bytes
    ) -> None:
        cloud.put({**log.now(AFTERWARDS), "body": body, "leaf": leaf_of(body)})
        assert erased(api, workers, clock, log.organization, email="sophie@example.org")["erasedEntries"] == 1
        assert left_of("sophie@example.org") == []
        assert log.finding() == Fault("modified", AFTERWARDS)

    def test_can_not_make_somebody_else_of_the_person(
        self, log: Erased, api: Api, grace: Person, edith: Person, workers: Workers, clock: Clock
    ) -> None:
        for person in (grace, edith):
            joins(log.organization, person, "member")
        workers.settle()
        (theirs,) = (e for e in evidence.entries() if e.log == log.organization.id and grace.email in str(e.body))
        item = log.now(theirs.sequence or 0)
        alter(item, body=item["body"].replace(grace.email.encode(), edith.email.encode()))
        erased(api, workers, clock, log.organization, email=edith.email)
        members = api.items(f"{log.organization.path}/members", as_=log.organization.owner)
        assert [member["username"] for member in members] == ["ada", "grace"]


class TestAKeyThatWasReplaced:
    @pytest.fixture(autouse=True)
    def _replaced(self, log: Erased, configure: Configure) -> None:
        assert log.finding() is None
        configure(audit_signing_key=OTHER_KEY, audit_former_public_keys=evidence.PUBLIC_KEY)

    def test_leaves_what_was_erased_before_as_it_was(self, log: Erased) -> None:
        assert log.finding() is None

    def test_lets_more_be_erased(self, log: Erased, api: Api, grace: Person, workers: Workers, clock: Clock) -> None:
        joins(log.organization, grace, "member")
        assert erased(api, workers, clock, log.organization, userId=grace.id)["erasedEntries"] == 1
        assert log.finding() is None

    def test_lets_nobody_call_an_entry_erased(self, log: Erased) -> None:
        item = log.now(AFTERWARDS)
        stays = {name: value for name, value in item.items() if name not in GONE}
        for claim in (item["seal"], item["seal"][:12] + bytes(16), item["seal"][:12] + bytes(52), bytes(64)):
            cloud.put({**stays, "erased": claim})
            assert log.finding() == Fault("modified", AFTERWARDS)

    def test_counts_no_more_once_it_is_no_longer_trusted(self, log: Erased, configure: Configure) -> None:
        configure(audit_former_public_keys="")
        assert not redaction.is_intact(log.organization.id, SHORT, log.now(SHORT))

    @pytest.mark.parametrize("body", [b"x", b"{}", b"[]", b'{"id":1}', b"\xff", b'{"id":"x","occurredAt":"x"}'])
    def test_vouches_for_no_bytes_that_are_no_entry(self, log: Erased, body: bytes) -> None:
        alter(log.now(AFTERWARDS), body=body, leaf=leaf_of(body))
        assert log.finding() == Fault("modified", AFTERWARDS)
