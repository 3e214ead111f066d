"""Test that verification counts log entries that an attacker with access to the table removes before sequencing."""

from itertools import count
from typing import Any

import pytest

from chalicelib.kernel.audit_log.mac_chains import chain_key
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Partition
from tests.harness import memory_aws
from tests.harness.api import ApiClient, Json
from tests.harness.audit_logs import alter_item, head_item, verify_integrity
from tests.harness.callers import Person
from tests.harness.memory_aws import Item
from tests.harness.organizations import CreatedOrganization
from tests.harness.organizations import create_organization as found_organization
from tests.harness.webhooks import rename_organization
from tests.harness.workers import Workers

SHARD = 3
_numbers = count()

pytestmark = pytest.mark.usefixtures("no_index_retries")


@pytest.fixture(autouse=True)
def single_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all mutations extend the same chain, whose state the tests know."""
    monkeypatch.setattr("random.sample", lambda _population, _number: [SHARD])


@pytest.fixture
def organization(api: ApiClient, ada: Person) -> CreatedOrganization:
    """Return an organization whose changes are all made in this test, in the one chain."""
    return found_organization(api, ada)


@pytest.fixture
def sequenced_organization(organization: CreatedOrganization, workers: Workers) -> CreatedOrganization:
    """Return an organization whose entries are all in the tree."""
    workers.deliver()
    return organization


def get_chain(organization: CreatedOrganization) -> Item:
    return dict(
        next(item for item in memory_aws.all_items() if (item["pk"], item["sk"]) == chain_key(organization.id, SHARD))
    )


def list_pending(organization: CreatedOrganization) -> list[Item]:
    pointers = [item for item in memory_aws.all_items() if item["pk"] == f"Q#{organization.id}" and "leaf" in item]
    return sorted(pointers, key=lambda pointer: str(pointer["sk"]))


def add_entry(api: ApiClient, organization: CreatedOrganization) -> Item:
    """Change the organization; return the pointer to the entry."""
    ids_before = [pointer["sk"] for pointer in list_pending(organization)]
    rename_organization(api, organization, f"Name {next(_numbers)}")
    (pointer,) = (pointer for pointer in list_pending(organization) if pointer["sk"] not in ids_before)
    return pointer


def suppress(organization: CreatedOrganization, pointer: Item) -> None:
    """Remove an entry and its pointer."""
    memory_aws.delete_item(pointer)
    memory_aws.delete_item({"pk": f"A#{organization.id}", "sk": pointer["sk"]})


def get_findings(api: ApiClient, organization: CreatedOrganization) -> tuple[object, object, object]:
    report: Json = verify_integrity(api, organization)
    assert report["valid"] == (report["failure"] is None and report["suppressed"] == 0)
    return report["failure"], report["firstInvalidSequence"], report["suppressed"]


INTACT = (None, None, 0)


class TestSuppressedEntry:
    def test_is_counted_at_once_and_ever_after(self, api, sequenced_organization, workers):
        suppress(sequenced_organization, add_entry(api, sequenced_organization))
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        add_entry(api, sequenced_organization)
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        add_entry(api, sequenced_organization)
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_is_counted_before_the_first_append(self, api, organization):
        suppress(organization, add_entry(api, organization))
        assert get_findings(api, organization) == (None, None, 1)

    @pytest.mark.parametrize("indexes", [(0,), (2,), (4,), (0, 1), (1, 3), (0, 1, 2, 3, 4)])
    def test_is_counted_at_any_position(self, indexes, api, sequenced_organization, workers):
        pointers = [add_entry(api, sequenced_organization) for _ in range(5)]
        for index in indexes:
            suppress(sequenced_organization, pointers[index])
        assert get_findings(api, sequenced_organization) == (None, None, len(indexes))
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, len(indexes))

    def test_is_counted_if_its_pointer_remains(self, api, sequenced_organization, workers):
        pointer = add_entry(api, sequenced_organization)
        memory_aws.delete_item({"pk": f"A#{sequenced_organization.id}", "sk": pointer["sk"]})
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_is_not_counted_once_it_reappears(self, api, sequenced_organization, workers):
        pointer = add_entry(api, sequenced_organization)
        add_entry(api, sequenced_organization)
        memory_aws.delete_item(pointer)
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        memory_aws.put_item(pointer)
        assert get_findings(api, sequenced_organization) == INTACT
        workers.deliver()
        assert get_findings(api, sequenced_organization) == INTACT

    def test_is_counted_once_by_a_verification_in_windows(self, api, sequenced_organization, workers, monkeypatch):
        suppress(sequenced_organization, add_entry(api, sequenced_organization))
        add_entry(api, sequenced_organization)
        workers.deliver()
        monkeypatch.setattr("chalicelib.features.audit.log.logic.log_verification.WINDOW_ENTRIES", 1)
        first = verify_integrity(api, sequenced_organization)
        last = verify_integrity(api, sequenced_organization, cursor=first["nextCursor"])
        assert [first["suppressed"], last["suppressed"], last["valid"]] == [1, 1, False]

    def test_is_counted_if_its_pointer_is_restored(self, api, sequenced_organization, workers):
        pointer = add_entry(api, sequenced_organization)
        suppress(sequenced_organization, pointer)
        add_entry(api, sequenced_organization)
        workers.deliver()
        memory_aws.put_item({name: value for name, value in pointer.items() if name not in ("duepk", "duesk")})
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_is_counted_if_its_pointer_remains_without_a_due_time(self, api, sequenced_organization):
        pointer = add_entry(api, sequenced_organization)
        suppress(sequenced_organization, pointer)
        memory_aws.put_item({name: value for name, value in pointer.items() if name not in ("duepk", "duesk")})
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_is_counted_if_chains_fill_a_page(self, api, sequenced_organization, workers):
        suppress(sequenced_organization, add_entry(api, sequenced_organization))
        add_entry(api, sequenced_organization)
        size = head_item(sequenced_organization)["size"]
        for shard in range(10, 15):
            pk, sk = chain_key(sequenced_organization.id, shard)
            memory_aws.put_item({"pk": pk, "sk": sk, "more": "x" * 380_000})
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        workers.deliver()
        assert head_item(sequenced_organization)["size"] == size + 1
        assert get_findings(api, sequenced_organization) == (None, None, 1)


class TestPartlyVisibleTransaction:
    """A Query is not atomic: it may return one item of a transaction in its new state and another in its old."""

    @pytest.fixture
    def hidden_ids(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Return a list for ids of entries whose pointers the next Query of an outbox omits."""
        ids, query = list[str](), table.query

        def query_without_hidden(partition: str | Partition, **options: Any) -> table.QueryResult:
            answer = query(partition, **options)
            if not (isinstance(partition, str) and partition.startswith("Q#") and ids):
                return answer
            visible = [item for item in answer.items if item["sk"] not in ids]
            ids.clear()
            return table.QueryResult(visible, answer.last_evaluated_key)

        monkeypatch.setattr(table, "query", query_without_hidden)
        return ids

    def test_is_queried_again(self, api, sequenced_organization, hidden_ids):
        hidden_ids.append(add_entry(api, sequenced_organization)["sk"])
        assert get_findings(api, sequenced_organization) == INTACT

    def test_does_not_affect_the_first_statement_of_a_log(self, api, sequenced_organization, hidden_ids, workers):
        memory_aws.put_item(
            {name: value for name, value in head_item(sequenced_organization).items() if name != "chains"}
        )
        add_entry(api, sequenced_organization)
        hidden_ids.append(add_entry(api, sequenced_organization)["sk"])
        workers.deliver()
        assert "lost 0\n" in head_item(sequenced_organization)["chains"]
        assert "gap" not in head_item(sequenced_organization)["chains"]


class TestRestoredOldCopies:
    def test_of_a_chain_are_detected_once_its_entries_are_in_the_tree(self, api, sequenced_organization, workers):
        old_chain = get_chain(sequenced_organization)
        add_entry(api, sequenced_organization)
        workers.deliver()
        memory_aws.put_item(old_chain)
        assert get_findings(api, sequenced_organization) == (None, None, 1)
        add_entry(api, sequenced_organization)
        # An entry in the tree has the same number, so the append detects the old copy.
        assert get_findings(api, sequenced_organization)[2] == 0
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_of_a_chain_do_not_hide_a_removed_entry_before_another(self, api, sequenced_organization, workers):
        old_chain, removed_pointer = get_chain(sequenced_organization), add_entry(api, sequenced_organization)
        add_entry(api, sequenced_organization)
        suppress(sequenced_organization, removed_pointer)
        memory_aws.put_item(old_chain)
        workers.deliver()
        assert get_findings(api, sequenced_organization)[2]

    def test_of_a_chain_do_not_let_another_entry_reuse_the_number(self, api, sequenced_organization, workers):
        old_chain, removed_pointer = get_chain(sequenced_organization), add_entry(api, sequenced_organization)
        middle_chain, newest_pointer = get_chain(sequenced_organization), add_entry(api, sequenced_organization)
        newest_entry = next(
            item
            for item in memory_aws.all_items()
            if (item["pk"], item["sk"]) == (f"A#{sequenced_organization.id}", newest_pointer["sk"])
        )
        last_chain = get_chain(sequenced_organization)
        suppress(sequenced_organization, removed_pointer)
        suppress(sequenced_organization, newest_pointer)
        memory_aws.put_item(old_chain)
        add_entry(api, sequenced_organization)  # It reuses the number of the removed entry.
        for item in (newest_pointer, newest_entry, last_chain):
            memory_aws.put_item(item)
        assert middle_chain["mac"] != old_chain["mac"]
        workers.deliver()
        assert get_findings(api, sequenced_organization) == (None, None, 1)

    def test_of_every_item_about_the_newest_entry_are_not_detected(self, api, sequenced_organization, workers):
        """Show the limit of chains: no item written after the entry remains."""
        old_chain = get_chain(sequenced_organization)
        suppress(sequenced_organization, add_entry(api, sequenced_organization))
        memory_aws.put_item(old_chain)
        add_entry(api, sequenced_organization)
        workers.deliver()
        assert get_findings(api, sequenced_organization) == INTACT


class TestStatement:
    @pytest.mark.parametrize("content", ["", "note", "atrium", 7, None])
    def test_an_altered_statement_is_detected(self, content, api, sequenced_organization, workers):
        alter_item(
            head_item(sequenced_organization),
            chains=head_item(sequenced_organization)["note"] if content == "note" else content,
        )
        assert get_findings(api, sequenced_organization)[0] in ("bad_signature", "modified")
        add_entry(api, sequenced_organization)
        workers.deliver()
        # The entry MAC covers the existence of a statement.
        assert get_findings(api, sequenced_organization)[:2] == ("modified", 1)

    def test_an_older_statement_is_detected(self, api, sequenced_organization, workers):
        old_statement = head_item(sequenced_organization)["chains"]
        suppress(sequenced_organization, add_entry(api, sequenced_organization))
        add_entry(api, sequenced_organization)
        workers.deliver()
        alter_item(head_item(sequenced_organization), chains=old_statement)
        assert get_findings(api, sequenced_organization)[0] == "bad_signature"

    def test_an_altered_statement_does_not_block_the_log(self, api, sequenced_organization, workers):
        size = head_item(sequenced_organization)["size"]
        alter_item(head_item(sequenced_organization), chains="atrium")
        add_entry(api, sequenced_organization)
        workers.deliver()
        assert (list_pending(sequenced_organization), head_item(sequenced_organization)["size"]) == ([], size + 1)

    def test_starts_once_the_release_without_chains_is_replaced(self, api, organization, workers, configure, clock):
        clock.freeze("2026-11-23T09:00:00.000Z")
        configure(unauthenticated_entries_until="2026-11-23T09:15:00Z")
        workers.deliver()
        add_entry(api, organization)
        workers.deliver()
        size = head_item(organization)["size"]
        assert "chains" not in head_item(organization)
        assert get_findings(api, organization) == INTACT
        add_entry(api, organization)
        clock.shift(minutes=15)
        workers.deliver()
        assert f"since {size}\n" in head_item(organization)["chains"]
        assert get_findings(api, organization) == INTACT
        suppress(organization, add_entry(api, organization))
        assert get_findings(api, organization) == (None, None, 1)

    @pytest.mark.parametrize(
        "attributes",
        [
            *({"number": number} for number in (0, -1, 10**6, 10**30, "1", None)),
            *({"mac": mac} for mac in (None, b"", b"mac", "mac", 7, [b"mac"])),
        ],
    )
    def test_continues_with_any_content_of_a_chain(self, attributes, api, sequenced_organization, workers):
        size = head_item(sequenced_organization)["size"]
        alter_item(get_chain(sequenced_organization), **attributes)
        assert get_findings(api, sequenced_organization)[2]
        add_entry(api, sequenced_organization)
        workers.deliver()
        assert get_findings(api, sequenced_organization)[2]
        add_entry(api, sequenced_organization)
        workers.deliver()
        assert head_item(sequenced_organization)["size"] == size + 2


def test_a_flood_of_pointers_neither_hides_nor_adds_a_finding(api, sequenced_organization, workers):
    pointers = [add_entry(api, sequenced_organization) for _ in range(3)]
    for n in range(4):
        memory_aws.put_item(
            {"pk": f"Q#{sequenced_organization.id}", "sk": f"00{n}", "leaf": bytes(32), "more": "x" * 380_000}
        )
    assert get_findings(api, sequenced_organization) == INTACT
    suppress(sequenced_organization, pointers[0])
    workers.deliver()
    assert get_findings(api, sequenced_organization) == (None, None, 1)
