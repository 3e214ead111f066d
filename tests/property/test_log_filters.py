"""Filtered lists of a log equal a filtered list in Python, however the pages are cut and in whatever order."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle
from typing import Any, Final
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib.features.audit.log.logic import entry_queries
from chalicelib.features.audit.log.models import EntryFilters
from chalicelib.features.events.entries.models.schemas import EventQuery
from chalicelib.kernel.audit_log.entries import APPLICATION_ORIGIN, EntryItem
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.core.ids import id_range_query_arguments, new_id
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.entity import Item
from tests.harness import memory_aws

pytestmark = pytest.mark.usefixtures("aws")

FIRST_TIME: Final = "2026-11-20T09:30:00.000Z"
BUILT_IN_TYPES: Final = ("organization.updated", "organization.member.added", "page.created")
APPLICATION_TYPES: Final = ("invoice.approved", "invoice.paid", "patient.file_opened")
IDS: Final = ("a", "b")

Page = tuple[Sequence[EntryItem], Item | None]


@dataclass(frozen=True)
class Row:
    """An entry, as far as filters distinguish entries. `time`: in milliseconds after the first."""

    type: str
    target: str | None
    actor: str
    time: int

    def to_entry(self, log_id: str, sequence: int) -> EntryItem:
        """Return the entry as it is stored."""
        timestamp = time_after(self.time)
        return EntryItem(
            id=new_id(timestamp),
            created_at=timestamp,
            updated_at=timestamp,
            log_id=log_id,
            type=self.type,
            target=self.target,
            actor=self.actor,
            origin=APPLICATION_ORIGIN if self.type in APPLICATION_TYPES else None,
            leaf=b"\0" * 32,
            sequence=sequence,
            tree_size=sequence,
        )


def time_after(milliseconds: int) -> str:
    return after(FIRST_TIME, seconds=timedelta(milliseconds=milliseconds).total_seconds())


times = st.integers(0, 5)
rows = st.builds(Row, st.sampled_from(BUILT_IN_TYPES), st.sampled_from(IDS), st.sampled_from(IDS), times) | st.builds(
    Row, st.sampled_from(APPLICATION_TYPES), st.none() | st.sampled_from(IDS), st.sampled_from(IDS), times
)
type_filters = st.sampled_from([*BUILT_IN_TYPES, *APPLICATION_TYPES, "organization.*", "invoice.*", "page.*"])


@st.composite
def filters(draw: st.DrawFn) -> EntryFilters:
    """Return filters of the audit log or of the list of application events, most of them by target."""
    chosen: dict[str, Any] = {
        "targetId": draw(st.sampled_from([*IDS, *IDS, None])),
        "actorId": draw(st.none() | st.sampled_from(IDS)),
        "type": draw(st.none() | type_filters),
    }
    since, until = sorted((draw(times), draw(times)))
    chosen |= draw(
        st.sampled_from([{}, {"from": time_after(since)}, {"from": time_after(since), "to": time_after(until)}])
    )
    query: type[EntryFilters] = draw(st.sampled_from([EntryFilters, EventQuery]))
    return query.model_validate({name: value for name, value in chosen.items() if value is not None})


def store(log_id: str, stored: Sequence[Row]) -> list[EntryItem]:
    entries = [row.to_entry(log_id, sequence) for sequence, row in enumerate(stored, 1)]
    for entry in entries:
        memory_aws.put_item(entry.item())
    return entries


def is_expected(query: EntryFilters, entry: EntryItem) -> bool:
    """Return whether an entry matches filters, as the model has it."""
    is_application = entry.type in APPLICATION_TYPES
    type_filter = query.type or "*"
    return (
        (is_application or not isinstance(query, EventQuery))
        and (entry.type == type_filter or (type_filter.endswith("*") and entry.type.startswith(type_filter[:-1])))
        and (query.target_id is None or entry.target == query.target_id)
        and (query.actor_id is None or entry.actor == query.actor_id)
        and (query.since is None or entry.created_at >= query.since)
        and (query.until is None or entry.created_at <= query.until)
    )


def read_all(read_page: Callable[[Item | None], Page], limit: int) -> Iterator[str]:
    position: Item | None = None
    while True:
        page, position = read_page(position)
        assert len(page) <= limit
        yield from (entry.id for entry in page)
        if position is None:
            return


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.lists(rows, max_size=14), filters(), st.integers(1, 5), st.lists(st.booleans(), min_size=1, max_size=3))
def test_pages_contain_every_matching_entry_once_newest_first(stored, query, limit, bypasses):
    log_id, bypass_index = str(uuid4()), cycle(bypasses)
    entries = store(log_id, stored)

    def read_page(position: Item | None) -> Page:
        return entry_queries.list_entries_newest_first(
            [log_id], query, position, limit, bypass_index=next(bypass_index)
        )

    expected = sorted((entry.id for entry in entries if is_expected(query, entry)), reverse=True)
    assert [*read_all(read_page, limit)] == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(st.lists(rows, max_size=14), st.integers(1, 5), st.integers(1, 8), st.booleans(), st.sampled_from(IDS))
def test_both_partitions_of_a_target_are_one_list_in_either_direction(stored, limit, scanned, newest_first, actor):
    log_id = str(uuid4())
    entries = store(log_id, stored)
    names: Mapping[str, str] = {"log_id": log_id, "target": "a", "origin": APPLICATION_ORIGIN}
    partitions = [facet.partition(**names) for facet in (EntryItem.by_target, EntryItem.by_origin_and_target)]
    bounds = id_range_query_arguments(time_after(1), time_after(4))

    def read_page(position: Item | None) -> Page:
        result = table.query_matching(
            partitions,
            lambda item: item["actor"] == actor,
            limit=limit,
            max_scanned=scanned,
            after=position,
            newest_first=newest_first,
            **bounds,
        )
        return [EntryItem.from_item(item) for item in result.items], result.last_evaluated_key

    expected = sorted(
        (
            entry.id
            for entry, row in zip(entries, stored, strict=True)
            if (row.target, row.actor) == ("a", actor) and 1 <= row.time <= 4
        ),
        reverse=newest_first,
    )
    assert [*read_all(read_page, limit)] == expected


@given(rows)
def test_an_entry_is_in_one_of_the_partitions_of_its_target(row):
    entry = row.to_entry("L", 1)
    prefix = "A#L#O#application#T#" if row.type in APPLICATION_TYPES else "A#L#T#"
    assert entry.item().get("facet1pk") == (prefix + row.target if row.target else None)
