"""Lists that can be read from both ends with `sort`."""

import pytest

from chalicelib.entrypoints.catalogue import all_operations
from chalicelib.kernel.http.models import SortedListQuery
from tests.harness.leads import create_lead
from tests.harness.platforms import add_platform_member, add_space_member, create_platform, create_space
from tests.harness.sites import create_site

NEWEST_FIRST_BY_DEFAULT = {"list_marketing_leads"}
SORTED = sorted(
    operation.id
    for operation in all_operations()
    if operation.query_model and issubclass(operation.query_model, SortedListQuery)
)


@pytest.fixture
def lists(api, organization, ada, grace, edith, mary, operator):
    """Return the path of each list, and who reads it. Each has at least three items."""
    platforms = [create_platform(api, organization, name=f"Platform {number}") for number in range(4)]
    for number in range(4):
        create_site(api, organization, name=f"Site {number}")
        create_lead(api, f"person-{number}@example.com")
    space = create_space(api, platforms[0])
    for person in (grace, edith, mary):
        add_platform_member(platforms[0], person)
        add_space_member(space, person)
    return {
        "list_sites": (f"{organization.path}/sites", ada),
        "list_platforms": ("/platforms", ada),
        "list_marketing_leads": ("/marketing-leads", operator),
        "list_organization_members": (f"{organization.path}/members", ada),
        "list_platform_members": (f"{platforms[0].path}/members", ada),
        "list_space_members": (f"{space.path}/members", ada),
    }


def ids_page_by_page(api, path, caller, query):
    ids: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = api.get(path, caller=caller, query={"limit": "2", **query, **cursor}).expect(200).json
        ids += [item["id"] for item in page["items"]]
        if not page["nextCursor"]:
            return ids
        cursor = {"cursor": page["nextCursor"]}


@pytest.mark.parametrize("operation_id", SORTED)
def test_sort_selects_the_end_at_which_the_list_starts(api, lists, operation_id):
    path, caller = lists[operation_id]
    ascending = ids_page_by_page(api, path, caller, {"sort": "createdAt"})
    assert len({*ascending}) == len(ascending) >= 3
    assert ids_page_by_page(api, path, caller, {"sort": "-createdAt"}) == ascending[::-1]
    by_default = ids_page_by_page(api, path, caller, {})
    assert by_default == (ascending[::-1] if operation_id in NEWEST_FIRST_BY_DEFAULT else ascending)


@pytest.mark.parametrize("operation_id", SORTED)
def test_a_cursor_belongs_to_one_order_and_an_unknown_order_is_rejected(api, lists, operation_id):
    path, caller = lists[operation_id]
    cursor = api.get(path, caller=caller, query={"limit": "1", "sort": "-createdAt"}).json["nextCursor"]
    other = api.get(path, caller=caller, query={"limit": "1", "sort": "createdAt", "cursor": cursor})
    assert other.status_and_code == "400 invalid_cursor"
    unknown = api.get(path, caller=caller, query={"sort": "colour"})
    assert [*unknown.validation_errors] == ["query/sort"]
