from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from chalicelib.kernel.core.clock import after, now
from chalicelib.kernel.core.problems import Problem
from chalicelib.kernel.storage import table
from chalicelib.kernel.storage.concurrency import ConcurrentModification
from chalicelib.kernel.storage.writes import Write
from chalicelib.kernel.transactions.unit_of_work import IdempotencyKeyConflict, UnitOfWork
from tests.harness import cloud
from tests.harness.clock import Clock
from tests.harness.parcels import LOG, MOST, Parcel, parcel, stored

pytestmark = pytest.mark.usefixtures("aws")


def read(record: Parcel) -> Parcel | None:
    item = table.get(record.item_key)
    return Parcel.from_item(item) if item else None


class TestCreate:
    def test_what_is_created_is_there_with_its_guard_and_companions(self) -> None:
        made = stored("a", hints=["x", "y"])
        assert read(made) == made
        assert {item["pk"] for item in cloud.stored()} == {
            made.item_key[0],
            "U#parcel-label#a",
            "H#x",
            "H#y",
        }

    def test_a_key_that_is_there_is_decided_again_or_refused(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.create(made.replace(label="b"))
        with pytest.raises(ConcurrentModification):
            changes.commit()
        changes = UnitOfWork(now())
        changes.create(made.replace(label="b"), on_conflict=Problem("already_exists", "It is there."))
        with pytest.raises(Problem, match="already_exists"):
            changes.commit()

    def test_one_record_twice_in_one_unit_is_a_mistake(self) -> None:
        changes = UnitOfWork(now())
        made = changes.create(parcel("a"))
        for again in (changes.create, changes.delete, lambda record: changes.update_untracked(record, sent=False)):
            with pytest.raises(ValueError, match="changed already"):
                again(made)


class TestUpdate:
    def test_it_adds_one_to_the_version_however_often_it_is_changed_in_one_unit(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        once = changes.update(made, weight=2)
        twice = changes.update(once, name="Heavier")
        changes.commit()
        assert read(made) == twice
        assert (twice.version, twice.weight, twice.name) == (2, 2, "Heavier")

    def test_what_changes_nothing_is_not_written(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        assert changes.update(made, weight=made.weight) is made
        assert changes.is_empty

    def test_another_state_of_it_than_the_last_is_a_mistake(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update(made, weight=2)
        with pytest.raises(ValueError, match="another state"):
            changes.update(made, weight=3)

    def test_what_becomes_none_is_removed_with_its_marks(self) -> None:
        made = stored("a", due_at=after(now(), hours=1))
        changes = UnitOfWork(now())
        changes.update(made, due_at=None)
        changes.commit()
        item = table.get(made.item_key)
        assert item is not None
        assert not {"due_at", "duepk", "duesk", "task"} & set(item)

    def test_of_two_that_read_the_same_one_wins_and_the_other_decides_again(self) -> None:
        made = stored("a")

        def change(weight: int) -> bool:
            changes = UnitOfWork(now())
            changes.update(made, weight=weight)
            try:
                changes.commit()
            except ConcurrentModification:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            assert sorted(threads.map(change, range(2, 10))) == [False] * 7 + [True]

    def test_its_time_is_never_before_its_last_change(self, clock: Clock) -> None:
        clock.freeze("2026-11-20T09:30:00.000Z")
        made = stored("a")
        clock.shift(seconds=-30)
        changes = UnitOfWork(now())
        changed = changes.update(made, weight=2)
        assert changed.updated_at == changes.effective_at == "2026-11-20T09:30:00.001Z"


class TestSettle:
    def test_it_changes_neither_version_nor_time(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update_untracked(made, sent=False)
        changes.commit()
        assert read(made) == made.replace(sent=False)

    def test_it_may_only_take_away(self) -> None:
        made = stored("a", due_at=after(now(), hours=1))
        changes = UnitOfWork(now())
        changes.update_untracked(made, due_at=None)
        changes.commit()
        assert read(made) == made.replace(due_at=None)

    def test_what_changes_nothing_is_not_written(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update_untracked(made, label="a")
        assert changes.is_empty


class TestAbout:
    def test_the_entry_is_about_it_and_it_stays_as_it_is(self) -> None:
        watched, other = stored("a"), stored("b")
        changes = UnitOfWork(now())
        changes.set_event_subject(watched)
        changes.update_untracked(other, sent=False)
        changes.commit()
        assert changes.event_subject == (watched, watched)
        assert read(watched) == watched

    def test_that_is_not_nothing(self) -> None:
        changes = UnitOfWork(now())
        assert changes.is_empty
        changes.set_event_subject(stored("a"))
        assert not changes.is_empty

    def test_what_only_the_service_knows_of_it_may_change(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update_untracked(made, sent=False)
        changes.set_event_subject(made)
        assert changes.event_subject == (made, made.replace(sent=False))

    def test_the_entry_says_what_changed_since_it_was_told_of_and_what_is_written_is_what_was_read(self) -> None:
        made = stored("a", weight=2)
        changes = UnitOfWork(now())
        changed = changes.update(made, weight=3)
        changes.set_diff_base(made.replace(weight=1))
        assert changes.event_subject == (made.replace(weight=1), changed)
        changes.commit()
        assert read(made) == changed

    def test_it_is_what_the_entry_is_about_whatever_changes_later(self) -> None:
        watched, other = stored("a"), stored("b")
        changes = UnitOfWork(now())
        changes.set_event_subject(watched)
        changes.delete(other)
        assert changes.event_subject == (watched, watched)


class TestDelete:
    def test_guard_and_companions_go_with_it(self) -> None:
        made = stored("a", hints=["x"])
        changes = UnitOfWork(now())
        changes.delete(made)
        changes.commit()
        assert [item for item in cloud.stored() if not item["sk"].startswith("COUNT")] == []

    def test_what_was_changed_meanwhile_is_not_deleted(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.update(made, weight=2)
        changes.commit()
        changes = UnitOfWork(now())
        changes.delete(made)
        with pytest.raises(ConcurrentModification):
            changes.commit()

    def test_its_moment_is_behind_its_last_change(self, clock: Clock) -> None:
        clock.freeze("2026-11-20T09:30:00.000Z")
        made = stored("a")
        clock.shift(seconds=-30)
        changes = UnitOfWork(now())
        changes.delete(made)
        assert changes.effective_at == "2026-11-20T09:30:00.001Z"


class TestLimit:
    def test_more_than_there_may_be_are_refused_until_one_goes(self) -> None:
        made = [stored(str(n)) for n in range(MOST)]
        with pytest.raises(Problem, match="limit_exceeded"):
            stored("more")
        changes = UnitOfWork(now())
        changes.update(made[0], sent=False)
        changes.commit()
        assert stored("more").label == "more"

    def test_several_in_one_unit_count_together(self) -> None:
        changes = UnitOfWork(now())
        for n in range(MOST + 1):
            changes.create(parcel(str(n)))
        with pytest.raises(Problem, match="limit_exceeded"):
            changes.commit()
        assert cloud.stored() == []

    def test_one_that_comes_for_one_that_goes_needs_no_room(self) -> None:
        made = [stored(str(n)) for n in range(MOST)]
        changes = UnitOfWork(now())
        changes.delete(made[0])
        changes.create(parcel("new"))
        changes.commit()
        (count,) = [item["n"] for item in cloud.stored() if item["sk"] == "COUNT#parcels"]
        assert count == MOST

    def test_what_does_not_count_is_not_counted(self) -> None:
        for n in range(MOST + 2):
            stored(str(n), sent=False)
        assert not [item for item in cloud.stored() if item["sk"].startswith("COUNT")]


def requiring(watched: Parcel, label: str) -> UnitOfWork:
    """A new parcel that comes only if another has not changed."""
    changes = UnitOfWork(now())
    changes.require_unchanged(watched)
    changes.create(parcel(label))
    return changes


class TestRequire:
    def test_what_was_required_must_not_have_changed(self) -> None:
        watched = stored("a")
        requiring(watched, "b").commit()
        other = UnitOfWork(now())
        other.update(watched, weight=9)
        other.commit()
        with pytest.raises(ConcurrentModification):
            requiring(watched, "c").commit()

    def test_what_is_changed_itself_needs_no_check_of_its_own(self) -> None:
        made = stored("a")
        changes = UnitOfWork(now())
        changes.require_unchanged(made)
        changes.update(made, weight=2)
        changes.commit()
        found = read(made)
        assert found is not None
        assert found.weight == 2


class TestCommit:
    def test_all_of_it_happens_or_nothing(self) -> None:
        stored("taken")
        before = cloud.stored()
        changes = UnitOfWork(now())
        changes.create(parcel("b", hints=["x"]))
        changes.create(parcel("taken"))
        with pytest.raises(Problem, match="slug_taken"):
            changes.commit()
        assert cloud.stored() == before

    def test_a_first_write_whose_place_is_taken_is_told_with_what_is_there(self) -> None:
        key = ("I#x", "#")
        item = {"pk": "I#x", "sk": "#", "n": 1}
        first = Write("Put", key, item=item, condition="attribute_not_exists(#pk)", names=["pk"])
        changes = UnitOfWork(now())
        changes.create(parcel("a"))
        changes.commit(first)
        changes = UnitOfWork(now())
        changes.create(parcel("b"))
        with pytest.raises(IdempotencyKeyConflict) as taken:
            changes.commit(first)
        assert taken.value.item == item

    def test_a_write_of_ones_own_brings_its_own_refusal(self) -> None:
        changes = UnitOfWork(now())
        changes.create(parcel("a"))
        check = Write("ConditionCheck", ("X", "#"), condition="attribute_exists(#pk)", names=["pk"])
        changes.add_write(check, Problem("not_empty", "Not yet."))
        with pytest.raises(Problem, match="not_empty"):
            changes.commit()

    def test_the_target_is_the_first_that_was_changed(self) -> None:
        changes = UnitOfWork(now())
        with pytest.raises(ValueError, match="nothing"):
            _ = changes.event_subject
        first, _second = changes.create(parcel("a")), changes.create(parcel("b"))
        assert changes.event_subject == (None, first)

    def test_its_size_is_what_it_writes(self) -> None:
        changes = UnitOfWork(now())
        changes.create(parcel("a", hints=["x", "y"]))
        changes.add_write(Write("Put", ("X#1", "#"), item={"pk": "X#1", "sk": "#"}))
        assert changes.size == 6  # with its guard, its companions and the count
        changes.commit()
        assert len(cloud.stored()) == 6

    def test_more_than_a_transaction_holds_is_refused_whole(self) -> None:
        changes = UnitOfWork(now())
        for n in range(60):
            changes.create(parcel(str(n), sent=False))
        with pytest.raises(ClientError):
            changes.commit()
        assert [item for item in cloud.stored() if item["pk"] == f"P#{LOG}"] == []
