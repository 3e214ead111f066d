"""The search for organizations by operators."""

import pytest

from chalicelib.features.admin.migrations.logic.steps import list_organizations
from chalicelib.features.tenancy.entities.organizations import DIRECTORY_PARTITION, RESTORABLE_DAYS
from chalicelib.kernel.core.clock import after
from chalicelib.kernel.storage import files
from tests.harness import memory_aws
from tests.harness.anchors import run_anchoring
from tests.harness.api import ApiClient, Json
from tests.harness.callers import Person
from tests.harness.organizations import create_organization
from tests.harness.sample_operations import create_notice

PATH = "/system/organizations"


def search(api: ApiClient, operator: Person, **query: object) -> list[Json]:
    return api.get_items(PATH, caller=operator, query=query)


def search_names(api: ApiClient, operator: Person, **query: object) -> list[str]:
    return [each["name"] for each in search(api, operator, **query)]


def directory_rows() -> list[Json]:
    return [item for item in memory_aws.all_items() if item["pk"] == DIRECTORY_PARTITION]


@pytest.fixture
def organizations(api, ada, grace):
    """Organizations by name."""
    names = {"Analytical Engines": ada, "Añil Düo": grace, "Looms": ada, "Zeppelin": grace}
    created = {name: create_organization(api, owner, name=name) for name, owner in names.items()}
    created["Zeppelin"] = create_organization(api, grace, name="Zeppelin", slug="an-airship")
    return created


def test_a_name_is_found_by_its_beginning_without_case_and_accents(api, operator, organizations):
    assert organizations
    assert search_names(api, operator, q="anil D") == ["Añil Düo"]
    assert search_names(api, operator, q="ÁN") == ["Zeppelin", "Analytical Engines", "Añil Düo"]
    assert search_names(api, operator, q="engines") == []


def test_a_slug_is_found_by_its_beginning_and_each_organization_once(api, operator, organizations):
    assert search_names(api, operator, q="an-air") == ["Zeppelin"]
    for q in ("looms", "l", "analytical"):
        ids = [each["id"] for each in search(api, operator, q=q)]
        assert len(ids) == len({*ids}) == 1, q
    assert organizations


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_contain_each_organization_once(api, operator, organizations, limit):
    everything = search(api, operator, limit=limit)
    assert [each["createdAt"] for each in everything] == sorted(each["createdAt"] for each in everything)
    assert {each["id"] for each in everything} >= {each.id for each in organizations.values()}
    assert len(everything) == len({each["id"] for each in everything})
    matching = search(api, operator, q="an", limit=limit)
    assert [each["name"] for each in matching] == ["Zeppelin", "Analytical Engines", "Añil Düo"]


def test_an_id_is_found_exactly(api, operator, organizations):
    looms = organizations["Looms"]
    for q in (looms.id, looms.id.upper()):
        (found,) = search(api, operator, q=q)
        assert found == {
            "id": looms.id,
            "name": "Looms",
            "slug": looms.record["slug"],
            "companyName": None,
            "status": "active",
            "createdAt": looms.record["createdAt"],
            "ownerId": looms.owner.id,
            "deletedAt": None,
        }
    assert search(api, operator, q="01939d3c-0000-7000-8000-0000000000ff") == []


def test_a_renamed_organization_is_found_by_its_new_name_and_slug_only(api, operator, organizations):
    looms = organizations["Looms"]
    api.patch(looms.path, caller=looms.owner, json={"name": "Mills", "slug": "the-mills"}).expect(200)
    assert search_names(api, operator, q="looms") == []
    assert search_names(api, operator, q="mill") == search_names(api, operator, q="the-m") == ["Mills"]
    assert len([row for row in directory_rows() if row["organization_id"] == looms.id]) == 3


def test_a_deleted_organization_is_found_until_it_is_purged(api, operator, organizations, workers, clock):
    looms = organizations["Looms"]
    api.delete(looms.path, caller=looms.owner).expect(204)
    (found,) = search(api, operator, q="looms")
    assert found["status"] == "pending_deletion"
    assert looms.record["createdAt"] <= found["deletedAt"] < after(looms.record["createdAt"], seconds=60)
    clock.shift(days=RESTORABLE_DAYS + 1)
    workers.run_until_idle()
    assert search(api, operator, q="looms") == search(api, operator, q=looms.id) == []
    assert not [row for row in directory_rows() if row["organization_id"] == looms.id]


def test_a_name_with_the_separator_of_keys_and_a_long_one_are_found(api, operator, ada):
    for name in ("C# Tools", "x" * 200):
        create_organization(api, ada, name=name)
        assert search_names(api, operator, q=name) == [name]
    assert search_names(api, operator, q="c#") == ["C# Tools"]
    assert search_names(api, operator, q="c##") == []


def test_the_cursor_belongs_to_the_search_text(api, operator, organizations):
    cursor = api.get(PATH, caller=operator, query={"q": "an", "limit": 1}).json["nextCursor"]
    rejected = api.get(PATH, caller=operator, query={"q": "a", "limit": 1, "cursor": cursor})
    assert rejected.status_and_code == "400 invalid_cursor"
    assert organizations


def test_other_callers_and_invalid_texts_are_refused(api, operator, ada):
    for caller, status in ((ada, 403), (None, 401)):
        api.get(PATH, caller=caller).expect(status)
    for q in ("", "x" * 201):
        assert api.get(PATH, caller=operator, query={"q": q}).status == 422


class TestMigration:
    def forget_all(self) -> None:
        for row in directory_rows():
            memory_aws.delete_item({"pk": row["pk"], "sk": row["sk"]})

    def test_organizations_of_earlier_releases_are_found_after_it(
        self, api, operator, organizations, workers, monkeypatch
    ):
        monkeypatch.setattr(list_organizations, "_ORGANIZATIONS_PER_TRANSACTION", 2)
        workers.deliver()
        rows, before = directory_rows(), search(api, operator)
        self.forget_all()
        assert search(api, operator) == []
        assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
        assert search(api, operator) == before
        assert sorted(row["sk"] for row in directory_rows()) == sorted(row["sk"] for row in rows)
        assert organizations

    def test_organizations_with_and_without_an_anchor_are_found(
        self, api, operator, ada, organizations, workers, monkeypatch
    ):
        create_notice(operator)
        workers.deliver()
        run_anchoring(workers)
        unanchored = create_organization(api, ada, name="Unanchored")
        workers.deliver()
        folders, pages = files.list_folders, list[list[str]]()

        def list_two_folders(bucket: str, after: str = "") -> list[str]:
            pages.append(folders(bucket, after)[:2])
            return pages[-1]

        monkeypatch.setattr(files, "list_folders", list_two_folders)
        before = search(api, operator)
        self.forget_all()
        assert {outcome["state"] for outcome in workers.run_migrations()} == {"applied"}
        assert search(api, operator) == before
        assert unanchored.id not in {log for page in pages for log in page}
        assert {each.id for each in organizations.values()} <= {log for page in pages for log in page}

    def test_rows_of_an_organization_that_was_renamed_meanwhile_are_not_found(self, api, operator, organizations):
        looms = organizations["Looms"]
        old = [row for row in directory_rows() if row["organization_id"] == looms.id]
        api.patch(looms.path, caller=looms.owner, json={"name": "Mills", "slug": "mills"}).expect(200)
        for row in old:
            memory_aws.put_item(row)
        assert search_names(api, operator, q="looms") == []
        assert search_names(api, operator, q="mills") == ["Mills"]
