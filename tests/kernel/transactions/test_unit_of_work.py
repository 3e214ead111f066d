"""A unit of work writes all of its changes in one transaction, or none of them."""

from concurrent.futures import ThreadPoolExecutor

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

pytestmark = pytest.mark.usefixtures("aws")


def load(record: Parcel) -> Parcel | None:
    item = table.get(record.item_key)
    return Parcel.from_item(item) if item else None


class TestCreate:
    def test_a_created_record_has_its_guard_and_derived_items(self):
        record = create_parcel("a", hints=["x", "y"])
        assert load(record) == record
        assert {item["pk"] for item in memory_aws.all_items()} == {
            record.item_key[0],
            "U#parcel-label#a",
            "H#x",
            "H#y",
        }

    def test_an_existing_key_is_a_conflict_or_the_given_problem(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.create(record.replace(label="b"))
        with pytest.raises(ConcurrentModification):
            changes.commit()
        changes = UnitOfWork(now())
        changes.create(record.replace(label="b"), on_conflict=Problem("already_exists", "It is there."))
        with pytest.raises(Problem, match="already_exists"):
            changes.commit()

    def test_a_record_is_changed_once_in_a_unit_of_work(self):
        changes = UnitOfWork(now())
        record = changes.create(build_parcel("a"))
        for change_again in (
            changes.create,
            changes.delete,
            lambda created: changes.update_untracked(created, sent=False),
        ):
            with pytest.raises(ValueError, match="changed already"):
                change_again(record)


class TestUpdate:
    def test_several_updates_in_one_unit_increase_the_version_by_one(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        updated_once = changes.update(record, weight=2)
        updated_twice = changes.update(updated_once, name="Heavier")
        changes.commit()
        assert load(record) == updated_twice
        assert (updated_twice.version, updated_twice.weight, updated_twice.name) == (2, 2, "Heavier")

    def test_an_update_without_changes_is_not_written(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        assert changes.update(record, weight=record.weight) is record
        assert changes.is_empty

    def test_an_update_of_an_outdated_state_is_an_error(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update(record, weight=2)
        with pytest.raises(ValueError, match="another state"):
            changes.update(record, weight=3)

    def test_a_field_set_to_none_is_removed_with_its_schedule(self):
        record = create_parcel("a", due_at=after(now(), hours=1))
        changes = UnitOfWork(now())
        changes.update(record, due_at=None)
        changes.commit()
        item = table.get(record.item_key)
        assert item is not None
        assert not {"due_at", "duepk", "duesk", "task"} & set(item)

    def test_one_of_several_concurrent_updates_succeeds(self):
        record = create_parcel("a")

        def change(weight: int) -> bool:
            changes = UnitOfWork(now())
            changes.update(record, weight=weight)
            try:
                changes.commit()
            except ConcurrentModification:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(change, range(2, 10))) == [False] * 7 + [True]

    def test_the_timestamp_of_an_update_is_after_the_last_change(self, clock):
        clock.freeze("2026-11-20T09:30:00.000Z")
        record = create_parcel("a")
        clock.shift(seconds=-30)
        changes = UnitOfWork(now())
        changed = changes.update(record, weight=2)
        assert changed.updated_at == changes.latest_change_at == "2026-11-20T09:30:00.001Z"


class TestUpdateUntracked:
    def test_it_changes_neither_version_nor_timestamp(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update_untracked(record, sent=False)
        changes.commit()
        assert load(record) == record.replace(sent=False)

    def test_it_can_remove_a_field(self):
        record = create_parcel("a", due_at=after(now(), hours=1))
        changes = UnitOfWork(now())
        changes.update_untracked(record, due_at=None)
        changes.commit()
        assert load(record) == record.replace(due_at=None)

    def test_an_update_without_changes_is_not_written(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update_untracked(record, label="a")
        assert changes.is_empty


class TestEventSubject:
    def test_the_subject_is_named_in_the_entry_and_not_written(self):
        subject, other = create_parcel("a"), create_parcel("b")
        changes = UnitOfWork(now())
        changes.set_event_subject_if_unset(subject)
        changes.update_untracked(other, sent=False)
        changes.commit()
        assert changes.event_subject_before_and_after == (subject, subject)
        assert load(subject) == subject

    def test_a_unit_with_only_a_subject_is_not_empty(self):
        changes = UnitOfWork(now())
        assert changes.is_empty
        changes.set_event_subject_if_unset(create_parcel("a"))
        assert not changes.is_empty

    def test_untracked_fields_of_the_subject_may_change(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update_untracked(record, sent=False)
        changes.set_event_subject_if_unset(record)
        assert changes.event_subject_before_and_after == (record, record.replace(sent=False))

    def test_the_diff_base_determines_the_difference_but_not_the_write(self):
        record = create_parcel("a", weight=2)
        changes = UnitOfWork(now())
        changed = changes.update(record, weight=3)
        changes.set_diff_base(record.replace(weight=1))
        assert changes.event_subject_before_and_after == (record.replace(weight=1), changed)
        changes.commit()
        assert load(record) == changed

    def test_a_later_change_does_not_replace_the_subject(self):
        subject, other = create_parcel("a"), create_parcel("b")
        changes = UnitOfWork(now())
        changes.set_event_subject_if_unset(subject)
        changes.delete(other)
        assert changes.event_subject_before_and_after == (subject, subject)


class TestDelete:
    def test_the_guard_and_derived_items_are_deleted_with_the_record(self):
        record = create_parcel("a", hints=["x"])
        changes = UnitOfWork(now())
        changes.delete(record)
        changes.commit()
        assert [item for item in memory_aws.all_items() if not item["sk"].startswith("COUNT")] == []

    def test_a_record_that_was_changed_concurrently_is_not_deleted(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.update(record, weight=2)
        changes.commit()
        changes = UnitOfWork(now())
        changes.delete(record)
        with pytest.raises(ConcurrentModification):
            changes.commit()

    def test_the_timestamp_of_a_deletion_is_after_the_last_change(self, clock):
        clock.freeze("2026-11-20T09:30:00.000Z")
        record = create_parcel("a")
        clock.shift(seconds=-30)
        changes = UnitOfWork(now())
        changes.delete(record)
        assert changes.latest_change_at == "2026-11-20T09:30:00.001Z"


class TestQuota:
    def test_a_full_quota_rejects_further_records(self):
        records = [create_parcel(str(n)) for n in range(MAX_PARCELS)]
        with pytest.raises(Problem, match="limit_exceeded"):
            create_parcel("more")
        changes = UnitOfWork(now())
        changes.update(records[0], sent=False)
        changes.commit()
        assert create_parcel("more").label == "more"

    def test_records_of_one_unit_count_together(self):
        changes = UnitOfWork(now())
        for n in range(MAX_PARCELS + 1):
            changes.create(build_parcel(str(n)))
        with pytest.raises(Problem, match="limit_exceeded"):
            changes.commit()
        assert memory_aws.all_items() == []

    def test_a_record_can_replace_another_in_a_full_quota(self):
        records = [create_parcel(str(n)) for n in range(MAX_PARCELS)]
        changes = UnitOfWork(now())
        changes.delete(records[0])
        changes.create(build_parcel("new"))
        changes.commit()
        (count,) = [item["n"] for item in memory_aws.all_items() if item["sk"] == "COUNT#parcels"]
        assert count == MAX_PARCELS

    def test_records_outside_the_quota_are_not_counted(self):
        for n in range(MAX_PARCELS + 2):
            create_parcel(str(n), sent=False)
        assert not [item for item in memory_aws.all_items() if item["sk"].startswith("COUNT")]


def creation_requiring_unchanged(required: Parcel, label: str) -> UnitOfWork:
    """Return a unit of work that creates a parcel on the condition that another is unchanged."""
    changes = UnitOfWork(now())
    changes.require_unchanged(required)
    changes.create(build_parcel(label))
    return changes


class TestRequireUnchanged:
    def test_a_required_record_must_be_unchanged(self):
        required = create_parcel("a")
        creation_requiring_unchanged(required, "b").commit()
        concurrent = UnitOfWork(now())
        concurrent.update(required, weight=9)
        concurrent.commit()
        with pytest.raises(ConcurrentModification):
            creation_requiring_unchanged(required, "c").commit()

    def test_a_required_record_that_is_updated_needs_no_check_of_its_own(self):
        record = create_parcel("a")
        changes = UnitOfWork(now())
        changes.require_unchanged(record)
        changes.update(record, weight=2)
        changes.commit()
        updated = load(record)
        assert updated is not None
        assert updated.weight == 2


class TestCommit:
    def test_a_commit_writes_everything_or_nothing(self):
        create_parcel("taken")
        before = memory_aws.all_items()
        changes = UnitOfWork(now())
        changes.create(build_parcel("b", hints=["x"]))
        changes.create(build_parcel("taken"))
        with pytest.raises(Problem, match="slug_taken"):
            changes.commit()
        assert memory_aws.all_items() == before

    def test_a_conflict_of_the_idempotency_write_returns_the_existing_item(self):
        key = ("I#x", "#")
        item = {"pk": "I#x", "sk": "#", "n": 1}
        first = Write("Put", key, item=item, condition="attribute_not_exists(#pk)", names=["pk"])
        changes = UnitOfWork(now())
        changes.create(build_parcel("a"))
        changes.commit(first)
        changes = UnitOfWork(now())
        changes.create(build_parcel("b"))
        with pytest.raises(IdempotencyKeyConflict) as raised:
            changes.commit(first)
        assert raised.value.item == item

    def test_an_added_write_has_its_own_problem(self):
        changes = UnitOfWork(now())
        changes.create(build_parcel("a"))
        check = Write("ConditionCheck", ("X", "#"), condition="attribute_exists(#pk)", names=["pk"])
        changes.add_write(check, Problem("not_empty", "Not yet."))
        with pytest.raises(Problem, match="not_empty"):
            changes.commit()

    def test_the_event_subject_is_the_first_changed_record(self):
        changes = UnitOfWork(now())
        with pytest.raises(ValueError, match="nothing"):
            _ = changes.event_subject_before_and_after
        first, _second = changes.create(build_parcel("a")), changes.create(build_parcel("b"))
        assert changes.event_subject_before_and_after == (None, first)

    def test_the_size_is_the_number_of_writes(self):
        changes = UnitOfWork(now())
        changes.create(build_parcel("a", hints=["x", "y"]))
        changes.add_write(Write("Put", ("X#1", "#"), item={"pk": "X#1", "sk": "#"}))
        assert changes.write_count_without_pipeline_writes == 6  # with its guard, its derived items and the count
        changes.commit()
        assert len(memory_aws.all_items()) == 6

    def test_a_unit_beyond_the_transaction_limit_is_rejected(self):
        changes = UnitOfWork(now())
        for n in range(60):
            changes.create(build_parcel(str(n), sent=False))
        with pytest.raises(ClientError):
            changes.commit()
        assert [item for item in memory_aws.all_items() if item["pk"] == f"P#{LOG_ID}"] == []
