"""The migration that adds the rows of names to records of earlier releases."""

from collections.abc import Callable
from itertools import count

import pytest

from chalicelib.features.admin.migrations.logic.steps import list_records_by_name
from tests.harness.named_lists import LISTS, forget_rows, name_rows, row_key
from tests.harness.organizations import create_organization, remove_member
from tests.harness.platforms import create_platform
from tests.harness.reconciliations import find_disagreements
from tests.harness.sites import create_site
from tests.harness.workers import Workers


@pytest.mark.parametrize("kind", LISTS)
def test_records_of_earlier_releases_are_found_after_it(make_list, workers, monkeypatch, kind):
    monkeypatch.setattr(list_records_by_name, "_RECORDS_PER_TRANSACTION", 2)
    monkeypatch.setattr(list_records_by_name, "_ORGANIZATIONS_PER_STEP", 1)
    named = make_list(kind)
    create_organization(named.api, named.caller, name="Another")
    rows, before = name_rows(), named.read(sort="name")
    forget_rows()
    assert named.read(sort="name") == named.read(q="l") == []
    assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
    assert named.read(sort="name") == before
    assert sorted(name_rows(), key=row_key) == sorted(rows, key=row_key)


def test_a_step_that_runs_out_of_time_is_continued(make_list, workers, monkeypatch):
    monkeypatch.setattr(list_records_by_name, "_RECORDS_PER_TRANSACTION", 2)
    times = iter([True, False] * 20)
    monkeypatch.setattr(list_records_by_name, "_is_before", lambda _deadline: next(times))
    named = make_list("sites")
    named.api.post("/public/leads", json={"contactName": "A Lead", "contactEmail": "a@example.org"}).expect(201)
    rows = name_rows()
    forget_rows()
    assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
    assert sorted(name_rows(), key=row_key) == sorted(rows, key=row_key)


@pytest.mark.parametrize("max_tries", [1, 2])
@pytest.mark.parametrize("names", [("Windmill",), ("Windmill", "Old Mill")])
def test_a_record_that_is_renamed_meanwhile_has_the_rows_of_its_new_name(
    make_list, workers, monkeypatch, max_tries, names
):
    monkeypatch.setattr(list_records_by_name, "_MAX_TRIES", max_tries)
    named = make_list("sites", ("Looms",))
    site = named.add("Old Mill")

    def rename() -> None:
        for name in names:
            named.api.patch(site.path, caller=named.caller, json={"name": name}).expect(200)

    run_migrations_and_meanwhile(rename, workers, monkeypatch, batch=2)
    assert named.names(sort="name") == ["Looms", names[-1]]
    assert named.names(q="mill") == [name for name in names if name == "Old Mill"]
    assert bool([row for row in name_rows() if "old" in row["sk"]]) == ("Old Mill" in names)


def test_a_member_who_is_removed_meanwhile_leaves_no_name(api, organization, mary, workers, monkeypatch):
    def remove() -> None:
        remove_member(api, organization, mary)

    run_migrations_and_meanwhile(remove, workers, monkeypatch, batch=1)
    assert not [row for row in name_rows() if mary.id in row["sk"]]
    assert [row for row in name_rows() if "grace" in row["sk"]]


def test_missing_rows_are_no_finding_of_a_reconciliation(api, organization, workers):
    create_platform(api, organization)
    create_site(api, organization)
    workers.deliver()
    forget_rows()
    assert find_disagreements(organization.id) == []


def run_migrations_and_meanwhile(
    change: Callable[[], None], workers: Workers, monkeypatch: pytest.MonkeyPatch, *, batch: int
) -> None:
    """Run the migrations without any rows. Change something after the records of a batch were read."""
    forget_rows()
    batches = count(1)

    def change_before_batch(_deadline: float) -> bool:
        if next(batches) == batch:
            change()
        return True

    monkeypatch.setattr(list_records_by_name, "_is_before", change_before_batch)
    assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
    assert next(batches) > batch
