"""Whoever can write to the table takes an entry away before it is in the tree: verification counts it."""

from itertools import count
from typing import Any

import pytest

from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from tests.conftest import Configure
from tests.harness import cloud
from tests.harness.api import Api, Json
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.cloud import Item
from tests.harness.logs import alter, head, verify
from tests.harness.organizations import Founded
from tests.harness.organizations import found as found_organization
from tests.harness.webhooks import rename
from tests.harness.workers import Workers

SHARD = 3
_numbers = count()

pytestmark = pytest.mark.usefixtures("impatient")


@pytest.fixture(autouse=True)
def one_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """All mutations extend one chain, whose every state a test knows."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [SHARD])


@pytest.fixture
def organization(api: Api, ada: Person) -> Founded:
    """An organization all of whose changes were made in this test, in the one chain."""
    return found_organization(api, ada)


@pytest.fixture
def sealed(organization: Founded, workers: Workers) -> Founded:
    """An organization all of whose entries are in the tree."""
    workers.deliver()
    return organization


def chain(organization: Founded) -> Item:
    return dict(next(i for i in cloud.stored() if (i["pk"], i["sk"]) == chain_key(organization.id, SHARD)))


def waiting(organization: Founded) -> list[Item]:
    pointers = [i for i in cloud.stored() if i["pk"] == f"Q#{organization.id}" and "leaf" in i]
    return sorted(pointers, key=lambda pointer: str(pointer["sk"]))


def change(api: Api, organization: Founded) -> Item:
    """Make a change; return the pointer to its entry."""
    before = [pointer["sk"] for pointer in waiting(organization)]
    rename(api, organization, f"Name {next(_numbers)}")
    (pointer,) = (each for each in waiting(organization) if each["sk"] not in before)
    return pointer


def suppress(organization: Founded, pointer: Item) -> None:
    """Remove an entry with its pointer."""
    cloud.remove(pointer)
    cloud.remove({"pk": f"A#{organization.id}", "sk": pointer["sk"]})


def found(api: Api, organization: Founded) -> tuple[object, object, object]:
    report: Json = verify(api, organization)
    assert report["valid"] == (report["failure"] is None and report["suppressed"] == 0)
    return report["failure"], report["firstInvalidSequence"], report["suppressed"]


WHOLE = (None, None, 0)


class TestASuppressedEntry:
    def test_is_counted_at_once_and_from_then_on(self, api: Api, sealed: Founded, workers: Workers) -> None:
        suppress(sealed, change(api, sealed))
        assert found(api, sealed) == (None, None, 1)
        change(api, sealed)
        assert found(api, sealed) == (None, None, 1)
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)
        change(api, sealed)
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)

    def test_is_counted_though_the_log_was_never_appended(self, api: Api, organization: Founded) -> None:
        suppress(organization, change(api, organization))
        assert found(api, organization) == (None, None, 1)

    @pytest.mark.parametrize("which", [(0,), (2,), (4,), (0, 1), (1, 3), (0, 1, 2, 3, 4)])
    def test_is_counted_wherever_it_was(
        self, which: tuple[int, ...], api: Api, sealed: Founded, workers: Workers
    ) -> None:
        made = [change(api, sealed) for _ in range(5)]
        for n in which:
            suppress(sealed, made[n])
        assert found(api, sealed) == (None, None, len(which))
        workers.deliver()
        assert found(api, sealed) == (None, None, len(which))

    def test_is_counted_though_its_pointer_is_left(self, api: Api, sealed: Founded, workers: Workers) -> None:
        pointer = change(api, sealed)
        cloud.remove({"pk": f"A#{sealed.id}", "sk": pointer["sk"]})
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)

    def test_that_comes_back_late_is_none(self, api: Api, sealed: Founded, workers: Workers) -> None:
        pointer = change(api, sealed)
        change(api, sealed)
        cloud.remove(pointer)
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)
        cloud.put(pointer)
        assert found(api, sealed) == WHOLE
        workers.deliver()
        assert found(api, sealed) == WHOLE

    def test_is_counted_once_by_a_verification_in_windows(
        self, api: Api, sealed: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        suppress(sealed, change(api, sealed))
        change(api, sealed)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.audit.log.logic.log_verification.WINDOW_ENTRIES", 1)
        first = verify(api, sealed)
        last = verify(api, sealed, cursor=first["nextCursor"])
        assert [first["suppressed"], last["suppressed"], last["valid"]] == [1, 1, False]

    def test_is_counted_though_its_pointer_is_put_back(self, api: Api, sealed: Founded, workers: Workers) -> None:
        pointer = change(api, sealed)
        suppress(sealed, pointer)
        change(api, sealed)
        workers.deliver()
        cloud.put({name: value for name, value in pointer.items() if name not in ("duepk", "duesk")})
        assert found(api, sealed) == (None, None, 1)

    def test_is_counted_though_its_pointer_is_left_and_nothing_is_due_of_it(self, api: Api, sealed: Founded) -> None:
        pointer = change(api, sealed)
        suppress(sealed, pointer)
        cloud.put({name: value for name, value in pointer.items() if name not in ("duepk", "duesk")})
        assert found(api, sealed) == (None, None, 1)

    def test_is_counted_though_chains_fill_a_page(self, api: Api, sealed: Founded, workers: Workers) -> None:
        suppress(sealed, change(api, sealed))
        change(api, sealed)
        size = head(sealed)["size"]
        for shard in range(10, 15):
            pk, sk = chain_key(sealed.id, shard)
            cloud.put({"pk": pk, "sk": sk, "more": "x" * 380_000})
        assert found(api, sealed) == (None, None, 1)
        workers.deliver()
        assert head(sealed)["size"] == size + 1
        assert found(api, sealed) == (None, None, 1)


class TestATransactionThatIsSeenHalfDone:
    """A Query is not atomic: it may show what one transaction wrote to one item and not yet to another."""

    @pytest.fixture
    def hidden(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Ids of entries whose pointers the next Query of an outbox does not show."""
        ids, query = list[str](), table.query

        def torn(where: str | Partition, **words: Any) -> table.QueryResult:
            answer = query(where, **words)
            if not (isinstance(where, str) and where.startswith("Q#") and ids):
                return answer
            shown = [item for item in answer.items if item["sk"] not in ids]
            ids.clear()
            return table.QueryResult(shown, answer.last_evaluated_key)

        monkeypatch.setattr(table, "query", torn)
        return ids

    def test_is_looked_for_again(self, api: Api, sealed: Founded, hidden: list[str]) -> None:
        hidden.append(change(api, sealed)["sk"])
        assert found(api, sealed) == WHOLE

    def test_is_in_the_first_statement_of_a_log(
        self, api: Api, sealed: Founded, hidden: list[str], workers: Workers
    ) -> None:
        cloud.put({name: value for name, value in head(sealed).items() if name != "chains"})
        change(api, sealed)
        hidden.append(change(api, sealed)["sk"])
        workers.deliver()
        assert "lost 0\n" in head(sealed)["chains"]
        assert "gap" not in head(sealed)["chains"]


class TestOlderCopies:
    def test_of_a_chain_are_found_once_its_entries_are_in_the_tree(
        self, api: Api, sealed: Founded, workers: Workers
    ) -> None:
        older = chain(sealed)
        change(api, sealed)
        workers.deliver()
        cloud.put(older)
        assert found(api, sealed) == (None, None, 1)
        change(api, sealed)
        assert found(api, sealed)[2] == 0  # Its number is that of an entry in the tree: the append tells.
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)

    def test_of_a_chain_do_not_hide_an_entry_that_another_one_follows(
        self, api: Api, sealed: Founded, workers: Workers
    ) -> None:
        older, gone = chain(sealed), change(api, sealed)
        change(api, sealed)
        suppress(sealed, gone)
        cloud.put(older)
        workers.deliver()
        assert found(api, sealed)[2]

    def test_of_a_chain_do_not_let_another_entry_take_the_number(
        self, api: Api, sealed: Founded, workers: Workers
    ) -> None:
        older, gone = chain(sealed), change(api, sealed)
        middle, newest = chain(sealed), change(api, sealed)
        newest_entry = next(i for i in cloud.stored() if (i["pk"], i["sk"]) == (f"A#{sealed.id}", newest["sk"]))
        end = chain(sealed)
        suppress(sealed, gone)
        suppress(sealed, newest)
        cloud.put(older)
        change(api, sealed)  # It takes the number of the one that is gone.
        for item in (newest, newest_entry, end):
            cloud.put(item)
        assert middle["mac"] != older["mac"]
        workers.deliver()
        assert found(api, sealed) == (None, None, 1)

    def test_of_all_that_says_of_the_newest_entry_are_not_noticed(
        self, api: Api, sealed: Founded, workers: Workers
    ) -> None:
        """The limit of what chains can show: nothing is left that was made after it."""
        older = chain(sealed)
        suppress(sealed, change(api, sealed))
        cloud.put(older)
        change(api, sealed)
        workers.deliver()
        assert found(api, sealed) == WHOLE


class TestTheStatement:
    @pytest.mark.parametrize("of", ["", "note", "atrium", 7, None])
    def test_that_someone_altered_is_found(self, of: object, api: Api, sealed: Founded, workers: Workers) -> None:
        alter(head(sealed), chains=head(sealed)["note"] if of == "note" else of)
        assert found(api, sealed)[0] in ("bad_signature", "modified")
        change(api, sealed)
        workers.deliver()
        assert found(api, sealed)[:2] == ("modified", 1)  # Its seal says that there was a statement.

    def test_that_is_older_is_found(self, api: Api, sealed: Founded, workers: Workers) -> None:
        older = head(sealed)["chains"]
        suppress(sealed, change(api, sealed))
        change(api, sealed)
        workers.deliver()
        alter(head(sealed), chains=older)
        assert found(api, sealed)[0] == "bad_signature"

    def test_that_someone_altered_does_not_hold_up_the_log(self, api: Api, sealed: Founded, workers: Workers) -> None:
        size = head(sealed)["size"]
        alter(head(sealed), chains="atrium")
        change(api, sealed)
        workers.deliver()
        assert (waiting(sealed), head(sealed)["size"]) == ([], size + 1)

    def test_is_begun_once_the_release_without_chains_is_replaced(
        self, api: Api, organization: Founded, workers: Workers, configure: Configure, clock: Clock
    ) -> None:
        clock.freeze("2026-11-23T09:00:00.000Z")
        configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
        workers.deliver()
        change(api, organization)
        workers.deliver()
        size = head(organization)["size"]
        assert "chains" not in head(organization)
        assert found(api, organization) == WHOLE
        change(api, organization)
        clock.shift(minutes=15)
        workers.deliver()
        assert f"since {size}\n" in head(organization)["chains"]
        assert found(api, organization) == WHOLE
        suppress(organization, change(api, organization))
        assert found(api, organization) == (None, None, 1)

    @pytest.mark.parametrize(
        "said",
        [
            *({"number": number} for number in (0, -1, 10**6, 10**30, "1", None)),
            *({"mac": mac} for mac in (None, b"", b"mac", "mac", 7, [b"mac"])),
        ],
    )
    def test_goes_on_whatever_a_chain_says(self, said: Item, api: Api, sealed: Founded, workers: Workers) -> None:
        size = head(sealed)["size"]
        alter(chain(sealed), **said)
        assert found(api, sealed)[2]
        change(api, sealed)
        workers.deliver()
        assert found(api, sealed)[2]
        change(api, sealed)
        workers.deliver()
        assert head(sealed)["size"] == size + 2


def test_a_flood_of_pointers_hides_nothing_and_accuses_nobody(api: Api, sealed: Founded, workers: Workers) -> None:
    honest = [change(api, sealed) for _ in range(3)]
    for n in range(4):
        cloud.put({"pk": f"Q#{sealed.id}", "sk": f"00{n}", "leaf": bytes(32), "more": "x" * 380_000})
    assert found(api, sealed) == WHOLE
    suppress(sealed, honest[0])
    workers.deliver()
    assert found(api, sealed) == (None, None, 1)
