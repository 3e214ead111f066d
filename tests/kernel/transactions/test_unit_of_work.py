"""A unit of work writes all of its changes in one transaction, or none of them."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import IdempotencyKeyConflict, UnitOfWork
from tests.harness import memory_aws
from tests.harness.sample_entity import LOG_ID, MAX_PARCELS, Parcel, build_parcel, create_parcel
from tests.harness.stored_records import committed_changes, load_item

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture
def changes():
    return UnitOfWork(now())


@pytest.fixture
def parcel():
    return create_parcel("a")


def load(record: Parcel) -> Parcel | None:
    item = table.get(record.item_key)
    return Parcel.from_item(item) if item else None


def update(record: Parcel, **fields: Any) -> Parcel:
    with committed_changes() as changes:
        return changes.update(record, **fields)


class TestCreateAndDelete:
    def test_the_guard_and_derived_items_are_created_and_deleted_with_their_record(self):
        record = create_parcel("a", hints=["x", "y"])
        assert load(record) == record
        keys = {item["pk"] for item in memory_aws.all_items()}
        assert keys == {record.item_key[0], "U#parcel-label#a", "H#x", "H#y"}
        with committed_changes() as changes:
            changes.delete(record)
        assert [item for item in memory_aws.all_items() if not item["sk"].startswith("COUNT")] == []

    def test_a_record_that_was_changed_concurrently_is_not_deleted(self, parcel):
        update(parcel, weight=2)
        with pytest.raises(ConcurrentModification), committed_changes() as changes:
            changes.delete(parcel)

    def test_an_existing_key_is_a_conflict(self, parcel):
        with pytest.raises(ConcurrentModification), committed_changes() as changes:
            changes.create(parcel.replace(label="b"))

    def test_a_record_is_changed_once_in_a_unit_of_work(self, changes):
        record = changes.create(build_parcel("a"))
        for change_again in (changes.create, changes.delete, lambda r: changes.update_untracked(r, sent=False)):
            with pytest.raises(ValueError, match="changed already"):
                change_again(record)


class TestUpdate:
    def test_several_updates_in_one_unit_increase_the_version_by_one(self, parcel):
        with committed_changes() as changes:
            changes.require_unchanged(parcel)  # needs no check of its own
            updated = changes.update(changes.update(parcel, weight=2), name="Heavier")
        assert load(parcel) == updated
        assert (updated.version, updated.weight, updated.name) == (2, 2, "Heavier")

    def test_an_update_without_changes_is_not_written(self, parcel, changes):
        assert changes.update(parcel, weight=parcel.weight) is parcel
        changes.update_untracked(parcel, label="a")
        assert changes.is_empty

    def test_an_update_of_an_outdated_state_is_an_error(self, parcel, changes):
        changes.update(parcel, weight=2)
        with pytest.raises(ValueError, match="another state"):
            changes.update(parcel, weight=3)

    def test_a_field_set_to_none_is_removed_with_its_schedule(self):
        record = create_parcel("a", due_at=after(now(), hours=1))
        update(record, due_at=None)
        assert not {"due_at", "duepk", "duesk", "task"} & set(load_item(record.item_key))

    def test_one_of_several_concurrent_updates_succeeds(self, parcel):
        def can_update(weight: int) -> bool:
            try:
                update(parcel, weight=weight)
            except ConcurrentModification:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(can_update, range(2, 10))) == 1

    def test_the_timestamp_of_a_change_or_deletion_is_after_the_last_change(self, clock):
        clock.freeze("2026-11-20T09:30:00.000Z")
        record = create_parcel("a")
        clock.shift(seconds=-30)
        updating, deleting = UnitOfWork(now()), UnitOfWork(now())
        assert updating.update(record, weight=2).updated_at == "2026-11-20T09:30:00.001Z"
        deleting.delete(record)
        assert updating.latest_change_at == deleting.latest_change_at == "2026-11-20T09:30:00.001Z"

    def test_an_untracked_update_changes_neither_version_nor_timestamp(self):
        record = create_parcel("a", due_at=after(now(), hours=1))
        with committed_changes() as changes:
            changes.update_untracked(record, sent=False, due_at=None)
        assert load(record) == record.replace(sent=False, due_at=None)


class TestEvent:
    def test_the_subject_is_named_in_the_entry_and_not_written(self, parcel):
        other = create_parcel("b")
        with committed_changes() as changes:
            assert changes.event(parcel) is parcel
            changes.update_untracked(other, sent=False)
        assert changes.event_subject_before_and_after == (parcel, parcel)
        assert load(parcel) == parcel

    @pytest.mark.parametrize("is_declared_first", [True, False])
    def test_a_declaration_before_and_after_the_change_means_the_same(self, is_declared_first):
        other, updated, deleted, new = (*map(create_parcel, "abc"), build_parcel("d", sent=False))
        for subject, change in (
            (updated, lambda unit: unit.update(updated, weight=2)),
            (deleted, lambda unit: unit.delete(deleted)),
            (new, lambda unit: unit.create(new)),
        ):
            unit = UnitOfWork(now())
            unit.update(other, weight=3)
            if is_declared_first:
                unit.event(subject)
            result = change(unit)
            if not is_declared_first:
                unit.event(subject)
            before = None if subject is new else subject
            assert unit.event_subject_before_and_after == (before, result)

    def test_untracked_fields_of_the_subject_may_change(self, parcel, changes):
        changes.update_untracked(parcel, sent=False)
        changes.event(parcel)
        assert changes.event_subject_before_and_after == (parcel, parcel.replace(sent=False))

    def test_a_given_state_determines_the_difference_but_not_the_write(self, parcel):
        with committed_changes() as changes:
            changed = changes.update(parcel, weight=3)
            changes.event(changed, before=parcel.replace(weight=2))
        assert changes.event_subject_before_and_after == (parcel.replace(weight=2), changed)
        assert load(parcel) == changed

    def test_an_event_without_changes_is_committed_only_if_it_always_is(self, parcel, changes):
        assert changes.is_empty
        changes.event(changes.update(parcel, weight=parcel.weight))
        assert changes.is_empty
        always = UnitOfWork(now())
        always.event(parcel, always=True)
        assert not always.is_empty

    def test_there_is_one_event_and_no_default(self, changes):
        first, second = changes.create(build_parcel("a")), changes.create(build_parcel("b"))
        with pytest.raises(ValueError, match="no event"):
            _ = changes.event_subject_before_and_after
        changes.event(second)
        with pytest.raises(ValueError, match="an event already"):
            changes.event(first)
        assert changes.event_subject_before_and_after == (None, second)


class TestQuota:
    def test_a_full_quota_rejects_further_records_until_one_no_longer_counts(self):
        records = [create_parcel(str(n)) for n in range(MAX_PARCELS)]
        with pytest.raises(Problem, match="limit_exceeded"):
            create_parcel("more")
        with committed_changes() as changes:
            changes.delete(records[1])
            changes.create(build_parcel("new"))
        (count,) = [item["n"] for item in memory_aws.all_items() if item["sk"] == "COUNT#parcels"]
        assert count == MAX_PARCELS
        update(records[0], sent=False)
        assert create_parcel("more").label == "more"

    def test_records_of_one_unit_count_together(self, changes):
        for n in range(MAX_PARCELS + 1):
            changes.create(build_parcel(str(n)))
        with pytest.raises(Problem, match="limit_exceeded"):
            changes.commit()
        assert memory_aws.all_items() == []

    def test_records_outside_the_quota_are_not_counted(self):
        for n in range(MAX_PARCELS + 2):
            create_parcel(str(n), sent=False)
        assert not [item for item in memory_aws.all_items() if item["sk"].startswith("COUNT")]


class TestCommit:
    def test_a_required_record_must_be_unchanged(self, parcel, changes):
        with committed_changes() as earlier_changes:
            earlier_changes.require_unchanged(parcel)
            earlier_changes.create(build_parcel("b"))
        update(parcel, weight=9)
        changes.require_unchanged(parcel)
        changes.create(build_parcel("c"))
        with pytest.raises(ConcurrentModification):
            changes.commit()

    def test_a_commit_writes_everything_or_nothing(self, parcel, changes):
        before = memory_aws.all_items()
        changes.create(build_parcel("b", hints=["x"]))
        changes.create(build_parcel(parcel.label))
        with pytest.raises(Problem, match="slug_taken"):
            changes.commit()
        assert memory_aws.all_items() == before

    def test_a_conflict_of_the_idempotency_write_returns_the_existing_item(self):
        item = {"pk": "I#x", "sk": "#", "n": 1}
        write = Write("Put", ("I#x", "#"), item=item, condition="attribute_not_exists(#pk)", names=["pk"])
        first, second = UnitOfWork(now()), UnitOfWork(now())
        first.create(build_parcel("a"))
        first.commit(write)
        second.create(build_parcel("b"))
        with pytest.raises(IdempotencyKeyConflict) as raised:
            second.commit(write)
        assert raised.value.item == item

    def test_an_added_write_has_its_own_problem(self, changes):
        check = Write("ConditionCheck", ("X", "#"), condition="attribute_exists(#pk)", names=["pk"])
        changes.create(build_parcel("a"))
        changes.add_write(check, Problem("not_empty", "Not yet."))
        with pytest.raises(Problem, match="not_empty"):
            changes.commit()

    def test_the_size_is_the_number_of_writes(self):
        with committed_changes() as changes:
            changes.create(build_parcel("a", hints=["x", "y"]))
            changes.add_write(Write("Put", ("X#1", "#"), item={"pk": "X#1", "sk": "#"}))
            assert changes.write_count_without_pipeline_writes == 6  # with its guard, its derived items and the count
        assert len(memory_aws.all_items()) == 6

    def test_a_unit_beyond_the_transaction_limit_is_rejected(self, changes):
        for n in range(60):
            changes.create(build_parcel(str(n), sent=False))
        with pytest.raises(ClientError):
            changes.commit()
        assert [item for item in memory_aws.all_items() if item["pk"] == f"P#{LOG_ID}"] == []
