"""A log whose index is behind: nothing is taken for missing, nothing waits for the index, nothing is left out."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from chalicelib.features.audit.exports.logic import inline_export
from chalicelib.features.audit.log.logic import entry_queries as logs
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.kernel.audit_log import ledger, redaction
from chalicelib.kernel.storage import table, writes
from chalicelib.kernel.work import queues
from tests.harness.anchors import anchored
from tests.harness.api import Api
from tests.harness.callers import Person
from tests.harness.clock import Clock
from tests.harness.exports import begin_export, completed, exported, proven
from tests.harness.external_servers import refusing
from tests.harness.index_lag import LAGS, Lag, lagging
from tests.harness.logs import entry, finding, grow, head
from tests.harness.organizations import Founded, found
from tests.harness.webhooks import deliveries, hook, rename
from tests.harness.workers import Workers


@pytest.fixture(params=LAGS)
def lag(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lag]:
    """Indexes that lag. Whatever waits for one here would wait in vain."""
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lagging(request.param) as lag:
        yield lag


@pytest.fixture
def young(api: Api, ada: Person, workers: Workers, lag: Lag) -> Founded:
    """An organization with the first entry in its log."""
    assert lag.changes is not None
    organization = found(api, ada)
    workers.deliver()
    return organization


def test_an_untouched_log_is_valid(api: Api, young: Founded, workers: Workers) -> None:
    grow(api, workers, young, 3)
    grow(api, workers, young, 2)
    assert finding(api, young) == (None, None)
    assert head(young)["size"] == 6


def test_a_log_that_the_index_shows_in_part_is_valid(
    api: Api, ten: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "_INDEX_RETRY_SECONDS", ())
    with lagging(60) as lag:
        grow(api, workers, ten, 120)
        assert finding(api, ten) == (None, None)
    assert lag.queries


@pytest.mark.parametrize("sequence", [1, 4, 6])
def test_what_is_gone_is_missing_all_the_same(
    api: Api, young: Founded, workers: Workers, lag: Lag, sequence: int
) -> None:
    grow(api, workers, young, 5)
    gone = entry(young, sequence)
    table.write_transaction([writes.Write("Delete", (gone["pk"], gone["sk"]))])
    lag.seconds = 0
    assert finding(api, young) == (("truncated" if sequence == 6 else "missing"), sequence)


def test_a_batch_that_names_another_entry_hides_nothing(api: Api, young: Founded, workers: Workers, lag: Lag) -> None:
    grow(api, workers, young, 2)
    names = [entry(young, sequence)["sk"] for sequence in (1, 2, 3)]
    key = ledger.sequence_key(young.id, 3)
    forged = {"pk": key[0], "sk": key[1], "ids": [names[1], names[0]]}
    table.write_transaction(
        [writes.Write("Put", key, item=forged), writes.Write("Delete", (f"A#{young.id}", names[1]))]
    )
    lag.seconds = 0
    assert finding(api, young) == ("missing", 2)


@pytest.mark.usefixtures("lag")
def test_events_are_fanned_out_at_once(api: Api, organization: Founded, workers: Workers) -> None:
    made = hook(api, organization, "https://hooks.example.com")
    for n in range(3):
        rename(api, organization, f"Name {n}")
    with refusing():
        workers.deliver()  # None of the messages fails.
    assert head(organization)["followed"] == head(organization)["size"]
    assert len(deliveries(api, made)) == 4


def test_an_export_holds_all(api: Api, young: Founded, workers: Workers) -> None:
    grow(api, workers, young, 4)
    export = begin_export(api, young)
    workers.deliver()
    assert export.now(api)["status"] == "completed"
    assert export.now(api)["entryCount"] == 6


FILTERS: Final = ("type", "actorId", "targetId")


def matching(organization: Founded, name: str) -> dict[str, Any]:
    """Return a filter that the changes of an organization pass."""
    values = {"type": "organization.updated", "actorId": organization.owner.id, "targetId": organization.id}
    return {name: values[name]}


@pytest.mark.parametrize("name", FILTERS)
def test_an_export_by_a_filter_holds_all_that_passes(api: Api, young: Founded, workers: Workers, name: str) -> None:
    grow(api, workers, young, 3)
    passing = {"type": 3, "actorId": 4, "targetId": 4}[name]
    at_once = exported(api, young, **matching(young, name)).text.splitlines()
    assert len(at_once) == passing
    assert [json.loads(line)["sequence"] for line in at_once] == [1, 2, 3, 4][-passing:]


@pytest.mark.parametrize("name", FILTERS)
def test_an_export_in_the_background_by_a_filter_holds_all_that_passes_and_proves_it(
    api: Api, young: Founded, workers: Workers, name: str
) -> None:
    grow(api, workers, young, 3)
    record = completed(api, workers, young, filters=matching(young, name))
    assert record["entryCount"] == {"type": 3, "actorId": 5, "targetId": 4}[name]
    assert "are proven" in proven(record)


@pytest.mark.parametrize("name", FILTERS)
def test_an_export_at_once_of_a_long_log_is_whole_where_the_index_takes_over(
    api: Api, young: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch, clock: Clock, name: str
) -> None:
    grow(api, workers, young, 4)
    clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
    grow(api, workers, young, 4)
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)  # By pages of two.
    monkeypatch.setattr(inline_export, "MAX_RECENT_QUERIES", 3)
    query = EntryFilters.model_validate(matching(young, name))
    found = [entry.sequence for page in inline_export.iter_entry_pages(young.id, query) for entry in page]
    assert found == [9, 8, 7, 6, 5, 4, 3, 2, 1][: 8 if name == "type" else 9]


def test_an_export_at_once_says_nothing_of_who_was_erased_a_moment_ago(
    api: Api, young: Founded, workers: Workers, monkeypatch: pytest.MonkeyPatch, clock: Clock
) -> None:
    grow(api, workers, young, 4)
    clock.shift(seconds=inline_export.MAX_INDEX_LAG_SECONDS + 1)
    table.write_transaction(redaction.redact_entry(young.id, entry(young, 2), is_authentic=True))
    monkeypatch.setattr(inline_export, "MAX_ENTRIES", 1)  # By pages of two.
    found = [
        entry
        for page in inline_export.iter_entry_pages(young.id, EntryFilters(type="organization.updated"))
        for entry in page
    ]
    assert [entry.sequence for entry in found if entry.erased] == [2]


def test_an_export_says_nothing_of_who_was_erased_a_moment_ago(api: Api, young: Founded, workers: Workers) -> None:
    grow(api, workers, young, 2)
    table.write_transaction(redaction.redact_entry(young.id, entry(young, 2), is_authentic=True))
    ((shown,),) = logs.iter_sequenced(young.id, 1, 2, reread=True)
    assert "erased" in shown.item


def test_a_log_is_anchored(api: Api, young: Founded, workers: Workers) -> None:
    grow(api, workers, young, 3)
    queues.enqueue("audit.anchor", ledger.head_key(young.id))
    workers.deliver()
    assert anchored(young.id) == [4]
